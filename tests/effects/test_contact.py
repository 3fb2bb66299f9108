"""Contact: friction, stiffness and damping of a surface pair act as in a textbook."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effects.rigs import GRAVITY, acceleration, run, tabletop, worlds_at
from trueup.effects import contact, soft_fingertips, surface
from trueup.worlds import get

SLIDING, TORSIONAL, ROLLING, STIFFNESS, DAMPING = (
    f"contact/object-table/{name}"
    for name in ("sliding", "torsional", "rolling", "stiffness", "damping")
)
BALL = 'type="sphere" size="0.02"'


class TestSliding:
    @pytest.mark.parametrize("slope_rad", [0.2, 0.5])
    def test_a_box_slips_above_the_angle_of_friction_and_not_below(self, slope_rad: float) -> None:
        grip = np.tan(slope_rad)
        points = [{SLIDING: grip * share} for share in (0.9, 1.1)]
        trace = run(tabletop(*contact(), slope_rad=slope_rad), *points, steps=100)
        moved = trace["truth/place"][-1, :, 0] - trace["truth/place"][10, :, 0]
        assert moved[0] > 0.05
        assert abs(moved[1]) < 0.001

    def test_a_sliding_box_accelerates_by_what_friction_leaves(self) -> None:
        mu = np.array([0.1, 0.2, 0.3])
        rig = tabletop(*contact(), slope_rad=0.5)
        found = acceleration(run(rig, *({SLIDING: m} for m in mu), steps=60))[:, 0]
        expected = GRAVITY * (np.sin(0.5) - mu * np.cos(0.5))
        np.testing.assert_allclose(found, expected, rtol=0.02)

    def test_it_is_the_same_across_the_slope(self) -> None:
        turned = {"cube": [0, 0, 0.02, 0.5**0.5, 0, 0, 0.5**0.5]}
        rig = tabletop(*contact(), slope_rad=0.5, start=turned)
        found = acceleration(run(rig, {SLIDING: 0.2}, steps=60))[0, 0]
        np.testing.assert_allclose(found, GRAVITY * (np.sin(0.5) - 0.2 * np.cos(0.5)), rtol=0.02)

    def test_a_geom_without_pairs_has_friction_too(self) -> None:
        rig = tabletop(*surface("cube"), slope_rad=0.5)
        rig._xml = rig._xml.replace('contype="0" conaffinity="0"', 'friction="0.1 0.002 0.002"')
        rig._xml = (
            rig._xml[: rig._xml.index("<contact>")]
            + rig._xml[rig._xml.index("</contact>") + len("</contact>") :]
        )
        points = [{"contact/cube/sliding": mu} for mu in (0.1, 0.3)]
        found = acceleration(run(rig, *points, steps=60))[:, 0]
        # MuJoCo takes the larger of the two surfaces; that of the table is 0.1
        expected = GRAVITY * (np.sin(0.5) - np.array([0.1, 0.3]) * np.cos(0.5))
        np.testing.assert_allclose(found, expected, rtol=0.02)


def test_torsional_friction_holds_a_spinning_ball_by_its_weight_times_the_coefficient() -> None:
    """A ball that can only sink and spin, turned slowly by a servo."""
    spin = """
      <joint name="sink" type="slide" axis="0 0 1"/>
      <joint name="spin" axis="0 0 1" damping="0"/>"""
    servo = """
      <actuator><position name="spin" joint="spin" kp="0.05"/></actuator>"""
    sensed = f'{servo}<sensor><actuatorfrc name="truth/torque" actuator="spin"/></sensor>'
    rig = tabletop(*contact(), geom=BALL, joints=spin, extra=sensed)
    coefficients = np.array([0.001, 0.002, 0.008])
    points = [{TORSIONAL: c} for c in coefficients]
    torque = run(rig, *points, steps=400, command=lambda t: 0.2 * t)["truth/torque"]
    # the servo swings about the torque it needs
    np.testing.assert_allclose(torque[200:].mean(axis=0), coefficients * 0.1 * GRAVITY, rtol=0.06)


class TestRolling:
    slope_rad, radius = 0.05, 0.02

    def test_a_ball_rolls_slower_by_the_coefficient_over_its_radius(self) -> None:
        rig = tabletop(*contact(), geom=BALL, slope_rad=self.slope_rad)
        arms = np.array([0.0002, 0.0005])
        found = acceleration(run(rig, *({ROLLING: c} for c in arms), steps=100))[:, 0]
        push = GRAVITY * (np.sin(self.slope_rad) - arms / self.radius * np.cos(self.slope_rad))
        np.testing.assert_allclose(found, push / 1.4, rtol=0.03)

    def test_a_ball_stays_where_its_rolling_friction_exceeds_the_slope(self) -> None:
        rig = tabletop(*contact(), geom=BALL, slope_rad=self.slope_rad)
        least = self.radius * np.tan(self.slope_rad)
        points = [{ROLLING: least * share} for share in (0.8, 1.2)]
        moved = run(rig, *points, steps=200)["truth/place"][-1, :, 0]
        assert moved[0] > 0.02
        assert abs(moved[1]) < 0.001


def resting_depth(*, stiffness: float = 1.0, width: float = 0.001, low=0.9, high=0.99) -> float:
    """How deep a ball of any mass rests in MuJoCo's contact: k·d·r = g·(1 - d)/d, with d = d(r)."""
    k = stiffness / (high * 0.02) ** 2  # solref 0.02 1

    def impedance(r: float) -> float:
        x = min(r / width, 1.0)
        return low + (high - low) * (2 * x * x if x < 0.5 else 1 - 2 * (1 - x) ** 2)

    lowest, highest = 0.0, 0.01
    while highest - lowest > 1e-9:
        r = 0.5 * (lowest + highest)
        d = impedance(r)
        lowest, highest = (r, highest) if k * d * r < GRAVITY * (1 - d) / d else (lowest, r)
    return lowest


