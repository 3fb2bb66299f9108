"""Laws that every effect obeys: identity, replay, no accumulation, no impossible world."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache

import mujoco
import numpy as np
import pytest
from mujoco.batch import MODEL_FIELDS

from tests.effects.rigs import Rig, arm, worlds_at
from trueup import worlds
from trueup.effects import (
    Backlash,
    Clutter,
    Effect,
    FaceFriction,
    FieldEffect,
    LinkInertia,
    Rolling,
    Stribeck,
    joint_friction,
)
from trueup.simulate import CpuWorlds
from trueup.space import Point, Points, Space
from trueup.worlds import Compiled, FieldCollision
from trueup.worlds.so101 import REACH

LIFT = worlds.get("so101/lift")
STEPS = 40
TOUCHED = (49, 77, 24)  # seeds that put the cube where the motion below closes the jaw on it
PAN_AXIS_X = 0.0388  # m

# They add joints, bodies, devices or contact directions, so the solver has other equations to
# solve: their law is that holding them at nominal changes no bit, and not holding them very little.
STRUCTURAL = (Stribeck, Backlash, FaceFriction, Rolling, Clutter)


def label(effect: Effect) -> str:
    return effect.parameters(LIFT.model)[0].name


EFFECTS = [effect for effect in LIFT.effects() if effect.parameters(LIFT.model)]


@dataclass(frozen=True)
class Run:
    """Everything worlds answered: (T, n, ...) arrays by name."""

    signals: dict[str, np.ndarray]

    def equals(self, other: Run, *names: str) -> bool:
        wanted = names or tuple(self.signals)
        return all(np.array_equal(self.signals[n], other.signals[n]) for n in wanted)

    def row(self, i: int) -> Run:
        return Run({name: signal[:, i : i + 1] for name, signal in self.signals.items()})


def run(
    space: Space, points: Points | Point | None = None, *, seeds=TOUCHED, threads: int = 2
) -> Run:
    """Reach for the cube with a trembling hand and close the jaw."""
    batch = CpuWorlds(Compiled(LIFT, space), len(seeds), threads=threads)
    batch.reset(space.nominal() if points is None else points, seeds)
    return grasp(batch)


def grasp(batch: CpuWorlds, steps: int = STEPS) -> Run:
    cube = batch.truth["truth/cube_position"].copy()
    home, goal = batch.hold, np.tile(REACH, (batch.n, 1))
    goal[:, 0] = -np.arctan2(cube[:, 1], cube[:, 0] - PAN_AXIS_X)
    goal[:, 5] = 0.5
    rows = [{**batch.observation, "qpos": batch.batch.qpos.copy()}]
    for k in range(steps):
        command = home + min(1.0, k / 12) * (goal - home) + 0.04 * np.sin(0.9 * k)
        if k >= 15:
            command[:, 5] = -0.1
        step = batch.step(command)
        rows.append(
            {
                **step.observation,
                **step.privileged,
                "reward": step.reward,
                "qpos": batch.batch.qpos.copy(),
            }
        )
    assert not batch.divergences
    return Run({name: np.array([row[name] for row in rows[1:]]) for name in rows[-1]})


@cache
def nominal() -> Run:
    return run(Space(()))


def own(effect: Effect) -> Space:
    return Space(effect.parameters(LIFT.model))


# Identity ----------------------------------------------------------------------------------------


def test_the_motion_touches_the_cube() -> None:
    cube = nominal().signals["true_cube_position"]
    moved = np.linalg.norm(cube[-1, :, :2] - cube[0, :, :2], axis=-1)
    assert (moved > 0.001).all()


@pytest.mark.parametrize("effect", [e for e in EFFECTS if not isinstance(e, STRUCTURAL)], ids=label)
def test_an_effect_at_nominal_changes_no_bit(effect: Effect) -> None:
    assert run(own(effect)).equals(nominal())


@pytest.mark.parametrize("effect", EFFECTS, ids=label)
def test_an_effect_that_is_held_at_nominal_changes_no_bit(effect: Effect) -> None:
    assert run(own(effect).pinned()).equals(nominal())


@pytest.mark.parametrize("effect", [e for e in EFFECTS if isinstance(e, STRUCTURAL)], ids=label)
def test_an_effect_that_rebuilds_the_model_hardly_changes_it_at_nominal(effect: Effect) -> None:
    got = run(own(effect))
    play = isinstance(effect, Backlash)  # a hair's breadth of it is always left
    free = slice(0, 11)  # until the jaw hits the cube; after that, small things grow
    for name, before, after in (
        ("joint_position", 5e-4 if play else 1e-6, 0.02),
        ("joint_force", 5e-3 if play else 1e-5, 0.2),
        ("true_cube_position", 2e-6, 0.01),
    ):
        off = np.abs(got.signals[name] - nominal().signals[name])
        assert off[free].max() < before, name
        assert off.max() < after, name


def test_the_default_space_at_nominal_changes_no_bit() -> None:
    assert run(LIFT.space).equals(nominal())


def test_the_whole_catalogue_held_at_nominal_changes_no_bit() -> None:
    assert run(LIFT.catalogue.pinned()).equals(nominal())


# Replay ------------------------------------------------------------------------------------------


def sampled(space: Space, n: int, seed: int = 0) -> Points:
    return space.sample(np.random.default_rng(seed), n)


def test_a_point_that_went_through_json_gives_the_same_trajectory(tmp_path) -> None:
    for i, point in enumerate(sampled(LIFT.catalogue, 3)):
        point.save(tmp_path / f"{i}.json")
        again = Point.load(tmp_path / f"{i}.json")
        again.save(tmp_path / f"{i}_again.json")
        text = (tmp_path / f"{i}.json").read_text()
        assert (tmp_path / f"{i}_again.json").read_text() == text
        assert again == point == Point.from_json(json.loads(json.dumps(point.to_json())))
        first, second = (run(LIFT.catalogue, p, seeds=(49,)) for p in (point, again))
        assert first.equals(second)


def test_a_space_that_went_through_json_gives_the_same_trajectory() -> None:
    again = Space.from_json(json.loads(json.dumps(LIFT.catalogue.to_json())))
    points = sampled(LIFT.catalogue, 3)
    assert sampled(again, 3) == points
    assert run(again, points).equals(run(LIFT.catalogue, points))


@pytest.mark.parametrize("space", [LIFT.space, LIFT.catalogue], ids=["default", "catalogue"])
def test_threads_do_not_matter(space: Space) -> None:
    points, seeds = sampled(space, 8), range(40, 48)
    one, two = (run(space, points, seeds=seeds, threads=threads) for threads in (1, 2))
    assert one.equals(two)


@pytest.mark.parametrize("space", [LIFT.space, LIFT.catalogue], ids=["default", "catalogue"])
def test_a_world_does_not_feel_its_neighbours(space: Space) -> None:
    points, seeds = sampled(space, 8), range(40, 48)
    together = run(space, points, seeds=seeds)
    alone = run(space, points[3], seeds=seeds[3:4])
    assert alone.equals(together.row(3))


def test_other_seeds_give_other_starts_and_other_noise() -> None:
    space = LIFT.catalogue.select("sensing/encoder/noise")
    point = space.point({"sensing/encoder/noise": 0.01})
    got = run(space, point, seeds=(1, 2, 1))
    assert got.row(0).equals(got.row(2))
    for name in ("true_cube_position", "joint_position"):
        assert not got.row(0).equals(got.row(1), name)


# Nothing accumulates -----------------------------------------------------------------------------


def fields(batch: CpuWorlds, row: int) -> dict[str, np.ndarray]:
    """Every number of a world's model that can differ between worlds."""
    model = batch.batch.get_model(row)
    found = {}
    for name in MODEL_FIELDS:
        owner, _, key = name.rpartition(".")
        value = getattr(getattr(model, owner) if owner else model, key, None)
        if isinstance(value, (np.ndarray, float, int)):
            found[name] = np.array(value)
    return found


