"""Actuation: each effect alone moves the beam as mechanics says."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effects.rigs import (
    ARM_ARMATURE,
    ARM_INERTIA,
    ARM_KP,
    ARM_MASS,
    ARM_TORQUE,
    GRAVITY,
    arm,
    arrived,
    link_angle,
    run,
    wall,
)
from trueup.effects import (
    Backlash,
    CommandNoise,
    Fade,
    LinkInertia,
    Stribeck,
    SupplyVoltage,
    ZeroOffset,
    joint_friction,
    servo,
)

SETTLED = 1000  # control steps; 2 s


def droop(torque: float, kp: float) -> float:
    """The angle q at which a servo holds a beam: kp·q = torque·cos(q)."""
    q = 0.0
    for _ in range(50):
        q = torque / kp * np.cos(q)
    return q


class TestServo:
    def test_droops_by_gravity_over_kp(self) -> None:
        gains = (5.0, 10.0, 20.0)
        trace = run(arm(*servo()), *({"actuation/hinge/kp": kp} for kp in gains), steps=SETTLED)
        expected = [droop(ARM_TORQUE, kp) for kp in gains]
        np.testing.assert_allclose(trace["angle"][-1], expected, rtol=1e-3)

    @pytest.mark.parametrize("where", ["kv", "damping"])
    def test_damping_sets_the_time_constant(self, where: str) -> None:
        rig = arm(*servo(), *joint_friction(), gravity=0.0, damping=0.6)
        amounts = {"kv": (0.6, 1.2, 1.8), "damping": (1.2, 1.8, 2.4)}[where]
        points = [{f"actuation/hinge/{where}": amount} for amount in amounts]
        trace = run(rig, *points, steps=500, command=0.1)
        total, mass = np.array([1.2, 1.8, 2.4]), ARM_INERTIA + ARM_ARMATURE
        slow_pole = (total - np.sqrt(total**2 - 4 * mass * ARM_KP)) / (2 * mass)
        left = 0.1 - trace["angle"]
        rate = np.log(left[100] / left[200]) / 0.2
        np.testing.assert_allclose(rate, slow_pole, rtol=0.02)

    def test_force_saturates_at_its_limit(self) -> None:
        limits = (2.0, 4.0, 10.0)
        points = [{"actuation/hinge/force_limit": limit} for limit in limits]
        trace = run(arm(*servo(), gravity=0.0), *points, steps=5, command=1.5)
        np.testing.assert_allclose(trace["force"].max(axis=0), limits, rtol=1e-12)
        back = run(arm(*servo(), gravity=0.0), *points, steps=5, command=-1.5)
        np.testing.assert_allclose(back["force"].min(axis=0), [-2, -4, -10], rtol=1e-12)


class TestJointFriction:
    def test_coulomb_friction_opens_a_dead_zone(self) -> None:
        rig = arm(*joint_friction(), gravity=0.0, damping=2.0, frictionloss=0.1)
        losses = np.array([0.05, 0.1, 0.4])
        points = [{"actuation/hinge/frictionloss": loss} for loss in losses]
        from_above = run(rig, *points, steps=2000, command=lambda t: 0.3 if t < 1 else 0.0)
        from_below = run(rig, *points, steps=2000, command=lambda t: -0.3 if t < 1 else 0.0)
        width = from_above["angle"][-1] - from_below["angle"][-1]
        np.testing.assert_allclose(width, 2 * losses / ARM_KP, rtol=0.02)

    def test_armature_slows_the_start(self) -> None:
        rig = arm(*joint_friction(), gravity=0.0, damping=0.001)
        reflected = np.array([0.0025, 0.01, 0.04])
        points = [{"actuation/hinge/armature": a} for a in reflected]
        trace = run(rig, *points, steps=1, command=0.1)
        expected = ARM_KP * 0.1 / (ARM_INERTIA + reflected)
        np.testing.assert_allclose(trace["speed"][1] / 0.002, expected, rtol=5e-3)

    def test_damping_is_a_torque_per_speed(self) -> None:
        rig = arm(*joint_friction(), gravity=0.0, damping=0.5)
        points = [{"actuation/hinge/damping": d} for d in (0.25, 0.5, 1.0)]
        trace = run(rig, *points, steps=800, command=lambda t: 1.0 * t)
        np.testing.assert_allclose(trace["speed"][-1], 1.0, rtol=1e-3)
        np.testing.assert_allclose(trace["force"][-1], [0.25, 0.5, 1.0], rtol=1e-2)


class TestSupplyVoltage:
    name = "actuation/supply_voltage"

    def test_scales_the_droop(self) -> None:
        ratios = (0.6, 1.0, 1.15)
        trace = run(arm(SupplyVoltage()), *({self.name: r} for r in ratios), steps=SETTLED)
        expected = [droop(ARM_TORQUE, ARM_KP * ratio) for ratio in ratios]
        np.testing.assert_allclose(trace["angle"][-1], expected, rtol=1e-3)

    def test_scales_the_torque_limit(self) -> None:
        points = [{self.name: ratio} for ratio in (0.6, 1.0)]
        trace = run(arm(SupplyVoltage(), limit=2.0), *points, steps=3, command=1.5)
        np.testing.assert_allclose(trace["force"].max(axis=0), [1.2, 2.0], rtol=1e-12)

    def test_scales_the_gain_that_another_effect_sets(self) -> None:
        rig = arm(*servo(), SupplyVoltage())
        trace = run(rig, {self.name: 0.8, "actuation/hinge/kp": 20.0}, steps=SETTLED)
        np.testing.assert_allclose(trace["angle"][-1], droop(ARM_TORQUE, 16.0), rtol=1e-3)


class TestFade:
    name = "actuation/fade_rate"

    def test_droop_grows_as_the_motor_warms(self) -> None:
        rig = arm(Fade(), period_s=0.05)
        trace = run(rig, {self.name: 0.0}, {self.name: 0.02}, steps=1200)
        np.testing.assert_allclose(
            trace["angle"][[200, -1], 0], droop(ARM_TORQUE, ARM_KP), rtol=1e-3
        )
        after_10_s, after_60_s = trace["angle"][[200, -1], 1]
        np.testing.assert_allclose(after_10_s, droop(ARM_TORQUE, 0.8 * ARM_KP), rtol=5e-3)
        np.testing.assert_allclose(after_60_s, droop(ARM_TORQUE, 0.3 * ARM_KP), rtol=5e-3)


class TestStribeck:
    torque, speed = "actuation/hinge/stribeck_torque", "actuation/hinge/stribeck_velocity"

    def rig(self):
        return arm(Stribeck(), gravity=0.0, damping=0.1, frictionloss=0.05, kv=0.2)

    @pytest.mark.parametrize("extra", [0.1, 0.2])
    def test_adds_to_the_torque_that_breaks_a_joint_away(self, extra: float) -> None:
        trace = run(
            self.rig(),
            {self.torque: 0.0},
            {self.torque: extra},
            steps=2500,
            command=lambda t: 0.01 * t,  # a tenth of the Stribeck velocity
        )
        effort = trace["force"][-250:].mean(axis=0)
        np.testing.assert_allclose(effort[0], 0.05, atol=0.004)
        np.testing.assert_allclose(effort[1] - effort[0], extra, rtol=0.03)
        # until then the joint gives by no more than a few times the bend of its bristles
        stuck = trace["force"][:, 1] < 0.05 + 0.8 * extra
        assert 0.0005 < trace["angle"][stuck, 1].max() < 0.006

    def test_is_gone_at_speed(self) -> None:
        trace = run(
            self.rig(),
            {self.torque: 0.0, self.speed: 0.1},
            {self.torque: 0.3, self.speed: 0.1},
            {self.torque: 0.3, self.speed: 0.8},
            steps=600,
            command=lambda t: 1.2 * t,
        )
        effort = trace["force"][400:].mean(axis=0)
        np.testing.assert_allclose(effort[1] - effort[0], 0.02 * 0.3, atol=0.003)
        # a Stribeck velocity near the speed leaves 0.02 + 0.98·exp(-(1.2/0.8)²) of it
        np.testing.assert_allclose(effort[2] - effort[0], 0.3 * 0.123, rtol=0.15)


class TestBacklash:
    name = "actuation/hinge/backlash"

    def test_the_link_droops_by_half_the_width_beyond_the_encoder(self) -> None:
        widths = np.array([0.0, 0.02, 0.06])
        trace = run(arm(Backlash()), *({self.name: w} for w in widths), steps=SETTLED)
        beyond = link_angle(trace)[-1] - trace["angle"][-1]
        np.testing.assert_allclose(beyond, 0.5 * widths, atol=4e-4)
        # the encoder sees the same load, so it reads the same
        np.testing.assert_allclose(trace["angle"][-1], droop(ARM_TORQUE, ARM_KP), rtol=3e-3)

    def test_the_link_falls_through_the_play_when_the_load_turns_round(self) -> None:
        upside = run(arm(Backlash(), gravity=-GRAVITY), {self.name: 0.04}, steps=SETTLED)
        beyond = link_angle(upside)[-1] - upside["angle"][-1]
        np.testing.assert_allclose(beyond, -0.02, atol=4e-4)

    def test_is_narrower_than_the_joint(self) -> None:
        parameter = arm(Backlash()).catalogue[self.name]
        assert parameter.high <= 0.1 * 4.0  # the beam's range is ±2 rad


class TestZeroOffset:
    name = "actuation/hinge/zero_offset"

    def test_the_encoder_agrees_with_the_command_and_the_link_stands_off(self) -> None:
        offsets = np.array([-0.3, 0.0, 0.1])
        rig = arm(ZeroOffset(), gravity=0.0)
        trace = run(rig, *({self.name: o} for o in offsets), steps=SETTLED, command=0.5)
        np.testing.assert_allclose(trace["angle"][-1], 0.5, atol=1e-6)
        np.testing.assert_allclose(link_angle(trace)[-1], 0.5 - offsets, atol=1e-6)

    def test_mechanical_stops_stay_with_the_link(self) -> None:
        rig = arm(ZeroOffset(), gravity=0.0)
        trace = run(rig, {self.name: 0.3}, {self.name: 0.0}, steps=SETTLED, command=2.6)
        np.testing.assert_allclose(link_angle(trace)[-1], 2.0, atol=0.02)
        np.testing.assert_allclose(trace["angle"][-1], [2.3, 2.0], atol=0.02)


class TestLinkInertia:
    def test_droop_is_proportional_to_mass(self) -> None:
        factors = (0.5, 1.0, 2.0)
        points = [{"actuation/arm/mass": ARM_MASS * f} for f in factors]
        trace = run(arm(LinkInertia()), *points, steps=SETTLED)
        expected = [droop(ARM_TORQUE * f, ARM_KP) for f in factors]
        np.testing.assert_allclose(trace["angle"][-1], expected, rtol=1e-3)

    def test_inertia_follows_mass(self) -> None:
        factors = np.array([0.5, 1.0, 2.0])
        points = [{"actuation/arm/mass": ARM_MASS * f} for f in factors]
        trace = run(arm(LinkInertia(), gravity=0.0, damping=0.001), *points, steps=1, command=0.1)
        expected = ARM_KP * 0.1 / (ARM_INERTIA * factors + ARM_ARMATURE)
        np.testing.assert_allclose(trace["speed"][1] / 0.002, expected, rtol=5e-3)

    def test_droop_follows_the_centre_of_mass(self) -> None:
        shifts = (-0.008, 0.0, 0.008)
        points = [{"actuation/arm/com_x": shift} for shift in shifts]
        trace = run(arm(LinkInertia()), *points, steps=SETTLED)
        expected = [droop(ARM_TORQUE + ARM_MASS * GRAVITY * s, ARM_KP) for s in shifts]
        np.testing.assert_allclose(trace["angle"][-1], expected, rtol=1e-3)

    def test_a_centre_of_mass_beside_the_plane_of_motion_changes_no_droop(self) -> None:
        trace = run(arm(LinkInertia()), {"actuation/arm/com_y": 0.008}, steps=SETTLED)
        np.testing.assert_allclose(trace["angle"][-1], droop(ARM_TORQUE, ARM_KP), rtol=1e-3)

    def test_a_centre_of_mass_above_the_hinge_sways_outwards(self) -> None:
        upright = 0.5  # rad below level: the part above the beam's axis now pulls forward
        rig = arm(LinkInertia())
        plain, raised = run(
            rig,
            {"actuation/arm/com_z": 0.0},
            {"actuation/arm/com_z": 0.008},
            steps=SETTLED,
            command=upright,
        )["angle"][-1]
        q = plain
        for _ in range(50):
            torque = ARM_TORQUE * np.cos(q) + ARM_MASS * GRAVITY * 0.008 * np.sin(q)
            q = upright + torque / ARM_KP
        np.testing.assert_allclose(raised, q, atol=2e-6)
        assert raised - plain > 5e-4


class TestCommandNoise:
    name = "actuation/command_noise"

    @pytest.mark.parametrize("std", [0.005, 0.02])
    def test_has_the_standard_deviation_it_says(self, std: float) -> None:
        trace = run(wall(CommandNoise()), *[{self.name: std}] * 4, steps=1000, seeds=range(4))
        noise = arrived(trace)
        np.testing.assert_allclose(noise.std(axis=0), std, rtol=0.1)
        np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=5 * std / 1000**0.5)
        # white, and each joint and world on its own
        assert abs(np.corrcoef(noise[1:, 0], noise[:-1, 0])[0, 1]) < 0.15
        assert abs(np.corrcoef(noise[:, 0], arrived(trace, "right")[:, 0])[0, 1]) < 0.15
        assert np.abs(np.triu(np.corrcoef(noise.T), 1)).max() < 0.15

    def test_repeats_with_the_seed(self) -> None:
        trace = run(wall(CommandNoise()), *[{self.name: 0.01}] * 3, steps=50, seeds=[7, 8, 7])
        noise = arrived(trace)
        assert np.array_equal(noise[:, 0], noise[:, 2])
        assert not np.array_equal(noise[:, 0], noise[:, 1])