class TestFirmness:
    def resting(self, *points, **options) -> np.ndarray:
        """Depth, m, at which a ball of 2 cm rests."""
        rig = tabletop(
            *contact(), *soft_fingertips(pairs="*"), geom=BALL, solref="0.02 1", **options
        )
        return 0.02 - run(rig, *points, steps=200)["truth/place"][-1, :, 2]

    def test_a_stiffer_contact_gives_less(self) -> None:
        factors = (1 / 1.5, 1.0, 1.5)
        found = self.resting(*({STIFFNESS: f} for f in factors), solimp="0.9 0.99 0.001 0.5 2")
        np.testing.assert_allclose(found, [resting_depth(stiffness=f) for f in factors], rtol=0.02)
        assert found[0] > 1.2 * found[1] > 1.4 * found[2]

    def test_with_a_constant_impedance_depth_is_weight_over_stiffness(self) -> None:
        factors = np.array([1 / 1.5, 1.0, 1.5])
        found = self.resting(*({STIFFNESS: f} for f in factors), solimp="0.9 0.9 0.001 0.5 2")
        np.testing.assert_allclose(found * factors, found[1], rtol=0.01)

    def test_damping_does_not_change_the_depth(self) -> None:
        found = self.resting(*({DAMPING: f} for f in (0.8, 1.0, 1.25)))
        np.testing.assert_allclose(found, found[1], rtol=0.01)

    def test_a_softer_pad_lets_things_sink_in(self) -> None:
        widths = (0.0002, 0.001, 0.005)
        name = "contact/fingertip-object/compliance"
        found = self.resting(
            *({name: w} for w in widths), solimp="0.9 0.99 0.001 0.5 2", pair="fingertip-object"
        )
        np.testing.assert_allclose(found, [resting_depth(width=w) for w in widths], rtol=0.02)
        assert found[0] < found[1] < found[2]

    def test_a_damped_contact_bounces_less(self) -> None:
        rig = tabletop(
            *contact(),
            geom=BALL,
            solref="0.02 0.2",
            solimp="0.9 0.9 0.001 0.5 2",
            timestep=0.001,
            start={"cube": [0, 0, 0.07, 1, 0, 0, 0]},
        )
        factors = np.array([0.8, 1.0, 1.25])
        height = run(rig, *({DAMPING: f} for f in factors), steps=60)["truth/place"][:, :, 2]
        landed = np.argmin(height < 0.021, axis=0) + np.argmax(height < 0.021, axis=0)
        rebound = np.array([height[k + 2 :, i].max() for i, k in enumerate(landed)]) - 0.02
        bounce = np.sqrt(rebound / 0.05)
        ratio = 0.2 * factors
        expected = np.exp(-np.pi * ratio / np.sqrt(1 - ratio**2))  # of a spring and a damper
        np.testing.assert_allclose(bounce, expected, rtol=0.25)
        assert (np.diff(bounce) < -0.02).all()


