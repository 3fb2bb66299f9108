"""Hidden effects obey their laws: known physics in worlds of a few lines."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effects.rigs import (
    ARM_ARMATURE,
    ARM_INERTIA,
    ARM_TORQUE,
    GRAVITY,
    Rig,
    Trace,
    acceleration,
    arm,
    arrived,
    run,
    tabletop,
    wall,
    worlds_at,
)
from trueup.effects import CommandNoise, LostCommands, Reaction
from trueup.errors import UnknownName
from trueup.hardware.hidden import Hidden, Torque, rehearsed
from trueup.hardware.hidden_motion import CableDrag, FrictionLaw, GearRipple, ThermalFade
from trueup.hardware.hidden_signals import BusHiccups, LateFrames, PerCommand
from trueup.hardware.hidden_things import OilFilm, UndeclaredShape, WobblyMount
from trueup.worlds import get


def at(effect: Hidden, age_s: float = 0.0, seed: int = 0) -> dict[str, float]:
    """The point at which an effect is there."""
    found = effect.episode(np.array([age_s]), np.array([seed], np.uint64))
    return {name: float(value[0]) for name, value in found.items()}


def several(effect: Hidden, commands: np.ndarray, steps: int = 2000) -> Trace:
    """One weightless beam for each command, with an effect."""
    rig, points = arm(effect, gravity=0.0), [at(effect)] * len(commands)
    return run(rig, *points, steps=steps, command=lambda t: commands[:, None].tolist())


class TestCableDrag:
    def test_it_pulls_by_the_cube_of_the_angle_from_where_it_is_tied(self) -> None:
        cable = CableDrag(joints="hinge", tied_rad=0.3, pull=2.0)
        commands = np.array([-0.9, 0.3, 0.8, 1.4])
        trace = several(cable, commands)
        q = trace["angle"][-1]
        np.testing.assert_allclose(trace["force"][-1], 2.0 * (q - 0.3) ** 3, atol=1e-3)
        assert np.array_equal(np.abs(q - commands) > 1e-3, commands != 0.3)

    def test_an_unknown_joint_offers_the_known(self) -> None:
        cable = CableDrag(joints="knee", pull=1.0)
        with pytest.raises(UnknownName, match="hinge"):
            cable.parameters(arm(cable).model)


class TestFrictionLaw:
    @pytest.mark.parametrize("speed", [-1.2, 0.5, 1.0])
    def test_drag_grows_by_the_square_of_the_speed(self, speed: float) -> None:
        law = FrictionLaw(square=0.7)
        rig = arm(law, gravity=0.0, damping=0.0)
        trace = run(rig, at(law), steps=700, command=lambda t: speed * t)
        assert trace["speed"][-1, 0] == pytest.approx(speed, rel=1e-2)
        assert trace["force"][-1, 0] == pytest.approx(0.7 * speed * abs(speed), rel=2e-2)

    def test_a_joint_creeps_before_it_slides(self) -> None:
        law = FrictionLaw(creep_torque=0.5, creep_rad=0.05)
        rig = arm(law, gravity=0.0, damping=3.0)
        trace = run(rig, at(law), steps=3000, command=0.02)
        q, force = trace["angle"][-1, 0], trace["force"][-1, 0]
        assert 0.005 < q < 0.015  # a rigid friction of 0.5 N·m would not let it move at all
        assert force == pytest.approx(0.5 * (1.0 - np.exp(-q / 0.05)), rel=0.05)

    def test_a_sliding_joint_meets_the_torque_it_slides_at(self) -> None:
        law = FrictionLaw(creep_torque=0.5, creep_rad=0.02)
        rig = arm(law, gravity=0.0, damping=0.0)
        trace = run(rig, at(law), steps=700, command=lambda t: t)
        assert trace["force"][-1, 0] == pytest.approx(0.5, rel=0.05)


class TestGearRipple:
    def test_torque_comes_and_goes_with_the_teeth(self) -> None:
        ripple = GearRipple(torque=0.4, teeth=20)
        trace = several(ripple, np.linspace(-0.5, 0.5, 7))
        expected = -0.4 * np.sin(20 * trace["angle"][-1])
        np.testing.assert_allclose(trace["force"][-1], expected, atol=2e-3)
        assert np.abs(expected).max() > 0.2


class TestThermalFade:
    def test_torque_fades_by_its_time_constant_and_from_its_age_on(self) -> None:
        fade = ThermalFade(loss=0.6, minutes=0.5, already_minutes=0.25)
        rig = wall(fade, period_s=1.0, timestep=0.5)
        trace = run(rig, at(fade, age_s=10.0), steps=100, command=0.2)
        age = 10.0 + 15.0 + np.arange(100)
        share = 1.0 - 0.6 * (1.0 - np.exp(-age / 30.0))
        np.testing.assert_allclose(arrived(trace)[:, 0] / 0.2, share, rtol=1e-3)


WATCHED = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0" integrator="implicitfast"/>
  <worldbody>
    <body><joint name="j" axis="0 0 1" armature="1e9"/><geom size="0.1"/></body>
  </worldbody>
  <actuator><position name="j" joint="j" kp="10"/></actuator>
  <sensor>
    <actuatorfrc name="force" actuator="j"/><actuatorfrc name="truth/force" actuator="j"/>
  </sensor>
</mujoco>
"""


