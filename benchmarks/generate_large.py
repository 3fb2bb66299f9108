"""A hundred thousand episodes: memory of the writer while they grow, and one read at random."""

from __future__ import annotations

import resource
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import Effort, Measure, Target
from trueup.episodes import Dataset
from trueup.generate import Order, Shelf, generate, scripted
from trueup.worlds import get

_EPISODES, _BATCH = 100_000, 256


def measure(effort: Effort) -> list[Measure]:
    episodes = _EPISODES // 10 if effort.quick else _EPISODES
    folder = Path(tempfile.mkdtemp())
    try:
        seconds, memory = _stored(folder, episodes)
        read = _read(folder / "large", 300)
        opened = time.perf_counter()
        Dataset.open(folder / "large")
        opened = time.perf_counter() - opened
        size = sum(p.stat().st_size for p in (folder / "large").rglob("*") if p.is_file())
    finally:
        shutil.rmtree(folder)
    tenth = len(memory) // 10
    return [
        Measure(
            what=f"memory that storing {episodes:,} generated lifts adds after the first tenth",
            value=memory[-1] - memory[tenth],
            unit="MiB",
            target=Target(side="≤", value=32),
            note=f"{memory[-1]:.0f} MiB at the end; {episodes / seconds:,.0f} episodes a second, "
            f"{size / episodes / 1024:.0f} KiB each",
            details={"memory_mib": memory[:: max(1, len(memory) // 50)], "seconds": seconds},
        ),
        Measure.of(
            "one of them read at random",
            1e3 * np.array(read),
            unit="ms",
            target=Target(side="<", value=20),
            note=f"the dataset opens in {opened:.1f} s",
        ),
    ]


def _stored(folder: Path, episodes: int) -> tuple[float, list[float]]:
    """Store real episodes again and again, each with an origin of its own; MiB after each batch."""
    world = get("so101/lift")
    order = Order(world=world, source=(scripted(world),), space=world.space, episodes=_BATCH)
    generate(order, folder / "small")
    batch = list(Dataset.open(folder / "small"))
    memory, start = [], time.perf_counter()
    with Shelf(folder / "large", robot_type="so101") as shelf:
        while len(shelf) < episodes:
            first = len(shelf)
            shelf.add(
                [
                    replace(episode, origin={**episode.origin, "attempt": first + i})
                    for i, episode in enumerate(batch[: episodes - first])
                ]
            )
            memory.append(_memory_mib())
    return time.perf_counter() - start, memory


def _read(folder: Path, times: int) -> list[float]:
    dataset, rng = Dataset.open(folder), np.random.default_rng(0)
    seconds = []
    for i in rng.integers(0, len(dataset), times):
        start = time.perf_counter()
        episode = dataset[int(i)]
        seconds.append(time.perf_counter() - start)
        assert episode.origin["attempt"] == i
    return seconds


def _memory_mib() -> float:
    """Now, where the system tells; else the most so far."""
    status = Path("/proc/self/statm")
    if status.is_file():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
