"""Worlds as the trainer sees them: who sees what, what restarts, and what the plan is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.train.rigs import QUICK, Told, environment
from tests.train.swing import LIMITED, Swing
from tests.worlds.pendulum import Pendulum, damping
from trueup.errors import TrueupError
from trueup.randomize import Plan
from trueup.simulate import CpuWorlds, Step
from trueup.space import Points
from trueup.train import Environment
from trueup.train.environment import ACTOR, CRITIC
from trueup.train.terms import contract_for
from trueup.worlds import Compiled, Signal, World

KNOWN, SECRET = 111.0, 777.0


class Labelled(Swing):
    """Signals that can be told apart by their numbers."""

    observations = (
        *Swing.observations,
        Signal(
            name="known",
            unit="1",
            sensors=("swing_position",),
            function=lambda world, values, found: 0.0 * values + KNOWN,
        ),
    )
    privileged = (
        Signal(
            name="secret",
            unit="1",
            sensors=("truth/tip",),
            function=lambda world, values, found: 0.0 * values + SECRET,
        ),
    )


class Watched(CpuWorlds):
    """The engine, with its last step kept."""

    last: Step

    def step(self, action) -> Step:
        self.last = super().step(action)
        return self.last


def watched(world: World, plan: Plan, *, n: int = 16, **settings) -> Environment:
    chosen = replace(QUICK, worlds=n, **settings)
    contract = contract_for(world, plan.space, history=chosen.history)
    worlds = Watched(Compiled(world, plan.space), n, threads=1)
    return Environment(worlds, contract, plan, chosen, np.random.default_rng(0))


def push(env: Environment, answer: float = 1.0):
    return env.step(torch.full((env.num_envs, env.num_actions), answer))


def group(env: Environment, name: str) -> np.ndarray:
    return env.get_observations()[name].numpy().copy()


# Who sees what ----------------------------------------------------------------------------------


def test_the_actor_never_sees_what_only_the_simulator_knows():
    env = environment(Labelled(), history=3)
    for _ in range(30):
        push(env)
        seen = group(env, ACTOR)
        assert seen.shape == (16, 3 * (4 + 1))
        assert not (seen == SECRET).any()
        assert (seen.reshape(16, 3, 5)[:, :, 3] == KNOWN).all()


def test_the_actor_sees_the_newest_readings_first_and_the_targets_sent_before_them():
    env = environment(history=2, n=8)
    for _ in range(12):
        before = group(env, ACTOR)
        _, _, ended, _ = push(env, 0.7)
        now = np.concatenate([*env.worlds.observation.values(), env._memory.targets], axis=1)
        seen = group(env, ACTOR)
        np.testing.assert_array_equal(seen[:, :4], now.astype(np.float32))
        goes_on = ended.numpy() == 0.0
        np.testing.assert_array_equal(seen[goes_on, 4:], before[goes_on, :4])
        np.testing.assert_array_equal(seen[~goes_on, 4:], seen[~goes_on, :4])


def test_the_critic_sees_the_truth_the_point_the_time_left_and_the_success():
    env = environment(Labelled(), n=32)
    space, steps = env.worlds.space, env.max_episode_length
    done = np.zeros(32, bool)
    for _ in range(25):
        push(env)
        seen = group(env, CRITIC)
        assert seen.shape == (32, 3 + len(space) + 2)
        assert (seen[:, :3] == SECRET).all()
        points = Points(space.names, env.worlds.points)
        np.testing.assert_allclose(seen[:, 3:5], space.encode(points), atol=1e-6)
        left = 1.0 - env.episode_length_buf.numpy() / steps
        np.testing.assert_allclose(seen[:, 5], left, atol=1e-6)
        assert ((seen[:, 5] > 0.0) & (seen[:, 5] <= 1.0)).all()
        assert set(np.unique(seen[:, 6])) <= {0.0, 1.0}
        done |= seen[:, 6] == 1.0
    assert done.any()


def test_the_success_flag_stays_until_the_episode_ends():
    env = watched(Swing(), Told(Swing()))
    succeeded = np.zeros(16, bool)
    for _ in range(40):
        _, _, ended, _ = push(env)
        worlds: Watched = env.worlds  # pyright: ignore[reportAssignmentType]
        succeeded |= worlds.last.success
        succeeded &= ended.numpy() == 0.0
        np.testing.assert_array_equal(group(env, CRITIC)[:, -1] == 1.0, succeeded)


def test_arrays_are_shared_with_torch():
    env = environment()
    seen = env.get_observations()[ACTOR]
    assert np.shares_memory(seen.numpy(), env._memory.input)
    assert np.shares_memory(env.episode_length_buf.numpy(), env._age)
    at = seen.numpy().copy()
    push(env)  # PPO stores an observation after the step that answers it
    np.testing.assert_array_equal(seen.numpy(), at)


# Episodes ---------------------------------------------------------------------------------------


def test_only_ended_worlds_begin_anew():
    env = environment(n=32)
    ends = 0
    for _ in range(50):
        seeds, points = env.worlds.seeds.copy(), env.worlds.points.copy()
        age = env.episode_length_buf.numpy().copy()
        _, _, ended, _ = push(env)
        over = ended.numpy() == 1.0
        np.testing.assert_array_equal(env.worlds.seeds != seeds, over)
        np.testing.assert_array_equal((env.worlds.points != points).any(axis=1), over)
        np.testing.assert_array_equal(env.episode_length_buf.numpy(), np.where(over, 0, age + 1))
        np.testing.assert_allclose(env.worlds.time_s[over], 0.0)
        np.testing.assert_array_equal(env._memory.targets[over], env.worlds.hold[over])
        ends += over.sum()
    assert ends > 32


class Losing(Swing):
    """Lost as soon as it is beyond 0.4 rad: before half of the pushes have had their time."""

    def failure(self, s):
        return s["swing_position"][:, 0] > 0.4


@pytest.mark.parametrize("answer", [0.0, 0.3, 1.0])
def test_time_is_up_only_where_it_is(answer):
    env = watched(Losing(), Told(Losing()), n=32)
    counted = {"timeout": 0, "lost": 0}
    for _ in range(45):
        due = env.episode_length_buf.numpy() + 1 >= env.max_episode_length
        _, _, ended, extras = push(env, answer)
        worlds: Watched = env.worlds  # pyright: ignore[reportAssignmentType]
        lost = worlds.last.failure
        np.testing.assert_array_equal(extras["time_outs"].numpy() == 1.0, due & ~lost)
        np.testing.assert_array_equal(ended.numpy() == 1.0, due | lost)
        counted["timeout"] += int((due & ~lost).sum())
        counted["lost"] += int(lost.sum())
    assert counted["timeout" if answer == 0.0 else "lost"] > 32
    assert answer > 0.0 or counted["lost"] == 0


def test_episodes_do_not_all_end_together():
    env = environment(n=64)
    ends = [int(push(env, 0.0)[2].sum()) for _ in range(env.max_episode_length)]
    assert sum(ends) == 64
    assert max(ends) <= 64 // 8


def test_the_reward_is_what_the_settings_say():
    world = Losing()
    env = watched(world, Told(world), bonus=3.0, smoothness=0.25, loss=7.0)
    last = np.zeros(16)
    for k in range(30):
        answer = np.sin(np.arange(16) + k)
        _, reward, ended, _ = env.step(torch.from_numpy(answer[:, None].astype(np.float32)))
        worlds: Watched = env.worlds  # pyright: ignore[reportAssignmentType]
        step = worlds.last
        wanted = step.reward + 3.0 * step.success - 0.25 * (answer - last) ** 2 - 7.0 * step.failure
        scaled = np.clip(wanted / env.scale.size, -10.0, 10.0)
        np.testing.assert_allclose(reward.numpy(), scaled, rtol=1e-4, atol=1e-5)
        last = np.where(ended.numpy() == 1.0, 0.0, answer)


@pytest.mark.parametrize("practice", [0.0, 0.5])
def test_the_plan_is_told_of_each_whole_episode_once(practice):
    world = Losing()
    plan = Told(world)
    env = watched(world, plan, n=24, practice=practice)
    assert sum(map(len, plan.drawn)) == 24
    whole = (env.episode_length_buf.numpy() == 0) & (env.worlds.ease == 0.0)
    assert 0 < whole.sum() < 24  # others began in the middle or eased, and say nothing
    succeeded, told = np.zeros(24, bool), []
    generator = np.random.default_rng(4)
    for _ in range(100):
        points = env.worlds.points.copy()
        answer = torch.from_numpy(generator.uniform(0.0, 0.5, (24, 1)).astype(np.float32))
        _, _, ended, _ = env.step(answer)
        worlds: Watched = env.worlds  # pyright: ignore[reportAssignmentType]
        succeeded |= worlds.last.success
        over = ended.numpy() == 1.0
        told += [(*points[i], succeeded[i]) for i in np.flatnonzero(over & whole)]
        whole = np.where(over, env.worlds.ease == 0.0, whole)  # practice does not count
        succeeded &= ~over
    heard = [(*row, won) for rows, good in plan.heard for row, won in zip(rows, good, strict=True)]
    assert heard == told
    drawn = [tuple(row) for rows in plan.drawn for row in rows]
    assert len({row[:-1] for row in heard}) == len(heard) > 100
    assert {row[:-1] for row in heard} <= set(drawn)
    assert list(env.recent) == [won for *_, won in told][-4 * 24 :]


class Eased(Swing):
    """Begins at an angle that says how much it was eased."""

    def start(self, scene):
        return {"swing": 0.3 * scene.ease[:, None]}


def test_some_episodes_begin_nearer_to_their_goal_until_the_others_succeed():
    env = environment(Eased(), n=200, practice=0.8)
    ease = env.worlds.ease.copy()
    assert 0.7 < np.mean(ease > 0.0) < 0.9 and ease.max() <= 1.0
    np.testing.assert_allclose(env.worlds.observation["position"][:, 0], 0.3 * ease)
    env.recent.extend([True] * 100)
    env.restart()
    assert not env.worlds.ease.any()
    env.recent.extend([False] * 100)
    env.restart()
    assert 0.3 < np.mean(env.worlds.ease > 0.0) < 0.5


class Breaking(Plan):
    """Every third world has a damping at which the physics breaks down."""

    name = "breaking"

    def draw(self, generator: np.random.Generator, n: int) -> Points:
        values = np.where(np.arange(n) % 3 == 0, -1000.0, 0.2)
        return Points(self.space.names, values[:, None])


def test_a_world_that_breaks_down_ends_and_teaches_nothing():
    world = Pendulum(damping(low=-1000.0), mjcf=LIMITED)
    env = watched(world, Breaking(world.space), n=12)
    broken = 0
    for _ in range(30):
        seen, reward, ended, extras = push(env)
        worlds: Watched = env.worlds  # pyright: ignore[reportAssignmentType]
        diverged = worlds.last.diverged
        assert (ended.numpy()[diverged] == 1.0).all()
        assert (reward.numpy()[diverged] == 0.0).all()
        assert (extras["time_outs"].numpy()[diverged] == 0.0).all()
        assert all(bool(torch.isfinite(seen[name]).all()) for name in (ACTOR, CRITIC))
        broken += int(diverged.sum())
    assert broken > 0


# What stops training ----------------------------------------------------------------------------


def high(world: World, values: np.ndarray, found) -> np.ndarray:
    """Not a number beyond 0.45 rad."""
    return np.where(values > 0.45, np.nan, values)


def bad_signal(name: str) -> Signal:
    return Signal(name=name, unit="rad", sensors=("swing_position",), function=high)


class BadObservation(Swing):
    observations = (*Swing.observations, bad_signal("angle"))


class BadTruth(Swing):
    privileged = (*Swing.privileged, bad_signal("angle"))


class BadReward(Swing):
    def reward(self, s, action):
        return np.where(s["swing_position"][:, 0] > 0.45, np.nan, 0.0)


@pytest.mark.parametrize(
    ("world", "term"),
    [(BadObservation, "'angle'"), (BadTruth, "'angle'"), (BadReward, "reward()")],
    ids=["observation", "privileged", "reward"],
)
def test_what_is_not_a_number_stops_training_with_its_place_named(world, term):
    env = environment(world(), n=16)
    with pytest.raises(TrueupError) as told:
        for _ in range(20):
            push(env)
    said = str(told.value)
    assert "'test/swing'" in said and term in said and "nan" in said
    beyond = np.flatnonzero(env.worlds.truth["swing_position"][:, 0] > 0.45)
    row = int(beyond[0])
    assert f"world {row} " in said
    assert f"(seed {int(env.worlds.seeds[row])})" in said