class TestBusHiccups:
    hiccups = BusHiccups(per_minute=30.0, shortest_s=0.1, longest_s=0.3)

    def stalls(self, *seeds: int, steps: int = 2000) -> tuple[np.ndarray, np.ndarray]:
        """When no command got through, and when the reading was the last one, (steps, n) each."""
        rig = Rig(WATCHED, self.hiccups, period_s=0.01)
        points = [at(self.hiccups, seed=seed) for seed in seeds]
        trace = run(rig, *points, steps=steps, command=lambda t: t + 1.0, seeds=seeds)
        commands, readings = trace["truth/force"][1:], trace["force"][1:]
        return np.abs(np.diff(commands, axis=0)) < 0.05, np.abs(np.diff(readings, axis=0)) < 0.05

    def test_commands_and_readings_stall_together(self) -> None:
        commands, readings = self.stalls(*range(8))
        # a reading is taken after its command has acted: it may meet the end of a burst
        late = readings[1:] & commands[:-1]
        assert (commands.sum() > 500) and (late.sum() > 0.9 * commands.sum())
        assert readings.sum() < 1.1 * commands.sum()

    def test_bursts_are_as_many_and_as_long_as_declared(self) -> None:
        commands, _ = self.stalls(*range(16))
        edges = np.diff(np.pad(commands.T.astype(int), ((0, 0), (1, 1))), axis=1)
        begin, end = (np.argwhere(edges == side) for side in (1, -1))
        lengths = 0.01 * (end - begin)[:, 1]
        assert len(lengths) == pytest.approx(16 * 20 / (2.0 + 0.2), rel=0.2)
        whole = lengths[(begin[:, 1] > 0) & (end[:, 1] < commands.shape[0])]
        assert 0.09 < whole.min() < 0.14 and np.quantile(whole, 0.9) < 0.32
        assert np.median(whole) == pytest.approx(0.2, abs=0.04)

    def test_each_episode_has_its_own(self) -> None:
        first, again, other = self.stalls(7, 7, 8)[0].T
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


