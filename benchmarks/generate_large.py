"""A hundred thousand demonstrations: memory while they are made and stored, and reading one.

A tenth of them is generated. The rest are the same episodes again, each with an origin of its own,
for storing and reading do not know what physics cost.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Effort, Measure, Target
from trueup.episodes import Dataset
from trueup.generate import Order, Shelf, generate, scripted
from trueup.worlds import get

_STORED, _SHARE = 100_000, 10
_BATCH, _READ = 256, 300
_WARM = 4096  # episodes after which a process has allocated what it works with


def measure(effort: Effort) -> list[Measure]:
    """What is in --out is kept, and gone on with: all of it takes half an hour of one core."""
    episodes = _STORED // 10 if effort.quick else _STORED
    folder = effort.out / f"generate-large-{episodes}"
    made(folder, episodes // _SHARE)
    stored(folder, episodes)
    dataset = folder / "stored"
    size = sum(path.stat().st_size for path in dataset.rglob("*") if path.is_file())
    read, opened = _read(dataset, _READ)
    return [
        _memory(folder / "made.jsonl", f"generating {episodes // _SHARE:,} lifts"),
        _memory(folder / "stored.jsonl", f"storing {episodes:,} lifts"),
        Measure.of(
            f"one of {episodes:,} read at random",
            1e3 * np.array(read),
            unit="ms",
            target=Target(side="<", value=20),
            note=f"of processor time; the dataset opens in {opened:.1f} s, "
            f"{size / episodes / 1024:.0f} KiB on the disk for each",
        ),
    ]


def made(folder: Path, episodes: int, *, threads: int = 0) -> None:
    """Generate, with a line for each commit."""
    world = get("so101/lift")
    order = Order(world=world, source=(scripted(world),), space=world.space, episodes=episodes)
    folder.mkdir(parents=True, exist_ok=True)
    note = _noted(folder / "made.jsonl")
    generate(order, folder / "made", threads=threads, on_progress=note)


def stored(folder: Path, episodes: int) -> None:
    """Store the first of what was made again and again, with a line for each commit."""
    made = Dataset.open(folder / "made")
    batch = [made[i] for i in range(_BATCH)]
    note = _noted(folder / "stored.jsonl")
    with Shelf(folder / "stored", robot_type="so101") as shelf:
        while len(shelf) < episodes:
            first = len(shelf)
            some = batch[: episodes - first]
            shelf.add(
                [replace(e, origin={**e.origin, "attempt": first + i}) for i, e in enumerate(some)]
            )
            note(len(some))


def _noted(path: Path) -> Callable[[int], None]:
    """Writes down after each commit: which process, how many episodes, how much memory."""
    process, count = f"{os.getpid()}-{time.time():.0f}", 0

    def note(more: int) -> None:
        nonlocal count
        count += more
        line = dict(process=process, episodes=count, memory_mib=_memory_mib())
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    return note


def _memory(path: Path, doing: str) -> Measure:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    runs = [list(run) for _, run in groupby(lines, key=lambda line: line["process"])]
    most = max(line["memory_mib"] for line in lines)
    return Measure(
        what=f"memory that {doing} adds after the first {_WARM:,}",
        value=max(map(_grown, runs)),
        unit="MiB",
        target=Target(side="≤", value=32),
        note=f"{most:.0f} MiB at most; {len(runs)} process{'es' * (len(runs) > 1)}",
        details={"memory_mib": [line["memory_mib"] for line in lines[:: len(lines) // 50 or 1]]},
    )


def _grown(run: list[dict[str, Any]]) -> float:
    """MiB that one process took beyond what it had once it was warm."""
    warm = [line["memory_mib"] for line in run if line["episodes"] >= _WARM]
    return max(warm) - warm[0] if warm else 0.0


def _read(folder: Path, times: int) -> tuple[list[float], float]:
    """Processor seconds of some readings at random, and seconds of opening the dataset."""
    start = time.perf_counter()
    dataset = Dataset.open(folder)
    opened = time.perf_counter() - start
    seconds = []
    for i in np.random.default_rng(0).integers(0, len(dataset), times):
        start = time.process_time()
        episode = dataset[int(i)]
        seconds.append(time.process_time() - start)
        assert episode.origin["attempt"] == i
    return seconds, opened


def _memory_mib() -> float:
    """Now, where the system tells; else the most so far."""
    status = Path("/proc/self/statm")
    if status.is_file():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
