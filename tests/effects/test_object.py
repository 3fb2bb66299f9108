"""Object: mass, size, balance and faces of the thing to be handled."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from tests.effects.rigs import GRAVITY, Rig, acceleration, run, tabletop, worlds_at
from trueup.effects import Box, FaceFriction, manipulated
from trueup.effects.object import FACE_INSET
from trueup.worlds import get
from trueup.worlds.so101 import REACH

MASS = 0.1
HALF = (0.01, 0.02, 0.03)  # m; no two edges alike, so that no axis can be confused


def held(joint: str, *, kp: float, armature: float = 0.0, damping: float = 0.0) -> Rig:
    """The box on one servo about (or along) an axis through its centre."""
    xml = f"""
    <mujoco>
      <option timestep="0.001" gravity="0 0 -{GRAVITY}" integrator="implicitfast"/>
      <worldbody>
        <body name="cube">
          <joint name="servo" {joint} armature="{armature}" damping="{damping}"/>
          <geom name="cube" type="box" size="{HALF[0]} {HALF[1]} {HALF[2]}" mass="{MASS}"
                contype="0" conaffinity="0"/>
        </body>
      </worldbody>
      <actuator><position name="servo" joint="servo" kp="{kp}"/></actuator>
      <sensor>
        <jointpos name="truth/at" joint="servo"/>
        <jointvel name="truth/speed" joint="servo"/>
      </sensor>
    </mujoco>
    """
    return Rig(xml, Box(body="cube"), period_s=0.001)


def solid(axis: int, mass: float = MASS, half: tuple[float, ...] = HALF) -> float:
    """Principal inertia of a solid box."""
    return mass / 3 * sum(h * h for i, h in enumerate(half) if i != axis)


class TestBox:
    def test_weight_is_mass_times_gravity(self) -> None:
        masses = np.array([0.02, 0.1, 0.5])
        rig = held('type="slide" axis="0 0 1"', kp=100.0, damping=10.0)
        trace = run(rig, *({"object/cube/mass": m} for m in masses), steps=1500)
        np.testing.assert_allclose(trace["truth/at"][-1], -masses * GRAVITY / 100.0, rtol=1e-3)

    @pytest.mark.parametrize("axis", [0, 1, 2])
    def test_inertia_is_that_of_a_solid_box_times_its_factor(self, axis: int) -> None:
        about = " ".join("1" if i == axis else "0" for i in range(3))
        rig = held(f'axis="{about}"', kp=0.01)
        rig._xml = rig._xml.replace(f"0 0 -{GRAVITY}", "0 0 0")
        sizes = {f"object/cube/size_{a}": 2 * h for a, h in zip("xyz", HALF, strict=True)}
        longer = sizes | {"object/cube/size_x": 0.03}
        points = [
            {**sizes, "object/cube/mass": 0.1, "object/cube/inertia": 1.0},
            {**sizes, "object/cube/mass": 0.3, "object/cube/inertia": 1.0},
            {**sizes, "object/cube/mass": 0.1, "object/cube/inertia": 1.6},
            {**longer, "object/cube/mass": 0.1, "object/cube/inertia": 1.0},
        ]
        speed = run(rig, *points, steps=1, command=0.1)["truth/speed"][-1]
        expected = [
            solid(axis),
            solid(axis, mass=0.3),
            1.6 * solid(axis),
            solid(axis, half=(0.015, 0.02, 0.03)),
        ]
        np.testing.assert_allclose(0.01 * 0.1 * 0.001 / speed, expected, rtol=0.01)

    @pytest.mark.parametrize("axis", ["x", "y", "z"])
    def test_an_edge_is_as_long_as_it_says(self, axis: str) -> None:
        rig = tabletop(Box(body="cube"))
        points = [{f"object/cube/size_{axis}": edge} for edge in (0.03, 0.04, 0.06)]
        height = run(rig, *points, steps=100)["truth/place"][-1, :, 2]
        expected = [0.015, 0.02, 0.03] if axis == "z" else [0.02] * 3
        np.testing.assert_allclose(height, expected, atol=2e-4)

    def test_a_larger_box_touches_with_its_corners(self) -> None:
        # put on an edge, 45° about y, it must not sink in before it falls over
        edge = 0.06
        lean = [np.cos(np.pi / 8), 0.0, np.sin(np.pi / 8), 0.0]
        rig = tabletop(Box(body="cube"), start={"cube": [0, 0, 0.5**0.5 * edge + 0.001, *lean]})
        points = [{f"object/cube/size_{axis}": edge for axis in "xyz"}]
        height = run(rig, *points, steps=5)["truth/place"][:, 0, 2]
        assert height.min() > 0.5**0.5 * edge - 0.001

    def test_the_centre_of_mass_pulls_to_its_side(self) -> None:
        rig = held('axis="0 1 0"', kp=0.5, damping=0.05)
        shifts = np.array([-0.006, 0.0, 0.003])
        trace = run(rig, *({"object/cube/com_x": s} for s in shifts), steps=3000)
        q = trace["truth/at"][-1]  # a torque of m·g·x turns +x down, about +y
        np.testing.assert_allclose(q, MASS * GRAVITY * shifts * np.cos(q) / 0.5, atol=1e-5)
        assert q[0] < -0.01 < 0.005 < q[2]

    def test_a_weight_low_down_steadies_the_box(self) -> None:
        slope_rad = (
            0.5  # a box this tall stands up to atan(1/2) = 0.46 with its weight in the middle
        )
        rig = tabletop(
            Box(body="cube"),
            geom='type="box" size="0.01 0.01 0.02"',
            slope_rad=slope_rad,
            friction="2 2 0.002 0.002 0.002",
        )
        points = [{"object/cube/com_z": z} for z in (0.0, -0.006)]
        turn = run(rig, *points, steps=100)["truth/turn"][-1]
        tipped = 1.0 - np.abs(turn[:, 0])
        assert tipped[0] > 0.1
        assert tipped[1] < 0.01


class TestFaceFriction:
    slope_rad, mu = 0.42, 0.3  # tan(0.42) = 0.447

    def sliding(self, start: list[float], *points) -> np.ndarray:
        rig = tabletop(
            FaceFriction(body="cube"),
            slope_rad=self.slope_rad,
            start={"cube": [0, 0, 0.02, *start]},
        )
        return acceleration(run(rig, *points, steps=60))[:, 0]

    @pytest.mark.parametrize(
        ("down", "axis"),
        [
            ([1.0, 0, 0, 0], "z"),
            ([0.5**0.5, 0, 0.5**0.5, 0], "x"),  # a quarter turn about y stands it on its x face
            ([0.5**0.5, 0.5**0.5, 0, 0], "y"),
        ],
    )
    def test_only_the_face_below_counts(self, down: list[float], axis: str) -> None:
        names = [f"object/cube/friction_{a}" for a in "xyz"]
        mine = f"object/cube/friction_{axis}"
        others = {name: 2.0 for name in names if name != mine}
        found = self.sliding(down, {mine: 1.0}, others, {mine: 0.5}, {mine: 2.0})
        pull, press = GRAVITY * np.sin(self.slope_rad), GRAVITY * np.cos(self.slope_rad)
        free = pull - self.mu * press
        np.testing.assert_allclose(found[:2], free, rtol=0.05)
        np.testing.assert_allclose(found[2], pull - 0.5 * self.mu * press, rtol=0.05)
        assert abs(found[3]) < 0.02

    def test_the_box_keeps_its_inertia(self) -> None:
        geom = 'type="box" size="0.01 0.02 0.03"'
        rig = tabletop(*manipulated(body="cube"), geom=geom)
        whole, faced = (
            worlds_at(rig, point).batch.get_model(0)
            for point in ({"object/cube/mass": 0.1}, {"object/cube/friction_x": 1.5})
        )
        for model in (whole, faced):
            np.testing.assert_allclose(model.body("cube").mass, 0.1)
            np.testing.assert_allclose(model.body("cube").iquat, [1, 0, 0, 0], atol=1e-9)
            np.testing.assert_allclose(
                model.body("cube").inertia, [solid(axis) for axis in range(3)], rtol=1e-9
            )

    def test_the_faces_follow_the_size(self) -> None:
        rig, edges = tabletop(*manipulated(body="cube")), (0.03, 0.04, 0.06)
        sizes = {f"object/cube/size_{axis}": edge for axis, edge in zip("xyz", edges, strict=True)}
        point = {**sizes, "object/cube/friction_z": 1.5}
        trace = run(rig, point, steps=100)
        np.testing.assert_allclose(trace["truth/place"][-1, 0, 2], 0.03, atol=2e-4)
        model = worlds_at(rig, point).batch.get_model(0)
        for axis, face in enumerate("xyz"):
            size = model.geom(f"cube_face_{face}").size
            assert np.argmin(np.array([0.015, 0.02, 0.03]) - size) == axis
            np.testing.assert_allclose(size, [0.015, 0.02, 0.03], atol=1.01 * FACE_INSET)

    def test_a_squeezed_face_carries_the_whole_squeeze(self) -> None:
        """Else a label on one face would change how another one holds."""
        world = get("so101/lift")
        worlds = worlds_at(world, *[{"object/cube/friction_x": 1.0}] * 2, seeds=[49, 77])
        cube = worlds.truth["truth/cube_position"].copy()
        home, goal = worlds.hold, np.tile(REACH, (2, 1))
        goal[:, 0], goal[:, 5] = -np.arctan2(cube[:, 1], cube[:, 0] - 0.0388), 0.5
        for k in range(80):
            command = home + min(1.0, k / 12) * (goal - home)
            if k >= 15:
                command[:, 5] = -0.1
            worlds.step(command)
        for row in range(2):
            for finger in ("fingertip_fixed", "fingertip_moving"):
                carried = squeeze(*worlds.snapshot(row), finger)
                assert sum(carried.values()) > 5.0  # N; it is being held
                assert max(carried.values()) > 0.97 * sum(carried.values()), carried


def squeeze(model: mujoco.MjModel, data: mujoco.MjData, finger: str) -> dict[str, float]:
    """Normal force, N, between a finger and each face box of the cube."""
    carried = dict.fromkeys((f"cube_face_{axis}" for axis in "xyz"), 0.0)
    for i in range(data.ncon):
        pair = {model.geom(int(geom)).name for geom in data.contact[i].geom}
        force = np.zeros(6)
        mujoco.mj_contactForce(model, data, i, force)
        for face in carried.keys() & pair if finger in pair else ():
            carried[face] += force[0]
    return carried
