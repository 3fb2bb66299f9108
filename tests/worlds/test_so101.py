"""The SO-101 is the robot it claims to be: same limits, same look, a grasp that holds."""

from __future__ import annotations

import os
from multiprocessing import get_context
from pathlib import Path

import mujoco
import numpy as np
import pytest

from trueup.errors import TrueupError
from trueup.worlds import meshes
from trueup.worlds.so101 import (
    COLLISION_GROUP,
    FACES,
    FRICTIONLOSS,
    GRASP_CONTACT,
    HOME,
    JOINTS,
    KP,
    REACH,
    TABLE_CONTACT,
    VISUAL_GROUP,
    model_file,
    so101,
)

LINKS = ("base", "shoulder", "upper_arm", "lower_arm", "wrist", "gripper")
FINGERS = ("finger_fixed", "fingertip_fixed", "finger_moving", "fingertip_moving")
BOXES = (*(f"{link}_body" for link in LINKS), *FINGERS)
TIMESTEP_S = 0.005


def prepared(spec: mujoco.MjSpec) -> mujoco.MjSpec:
    spec.option.timestep = TIMESTEP_S
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    return spec


def placed(model: mujoco.MjModel, pose: tuple[float, ...]) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[: len(pose)] = pose
    mujoco.mj_forward(model, data)
    return data


@pytest.fixture(scope="module")
def arm() -> mujoco.MjModel:
    return prepared(so101(visual=False)).compile()


@pytest.fixture(scope="module")
def stock() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(model_file()))


@pytest.fixture(scope="module")
def surfaces() -> list[meshes.Surface]:
    return meshes.light_surfaces(model_file(), faces_by_rgba=FACES)


class TestTheRobot:
    @pytest.mark.parametrize("look", [{"visual": False}, {}, {"stock": True}], ids=str)
    def test_is_the_same_in_every_look(self, look: dict[str, bool], stock: mujoco.MjModel) -> None:
        model = so101(**look).compile()
        assert [model.joint(i).name for i in range(model.njnt)] == list(JOINTS)
        assert [model.actuator(i).name for i in range(model.nu)] == list(JOINTS)
        for body in range(stock.nbody):
            assert model.body(body).name == stock.body(body).name
            np.testing.assert_array_equal(model.body_mass[body], stock.body_mass[body])
            np.testing.assert_array_equal(model.body_inertia[body], stock.body_inertia[body])
        np.testing.assert_array_equal(model.jnt_range, stock.jnt_range)
        np.testing.assert_array_equal(model.actuator_ctrlrange, model.jnt_range)
        np.testing.assert_array_equal(model.actuator_biasprm[:, :3], [[0, -KP, 0]] * model.nu)
        assert model.camera("wrist_cam").id >= 0

    def test_touches_nothing_until_a_scene_names_pairs(self, arm: mujoco.MjModel) -> None:
        assert not arm.geom_contype.any()
        assert not arm.geom_conaffinity.any()
        assert sorted(arm.geom(i).name for i in range(arm.ngeom)) == sorted(BOXES)
        assert (arm.geom_group == COLLISION_GROUP).all()

    def test_joins_a_larger_scene(self) -> None:
        scene = mujoco.MjSpec()
        scene.worldbody.add_frame(pos=[0.5, 0, 0]).attach_body(so101().body("base"), "left/", "")
        model = scene.compile()
        assert model.actuator(0).name == "left/shoulder_pan"
        assert model.nmesh == 13

    def test_stands_on_the_table(self) -> None:
        cad = world_surfaces(so101(stock=True).compile())
        lowest = min(surface.vertices[:, 2].min() for surface in cad)
        assert lowest == pytest.approx(0.0, abs=1e-4)


