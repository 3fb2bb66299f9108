"""`trueup deploy`: a policy on a robot, checked first, tried N times, timed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from trueup.cli import deployments, show
from trueup.cli.copies import check_positive, check_seed
from trueup.cli.files import writable_folder, write_text
from trueup.cli.options import Count, Machine, Seconds
from trueup.cli.people import WithPeople
from trueup.deploy import Preflight, Series, deploy, preflight
from trueup.deploy.terminal import KEYS, Terminal
from trueup.errors import TrueupError
from trueup.hardware import Robot, open_robot
from trueup.policies import Policy, open_policy
from trueup.worlds import World, get

_MOST_CELLS = 256
_REHEARSAL = "rehearsal:"


@dataclass(frozen=True, kw_only=True)
class _OnRobot(Machine):
    """A policy and a robot."""

    policy: Annotated[Positional[Path], arg(metavar="POLICY")]
    """A policy's folder, or lerobot:FOLDER[@DATASET] for a checkpoint of LeRobot."""
    robot: Annotated[str, arg(metavar="ADDRESS")]
    """rehearsal:REALITY[@WORLD], tcp:HOST:PORT, unix:PATH, or so101:PORT."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """The world whose model describes the robot; by default the one the policy was trained in."""
    arm: bool = False
    """Let a real robot move. Clear the space around it first."""
    quick_check: bool = False
    """Keep preflight to a wiggle of each joint: wrong zeros and scales are not seen then."""
    realtime: bool = False
    """Let a rehearsal robot's time pass by itself, as a real one's does."""

    def loaded(self) -> tuple[Policy, World]:
        """The policy, and the nominal world of its robot."""
        policy = open_policy(self.policy)
        try:
            return policy, get(self.world or policy.contract.world)
        except TrueupError as error:
            if self.world:
                raise
            raise TrueupError(
                f"{self.policy} was made for the world {policy.contract.world!r}, which is not "
                "known here.",
                fix="Say where it is with --world FILE.py:CLASS.",
            ) from error

    def opened(self, cells: int = 1) -> Robot:
        """The robot, not yet connected."""
        own = self.robot.startswith(_REHEARSAL)
        return open_robot(self.robot, cells=cells if own else 1, realtime=self.realtime and own)

    def checked(self, policy: Policy, world: World, robot: Robot, move: bool) -> Preflight:
        """What preflight finds, told as it goes."""
        with self._watched(robot) as terminal, show.progress("preflight", 1, quiet=self.json):
            return preflight(
                policy,
                robot,
                world,
                move=move,
                sweep=not self.quick_check,
                on_turn=terminal.preflight_turn,
            )

    @contextmanager
    def _watched(self, robot: Robot) -> Iterator[Terminal]:
        with Terminal(robot, _say) as terminal:
            if robot.real and not self.json:
                _say(KEYS)
            yield terminal


@dataclass(frozen=True, kw_only=True)
class Check(_OnRobot):
    """Check a robot before a policy moves it: wiring, units, zeros, rate.

    First without torque: contract and readings. Then each joint moves a few degrees, one after the
    other, and at last goes slowly to its limits and back, which takes about two minutes of the
    robot's time. A real robot does not move without --arm; then only the first part is checked.

    trueup deploy check POLICY --robot rehearsal:benign
    """

    def run(self) -> None:
        """Check, and say what was found; exit code 2 where something is wrong."""
        policy, world = self.loaded()
        with self.opened() as robot:
            found = self.checked(policy, world, robot, move=self.arm or not robot.real)
            with Terminal(robot, _say) as terminal:
                if robot.real and self.arm:
                    terminal.release()
        if self.json:
            show.print_json(found.to_json())
        else:
            deployments.print_preflight(found)
        found.refuse()


@dataclass(frozen=True, kw_only=True)
class Deploy(WithPeople, _OnRobot):
    """Try a policy on a robot: how often it works, and where the time goes.

    Begins with the check of `trueup deploy check`. Every trial becomes an episode of a dataset in
    the --out folder. An interrupted series goes on with the same command. A real robot does not
    move without --arm. Keys: space stops at once, y, n and r end a trial with its verdict. With
    --participant nothing starts unless that person's consent covers the purpose.

    trueup deploy POLICY --robot rehearsal:benign --trials 50 --out trials
    """

    out: Annotated[Path, arg(metavar="FOLDER")]
    """Write the dataset episodes/, result.json, preflight.json and latency.json here."""
    trials: Count = 20
    """How many attempts."""
    label: Annotated[tuple[str, ...], arg(metavar="NAME=WORD...")] = ()
    """Words to slice the trials by later, e.g. lighting=dim."""
    shadow: bool = False
    """Compute what the policy would do, and send nothing."""
    simulate: bool = False
    """Play the same trials in the nominal world, too, and compare."""
    seconds: Seconds = None
    """Longest trial; as long as an episode of the world by default."""
    seed: Count = 0
    """How a rehearsal robot's trials begin; the same as in `trueup evaluate` with this seed."""
    cells: Count = 0
    """Trials of a rehearsal robot that run side by side; by default all of them."""
    skip_check: bool = False
    """Begin without preflight; the contract is checked all the same."""
    fallback: Literal["hold", "rest"] = "hold"
    """What a robot that was stopped does: hold still, or go back slowly to where it began."""

    def run(self) -> None:
        """Check, try, and say what came of it."""
        series = self._series()
        series.check()  # before a robot is asked for anything
        policy, world = self.loaded()
        writable_folder(self.out)
        with self.opened(self._cells) as robot:
            found = None if self.skip_check else self._checked_first(policy, world, robot)
            if found is not None:
                write_text(self.out / "preflight.json", show.as_json(found.to_json()) + "\n")
                found.refuse()
            result = self._deployed(policy, world, robot, series)
            result["preflight"] = None if found is None else found.to_json()
        write_text(self.out / "result.json", show.as_json(result) + "\n")
        if self.json:
            show.print_json(result)
        else:
            deployments.print_result(result)

    def _deployed(
        self, policy: Policy, world: World, robot: Robot, series: Series
    ) -> dict[str, Any]:
        label = f"{Path(policy.name).name} on {robot.name}"
        with (
            self._watched(robot) as terminal,
            show.progress(label, series.trials, quiet=self.json) as advance,
        ):
            deployment = deploy(
                policy,
                robot,
                world,
                series,
                self.out / "episodes",
                armed=self.arm,
                check=False,
                simulate=self.simulate,
                fallback=self.fallback,
                operator=terminal,
                on_progress=advance,
            )
            if robot.real and self.arm:
                terminal.release()
        files = ["episodes", "result.json"]
        if deployment.budget is not None and deployment.budget.settle is not None:
            deployment.budget.save_point(self.out / "latency.json")
            files.append("latency.json")
        return {
            "policy": str(self.policy),
            "world": world.name,
            **deployment.to_json(),
            "labels": series.words,
            "seed": series.seed,
            "shadow": series.shadow,
            "files": [str(self.out / name) for name in files],
        }

    def _checked_first(self, policy: Policy, world: World, robot: Robot) -> Preflight:
        """Preflight; of one body where many of the same kind wait."""
        move = (self.arm or not robot.real) and not self.shadow
        if robot.n == 1 or not self.robot.startswith(_REHEARSAL):
            return self.checked(policy, world, robot, move)
        with self.opened() as single:
            return self.checked(policy, world, single, move)

    @property
    def _cells(self) -> int:
        return self.cells or (1 if self.realtime else min(self.trials, _MOST_CELLS))

    def _series(self) -> Series:
        check_positive("--trials", self.trials)
        check_seed(self.seed)
        if self.cells < 0:
            raise TrueupError(f"--cells is {self.cells}.", fix="Give 0 for all, or a count.")
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            raise TrueupError(f"--seconds is {self.seconds}.", fix="Give a number above 0.")
        return Series(
            trials=self.trials,
            seed=self.seed,
            seconds=self.seconds,
            shadow=self.shadow,
            labels=dict(_label(text) for text in self.label),
            people=self.admission(),
            address=self.robot,
        )


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _label(text: str) -> tuple[str, str]:
    name, equals, word = text.partition("=")
    if not (name and equals and word):
        raise TrueupError(f"--label is {text!r}.", fix="Give NAME=WORD, such as lighting=dim.")
    return name, word
