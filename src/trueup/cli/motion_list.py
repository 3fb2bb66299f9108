"""`trueup record motions`: what `trueup record` can be told to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trueup.cli import show
from trueup.cli.options import Machine
from trueup.record import Motion, get, names


@dataclass(frozen=True, kw_only=True)
class ListMotions(Machine):
    """List the motions that `trueup record` knows.

    A series is a file of motions: copy one, change its numbers, and give the file as --motion.

    trueup record motions
    """

    def run(self) -> None:
        """Print them."""
        found = {name: get(name) for name in names()}
        if self.json:
            kinds = {kind: _fields(made) for kind, made in Motion.kinds.items()}
            series = {name: one.to_json() for name, one in found.items()}
            show.print_json({"series": series, "kinds": kinds})
            return
        table = show.table("name", "motions", "what", keep=("name",))
        for name, one in found.items():
            table.add_row(name, ", ".join(motion.kind for motion in one.motions), one.about)
        show.console().print(table)


def _fields(kind: type[Motion]) -> dict[str, Any]:
    return {**kind().to_json(), "about": (kind.__doc__ or "").splitlines()[0]}