def world_surfaces(model: mujoco.MjModel) -> list[meshes.Surface]:
    """The visual meshes of a compiled arm with all joints at zero, in the world's frame."""
    data = placed(model, (0.0,) * 6)
    found = []
    for geom in np.flatnonzero(model.geom_group == VISUAL_GROUP):
        mesh = model.mesh(model.geom_dataid[geom])
        first, count = mesh.vertadr[0], mesh.vertnum[0]
        vertices = model.mesh_vert[first : first + count]
        first, count = mesh.faceadr[0], mesh.facenum[0]
        found.append(
            meshes.Surface(
                model.body(model.geom_bodyid[geom]).name,
                (0.0, 0.0, 0.0, 0.0),
                vertices @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom],
                model.mesh_face[first : first + count],
            )
        )
    return found


def points_on(surfaces: list[meshes.Surface], n: int, seed: int) -> np.ndarray:
    """Points spread evenly over the surfaces, (n, 3)."""
    rng = np.random.default_rng(seed)
    corners = np.concatenate([s.vertices[s.faces] for s in surfaces])
    edge_1, edge_2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = np.linalg.norm(np.cross(edge_1, edge_2), axis=1)
    chosen = rng.choice(len(corners), n, p=area / area.sum())
    u = rng.random((n, 2))
    u = np.where(u.sum(axis=1, keepdims=True) > 1, 1 - u, u)
    return corners[chosen, 0] + u[:, :1] * edge_1[chosen] + u[:, 1:] * edge_2[chosen]


