"""A policy at work: what it commands on a robot is what it commanded in training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.train.rigs import environment, trained
from tests.train.swing import Swing
from trueup.errors import TrueupError
from trueup.policies import Layer, Pilot, network_bytes
from trueup.worlds import Readings

SIZES = {"position": 1, "velocity": 1, "force": 1}


def readings(generator: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {name: generator.normal(size=(n, size)) for name, size in SIZES.items()}


def lively(inputs: int) -> bytes:
    """A network whose answers depend on every number of its input, and strongly."""
    generator = np.random.default_rng(2)
    layers = [
        Layer(2.0 * generator.normal(size=(16, inputs)), generator.normal(size=16)),
        Layer(generator.normal(size=(1, 16)), np.zeros(1)),
    ]
    return network_bytes(mean=np.zeros(inputs), scale=np.ones(inputs), layers=layers)


class Endless(Swing):
    """An episode that is long enough to compare many commands, and that nothing ends early."""

    episode_s = 8.0

    def failure(self, s: Readings):
        return s.time < 0.0


@pytest.mark.parametrize("history", [1, 2, 5])
def test_it_commands_what_training_commanded(history):
    world, n = Endless(), 8
    env = environment(world, n=n, history=history)
    policy = replace(trained(), stored=lively(env.contract.inputs), contract=env.contract)
    env._age[:] = 0  # all episodes begin now, none in its middle
    pilot = policy.pilot(n)
    pilot.begin(env.worlds.observation, env.worlds.hold)
    sent = []
    for _ in range(world.steps - 1):
        seen = env.get_observations()["policy"].numpy()
        commands = pilot(env.worlds.observation)
        np.testing.assert_array_equal(pilot._memory.input, seen)
        env.step(torch.from_numpy(policy.network(seen)))
        np.testing.assert_array_equal(env._memory.targets, commands)
        sent.append(commands)
    assert np.ptp(sent) > 0.5


@pytest.fixture
def pilot() -> Pilot:
    return trained().pilot(3)


def test_rows_do_not_see_each_other(pilot):
    generator = np.random.default_rng(0)
    seen = [readings(generator, 3) for _ in range(20)]
    hold = generator.normal(size=(3, 1))
    pilot.begin(seen[0], hold)
    together = np.stack([pilot(now) for now in seen])
    for row in range(3):
        alone = trained().pilot(1)
        one = [{name: values[row] for name, values in now.items()} for now in seen]
        alone.begin(one[0], hold[row])
        commands = [alone(now) for now in one]
        assert commands[0].shape == (1,)  # answered in kind
        np.testing.assert_array_equal(np.stack(commands), together[:, row])


def test_a_row_may_begin_again_while_the_others_go_on(pilot):
    generator = np.random.default_rng(0)
    seen = [readings(generator, 3) for _ in range(12)]
    hold = np.zeros((3, 1))
    undisturbed = trained().pilot(3)
    for each in (pilot, undisturbed):
        each.begin(seen[0], hold)
        for now in seen[:6]:
            each(now)
    pilot.begin(seen[6], hold + 0.5, rows=np.array([1]))
    fresh = trained().pilot(3)
    fresh.begin(seen[6], hold + 0.5)
    for now in seen[6:]:
        commands = pilot(now)
        np.testing.assert_array_equal(commands[[0, 2]], undisturbed(now)[[0, 2]])
        np.testing.assert_array_equal(commands[1], fresh(now)[1])


def test_the_first_reading_counts_as_if_it_had_always_been_so(pilot):
    """A robot is read again between the beginning and the first command."""
    early, now = (readings(np.random.default_rng(k), 3) for k in range(2))
    other = trained().pilot(3)
    pilot.begin(early, np.zeros((3, 1)))
    other.begin(now, np.zeros((3, 1)))
    np.testing.assert_array_equal(pilot(now), other(now))


def test_the_order_of_the_observation_does_not_matter(pilot):
    seen = readings(np.random.default_rng(0), 3)
    other = trained().pilot(3)
    pilot.begin(seen, np.zeros((3, 1)))
    turned = {"extra": np.ones((3, 4)), **{name: seen[name] for name in reversed(seen)}}
    other.begin(turned, np.zeros((3, 1)))
    np.testing.assert_array_equal(pilot(seen), other(turned))


@pytest.mark.parametrize("single", [True, False])
def test_a_command_may_be_changed_by_who_gets_it(single):
    """Such as into degrees, in place: the next command must not start from there."""
    generator = np.random.default_rng(0)
    seen = [readings(generator, 1) for _ in range(6)]
    if single:
        seen = [{name: values[0] for name, values in now.items()} for now in seen]
    careful, careless = trained().pilot(), trained().pilot()
    for each in (careful, careless):
        each.begin(seen[0], np.zeros((1, 1)))
    for now in seen:
        wanted = careful(now).copy()
        got = careless(now)
        np.testing.assert_array_equal(got, wanted)
        got *= 57.3


def test_it_must_begin_first(pilot):
    with pytest.raises(TrueupError, match="before its episode began"):
        pilot(readings(np.random.default_rng(0), 3))


def test_an_observation_that_is_missing_is_named(pilot):
    seen = readings(np.random.default_rng(0), 3)
    del seen["velocity"]
    with pytest.raises(TrueupError, match="has no 'velocity', which the policy reads"):
        pilot.begin(seen, np.zeros((3, 1)))


@pytest.mark.parametrize("shape", [(3, 2), (2, 1), (3, 0), (4, 1)])
def test_an_observation_of_another_size_is_named(pilot, shape):
    seen = readings(np.random.default_rng(0), 3)
    pilot.begin(seen, np.zeros((3, 1)))
    with pytest.raises(TrueupError, match="'velocity'"):
        pilot({**seen, "velocity": np.zeros(shape)})
