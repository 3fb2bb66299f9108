"""The example of a user's own robot is a world like ours."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from trueup import worlds
from trueup.simulate import CpuWorlds, Rollout
from trueup.space import Gap
from trueup.worlds import Compiled, World

FILE = Path(__file__).parents[2] / "examples" / "planar_sweep" / "world.py"
N = 64


@pytest.fixture(scope="module")
def world() -> World:
    return worlds.get(f"{FILE}:PlanarSweep")


def swept(world: World, values: dict[str, float]) -> np.ndarray:
    sweep = sys.modules[type(world).__module__].Sweep
    batch = CpuWorlds(Compiled(world), N)
    observation = batch.reset(world.space.point(values), np.arange(N))
    done = Rollout(batch).run(sweep(world, observation))
    assert not done.diverged.any()
    return done.success


def test_has_six_gaps_from_generic_effects(world):
    assert list(world.space.by_gap()) == [
        Gap.CONTACT,
        Gap.VISUAL,
        Gap.SENSING,
        Gap.OBJECT,
        Gap.ACTUATION,
        Gap.LATENCY,
    ]
    assert world.commands == ("shoulder", "elbow")


def test_its_controller_solves_the_nominal_world(world):
    assert swept(world, {}).mean() >= 0.9


def test_a_gap_costs_success(world):
    assert swept(world, {"visual/camera/shift_x": 0.05}).mean() < 0.5
    assert swept(world, {"actuation/elbow/zero_offset": -0.3}).mean() < 0.7


def test_survives_a_random_space(world):
    batch = CpuWorlds(Compiled(world), N)
    batch.resample(np.random.default_rng(0))
    for _ in range(50):
        batch.step(batch.hold)
    assert batch.divergences == []


def test_survives_its_whole_catalogue(world):
    batch = CpuWorlds(Compiled(world, world.catalogue), N)
    batch.resample(np.random.default_rng(0))
    for _ in range(50):
        batch.step(batch.hold)
    assert batch.divergences == []


def test_a_slippery_part_slides_farther(world):
    """The part's own friction counts, below the bench's too."""
    batch = CpuWorlds(Compiled(world), 2)
    points = [{"contact/part/sliding": mu} for mu in (0.15, 0.9)]
    batch.reset(world.space.points(points), 7)
    dof = batch.compiled.model.joint("part").dofadr[0]
    start = batch.truth["truth/part_position"].copy()
    batch.batch.bind("qvel")[:, dof] = -0.3
    for _ in range(25):
        batch.step(batch.hold)
    slid = np.linalg.norm(batch.truth["truth/part_position"] - start, axis=1)
    assert slid[0] > 3.0 * slid[1]


def test_the_page_shows_the_files_as_they_are():
    page = (FILE.parents[2] / "docs" / "your-own-robot.md").read_text(encoding="utf-8")
    source = FILE.read_text(encoding="utf-8")
    shown = source[source.index("class PlanarSweep") :]
    first, second = shown.split("class Sweep:")
    assert FILE.with_name("arm.xml").read_text(encoding="utf-8") in page
    assert first.strip() in page
    assert second.strip() in page
