"""`python -m benchmarks.ends`: how far out the ends of a share's interval have to lie.

Of robots that were kept (`benchmarks/kept/diagnose-recorded.jsonl`) it is known what each gap truly
costs, what was said of it, and between which ends draws had it. Here those ends are moved away from
the middle, or nearer, and counted is how many intervals then hold the truth: of what was bent, of
all other gaps, and of all. `trueup.diagnose.ends` says which was chosen. All of it is sim-to-sim.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import numpy as np
import tyro

from benchmarks.kept import FOLDER
from trueup.diagnose import UNEXPLAINED, GapReport
from trueup.diagnose.ends import ends
from trueup.diagnose.planted import GAPS

_SLACK = 0.5  # points by which an interval may miss: what rounding does

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Count the truths inside intervals, for ends that lie nearer or further out.

    Attributes:
        below: Of what draws leave open below the middle, so much.
        above: The same above it.
        made: Rows that were made by code whose mark begins so; by any by default.
        but: Rows that were not, likewise.
        only: Robots whose name begins so; all by default.
    """

    below: tuple[float, ...] = (1.0, 0.9, 0.8)
    above: tuple[float, ...] = (1.0, 1.25, 1.5, 1.75)
    made: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MARK...")] = ()
    but: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MARK...")] = ()
    only: tuple[str, ...] = ()

    def wants(self, row: Row) -> bool:
        """Whether a robot counts."""
        return (
            (not self.only or row["name"].startswith(self.only))
            and (not self.made or row["source"].startswith(self.made))
            and (not self.but or not row["source"].startswith(self.but))
        )


def main(asked: Ends) -> None:
    lines = (FOLDER / "diagnose-recorded.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if asked.wants(row)]
    print(f"{len(rows)} robots, sim-to-sim; of 90 % intervals, so many hold the truth")
    print("| evidence | below | above | of what was bent | of all others | of all |")
    print("| --- | --- | --- | --- | --- | --- |")
    for depth, words in (("look", "trials"), ("diagnose", "and recordings")):
        for below, above in product(asked.below, asked.above):
            bent, other = _held(rows, depth, below, above)
            told = " | ".join(_share(each) for each in (bent, other, [*bent, *other]))
            print(f"| {words} | {below:g} | {above:g} | {told} |")


def _held(
    rows: Sequence[Row], depth: str, below: float, above: float
) -> tuple[list[bool], list[bool]]:
    bent: list[bool] = []
    other: list[bool] = []
    for row in rows:
        report = GapReport.from_json(row["reports"][depth])
        for gap, held in _inside(row["true"], report, below, above):
            (bent if gap in row["true"] else other).append(held)
    return bent, other


def _inside(
    true: dict[str, float], report: GapReport, below: float, above: float
) -> Iterator[tuple[str, bool]]:
    names = (*GAPS, UNEXPLAINED)
    drawn = report.made.get("drawn", {})  # rows of before have them for their ends
    told = [report.share(name) for name in names]
    both = [drawn.get(share.gap, (share.low, share.high)) for share in told]
    middle, (low, high) = np.array([share.points for share in told]), np.array(both).T
    most = 100.0 * report.simulated.share
    low, high = ends(middle, low, high, most, below=below, above=above)
    for g, name in enumerate(names):
        yield name, bool(low[g] - _SLACK <= true.get(name, 0.0) <= high[g] + _SLACK)


def _share(held: Sequence[bool]) -> str:
    return f"{100 * np.mean(held):.1f} % of {len(held)}" if held else ""


if __name__ == "__main__":
    main(tyro.cli(Ends, prog="python -m benchmarks.ends"))
