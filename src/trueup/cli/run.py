"""`trueup run`: the whole circle, from "works in sim" to "works on the robot"."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.copies import check_threads
from trueup.cli.options import Count, Machine, OneWorld
from trueup.errors import TrueupError
from trueup.loop import Entry, Job, Origin, Result, Settings, State, run
from trueup.loop.folder import FILE
from trueup.loop.settings import REALITY

_OUT = Path("out/run")
_NONE = "none"
_Number = Annotated[int | None, arg(metavar="N")]
_Share = Annotated[float | None, arg(metavar="SHARE")]
_Steps = Annotated[float | None, arg(metavar="N")]
_Folder = Annotated[Path | None, arg(metavar="FOLDER")]


@dataclass(frozen=True, kw_only=True)
class RunLoop(Machine):
    """Go round once: from works in sim to works on the robot.

    Train, try, diagnose, plan, record, identify, narrow, retrain, try, report.

    Without a robot it runs against a rehearsal robot that hides its truth, and everything it says
    is sim-to-sim. Stopped or killed, the same command goes on where it was. It stops by itself when
    the target is reached, when nothing is worth its cost, or when the cause is outside the
    simulator. A real robot does not move without --arm.

    trueup run
    """

    world: Annotated[Positional[str | None], arg(metavar="WORLD")] = None
    """A name from `trueup worlds`, or your own as FILE.py:CLASS; so101/lift by default."""
    robot: Annotated[str | None, arg(metavar="ADDRESS")] = None
    """Where the robot is: rehearsal:REALITY[@WORLD], tcp:HOST:PORT, unix:PATH, or so101:PORT."""
    reality: Annotated[str | None, arg(metavar="FILE")] = None
    """Instead of --robot: what a rehearsal robot hides, a name from `trueup rehearse` or a file;
    monday-arm by default."""
    policy: Annotated[str | None, arg(metavar="POLICY")] = None
    """Begin with this policy instead of training one; none takes that back."""
    episodes: Annotated[str | None, arg(metavar="DATASET")] = None
    """Identify from these recordings instead of recording the robot; none takes that back."""
    trials: _Number = None
    """Attempts on the robot, before and after; 20 by default."""
    target: _Share = None
    """Success on the robot at which there is nothing left to do; 0.9 by default."""
    steps: _Steps = None
    """Control steps of the retraining, at most; 8e5 by default."""
    start_steps: _Steps = None
    """Control steps of the first training, at most; 4e6 by default."""
    seconds: Annotated[float | None, arg(metavar="S")] = None
    """Of recordings, at most; 120 by default."""
    seed: _Number = None
    """Same seed, same result; 0 by default."""
    controls: bool = False
    """Train three controls with as many steps, and try them, too."""
    no_controls: bool = False
    """Take --controls of an earlier command back."""
    insist: bool = False
    """Go on where it would stop by itself."""
    no_insist: bool = False
    """Take --insist of an earlier command back."""
    small: bool = False
    """So little of everything that it only shows how it goes."""
    out: Annotated[Path, arg(metavar="FOLDER")] = _OUT
    """The run folder: made, or gone on with."""
    begin: Annotated[str | None, arg(name="from", metavar="STAGE")] = None
    """Do this stage and all after it again: train, before, bank, look, plan, record, identify,
    diagnose, narrow, retrain, after, report."""
    accept: bool = False
    """Use artefacts of the run folder that were changed by hand."""
    arm: bool = False
    """Let a real robot move. Clear the space around it first."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Go round, a line for each stage, then say what came of it."""
        check_threads(self.threads)
        settings = self._settings()
        try:
            result = self._gone_round(settings)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("The same command goes on where this one was.") from None
        if self.json:
            show.print_json(_result(result))
        else:
            _print(result)

    def _gone_round(self, settings: Settings) -> Result:
        with _Teller(quiet=self.json) as teller:
            return run(
                Job(
                    folder=self.out,
                    settings=settings,
                    arm=self.arm,
                    threads=self.threads,
                    tell=teller.passing,
                    say=teller.say,
                ),
                begin=self.begin,
                accept=self.accept,
                command=shlex.join(["trueup", *sys.argv[1:]]),
                on_stage=teller.stage,
            )

    def _settings(self) -> Settings:
        """What the folder was begun with, or the defaults, and over it what is asked for here."""
        there = (self.out / FILE).exists()
        base = Origin.load(self.out).settings if there else Settings()
        if self.small and there and base.bank != base.small().bank:
            raise TrueupError(
                f"{self.out} holds a full run, and --small counts when one begins.",
                fix="Leave --small out, or choose another --out.",
            )
        if self.small and not there:
            base = base.small()
        given = {
            "policy": _path("policy", self.policy),
            "episodes": _path("episodes", self.episodes),
            "trials": self.trials,
            "target": self.target,
            "seconds": self.seconds,
            "seed": self.seed,
            "controls": _switched("controls", self.controls, self.no_controls),
            "insist": _switched("insist", self.insist, self.no_insist),
            "world": self.world,
            "robot": self._address(base),
            "tune": _with_steps("steps", base.tune, self.steps),
            "start": _with_steps("start-steps", base.start, self.start_steps),
        }
        settings = replace(base, **{k: v for k, v in given.items() if v is not None})
        OneWorld(world=settings.world).opened_world()
        return settings

    def _address(self, base: Settings) -> str | None:
        if self.robot is not None and self.reality is not None:
            raise TrueupError(
                "--robot and --reality both say what the policy is tried on.",
                fix="Give one of the two.",
            )
        if self.robot is not None:
            return self.robot
        world = self.world or base.world
        if self.reality is None and world == base.world:
            return None
        return f"rehearsal:{self.reality or REALITY}@{world}"


