"""A policy on a robot, from preflight to the last trial: what `trueup deploy` does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from trueup.deploy.budget import Budget, budget
from trueup.deploy.trials import Operator, Outcomes, Series, attempt
from trueup.deploy.wiring.exercise import travelled
from trueup.deploy.wiring.finding import Preflight
from trueup.deploy.wiring.preflight import preflight
from trueup.episodes import Dataset
from trueup.errors import TrueupError
from trueup.evaluate import Comparison, evaluate, piloted
from trueup.hardware import Robot, RobotLost, Stopped
from trueup.policies import Policy
from trueup.worlds import World

_RETREAT_SPEED = 0.5  # rad/s
_EPISODES = 6  # that the latency budget is fitted to


class NotArmed(TrueupError):
    """A real robot that nobody allowed to move."""

    def __init__(self, robot: Robot) -> None:
        super().__init__(
            f"{robot.name} is real, and nothing moves it without your say.",
            fix="Clear its surroundings and give --arm; --shadow computes without moving.",
        )


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """What came of it.

    Attributes:
        robot: Its name.
        real: Whether matter moved; otherwise everything here is sim-to-sim.
        preflight: What was checked; none where that was left out.
        outcomes: Of the trials.
        budget: Where the time went; none where no turn was run.
        simulated: The same trials in the nominal world, compared in pairs; none where not asked.
        simulated_share: Success there.
    """

    robot: str
    real: bool
    preflight: Preflight | None
    outcomes: Outcomes
    budget: Budget | None
    simulated: Comparison | None = None
    simulated_share: float | None = None

    @property
    def label(self) -> str:
        """What kind of result this is."""
        return "real" if self.real else "sim-to-sim"

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        done = self.outcomes
        found: dict[str, Any] = {
            "label": self.label,
            "robot": self.robot,
            "trials": len(done.success),
            "resumed": done.resumed,
            "success": done.successes,
            "success_share": done.share if len(done.success) else None,
            "success_interval_95": list(done.interval()),
            "stopped": {str(trial): reason for trial, reason in done.stopped.items()},
            "outcomes": [
                {"trial": int(k), "seed": int(seed), "success": bool(success)}
                for k, seed, success in zip(done.trials, done.seeds, done.success, strict=True)
            ],
            "latency_budget": None if self.budget is None else self.budget.to_json(),
            "preflight": None if self.preflight is None else self.preflight.to_json(),
        }
        if self.simulated is not None:
            found["simulated"] = {
                "success_share": self.simulated_share,
                "difference": self.simulated.difference,
                "interval_95": list(self.simulated.interval()),
                "p_value": self.simulated.p_value,
            }
        return found


def deploy(
    policy: Policy,
    robot: Robot,
    world: World,
    series: Series,
    folder: Path | str,
    *,
    armed: bool,
    check: bool = True,
    sweep: bool = True,
    simulate: bool = False,
    fallback: Literal["hold", "rest"] = "hold",
    operator: Operator | None = None,
    on_turn: Callable[[], None] = lambda: None,
    on_progress: Callable[[int], None] = lambda trials: None,
) -> Deployment:
    """Check a robot, then let a policy try on it, and say how often it worked and how fast it was.

    Args:
        policy: What drives.
        robot: Connected. It is left holding still.
        world: Its nominal world.
        series: What is to be tried.
        folder: The dataset that takes in the trials.
        armed: Whether a real robot may move; others need no leave.
        check: Whether to begin with preflight.
        sweep: Whether preflight may bring joints to their limits.
        simulate: Whether to play the same trials in the nominal world, too.
        fallback: What a robot does that was stopped: hold still, or go back slowly to where the
            trial began.
        operator: Who resets, judges and stops a real robot.
        on_turn: Called once a turn of preflight; raise `Stopped` there to end it.
        on_progress: Called with the number of trials just done.
    """
    moves = armed or not robot.real
    if not moves and not series.shadow:
        raise NotArmed(robot)
    found = None
    if check:
        found = preflight(
            policy, robot, world, move=moves and not series.shadow, sweep=sweep, on_turn=on_turn
        )
        found.refuse()
    else:
        policy.check(robot.interface, of=robot.name)
    if not series.shadow or not robot.real:
        robot.enable()
    outcomes = _attempted(policy, robot, world, series, folder, fallback, operator, on_progress)
    simulated, share = _simulated(policy, world, outcomes) if simulate else (None, None)
    return Deployment(
        robot=robot.name,
        real=robot.real,
        preflight=found,
        outcomes=outcomes,
        budget=_budget(outcomes, folder, world),
        simulated=simulated,
        simulated_share=share,
    )


def _attempted(
    policy: Policy,
    robot: Robot,
    world: World,
    series: Series,
    folder: Path | str,
    fallback: str,
    operator: Operator | None,
    on_progress: Callable[[int], None],
) -> Outcomes:
    home = robot.hold
    try:
        return attempt(
            policy, robot, world, series, folder, operator=operator, on_progress=on_progress
        )
    except RobotLost:
        raise
    except (Stopped, KeyboardInterrupt):
        if fallback == "rest" and not series.shadow:
            retreat(robot, home)
        raise


def retreat(robot: Robot, home: np.ndarray) -> None:
    """Go slowly from where a robot is told to be to some commands (n, nu)."""
    period_s = robot.interface.period_s
    paths = [
        travelled([start, stop], period_s, _RETREAT_SPEED)
        for start, stop in zip(robot.hold, home, strict=True)
    ]
    for k in range(max(map(len, paths))):
        robot.act(np.stack([path[min(k, len(path) - 1)] for path in paths]))
        robot.clock.wait_until(robot.clock.now_s() + period_s)


def _budget(outcomes: Outcomes, folder: Path | str, world: World) -> Budget | None:
    if not outcomes.turns:
        return None
    dataset = Dataset.open(folder)
    last = range(max(0, len(dataset) - _EPISODES), len(dataset))
    return budget(outcomes.turns, [dataset[i] for i in last], world)


def _simulated(
    policy: Policy, world: World, outcomes: Outcomes
) -> tuple[Comparison | None, float | None]:
    """The same starts in the nominal world."""
    if not len(outcomes.success):
        return None, None
    nominal = evaluate(world, piloted(policy), world.space.nominal(), outcomes.seeds)
    ours, theirs = outcomes.success, nominal.success
    comparison = Comparison(
        both=int((ours & theirs).sum()),
        only_a=int((ours & ~theirs).sum()),
        only_b=int((~ours & theirs).sum()),
        neither=int((~ours & ~theirs).sum()),
        same_worlds=False,
    )
    return comparison, nominal.success_share