def mean_distance(points: np.ndarray, others: np.ndarray) -> float:
    """Mean over `points` of the distance to the nearest of `others`, without a tree."""
    nearest = [
        np.sqrt(((block[:, None] - others) ** 2).sum(axis=2).min(axis=1))
        for block in np.array_split(points, max(1, len(points) // 50))
    ]
    return float(np.concatenate(nearest).mean())


class TestLightMeshes:
    def test_are_few_faces_in_two_colours(self, surfaces: list[meshes.Surface]) -> None:
        assert sum(len(s.faces) for s in surfaces) <= 6_000
        assert all(250 <= len(s.faces) <= 800 or s.rgba[0] < 0.5 for s in surfaces)
        assert len({(s.body, s.rgba) for s in surfaces}) == len(surfaces) == 13

    @pytest.mark.parametrize("body", ["base", "lower_arm", "gripper", "moving_jaw_so101_v1"])
    def test_follow_the_stock_surface(self, body: str) -> None:
        light = [s for s in world_surfaces(so101().compile()) if s.body == body]
        cad = [s for s in world_surfaces(so101(stock=True).compile()) if s.body == body]
        assert mean_distance(points_on(light, 400, 0), points_on(cad, 20_000, 1)) < 0.0015
        assert mean_distance(points_on(cad, 400, 2), points_on(light, 20_000, 3)) < 0.003


class TestTheMeshCache:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("TRUEUP_CACHE", str(tmp_path))
        return tmp_path / "meshes"

    def build(self) -> list[meshes.Surface]:
        return meshes.light_surfaces(model_file(), faces_by_rgba=FACES)

    def test_is_reused(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        built = self.build()
        assert [file.suffix for file in folder.iterdir()] == [".npz"]
        monkeypatch.setattr(meshes, "_merged", None)  # building again would fail
        for one, other in zip(built, self.build(), strict=True):
            assert one[:2] == other[:2]
            np.testing.assert_array_equal(one.vertices, other.vertices)
            np.testing.assert_array_equal(one.faces, other.faces)

    def test_heals_from_a_broken_file(self, folder: Path) -> None:
        built = self.build()
        (kept,) = folder.iterdir()
        kept.write_bytes(kept.read_bytes()[:1000])
        assert len(self.build()) == len(built)
        assert meshes._read(kept) is not None

    def test_does_without_a_folder(self, folder: Path) -> None:
        folder.parent.mkdir(exist_ok=True)
        folder.write_text("a file where the folder should be")
        assert len(self.build()) == 13

    def test_leaves_nothing_half_written(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, surfaces: list[meshes.Surface]
    ) -> None:
        def disk_full(stream, **_: object) -> None:
            stream.write(b"half a file")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(np, "savez", disk_full)
        meshes._write(folder / "robot.npz", surfaces)
        assert list(folder.iterdir()) == []

    def test_is_shared_by_processes_that_start_at_once(self, folder: Path) -> None:
        with get_context("spawn").Pool(2) as pool:
            counts = pool.map(faces_built, [str(folder.parent)] * 2, chunksize=1)
        assert counts[0] == counts[1]
        assert [file.suffix for file in folder.iterdir()] == [".npz"]

    def test_knows_where_users_keep_caches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TRUEUP_CACHE", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
        assert meshes.cache_folder() == Path("/somewhere/trueup/meshes")

    def test_names_a_broken_source(self, tmp_path: Path) -> None:
        (tmp_path / "part.stl").write_bytes(b"solid ascii" * 20)
        with pytest.raises(TrueupError, match="not a whole binary STL file"):
            meshes.read_stl(tmp_path / "part.stl")


def faces_built(cache: str) -> int:
    os.environ["TRUEUP_CACHE"] = cache
    surfaces = meshes.light_surfaces(model_file(), faces_by_rgba=FACES)
    return sum(len(s.faces) for s in surfaces)


class TestPoses:
    @pytest.mark.parametrize("pose", [HOME, REACH], ids=["home", "reach"])
    def test_are_clear_of_the_table_and_within_limits(
        self, pose: tuple[float, ...], arm: mujoco.MjModel
    ) -> None:
        data = placed(arm, pose)
        assert (np.array(pose) > arm.jnt_range[:, 0]).all()
        assert (np.array(pose) < arm.jnt_range[:, 1]).all()
        for name in set(BOXES) - {"base_body"}:
            geom = arm.geom(name)
            reach_down = np.abs(data.geom_xmat[geom.id].reshape(3, 3)[2]) @ geom.size
            assert data.geom_xpos[geom.id][2] - reach_down > 0.0005, name

    def test_home_is_above_the_work(self, arm: mujoco.MjModel) -> None:
        tcp = placed(arm, HOME).site("tcp")
        np.testing.assert_allclose(tcp.xpos, [0.21, 0.0, 0.15], atol=0.01)
        assert tcp.xmat.reshape(3, 3)[2, 2] < -0.85  # approach is downwards

    def test_reach_straddles_a_cube(self, arm: mujoco.MjModel) -> None:
        data = placed(arm, REACH)
        tcp = data.site("tcp")
        np.testing.assert_allclose(tcp.xpos, [0.22, 0.0, 0.0125], atol=0.002)
        np.testing.assert_allclose(tcp.xmat.reshape(3, 3)[:, 2], [0, 0, -1], atol=0.01)
        sides = [data.geom(pad).xpos[1] for pad in ("fingertip_fixed", "fingertip_moving")]
        assert sides[0] < -0.0125
        assert sides[1] > 0.0125

    @pytest.mark.parametrize("gap_m, most_deg", [(0.020, 9), (0.025, 5), (0.030, 2)])
    def test_pads_are_nearly_parallel_on_a_cube(
        self, gap_m: float, most_deg: float, arm: mujoco.MjModel
    ) -> None:
        pads = [arm.geom(name).id for name in ("fingertip_fixed", "fingertip_moving")]
        data = placed(arm, HOME)
        for data.qpos[5] in np.linspace(arm.jnt_range[5, 0], arm.jnt_range[5, 1], 400):
            mujoco.mj_kinematics(arm, data)
            if mujoco.mj_geomDistance(arm, data, *pads, 1.0, None) >= gap_m:
                break
        normals = [data.geom_xmat[pad].reshape(3, 3)[:, 0] for pad in pads]
        assert np.degrees(np.arccos(normals[0] @ normals[1])) < most_deg


class Grasp:
    """A cube on a table between the pads; `run` closes, lifts and holds it."""

    def __init__(self, *, mass_kg: float, half_size_m: float) -> None:
        spec = prepared(so101(visual=False))
        silent = {"contype": 0, "conaffinity": 0}
        spec.worldbody.add_geom(
            name="table", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1], **silent
        )
        cube = spec.worldbody.add_body(name="cube", pos=[0.22, 0.003, half_size_m])
        cube.add_freejoint()
        cube.add_geom(
            name="cube",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=[half_size_m] * 3,
            mass=mass_kg,
            **silent,
        )
        spec.add_pair(geomname1="cube", geomname2="table", **TABLE_CONTACT)
        for finger in FINGERS:
            spec.add_pair(geomname1=finger, geomname2="cube", **GRASP_CONTACT)
        self.model = spec.compile()
        self.data = placed(self.model, REACH)
        self.deepest_m = 0.0

    def move(self, start: np.ndarray, end: np.ndarray, seconds: float) -> None:
        steps = round(seconds / TIMESTEP_S)
        for share in np.minimum(1.0, np.arange(1, steps + 1) / (0.6 * steps)):
            self.data.ctrl[:] = start + share * (end - start)
            self.step()

    def step(self) -> None:
        mujoco.mj_step(self.model, self.data)
        if self.data.ncon:
            self.deepest_m = max(self.deepest_m, -self.data.contact.dist.min())

    def in_hand(self) -> np.ndarray:
        hand, cube = self.data.body("gripper"), self.data.body("cube")
        return hand.xmat.reshape(3, 3).T @ (cube.xpos - hand.xpos)


@pytest.mark.parametrize("mass_kg", [0.02, 0.05, 0.1])
def test_a_grasped_cube_stays_grasped_for_30_seconds(mass_kg: float) -> None:
    grasp = Grasp(mass_kg=mass_kg, half_size_m=0.0125)
    droop = grasp.data.qfrc_bias[:6] / KP  # what gravity takes from a servo without integrator
    droop[5] = 0.0
    opened = np.array(REACH) + droop
    closed = opened.copy()
    closed[5] = grasp.model.jnt_range[5, 0]
    lifted = np.array([*HOME[:5], closed[5]]) + droop
    grasp.move(opened, closed, 1.0)
    grasp.deepest_m = 0.0
    held_at = grasp.in_hand()
    grasp.move(closed, lifted, 2.0)
    for _ in range(round(30 / TIMESTEP_S)):
        grasp.step()
    assert grasp.data.body("cube").xpos[2] > 0.12
    assert np.linalg.norm(grasp.in_hand() - held_at) < 0.002
    assert grasp.deepest_m < 0.001
    assert not any(warning.number for warning in grasp.data.warning)


class TestDynamics:
    def test_a_limp_arm_only_loses_energy(self) -> None:
        spec = prepared(so101(visual=False))
        spec.option.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        model = spec.compile()
        data = placed(model, HOME)
        energy = []
        for _ in range(round(5 / TIMESTEP_S)):
            mujoco.mj_step(model, data)
            energy.append(data.energy.sum())
        assert energy[-1] < energy[0] - 0.1
        assert np.diff(energy).max() < 1e-4

    def test_a_joint_below_its_friction_does_not_creep(self) -> None:
        spec = prepared(so101(visual=False))
        spec.option.gravity = [0, 0, 0]
        model = spec.compile()
        data = placed(model, HOME)
        data.ctrl[:] = HOME
        data.qfrc_applied[:] = 0.9 * FRICTIONLOSS
        model.actuator_gainprm[:] = 0.0
        model.actuator_biasprm[:] = 0.0
        for _ in range(round(5 / TIMESTEP_S)):
            mujoco.mj_step(model, data)
        assert np.abs(data.qpos - HOME).max() < 0.001
