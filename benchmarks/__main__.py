"""`python -m benchmarks`: measure, print a table, keep the numbers as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import traceback
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import tyro

from benchmarks.measure import Effort, Measure, table
from benchmarks.registry import LONG, ROWS, measured
from trueup.errors import TrueupError, UnknownName

_PACKAGES = (
    "trueup",
    "mujoco",
    "numpy",
    "torch",
    "rsl-rl-lib",
    "onnxruntime",
    "gymnasium",
    "so101-nexus-mujoco",
)


@dataclass(frozen=True, kw_only=True)
class Bench(Effort):
    """Measure speed and memory, beside what one would use instead, and print a table.

    Attributes:
        rows: What to measure; by default everything but training and curriculum, which take long.
        json: Where to keep the numbers; DATE.json in the folder --out by default.
    """

    rows: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="ROW...")] = ()
    json: Path | None = None

    @property
    def effort(self) -> Effort:
        """What the rows are told."""
        return Effort(**{known.name: getattr(self, known.name) for known in fields(Effort)})


def main(bench: Bench) -> None:
    for row in bench.rows:
        if row not in ROWS:
            raise UnknownName("row of the table", row, ROWS)
    effort = bench.effort
    started, found, seconds, failed = datetime.now(UTC), {}, {}, []
    for row in bench.rows or [row for row in ROWS if row not in LONG]:
        print(f"measuring {row} ...", file=sys.stderr, flush=True)
        start = time.perf_counter()
        try:
            found[row] = measured(row, effort)
        except Exception as error:  # the other rows are still worth having
            traceback.print_exc()
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            found[row] = [Measure(what=row, value=None, note=reason)]
            failed.append(row)
        seconds[row] = round(time.perf_counter() - start, 1)
    print(table([line for lines in found.values() for line in lines]))
    cores, load = os.cpu_count() or 1, os.getloadavg()[1]
    if load > 1.5 * cores:
        print(
            f"\nThis machine was busy (load {load:.1f} on {cores} cores): trust the ratios, except "
            "of what uses more than one thread.",
            file=sys.stderr,
        )
    file = bench.json or bench.out / f"{started:%Y-%m-%dT%H%M%SZ}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = _kept(effort, started, seconds, found)
    file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    print(f"\nNumbers in {file}", file=sys.stderr)
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


def _kept(
    effort: Effort,
    started: datetime,
    seconds: dict[str, float],
    found: dict[str, list[Measure]],
) -> dict[str, Any]:
    return {
        "date": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "effort": asdict(effort) | {"out": str(effort.out)},
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "versions": {"python": platform.python_version()} | {p: _version(p) for p in _PACKAGES},
        "seconds": seconds,
        "rows": {
            row: [asdict(line) | {"verdict": line.verdict} for line in lines]
            for row, lines in found.items()
        },
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    try:
        main(tyro.cli(Bench, prog="python -m benchmarks"))
    except TrueupError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Interrupted. The same command goes on with the trainings that were begun.")
