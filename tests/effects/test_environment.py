"""Environment: the place differs, and things behave as they must there."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effects.rigs import GRAVITY, acceleration, run, tabletop, worlds_at
from trueup.effects import Clutter, Obstacle, Patch, Table
from trueup.simulate import CpuWorlds
from trueup.worlds import get
from trueup.worlds.tabletop import FINGERS

HEIGHT, TILT_X, TILT_Y = (f"environment/table/{name}" for name in ("height", "tilt_x", "tilt_y"))
SLICK = "0.02 0.02 0.002 0.002 0.002"


class TestTable:
    def test_things_stand_higher_on_a_higher_table(self) -> None:
        heights = np.array([-0.03, 0.0, 0.02])
        rig = tabletop(Table(), start={"cube": [0, 0, 0.06, 1, 0, 0, 0]})
        trace = run(rig, *({HEIGHT: h} for h in heights), steps=100)
        np.testing.assert_allclose(trace["truth/place"][-1, :, 2], 0.02 + heights, atol=2e-4)

    @pytest.mark.parametrize(("name", "axis", "sign"), [(TILT_Y, 0, 1.0), (TILT_X, 1, -1.0)])
    def test_things_slide_down_a_tilted_table(self, name: str, axis: int, sign: float) -> None:
        rig = tabletop(Table(), friction=SLICK)
        tilts = np.array([-0.08, 0.04, 0.08])
        found = acceleration(run(rig, *({name: t} for t in tilts), steps=100), after_s=0.2)
        size = GRAVITY * (np.sin(np.abs(tilts)) - 0.02 * np.cos(tilts)) * np.cos(tilts)
        np.testing.assert_allclose(found[:, axis], sign * np.sign(tilts) * size, rtol=0.06)
        np.testing.assert_allclose(found[:, 1 - axis], 0.0, atol=0.01)

    def test_friction_holds_them_on_a_lesser_tilt(self) -> None:
        rig = tabletop(Table(), friction="0.06 0.06 0.002 0.002 0.002")
        place = run(rig, {TILT_Y: 0.05}, {TILT_Y: 0.07}, steps=200)["truth/place"][:, :, 0]
        moved = place[-1] - place[20]
        assert abs(moved[0]) < 5e-4
        assert moved[1] > 0.02

    def test_both_tilts_together(self) -> None:
        rig = tabletop(Table(), friction=SLICK)
        found = acceleration(run(rig, {TILT_X: 0.05, TILT_Y: 0.05}, steps=100), after_s=0.2)[0]
        assert found[0] == pytest.approx(-found[1], rel=0.05)
        assert found[0] > 0.2

    def test_a_shipped_task_puts_its_cube_onto_the_table_as_it_is(self) -> None:
        values = {HEIGHT: 0.02, TILT_X: 0.02, TILT_Y: -0.02}
        worlds = worlds_at(get("so101/lift"), dict.fromkeys(values, 0.0), values, seeds=[4, 4])
        start = worlds.truth["truth/cube_position"].copy()
        rise = 0.02 + np.tan(0.02) * start[1, 0] + np.tan(0.02) * start[1, 1]
        np.testing.assert_allclose(start[1, 2] - start[0, 2], rise, atol=2e-4)
        for _ in range(25):
            worlds.step(worlds.hold)
        np.testing.assert_allclose(worlds.truth["truth/cube_position"], start, atol=0.001)


class TestClutter:
    count = "environment/clutter/count"
    places = ((0.3, 0.2), (0.3, -0.2), (0.6, 0.0))

    def rig(self, *effects, slope_rad: float = 0.0, friction: str = "0.3 0.3 0.002 0.002 0.002"):
        clutter = Clutter(touching=("cube",), places=self.places)
        return tabletop(clutter, *effects, slope_rad=slope_rad, friction=friction)

    def boxes(self, worlds) -> np.ndarray:
        """Where the boxes are, (n, boxes, 3)."""
        found = [worlds.snapshot(i)[1] for i in range(worlds.n)]
        return np.array([[data.body(f"clutter_{k}").xpos for k in range(3)] for data in found])

    def test_as_many_boxes_as_counted_stand_at_their_places(self) -> None:
        worlds = worlds_at(self.rig(), *({self.count: c} for c in (0.0, 1.0, 1.6, 3.0)))
        for _ in range(20):
            worlds.step(np.zeros((4, 0)))
        boxes = self.boxes(worlds)
        near = np.linalg.norm(boxes[:, :, :2], axis=-1) < 1.0
        assert near.sum(axis=1).tolist() == [0, 1, 2, 3]
        for k, place in enumerate(self.places):
            np.testing.assert_allclose(boxes[3, k, :2], place, atol=1e-3)
        np.testing.assert_allclose(boxes[:, :, 2], 0.015, atol=3e-4)

    def test_size_and_place(self) -> None:
        stem = "environment/clutter/0"
        point = {self.count: 1.0, f"{stem}/size": 0.045, f"{stem}/x": 0.32, f"{stem}/y": 0.17}
        worlds = worlds_at(self.rig(), point)
        for _ in range(20):
            worlds.step(np.zeros((1, 0)))
        np.testing.assert_allclose(self.boxes(worlds)[0, 0], [0.32, 0.17, 0.0225], atol=1e-3)

    def test_boxes_stand_on_the_table_as_it_is(self) -> None:
        point = {self.count: 3.0, HEIGHT: 0.02, TILT_Y: 0.05}
        worlds = worlds_at(self.rig(Table()), point)
        expected = 0.015 + 0.02 - np.tan(0.05) * np.array([0.3, 0.3, 0.6])
        np.testing.assert_allclose(self.boxes(worlds)[0, :, 2], expected, atol=5e-4)
        for _ in range(50):
            worlds.step(np.zeros((1, 0)))
        np.testing.assert_allclose(self.boxes(worlds)[0, :, 2], expected, atol=1e-3)

    def test_a_sliding_cube_bumps_into_a_box(self) -> None:
        rig = tabletop(
            Clutter(touching=("cube",), places=((0.1, 0.0),)), slope_rad=0.2, friction=SLICK
        )
        place = run(rig, {self.count: 0.0}, {self.count: 1.0}, steps=60)["truth/place"][-1, :, 0]
        assert place[0] > 0.3
        # its faces meet those of a box of 3 cm that friction of 0.6 holds
        assert 0.04 < place[1] < 0.15


class TestObstacle:
    def test_stops_the_arm(self) -> None:
        """The arm, stretched out at a height of 16 cm, swings towards a wall beside its task."""
        name = "environment/obstacle/height"
        worlds = worlds_at(get("so101/lift"), *({name: h} for h in (0.0, 0.02, 0.2)), seeds=[1] * 3)
        wall_y = worlds.world.catalogue["environment/obstacle/y"].nominal
        home, stretched = worlds.hold, np.array([0.0, 0.0, -0.3, 1.0, 1.62, 0.6])
        for k in range(80):
            command = home + min(1.0, k / 20) * (stretched - home)
            command[:, 0] = -1.2 * np.clip((k - 20) / 30, 0.0, 1.0)
            worlds.step(command)
        y = worlds.truth["truth/tcp_position"][:, 1]
        assert y[0] > wall_y + 0.02  # nothing there
        assert y[1] == pytest.approx(y[0], abs=1e-4)  # a low wall is passed above
        assert y[2] < wall_y

    def test_stands_on_the_table_as_high_as_it_says(self) -> None:
        rig = tabletop(Obstacle(touching=("cube",), place=(0.24, 0.14)), Table())
        point = {
            "environment/obstacle/height": 0.1,
            "environment/obstacle/x": 0.25,
            "environment/obstacle/y": 0.15,
            HEIGHT: 0.02,
        }
        _, data = worlds_at(rig, point).snapshot(0)
        place = data.geom("obstacle").xpos
        np.testing.assert_allclose(place[:2], [0.25, 0.15], atol=1e-9)
        np.testing.assert_allclose(place[2] + Obstacle.half[2], 0.12, atol=1e-9)

    def test_stops_a_sliding_cube(self) -> None:
        rig = tabletop(
            Obstacle(touching=("cube",), place=(0.2, 0.0)), slope_rad=0.2, friction=SLICK
        )
        name = "environment/obstacle/height"
        place = run(rig, {name: 0.0}, {name: 0.05}, steps=80)["truth/place"][-1, :, 0]
        assert place[0] > 0.4
        assert 0.1 < place[1] < 0.2 - Obstacle.half[0] - 0.019  # against its face


class TestPatch:
    radius, friction = "environment/patch/radius", "environment/patch/friction"

    def sliding(self, *points, at: float = 0.0, steps: int = 30, slope_rad: float = 0.5):
        rig = tabletop(
            Patch(sliding=("cube",), place=(0.0, 0.0)),
            slope_rad=slope_rad,
            friction="0.1 0.1 0.002 0.002 0.002",
            start={"cube": [at, 0, 0.0203, 1, 0, 0, 0]},
        )
        return run(rig, *points, steps=steps)

    def test_a_cube_slides_on_it_with_its_friction(self) -> None:
        mu = np.array([0.1, 0.3])
        points = [{self.radius: 0.1, self.friction: m} for m in mu]
        trace = self.sliding(*points, at=-0.05, steps=18)
        assert trace["truth/place"][-1, :, 0].max() < 0.07  # still wholly on it
        found = acceleration(trace, after_s=0.05)[:, 0]
        np.testing.assert_allclose(found, GRAVITY * (np.sin(0.5) - mu * np.cos(0.5)), rtol=0.05)

    def test_a_rough_one_stops_the_cube_and_none_does_not(self) -> None:
        points = [{self.radius: r, self.friction: 2.0} for r in (0.0, 0.1)]
        place = self.sliding(*points, at=-0.05, steps=60)["truth/place"][-1, :, 0]
        assert place[0] > 0.4
        assert place[1] == pytest.approx(-0.05, abs=0.01)

    def test_ends_at_its_radius(self) -> None:
        points = [{self.radius: r, self.friction: 2.0} for r in (0.03, 0.1)]
        place = self.sliding(*points, at=0.075, steps=40)["truth/place"][-1, :, 0]
        assert place[0] > 0.2  # 7.5 cm from the middle of a patch of 3 cm: nothing
        assert place[1] == pytest.approx(0.075, abs=0.01)  # of one of 10 cm: held

    def test_a_cube_hardly_stands_higher_on_it(self) -> None:
        points = [{self.radius: r} for r in (0.0, 0.1)]
        trace = self.sliding(*points, steps=50, slope_rad=0.0)
        height = trace["truth/place"][-1, :, 2]
        np.testing.assert_allclose(height[1] - height[0], 0.00025, atol=0.0001)
        np.testing.assert_allclose(trace["truth/turn"][-1, 1], [1, 0, 0, 0], atol=0.01)


class TestSurface:
    def test_a_bowing_arm_comes_to_rest_on_it(self) -> None:
        heights = (-0.5, 0.02, 0.05)
        batch = worlds_at(get("so101/arm"), *({"environment/surface/height": h} for h in heights))
        told = batch.hold
        told[:, 1] += 0.9
        for _ in range(150):
            batch.step(told)
        tips = np.array([self.lowest(batch, i) for i in range(3)])
        assert tips[0] < 0.017
        np.testing.assert_allclose(tips[1:], heights[1:], atol=2e-3)

    def lowest(self, batch: CpuWorlds, i: int) -> float:
        """Height of the lowest corner of any finger."""
        model, data = batch.snapshot(i)
        found = []
        for name in FINGERS:
            at, turn = data.geom(name).xpos, data.geom(name).xmat.reshape(3, 3)
            found.append(at[2] - np.abs(turn[2] * model.geom(name).size).sum())
        return min(found)