@pytest.mark.parametrize(
    "names", [("default",), ("catalogue",), *((gap,) for gap in LIFT.catalogue.by_gap())]
)
def test_randomizing_twice_never_accumulates(names: tuple[str]) -> None:
    spaces = {"default": LIFT.space, "catalogue": LIFT.catalogue}
    space = spaces[names[0]] if names[0] in spaces else LIFT.catalogue.select(*names)
    fresh = CpuWorlds(Compiled(LIFT, space), 3, threads=2)
    fresh.reset(space.nominal(), TOUCHED)
    used = CpuWorlds(Compiled(LIFT, space), 3, threads=2)
    rng = np.random.default_rng(1)
    for _ in range(2):
        used.resample(rng)
        for _ in range(5):
            used.step(used.hold)
    used.reset(space.nominal(), TOUCHED)
    expected = fields(fresh, 1)
    for name, value in fields(used, 1).items():
        np.testing.assert_array_equal(value, expected[name], name)
    assert grasp(used).equals(grasp(fresh))


@pytest.mark.parametrize("effect", EFFECTS, ids=label)
def test_a_reset_leaves_no_trace_of_the_last_episode_in_the_model(effect: Effect) -> None:
    space = own(effect)
    batch = CpuWorlds(Compiled(LIFT, space), 2)
    batch.reset(space.nominal(), [1, 1])
    clean = fields(batch, 0)
    u = np.random.default_rng(1).random((2, len(space)))
    batch.reset(space.decode(u), [1, 2])
    for _ in range(10):
        batch.step(batch.hold)
    batch.reset(space.nominal(), [1, 1])
    for name, value in fields(batch, 0).items():
        np.testing.assert_array_equal(value, clean[name], name)


