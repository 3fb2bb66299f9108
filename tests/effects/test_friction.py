"""Friction that follows the motion, against what can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effects.rigs import ARM_TORQUE, arm, run
from tests.identify.planted import recorded
from trueup import worlds
from trueup.effects import LoadFriction, RestFriction
from trueup.replay import replayed
from trueup.simulate import CpuWorlds
from trueup.space import Point
from trueup.worlds import Compiled

LOAD = "actuation/hinge/load_friction"
REST, TIME, SLIP = (f"actuation/hinge/rest_{q}" for q in ("friction", "time", "slip"))


class TestLoadFriction:
    @pytest.mark.parametrize("share", [0.2, 0.5])
    def test_lifting_takes_more_torque_and_lowering_less(self, share: float) -> None:
        rig = arm(LoadFriction(), damping=0.0, kv=0.5)
        up, down = (
            run(rig, {LOAD: share}, steps=1500, command=lambda t, s=s: s * 0.05 * t)["force"]
            for s in (-1.0, 1.0)
        )
        # gears that lose a share of what they carry: lifting needs T / (1 - share), and a load
        # that comes down is held back by the gears too: T / (1 + share). Positive is downwards.
        np.testing.assert_allclose(-up[-200:].mean(), ARM_TORQUE / (1 - share), rtol=0.03)
        np.testing.assert_allclose(-down[-200:].mean(), ARM_TORQUE / (1 + share), rtol=0.03)

    def test_without_load_there_is_none(self) -> None:
        rig = arm(LoadFriction(), gravity=0.0, damping=0.0, frictionloss=0.05, kv=0.2)
        trace = run(rig, {LOAD: 0.0}, {LOAD: 0.3}, steps=1500, command=lambda t: 0.05 * t)
        effort = trace["force"][-200:].mean(axis=0)
        np.testing.assert_allclose(effort, [0.05, 0.05 / 0.7], rtol=0.05)


class TestRestFriction:
    def rig(self):
        return arm(RestFriction(), gravity=0.0, damping=0.5, frictionloss=0.05)

    def test_a_joint_that_rested_longer_breaks_away_later(self) -> None:
        points = [{REST: 0.02, TIME: t, SLIP: 0.003} for t in (0.01, 0.1, 1.0)]
        trace = run(self.rig(), *points, steps=4000, command=lambda t: 0.01 * t)
        # 100 s of rest before it begins, and what passes until it lets go
        for i, time in enumerate((0.01, 0.1, 1.0)):
            k = int(np.argmax(trace["speed"][:, i] > 0.01))
            wanted = 0.05 + 0.02 * np.log1p((100.0 + trace["time"][k, i]) / time)
            np.testing.assert_allclose(trace["force"][:k, i].max(), wanted, rtol=0.05)

    def test_slow_moves_stick_and_jump_and_fast_ones_do_not(self) -> None:
        points = ({REST: 0.0, TIME: 0.1, SLIP: 0.003}, {REST: 0.1, TIME: 0.1, SLIP: 0.003})
        still = {}
        for speed, steps in ((0.01, 4000), (0.5, 1500)):
            trace = run(self.rig(), *points, steps=steps, command=lambda t, s=speed: s * t)
            moving = np.abs(trace["speed"][steps // 2 :])
            still[speed] = (moving < 0.1 * speed).mean(axis=0)
        assert still[0.01][1] > 0.5 and still[0.01][0] < 0.1
        assert (still[0.5] < 0.01).all()

    def test_sliding_renews_the_contact(self) -> None:
        # sliding at a steady speed the contact is as old as the slip takes
        speed, growth = 0.5, 0.02
        points = ({REST: 0.0, TIME: 0.001, SLIP: 0.01}, {REST: growth, TIME: 0.001, SLIP: 0.01})
        trace = run(self.rig(), *points, steps=1500, command=lambda t: speed * t)
        effort = trace["force"][-200:].mean(axis=0)
        wanted = growth * np.log1p(0.01 / speed / 0.001)
        np.testing.assert_allclose(effort[1] - effort[0], wanted, rtol=0.03)


def test_a_law_begins_anew_with_each_episode_and_leaves_the_other_worlds_alone() -> None:
    world = worlds.get("so101/arm")
    space = world.catalogue.select("actuation/*/load_friction", "actuation/*/rest_friction")
    point = Point(dict.fromkeys(space.names, 0.1))
    batch = CpuWorlds(Compiled(world, space), 3, threads=1)

    def episode(steps: int, again: bool) -> np.ndarray:
        seen = []
        for k in range(steps):
            if again and k == 10:
                batch.reset(point, [7], ids=[1])
            answer = batch.step(batch.hold + 0.3 * np.sin(0.2 * k))
            seen.append(answer.observation["joint_position"].copy())
        return np.array(seen)

    batch.reset(point, [1, 2, 3])
    first = episode(25, again=False)
    batch.reset(point, [1, 2, 3])
    second = episode(25, again=True)
    np.testing.assert_array_equal(first[:, [0, 2]], second[:, [0, 2]])
    batch.reset(point, [1, 2, 3])
    np.testing.assert_array_equal(episode(25, again=False), first)


def test_a_replay_obeys_the_same_law_as_the_engine() -> None:
    truth = {"actuation/elbow_flex/load_friction": 0.4, "actuation/elbow_flex/rest_friction": 0.05}
    episode = recorded(truth, seconds=6.0)
    replay = replayed(worlds.get("so101/arm"), [episode], truth, signals=["joint_position"])
    assert replay.rmse("joint_position").max() < 0.7e-3  # its encoder has ticks of 1.5 mrad
    plain = replayed(worlds.get("so101/arm"), [episode], None, signals=["joint_position"])
    assert plain.rmse("joint_position").max() > 5e-3
