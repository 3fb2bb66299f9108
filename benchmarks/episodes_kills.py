"""A recorder that is killed again and again: which datasets still open, which episodes are lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.episodes_made import made
from benchmarks.measure import Effort, Measure, Target
from trueup.episodes import Dataset, Episode, Writer
from trueup.errors import TrueupError

KILLS = 100
SECONDS = 0.5
_PER_SET = 10  # recorders that follow each other in one dataset


def measure(effort: Effort) -> list[Measure]:
    kills = KILLS // 10 if effort.quick else KILLS
    rng = np.random.default_rng(0)
    unreadable = lost = stored = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(kills):
            out = Path(folder) / f"set{number // _PER_SET}"
            finished = _killed(out, float(rng.uniform(0.0, 0.8)))
            try:
                dataset = Dataset.open(out)
                wrong = [i for i in range(finished) if not _kept(dataset, i)]
                lost += len(wrong)
                stored += len(dataset) if number % _PER_SET == _PER_SET - 1 else 0
            except TrueupError:
                unreadable += 1
    note = f"{kills} kills, {_PER_SET} in each dataset; {stored} episodes of {SECONDS:g} s stored"
    zero = Target(side="≤", value=0)
    return [
        Measure(what="datasets unreadable after SIGKILL", value=unreadable, target=zero, note=note),
        Measure(what="finished episodes lost by SIGKILL", value=lost, target=zero, note=note),
    ]


def _killed(out: Path, after_s: float) -> int:
    """Start a recorder, kill it so long after it began; how many episodes it had finished."""
    command = [sys.executable, "-m", "benchmarks.episodes_kills", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline()]
        reader = threading.Thread(target=lambda: said.extend(process.stdout or []))
        reader.start()
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
        reader.join()
    return max(int(line) for line in said if line.endswith("\n"))


def _kept(dataset: Dataset, i: int) -> bool:
    """Whether an episode reads as it was made, its pictures counted."""
    try:
        read, wanted = dataset[i], _episode(i)
        pictures = sum(1 for _ in read.videos["camera0"].pictures())
    except TrueupError:
        return False
    same = all(
        np.array_equal(read[name].values, wanted[name].values)
        and np.array_equal(read[name].time_s, wanted[name].time_s)
        for name in wanted.signals
    )
    return same and pictures == len(wanted.videos["camera0"])


def _episode(i: int) -> Episode:
    return made(i, SECONDS, cameras=1)


def _record(out: Path) -> None:
    with Writer(out) as writer:
        print(len(writer), flush=True)
        while True:
            writer.add(_episode(len(writer)))
            print(len(writer), flush=True)


if __name__ == "__main__":
    _record(Path(sys.argv[1]))
