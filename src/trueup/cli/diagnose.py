"""`trueup diagnose`: which gap costs the success, from trials on the robot."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.copies import check_seed, check_threads
from trueup.cli.files import check_distinct, trials_at, writable_folder
from trueup.cli.findings import estimate_files, opened, residual_in
from trueup.cli.options import Count, File, Machine, OneWorld
from trueup.diagnose import (
    Bank,
    GapReport,
    Share,
    Size,
    Trials,
    built,
    diagnose,
    judged,
)
from trueup.diagnose.hearing import with_failures
from trueup.episodes import Dataset, Episode
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.evaluate import check_fit, piloted
from trueup.identify import Estimate
from trueup.identify.heard import heard, noise_in, wander_of
from trueup.identify.residual import LearnedResidual
from trueup.loop.identified import Identification
from trueup.loop.known import Known
from trueup.loop.settings import bare_of
from trueup.policies import Policy
from trueup.space import Prior
from trueup.worlds import World, get

_BANKS, _IDENTIFIED = Path("out/diagnose"), "identified"


@dataclass(frozen=True, kw_only=True)
class Diagnose(Machine):
    """Which gap costs the success, and how sure, from trials.

    Trials of a policy are read against a bank of simulated ones in bent worlds, which is made once
    for each policy (a few minutes) and kept. Recordings of the robot say more: it is identified
    from them, and what the identified values cost is simulated.

    trueup diagnose trials --policy out/train/so101-lift-0/policy --recordings recordings
    """

    trials: Annotated[Positional[Path], arg(metavar="TRIALS")]
    """The folder of a dataset, as `trueup deploy` writes it, or the one that deploy was given."""
    policy: Annotated[Path, arg(metavar="POLICY")]
    """The policy that was tried."""
    estimate: Annotated[tuple[Path, ...], arg(metavar="FILE...")] = ()
    """What recordings of the robot say, as `trueup identify` writes it; several where there are, or
    the folder they are in. Without it, --recordings are identified here, in a minute or two."""
    residual: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """What was learnt of the arm beside its numbers, as `trueup identify residual` writes it: what
    it costs on top of them is played, and is unexplained."""
    recordings: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Motions of the robot, as `trueup record` writes them. The robot is identified from them,
    unless --estimate is what they say; their noise, and what shakes commands, is heard too."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """By default the one that the policy was trained in."""
    bank: File = None
    """Where the bank is, or is to be kept; by default in out/diagnose, named after the policy."""
    thorough: bool = False
    """Make a bank of five times as many worlds: it takes five times as long and errs less often."""
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Write gaps.json here, and what was identified in the folder identified."""
    seed: Count = 0
    """Same seed, same answer."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Read the trials, then tell."""
        check_seed(self.seed)
        check_threads(self.threads)
        if self.out:
            check_distinct(read={"TRIALS": self.trials}, written={"--out": self.out})
            writable_folder(self.out)
        if self.residual and not self.estimate:
            raise TrueupError(
                "A residual is right on top of what was identified, and no --estimate was given.",
                fix="Give the estimate that it was learnt with: --estimate FILE.",
            )
        policy = Policy.load(self.policy)
        world = OneWorld(world=self.world).opened_world() if self.world else _home(policy)
        check_fit(policy, world)
        trials = judged(list(Dataset.open(trials_at(self.trials))), world, _mark(policy))
        known = self._known(world, trials)
        report = diagnose(
            known.case(world, policy, trials, self._bank(world, policy)),
            seed=self.seed,
            threads=self.threads,
            on_progress=self._tell,
        )
        report = with_failures(report, world, trials)
        if self.out:
            report.save(self.out / "gaps.json")
        if self.json:
            show.print_json(report.to_json())
        else:
            here = bool(known.estimates) and not self.estimate
            _print(report, self.out, identified=here)

    def _known(self, world: World, trials: Trials) -> Known:
        """What is known of the robot: as it was identified before, or is now."""
        recorded, unread = opened(self.recordings) if self.recordings else ([], ())
        for line in unread:
            self._tell(line)
        if recorded and not self.estimate:
            return self._identified(world, recorded, trials)
        estimates = [Estimate.load(path) for path in estimate_files(self.estimate)]
        noise = self._heard(world, estimates, recorded)
        learnt = self.residual or residual_in(self.estimate)
        return Known(
            estimates=estimates,
            heard=noise,
            wander=wander_of(noise, recorded),
            learnt=None if learnt is None else LearnedResidual.load(learnt),
        )

    def _identified(self, world: World, recorded: list[Episode], trials: Trials) -> Known:
        """The robot as recordings show it, in every way that `trueup run` asks them."""
        name = bare_of(world.name)
        bare = world if name == world.name else get(name)
        told = {"threads": self.threads, "tell": self._tell}
        try:
            found = Identification(world=world, bare=bare, **told).of(recorded, trials.episodes)
        except TrueupError as error:  # no free motion, say: the noise is heard all the same
            print(f"The robot could not be identified: {error.what}", file=sys.stderr)
            return Known(heard=noise_in(world, recorded))
        self._tell(f"identified: {found.told}")
        if self.out:
            found.save(self.out / _IDENTIFIED)
        return Known.of(found, world, bare, recorded, threads=self.threads)

    def _heard(
        self, world: World, estimates: Sequence[Estimate], episodes: Sequence[Episode]
    ) -> Mapping[str, Prior]:
        """What recordings say beside the estimates; they are replayed where the arm was fitted.

        Without an estimate of the arm nothing is replayed: a soft servo would pass for a sensor.
        """
        if not episodes:
            return {}
        arms = [e for e in estimates if any(c.startswith(f"{JOINTS}/") for c in e.fitted.after)]
        if not arms:
            return noise_in(world, episodes)
        bare = world if arms[-1].world == world.name else get(arms[-1].world)
        return heard(world, bare, episodes, arms[-1], threads=self.threads)

    def _bank(self, world: World, policy: Policy) -> Bank:
        """The bank of this policy: read where there is one, and else simulated and kept."""
        mark = _mark(policy)
        grown = "-thorough" if self.thorough else ""
        path = self.bank or _BANKS / f"bank-{mark[:12]}{grown}.npz"
        if path.exists():
            bank = Bank.load(path)
            if (bank.policy, bank.world) != (mark, world.name):
                raise TrueupError(
                    f"{path} is the bank of another policy or world.",
                    fix="Give another --bank; it is made where there is none.",
                )
            return bank
        self._tell(f"making {path}: a few minutes, once for each policy")
        bank = built(
            world,
            piloted(policy),
            world.catalogue,
            np.random.default_rng([self.seed, 5]),
            policy=mark,
            size=Size().times(5 if self.thorough else 1),
            threads=self.threads,
            on_progress=self._tell,
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        bank.save(path)
        return bank

    def _tell(self, line: str) -> None:
        if not self.json:
            print(line, file=sys.stderr, flush=True)


def _home(policy: Policy) -> World:
    try:
        return get(policy.contract.world)
    except TrueupError as error:
        raise TrueupError(
            f"The policy is of the world {policy.contract.world!r}, which is not known here.",
            fix="Say where it is with --world FILE.py:CLASS.",
        ) from error


def _mark(policy: Policy) -> str:
    return str(policy.provenance.files.get("policy.onnx", {}).get("sha256", ""))


def _print(report: GapReport, out: Path | None, *, identified: bool) -> None:
    console = show.console()
    for line in report.sentences:
        console.print(line, markup=False)
    console.print()
    rows = show.table("gap", "points lost", "90 % interval", right=("points lost",))
    for share in report.ranked:
        rows.add_row(share.gap, _points(share.points), _interval(share))
    if report.shares:
        console.print(rows)
        console.print(f"together {report.loss:.1f} points")
    for line in report.notes:
        console.print(line, markup=False)
    if out:
        show.say(f"\nNext: {show.command('trueup', 'plan', out / 'gaps.json')}")
    if out and identified:
        known = ("--estimate", out / _IDENTIFIED, "--gaps", out / "gaps.json")
        train = show.command("trueup", "narrow", report.world, *known, "--out", "space.json")
        show.say(f"Or train with what was identified: {train}")


def _interval(share: Share) -> str:
    return f"{_points(share.low, 0)} … {_points(share.high, 0)}"


def _points(value: float, digits: int = 1) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")
