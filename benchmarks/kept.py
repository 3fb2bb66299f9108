"""`python -m benchmarks.kept ROW`: rows of campaigns that take days, kept with the code.

Each robot of such a campaign is a row. What `out/benchmarks` has of them is added to a file beside
this one, a robot that is there already is replaced, and the table is made of all that the file has.
So a campaign can be spread over days and machines, and its table be made again by anybody.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from benchmarks.measure import Measure, table
from benchmarks.registry import ROWS
from trueup.errors import TrueupError, UnknownName
from trueup.files import whole

CAMPAIGNS = ("loop", "diagnose-recorded", "diagnose-again", "plan")
FOLDER = Path(__file__).parent / "kept"

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Keep:
    """Keep what campaigns measured, and print the tables of all that was kept.

    Attributes:
        rows: Campaigns; all of them by default.
        out: Where the benchmarks left their numbers.
        only: Robots whose name begins so; all by default. What is kept does not change by it.
        made: Rows that were made by code whose mark begins so; by any by default. Likewise.
    """

    rows: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="ROW...")] = ()
    out: Path = Path("out/benchmarks")
    only: tuple[str, ...] = ()
    made: tuple[str, ...] = ()

    def wants(self, row: Row) -> bool:
        """Whether the table is to have a row."""
        return (not self.only or row["name"].startswith(self.only)) and (
            not self.made or row.get("source", "").startswith(self.made)
        )


def main(keep: Keep) -> None:
    for name in keep.rows:
        if name not in CAMPAIGNS:
            raise UnknownName("campaign", name, CAMPAIGNS)
    lines: list[Measure] = []
    for name in keep.rows or CAMPAIGNS:
        campaign = importlib.import_module(ROWS[name])
        rows = kept(name, [campaign.slim(row) for row in _measured(keep.out, campaign.KEPT)])
        chosen = [row for row in rows if keep.wants(row)]
        if chosen:
            lines += campaign.judgement(chosen)
    if not lines:
        raise TrueupError(
            "Nothing was kept.", fix="Measure first: `python -m benchmarks loop --seeds 20`."
        )
    print(table(lines))


def kept(name: str, new: list[Row]) -> list[Row]:
    """All rows of a campaign; new ones are added, or come in the place of those before."""
    file = FOLDER / f"{name}.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = {row["name"]: row for row in [*map(json.loads, lines), *new]}
    found = [rows[name] for name in sorted(rows)]
    if new:
        with whole(file) as partial:
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
            partial.write_text(text, encoding="utf-8")
    return found


def _measured(out: Path, pattern: str) -> list[Row]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(out.glob(pattern))]


if __name__ == "__main__":
    try:
        main(tyro.cli(Keep, prog="python -m benchmarks.kept"))
    except TrueupError as error:
        sys.exit(str(error))
