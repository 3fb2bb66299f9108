"""Readings by name, and the numbers of each world when an episode begins."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from trueup import worlds
from trueup.errors import UnknownName
from trueup.simulate import CpuWorlds
from trueup.streams import Streams
from trueup.worlds import Compiled, MissingSensor, Readings, Scene, sensor_slots

N = 16


@pytest.fixture(scope="module")
def tilted() -> CpuWorlds:
    world = worlds.get("so101/lift")
    batch = CpuWorlds(Compiled(world), N)
    names = ("height", "tilt_x", "tilt_y")
    rng = np.random.default_rng(3)
    points = [
        world.space.point(
            {
                **{f"environment/table/{n}": float(rng.uniform(-0.03, 0.03)) for n in names},
                "object/cube/size_z": float(rng.uniform(0.02, 0.03)),
            }
        )
        for _ in range(N)
    ]
    batch.reset(world.space.points(points), np.arange(N))
    return batch


def scene_of(batch: CpuWorlds) -> Scene:
    return Scene(batch.compiled.model, Streams(np.arange(batch.n)), batch._field)


class TestScene:
    def test_gives_each_world_its_own_numbers(self, tilted):
        size = scene_of(tilted).number("geom", "cube", "geom_size")
        assert size.shape == (N, 3)
        column = tilted.points[:, tilted.space.index("object/cube/size_z")]
        np.testing.assert_allclose(size[:, 2], 0.5 * column)

    def test_gives_shared_numbers_to_all(self, tilted):
        places = scene_of(tilted).number("geom", "base_body", "geom_pos")
        assert places.shape == (N, 3)
        assert (places == places[0]).all()

    def test_offers_names_it_has(self, tilted):
        with pytest.raises(UnknownName, match=r"no geom named 'cub'.*'cube'"):
            scene_of(tilted).number("geom", "cub", "geom_size")

    def test_knows_the_height_of_a_tilted_table(self, tilted):
        x, y = np.full(N, 0.2), np.linspace(-0.2, 0.2, N)
        heights = scene_of(tilted).surface("table", x, y)
        for i in range(N):
            model, data = tilted.snapshot(i)
            table = model.geom("table").id
            normal = data.geom_xmat[table].reshape(3, 3)[:, 2]
            place = [x[i], y[i], heights[i]] - data.geom_xpos[table]
            assert abs(normal @ place) < 1e-12


class TestReadings:
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body name="b"><joint name="j"/><geom size="1"/></body></worldbody>
        <sensor><jointpos name="q" joint="j"/><framepos name="p" objtype="body" objname="b"/>
        <jointvel joint="j"/></sensor></mujoco>"""
    )

    def test_are_arrays_by_name(self):
        data = np.arange(10.0).reshape(2, 5)
        readings = Readings(sensor_slots(self.model), data, np.zeros(2))
        assert dict(readings).keys() == {"q", "p"}  # the third has no name
        assert readings["p"].tolist() == [[1, 2, 3], [6, 7, 8]]

    def test_name_what_is_missing(self):
        readings = Readings(sensor_slots(self.model), np.zeros((1, 5)), np.zeros(1))
        with pytest.raises(MissingSensor, match=r"no sensor named 'truth/p'.*'p'.*<sensor>"):
            readings["truth/p"]
