"""Demonstrations that worked in physics: how many a second, and which share of attempts is kept."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.measure import Effort, Measure, Target
from trueup.generate import Generated, Order, generate, recorded, scripted, tried
from trueup.generate.motion.legs import Source
from trueup.generate.motion.senses import Knows
from trueup.worlds import World, get

_SOURCES = 3


def measure(effort: Effort) -> list[Measure]:
    with tempfile.TemporaryDirectory() as folder:
        lift, place = get("so101/lift"), get("so101/place")
        return [
            _speed(lift, Path(folder), 256 if effort.quick else 4096),
            *(
                _kept(world, Path(folder), 128 if effort.quick else 1000, knows, target)
                for world, target in ((lift, 0.95), (place, 0.85))
                for knows in ("truth", "sensors")
            ),
        ]


def _speed(world: World, folder: Path, episodes: int) -> Measure:
    """With everything on: default randomization, mistakes, and every commit on the disk."""
    clock, cpu = time.perf_counter(), time.process_time()
    made = _made(world, (scripted(world),), folder / "script", episodes, mistakes=0.1)
    wall_s, cpu_s = time.perf_counter() - clock, time.process_time() - cpu
    return Measure(
        what=f"verified demonstrations of {world.name} a second, randomized, on the disk",
        value=episodes / wall_s,
        unit="1/s",
        target=Target(side="≥", value=40),
        note=f"{made.share:.1%} of the attempts kept; got {cpu_s / wall_s:.2f} cores, "
        f"{1e3 * cpu_s / episodes:.0f} ms of processor time each",
        details={"episodes": episodes, "wall_s": wall_s, "cpu_s": cpu_s, **_told(made)},
    )


def _kept(world: World, folder: Path, episodes: int, knows: Knows, target: float) -> Measure:
    """From three episodes that were recorded in worlds with noise, bias and delay of their own."""
    task = world.name.partition("/")[2]
    source, out = folder / f"recorded-{task}", folder / f"kept-{task}-{knows}"
    _made(world, (scripted(world),), source, _SOURCES, seed=5, mistakes=0.0)
    found = tried(recorded(source, world).sources, world, world.space, knows=knows)
    made = _made(world, found, out, episodes, mistakes=0.0, knows=knows)
    low, high = made.interval()
    return Measure(
        what=f"share of attempts kept, {world.name}, from {_SOURCES} recorded episodes, by {knows}",
        value=100 * made.share,
        unit="%",
        target=Target(side="≥", value=100 * target),
        note=f"95 % interval {low:.1%} – {high:.1%} of {made.attempts} attempts, randomized",
        details={"worked": {s.name.partition(" of ")[0]: s.works for s in found}, **_told(made)},
    )


def _made(
    world: World,
    sources: tuple[Source, ...],
    folder: Path,
    episodes: int,
    *,
    seed: int = 0,
    mistakes: float,
    knows: Knows = "sensors",
) -> Generated:
    order = Order(
        world=world,
        source=sources,
        space=world.space,
        episodes=episodes,
        seed=seed,
        mistakes=mistakes,
        knows=knows,
    )
    return generate(order, folder)


def _told(made: Generated) -> dict[str, object]:
    return {"attempts": made.attempts, "failures": dict(made.failures)}
