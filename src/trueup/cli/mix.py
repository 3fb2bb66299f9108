"""`trueup mix`: what the next demonstrations from the robot are worth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.options import Count, Machine
from trueup.mix import Advice, advised, load_runs, sentences


@dataclass(frozen=True, kw_only=True)
class Mix(Machine):
    """What the next demonstrations from the robot are worth, in synthetic ones.

    From a few trainings with different numbers of real and synthetic demonstrations, and the trials
    of their policies on the robot: the gain to expect, and how many synthetic demonstrations would
    bring as much.

    trueup mix runs.csv --more 10
    """

    runs: Annotated[Positional[Path], arg(metavar="RUNS")]
    """JSON or CSV with `real`, `synthetic`, `good` and `trials` for each training."""
    more: Count = 10
    """Demonstrations from the robot that might be recorded next."""
    real: Annotated[int | None, arg(metavar="N")] = None
    """How many there are now; by default those of the run with most."""
    synthetic: Annotated[int | None, arg(metavar="N")] = None
    """How many synthetic ones there are now; by default those of the same run."""

    def run(self) -> None:
        """Fit, and say it."""
        advice = advised(
            load_runs(self.runs), more=self.more, real=self.real, synthetic=self.synthetic
        )
        if self.json:
            show.print_json({**advice.to_json(), "said": list(sentences(advice))})
        else:
            _print(advice)


def _print(advice: Advice) -> None:
    table = show.table("real", "synthetic", "on the robot", right=("real", "synthetic"))
    for run in sorted(advice.runs, key=lambda run: (run.real, run.synthetic)):
        told = show.percent(run.good, run.trials)
        table.add_row(f"{run.real:,}", f"{run.synthetic:,}", f"{told} of {run.trials:,} trials")
    out = show.console()
    out.print(table)
    for sentence in sentences(advice):
        out.print(f"\n{sentence}", soft_wrap=True)
