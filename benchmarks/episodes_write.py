"""How much faster than real time episodes are written, every one safe on the disk when it is."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.episodes_made import made
from benchmarks.measure import Effort, Measure, Target
from trueup.episodes import Dataset, Episode, Writer

SECONDS = 10.0


def measure(effort: Effort) -> list[Measure]:
    turns = effort.turns(10)
    states = [made(i, SECONDS) for i in range(20)]
    films = [made(i, SECONDS, cameras=2) for i in range(2)]
    return [
        *_measured("state only", states, turns, Target(side="≥", value=200)),
        *_measured("two 224 × 224 cameras", films, turns, Target(side="≥", value=10)),
    ]


def _measured(what: str, episodes: list[Episode], turns: int, target: Target) -> list[Measure]:
    written, read, size = [], [], 0.0
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "set"
            start = time.perf_counter()
            with Writer(out) as writer:
                for episode in episodes:
                    writer.add(episode)
            written.append(time.perf_counter() - start)
            start = time.perf_counter()
            for _episode in Dataset.open(out):
                pass
            read.append(time.perf_counter() - start)
            size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    recorded_s = SECONDS * len(episodes)
    per_minute = size / 2**20 / recorded_s * 60
    return [
        Measure.of(
            f"writing episodes of {SECONDS:g} s, {what}",
            recorded_s / np.array(written),
            unit="× real time",
            target=target,
            note=f"50 Hz state, 30 Hz pictures; {per_minute:.1f} MiB a recorded minute",
            details={"written_s": written, "mib_per_minute": per_minute},
        ),
        Measure.of(
            f"reading them again, {what}",
            recorded_s / np.array(read),
            unit="× real time",
            note="pictures are not decoded",
        ),
    ]