class TestFirmnessOfAShippedWorld:
    """The same laws at the step and the contacts that tasks really run with."""

    stiffness, damping = STIFFNESS, DAMPING

    def resting(self, *points: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
        """Depth and speed, after one second, of a cube that was put on the table."""
        worlds = worlds_at(get("so101/lift"), *points, seeds=[3] * len(points))
        speeds = []
        for _ in range(50):
            worlds.step(worlds.hold)
            speeds.append(np.linalg.norm(worlds.truth["truth/cube_velocity"], axis=-1))
        depth = 0.0125 - worlds.truth["truth/cube_position"][:, 2]
        return depth, np.max(speeds[25:], axis=0)

    @pytest.mark.parametrize("factor", [0.8, 1.1, 1.25])
    def test_damping_leaves_the_depth_alone(self, factor: float) -> None:
        depth, _ = self.resting({self.damping: 1.0}, {self.damping: factor})
        assert depth[0] > 1e-6
        np.testing.assert_allclose(depth[1], depth[0], rtol=0.1)

    @pytest.mark.parametrize("slower", [-0.3, 0.1, 0.3])
    def test_a_slower_control_loop_does_not_soften_contacts(self, slower: float) -> None:
        name = "latency/control_period_error"
        depth, _ = self.resting({name: 0.0}, {name: slower})
        np.testing.assert_allclose(depth[1], depth[0], rtol=0.1)

    @pytest.mark.parametrize("factor", [1 / 1.5, 1.5])
    def test_stiffness_sets_the_depth(self, factor: float) -> None:
        depth, _ = self.resting({self.stiffness: 1.0}, {self.stiffness: factor})
        np.testing.assert_allclose(depth[0] / depth[1], factor, rtol=0.1)

    @pytest.mark.parametrize("stiffness", [1 / 1.5, 1.0, 1.5])
    @pytest.mark.parametrize("damping", [0.8, 1.0, 1.25])
    @pytest.mark.parametrize("slower", [0.0, 0.3])
    def test_a_cube_comes_to_rest_at_the_bounds(
        self, stiffness: float, damping: float, slower: float
    ) -> None:
        point = {self.stiffness: stiffness, self.damping: damping}
        _, speed = self.resting({**point, "latency/control_period_error": slower})
        assert speed[0] < 1e-4

    def test_bounds_leave_out_what_mujoco_would_cut_off(self) -> None:
        world = get("so101/lift")
        stiffness, damping = world.catalogue[self.stiffness], world.catalogue[self.damping]
        shortest = 0.02 / (damping.high * np.sqrt(stiffness.high))
        assert shortest >= 2 * 1.3 * world.model.opt.timestep - 1e-9

    def test_a_contact_already_at_that_limit_has_no_firmness(self) -> None:
        rig = tabletop(*contact(), geom=BALL, solref="0.004 1", timestep=0.002)
        assert STIFFNESS not in rig.catalogue