def test_a_world_reset_by_itself_is_the_same_as_one_reset_with_all() -> None:
    space, points = LIFT.catalogue, sampled(LIFT.catalogue, 3)
    together = CpuWorlds(Compiled(LIFT, space), 3)
    together.reset(points, TOUCHED)
    one_by_one = CpuWorlds(Compiled(LIFT, space), 3)
    one_by_one.resample(np.random.default_rng(5))
    for _ in range(5):
        one_by_one.step(one_by_one.hold)
    for row in range(3):
        one_by_one.reset(points[row], TOUCHED[row : row + 1], [row])
    assert grasp(one_by_one).equals(grasp(together))


# Only possible worlds ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", worlds.names())
def test_every_parameter_says_what_it_is(name: str) -> None:
    world = worlds.get(name)
    assert len(world.catalogue) >= len(world.space) > 50
    for p in world.catalogue:
        assert p.unit, p.name
        assert len(p.source) > 8, p.name
        assert "\n" not in p.source, p.name
        assert p.low <= p.nominal <= p.high, p.name
        assert p.low < p.high, p.name


@pytest.mark.parametrize("name", worlds.names())
def test_samples_stay_inside_the_bounds(name: str) -> None:
    space = worlds.get(name).catalogue
    points = sampled(space, 300)
    space.points(points)  # checks each value
    for parameter, column in zip(space, points.values.T, strict=True):
        assert np.ptp(column) > 0, parameter.name


@pytest.fixture(scope="module", params=["usual", "possible"])
def drawn(request: pytest.FixtureRequest) -> CpuWorlds:
    """Lift worlds drawn from the beliefs, or from all that the bounds allow."""
    space, n = LIFT.catalogue, 300
    points = sampled(space, n)
    if request.param == "possible":
        u = np.random.default_rng(2).random((n, len(space)))
        u[:200] = np.round(u[:200])  # corners, where trouble would be
        points = space.decode(u)
    batch = CpuWorlds(Compiled(LIFT, space), n)
    batch.reset(points, np.arange(n))
    return batch


def field(batch: CpuWorlds, name: str) -> np.ndarray:
    """A model field of all worlds, (n, rows, ...)."""
    return np.array(batch.batch.expand(name))


def test_inertia_is_positive_and_obeys_the_triangle(drawn: CpuWorlds) -> None:
    inertia = field(drawn, "body_inertia").reshape(drawn.n, -1, 3)[:, 1:]
    heavy = field(drawn, "body_mass").reshape(drawn.n, -1)[:, 1:] > 0
    assert (field(drawn, "body_mass") >= 0).all()
    assert (inertia[heavy] > 0).all()
    largest = inertia.max(axis=-1)
    assert (largest <= (inertia.sum(axis=-1) - largest) * (1 + 1e-9)).all()


def test_the_centre_of_mass_of_the_cube_is_inside_it(drawn: CpuWorlds) -> None:
    model = drawn.compiled.model
    body, geom = model.body("cube").id, model.geom("cube").id
    offset = field(drawn, "body_ipos").reshape(drawn.n, -1, 3)[:, body]
    half = field(drawn, "geom_size").reshape(drawn.n, -1, 3)[:, geom]
    assert (np.abs(offset) < half).all()


