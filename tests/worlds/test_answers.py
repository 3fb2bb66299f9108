"""Mistakes in a user's own world are told as theirs: method, line, shape."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest

from tests.worlds.pendulum import Pendulum, damping
from trueup.errors import TrueupError
from trueup.simulate import CpuWorlds
from trueup.worlds import Compiled

N = 4


def wrong(**methods):
    """A pendulum with some of its functions replaced."""
    return type("Wrong", (Pendulum,), methods)()


def begun(world) -> CpuWorlds:
    batch = CpuWorlds(Compiled(world), N)
    batch.reset(world.space.nominal(), np.arange(N))
    return batch


def stepped(world) -> None:
    batch = begun(world)
    batch.step(batch.hold)


STARTS = {
    "shape": (lambda self, scene: {"swing": np.zeros(3)}, r"'swing' the shape \(3,\).*\(4, 1\)"),
    "none": (lambda self, scene: None, r"start\(\) answers with None.*dict"),
    "text": (lambda self, scene: {"swing": "up"}, r"start\(\) fails.*ValueError"),
    "nan": (lambda self, scene: {"swing": np.full((scene.n, 1), np.nan)}, "not finite, in row 0"),
    "name": (lambda self, scene: {"swnig": np.zeros((scene.n, 1))}, "neither a joint nor a mocap"),
    "raises": (lambda self, scene: 1 / 0, r"test_answers\.py:\d+: ZeroDivisionError"),
}


@pytest.mark.parametrize("start, message", STARTS.values(), ids=STARTS)
def test_start(start, message):
    with pytest.raises(TrueupError, match=message):
        begun(wrong(start=start))


JUDGEMENTS = {
    "reward of none": ("reward", lambda self, s, action: None, r"reward\(\) answers with None"),
    "reward of (n, 3)": ("reward", lambda self, s, a: np.zeros((N, 3)), r"shape \(4, 3\)"),
    "reward of nan": (
        "reward",
        lambda self, s, a: np.full(N, np.nan),
        "is nan in world 0 .seed 0. at",
    ),
    "success of floats": ("success", lambda self, s: np.zeros(N), "answers with float64.*booleans"),
    "success of (n, 3)": ("success", lambda self, s: np.zeros((N, 3), bool), r"shape \(4, 3\)"),
    "failure that raises": ("failure", lambda self, s: s["swnig"], "no sensor named 'swnig'"),
}


@pytest.mark.parametrize("method, function, message", JUDGEMENTS.values(), ids=JUDGEMENTS)
def test_judgement(method, function, message):
    with pytest.raises(TrueupError, match=message):
        stepped(wrong(**{method: function}))


@pytest.mark.parametrize(
    "effects, message",
    [
        (lambda self: Pendulum.effects, "answers with <function.*tuple of effects"),
        (lambda self: ("latency",), "answers with 'latency'.*effects only"),
        (lambda self: (damping(), damping()), "both declare .*List only one"),
    ],
)
def test_effects(effects, message):
    with pytest.raises(TrueupError, match=message):
        _ = wrong(effects=effects).catalogue


def test_spec():
    with pytest.raises(TrueupError, match=r"spec\(\) answers with None.*mujoco.MjSpec"):
        _ = wrong(spec=lambda self: None).model


@pytest.mark.parametrize("name", ["control_period_s", "episode_s", "hold_s"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_times(name, value):
    with pytest.raises(TrueupError, match=re.escape(f"has {name} = {value}")):
        _ = wrong(**{name: value}).steps


def test_a_step_before_the_first_episode():
    world = Pendulum()
    batch = CpuWorlds(Compiled(world), N)
    with pytest.raises(TrueupError, match="have not begun an episode"):
        batch.step(np.zeros((N, world.model.nu)))


def test_an_actuator_that_drives_no_joint():
    def spec(self):
        spec = Pendulum().spec()
        spec.worldbody.add_site(name="here")
        spec.add_actuator(name="jet", trntype=mujoco.mjtTrn.mjTRN_SITE, target="here")
        return spec

    with pytest.raises(TrueupError, match="does not drive a joint"):
        CpuWorlds(Compiled(wrong(spec=spec)), 1)


def test_sizes_follow_the_function_of_a_signal():
    from trueup import worlds

    world = worlds.get("so101/lift")
    sizes = world.sizes(world.observations)
    assert sizes["tcp_position"] == 3
    batch = CpuWorlds(Compiled(world), 1)
    seen = batch.reset(world.space.nominal(), 0)
    assert sizes == {name: values.shape[1] for name, values in seen.items()}