def _with_steps(option: str, settings: Any, steps: float | None) -> Any:
    if steps is None:
        return None
    if not 1 <= steps < float("inf") or steps != int(steps):
        raise TrueupError(
            f"--{option} is {steps:g}.", fix="Give a whole number of control steps, such as 8e5."
        )
    return replace(settings, steps=int(steps))


def _path(option: str, given: str | None) -> str | None:
    """A path as it was typed; empty where an earlier one is taken back."""
    if given is not None and not given.strip():
        raise TrueupError(
            f"--{option} is empty.", fix="Give a path, or none to take an earlier one back."
        )
    return "" if given == _NONE else given


def _switched(option: str, on: bool, off: bool) -> bool | None:
    if on and off:
        raise TrueupError(f"--{option} and --no-{option} contradict.", fix="Give one of the two.")
    return on if on or off else None


class _Teller:
    """One line for each stage; on a terminal, also how the one at work stands."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._terminal = quiet, sys.stderr.isatty()

    def __enter__(self) -> _Teller:
        return self

    def __exit__(self, *_: object) -> None:
        self._wipe()

    def stage(self, name: str, entry: Entry) -> None:
        """A stage that ended."""
        self._wipe()
        if self._quiet or entry.state is State.LEFT_OUT:
            return
        print(f"{name:<16} {entry.seconds:6.1f} s  {entry.found}", file=sys.stderr, flush=True)

    def passing(self, line: str) -> None:
        """How the stage at work stands."""
        if self._terminal and not self._quiet:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{line[:width]:<{width}}", end="", file=sys.stderr, flush=True)

    def say(self, line: str) -> None:
        """What an operator must read."""
        self._wipe()
        print(line, file=sys.stderr, flush=True)

    def _wipe(self) -> None:
        if self._terminal and not self._quiet:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{'':<{width}}\r", end="", file=sys.stderr, flush=True)


def _result(result: Result) -> dict[str, Any]:
    return {
        "folder": str(result.folder),
        "ended": str(result.stop.why),
        "words": result.stop.words,
        **{k: v for k, v in result.journal.to_json().items() if k in ("stages", "accepted")},
    }


def _print(result: Result) -> None:
    out = show.console()
    for line in result.told:
        out.print(line, markup=False, soft_wrap=True)
    page = result.folder / "report" / "report.html"
    if page.exists():
        out.print(f"\nReport: {page}", markup=False, soft_wrap=True)