@pytest.mark.parametrize("link", LinkInertia()._bodies(LIFT.model))
def test_the_centre_of_mass_of_a_link_is_inside_the_box_of_its_inertia(
    drawn: CpuWorlds, link: str
) -> None:
    """The box is aligned with the principal axes of inertia, not with the body's frame."""
    body = LIFT.model.body(link)
    here = drawn.compiled.model.body(link).id
    offset = field(drawn, "body_ipos").reshape(drawn.n, -1, 3)[:, here] - body.ipos
    axes = np.zeros(9)
    mujoco.mju_quat2Mat(axes, body.iquat)
    half = np.sqrt(1.5 * (body.inertia.sum() - 2 * body.inertia) / body.mass[0])
    assert (np.abs(offset @ axes.reshape(3, 3)) <= half).all()


def test_backlash_is_narrower_than_its_joint(drawn: CpuWorlds) -> None:
    model = drawn.compiled.model
    limits = field(drawn, "jnt_range").reshape(drawn.n, -1, 2)
    for joint in LIFT.commands:
        play = np.ptp(limits[:, model.joint(f"{joint}_backlash").id], axis=-1)
        room = np.ptp(limits[:, model.joint(joint).id], axis=-1)
        assert (play > 0).all()
        assert (play <= 0.1 * room).all()


def test_limits_keep_their_order(drawn: CpuWorlds) -> None:
    model = drawn.compiled.model
    limits = field(drawn, "jnt_range").reshape(drawn.n, -1, 2)[:, model.jnt_limited == 1]
    assert (limits[..., 0] < limits[..., 1]).all()
    force = field(drawn, "actuator_forcerange").reshape(drawn.n, -1, 2)
    force = force[:, model.actuator_forcelimited == 1]
    assert (force[..., 0] < 0).all()
    assert (force[..., 1] > 0).all()
    for name in ("dof_damping", "dof_frictionloss", "dof_armature", "pair_friction"):
        assert (field(drawn, name) >= 0).all(), name


def test_an_impossible_point_is_refused() -> None:
    for name, value in (
        ("actuation/upper_arm/mass", -0.1),
        ("object/cube/com_x", 0.02),
        ("actuation/gripper/backlash", 5.0),
        ("object/cube/inertia", -1.0),
    ):
        with pytest.raises(Exception, match="out of its bounds"):
            LIFT.catalogue.point({name: value})


# Energy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", range(6))
def test_a_passive_arm_only_loses_energy(row: int) -> None:
    """Nobody drives the arm; only what stores or loses energy is left of each drawn world."""
    space = LIFT.catalogue.select("actuation", "object", "environment/table/*")
    space = space.without("actuation/*/stribeck_*")
    batch = CpuWorlds(Compiled(LIFT, space), 6)
    batch.reset(sampled(space, 6, seed=3), np.arange(6))
    model, data = batch.snapshot(row)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION.value
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY.value
    energy = []
    for _ in range(400):
        mujoco.mj_step(model, data)
        energy.append(data.energy.sum())
    assert energy[-1] < energy[0] - 0.02
    assert np.diff(energy).max() < 2e-4


# Collisions --------------------------------------------------------------------------------------


def doubled() -> tuple[Rig, str]:
    """A world in which two effects both set the damping of its joint."""
    effects = [e for e in joint_friction() if isinstance(e, FieldEffect)]
    damping = next(e for e in effects if e.parameter.endswith("damping"))
    twin = replace(damping, parameter="actuation/{name}/grease")
    return arm(damping, twin), "actuation/hinge/grease"


def test_two_effects_that_set_one_number_are_refused_by_name() -> None:
    world, _ = doubled()
    with pytest.raises(FieldCollision) as caught:
        Compiled(world)
    for part in ("{name}/damping", "{name}/grease", "dof_damping"):
        assert part in str(caught.value)


def test_one_of_them_alone_is_fine() -> None:
    world, twin = doubled()
    alone = worlds_at(world, {twin: 0.7})
    assert 0.7 in alone.batch.expand("dof_damping")
    held = Compiled(world, world.catalogue.pinned({twin: world.catalogue[twin].nominal}))
    assert "dof_damping" in held.fields
