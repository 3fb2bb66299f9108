"""`trueup narrow`: the space to train in next."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from trueup.cli import show
from trueup.cli.files import check_distinct, writable_file
from trueup.cli.findings import estimate_files, estimate_of
from trueup.cli.options import File, Machine, OneWorld
from trueup.diagnose import GapReport
from trueup.errors import TrueupError
from trueup.identify.residual import LearnedResidual
from trueup.loop import trued_up
from trueup.worlds import World


@dataclass(frozen=True, kw_only=True)
class Narrow(OneWorld, Machine):
    """The space to train in next, from what is known of the robot.

    Numbers that recordings told are drawn from their posterior, with the doubt that is left. The
    rest is randomized as usual; with --gaps, half as wide where a gap costs nothing, and wider
    where it costs success and no recording told which of its numbers is off.

    trueup narrow so101/lift --estimate out/identify/estimate.json --out space.json
    """

    estimate: Annotated[tuple[Path, ...], arg(metavar="FILE...")] = ()
    """What recordings say, as `trueup identify` writes it; where several tell the same number, the
    last one counts."""
    gaps: Annotated[File, arg(metavar="GAPS")] = None
    """Which gap costs how much: gaps.json of `trueup diagnose`."""
    residual: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """What was learnt of the arm beside its numbers, as `trueup identify residual` writes it; give
    it to `trueup train` as well."""
    out: Annotated[File, arg(metavar="FILE")] = None
    """Write the space here, for `trueup train --space`."""

    def run(self) -> None:
        """Narrow, then tell."""
        if not self.estimate and not self.gaps and not self.residual:
            raise TrueupError(
                "Nothing is known of the robot: no --estimate, --gaps or --residual was given.",
                fix="Record and identify it first: `trueup record`, `trueup identify`.",
            )
        if self.out:
            read = {"--gaps": self.gaps, "WORLD": self.world_file}
            read |= {f"--estimate {path}": path for path in self.estimate}
            check_distinct(read=read, written={"--out": self.out})
            writable_file(self.out)
        world = self.opened_world()
        report = None if self.gaps is None else _of(world, GapReport.load(self.gaps), self.gaps)
        known = [estimate_of(world, path) for path in estimate_files(self.estimate)]
        learnt = None if self.residual is None else LearnedResidual.load(self.residual)
        found = trued_up(world, report, known, learnt=learnt)
        if self.out:
            found.space.save(self.out)
        if self.json:
            show.print_json(found.space.to_json())
            return
        for sentence in found.sentences:
            show.say(sentence)
        if self.out:
            show.say(f"Written: {self.out}")
            more = () if self.residual is None else ("--residual", self.residual)
            words = ("trueup", "train", self.world, "--space", self.out, *more)
            show.say(f"Next: {show.command(*words)}")


def _of(world: World, report: GapReport, path: Path) -> GapReport:
    if report.world != world.name:
        raise TrueupError(
            f"{path} is a diagnosis in {report.world}, not in {world.name}.",
            fix=f"Narrow {report.world}, or diagnose trials of {world.name}.",
        )
    return report