class TestLateFrames:
    def sliding(self, frames: LateFrames) -> tuple[np.ndarray, np.ndarray]:
        rig = tabletop(frames, slope_rad=0.6)
        trace = run(rig, at(frames), steps=60)
        return trace["place"][1:, 0, 0], trace["truth/place"][1:, 0, 0]

    def test_what_is_seen_stands_still_between_frames(self) -> None:
        seen, true = self.sliding(LateFrames(frame_s=0.05))
        steps = np.arange(4, 60)  # the first frame is of the start, the second of step 4
        np.testing.assert_array_equal(seen[4:], true[4 + (steps - 4) // 5 * 5])

    def test_a_late_frame_shows_the_past(self) -> None:
        seen, true = self.sliding(LateFrames(frame_s=0.01, chance=1.0, late_s=0.12))
        np.testing.assert_allclose(seen[12:], true[:-12])


class TestUndeclaredShape:
    @pytest.mark.parametrize("shape", ["ball", "cylinder", "hexagon", "roller", "rounded", "wedge"])
    def test_it_stands_as_tall_as_the_box(self, shape) -> None:
        other = UndeclaredShape(shape=shape)
        rig = tabletop(other, start={"cube": [0, 0, 0.021, 1, 0, 0, 0]})
        worlds = worlds_at(rig, at(other))
        for _ in range(60):
            worlds.step(np.zeros((1, 0)))
        assert worlds.privileged["truth/place"][0, 2] == pytest.approx(0.02, abs=1e-3)
        assert worlds.compiled.model.body_mass[-1] == pytest.approx(0.1)

    def test_a_ball_rolls_where_a_box_rests(self) -> None:
        slope = {"slope_rad": 0.15, "friction": "0.8 0.8 0.001 0.0001 0.0001"}
        ball = UndeclaredShape(shape="ball")
        rolled = run(tabletop(ball, **slope), at(ball), steps=50)["truth/place"][-1, 0, 0]
        oil = OilFilm(pairs="object-table", share=0.999)  # a box, as it was
        rested = run(tabletop(oil, **slope), at(oil), steps=50)["truth/place"][-1, 0, 0]
        assert rolled > 0.05 > 0.005 > abs(rested)

    def test_a_world_without_the_object_is_told(self) -> None:
        with pytest.raises(UnknownName, match="no object named 'cube'"):
            UndeclaredShape(shape="ball").parameters(get("so101/reach").model)


class TestOilFilm:
    def test_a_box_slides_with_the_friction_that_is_left(self) -> None:
        oil = OilFilm(pairs="object-table", share=0.5)
        trace = run(tabletop(oil, slope_rad=0.5), at(oil), steps=60)
        expected = GRAVITY * (np.sin(0.5) - 0.5 * 0.3 * np.cos(0.5))
        assert acceleration(trace)[0, 0] == pytest.approx(expected, rel=0.03)

    def test_an_unknown_pair_offers_the_known(self) -> None:
        oil = OilFilm(pairs="object-tabel", share=0.5)
        with pytest.raises(UnknownName, match="object-table"):
            oil.parameters(tabletop(oil).model)


MOUNTED = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="base">
      <geom type="box" size="0.01 0.01 0.01" mass="0.1" contype="0" conaffinity="0"/>
      <body name="beam"><joint name="j" axis="0 0 1" damping="1"/>
        <geom type="box" pos="0.15 0 0" size="0.15 0.01 0.01" mass="0.2" contype="0"
              conaffinity="0"/>
        <site name="tip" pos="0.3 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator><position name="j" joint="j" kp="10"/></actuator>
  <sensor><framepos name="truth/tip" objtype="site" objname="tip"/></sensor>
</mujoco>
"""


class TestWobblyMount:
    def test_it_sags_by_the_torque_on_it(self) -> None:
        mount = WobblyMount(stiffness=10.0, damping=0.5)
        tip = run(Rig(MOUNTED, mount), at(mount), steps=2000)["truth/tip"][-1, 0]
        sag = np.arctan2(-tip[2], tip[0])
        assert sag == pytest.approx(0.2 * GRAVITY * 0.15 * np.cos(sag) / 10.0, rel=1e-2)

    def test_only_a_fixed_body_can_be_mounted_so(self) -> None:
        mount = WobblyMount(body="beam", stiffness=1.0)
        with pytest.raises(UnknownName, match="base"):
            mount.parameters(Rig(MOUNTED, mount).model)


class TestTorque:
    def test_without_it_a_beam_falls_freely(self) -> None:
        rig = arm(Torque(), damping=0.0)
        trace = run(rig, {Torque.name: 0.0}, {Torque.name: 1.0}, steps=20, command=0.0)
        falling, held = trace["speed"][-1] / trace["time"][-1]
        assert falling == pytest.approx(ARM_TORQUE / (ARM_INERTIA + ARM_ARMATURE), rel=1e-2)
        assert held < 0.9 * falling
        assert trace["force"][-1, 0] == 0.0

    def test_with_it_nothing_changes(self) -> None:
        switched = run(arm(Torque()), {Torque.name: 1.0}, steps=50, command=0.4)["angle"]
        plain = run(arm(Reaction()), {"human/reaction_delay": 0.0}, steps=50, command=0.4)["angle"]
        assert np.array_equal(switched, plain)


class TestPerCommand:
    def test_a_lost_command_stays_lost_until_the_next_one(self) -> None:
        rig = wall(PerCommand(LostCommands()))
        commands = np.repeat(np.arange(1.0, 501.0)[:, None], 4, axis=0) * np.ones(2)
        point = {"latency/drop_probability": 0.3}
        found = arrived(run(rig, point, steps=2000, command=commands)).reshape(500, 4)
        np.testing.assert_allclose(found, found[:, [0] * 4], atol=1e-3)  # one fate for all four
        lost = (np.diff(found[:, 0]) < 0.5).mean()
        assert lost == pytest.approx(0.3, abs=0.06)

    def test_noise_is_drawn_once_for_each_command(self) -> None:
        rig = wall(PerCommand(CommandNoise()))
        commands = np.repeat(np.arange(1.0, 101.0)[:, None], 4, axis=0) * np.ones(2)
        point = {"actuation/command_noise": 0.01}
        found = arrived(run(rig, point, steps=400, command=commands)).reshape(100, 4)
        np.testing.assert_allclose(found, found[:, [0] * 4], atol=1e-4)
        assert np.std(found[:, 0] - np.arange(1, 101)) == pytest.approx(0.01, rel=0.3)


def test_two_effects_of_one_kind_stand_side_by_side() -> None:
    pair = [
        CableDrag(joints="elbow_flex", pull=0.5, tied_rad=1.0),
        CableDrag(joints="wrist_flex", pull=0.2),
    ]
    world = rehearsed(get("so101/arm"), pair, 0.04)
    spec = world.spec()
    for effect in pair:
        effect.edit(spec, world.space)
    model = spec.compile()
    elbow, wrist = model.joint("elbow_flex"), model.joint("wrist_flex")
    assert model.jnt_stiffnesspoly[elbow.id].tolist() == [0.0, 0.5]
    assert model.qpos_spring[elbow.qposadr[0]] == pytest.approx(1.0)
    assert model.jnt_stiffnesspoly[wrist.id].tolist() == [0.0, 0.2]
    assert len({p.name for p in world.catalogue}) == len(world.catalogue)


def test_a_real_arm_with_every_hidden_effect_compiles_and_moves() -> None:
    effects: list[Hidden] = [
        FrictionLaw(square=0.3, creep_torque=0.2, creep_rad=0.05),
        CableDrag(joints="elbow_flex", pull=0.5),
        GearRipple(torque=0.1, teeth=28),
        ThermalFade(loss=0.3, minutes=5.0),
        BusHiccups(per_minute=20.0, shortest_s=0.1, longest_s=0.2),
        LateFrames(frame_s=0.08, chance=0.2, late_s=0.2),
        UndeclaredShape(shape="hexagon"),
        OilFilm(share=0.5),
        WobblyMount(stiffness=20.0),
    ]
    world = rehearsed(get("so101/lift"), effects, 0.04)
    points: dict[str, float] = {}
    for effect in world.effects():
        if isinstance(effect, Hidden):
            points |= at(effect)
    worlds = worlds_at(world, points, points, seeds=np.array([1, 2]))
    assert worlds.compiled.model.nu == world.model.nu
    for _ in range(50):
        worlds.step(worlds.hold)
    assert not worlds.divergences
