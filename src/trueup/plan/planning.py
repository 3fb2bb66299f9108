"""From a gap report to a protocol: which action gives back most for its minutes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trueup.diagnose import UNEXPLAINED, GapReport
from trueup.errors import TrueupError
from trueup.identify import Estimate
from trueup.plan.action import Action, Kind, actions
from trueup.plan.costs import Costs
from trueup.plan.doubt import Doubt, doubt
from trueup.plan.gains import Choice, Gains
from trueup.plan.protocol import Item, Protocol, Work, sha256_of
from trueup.plan.stopping import WORTH, stop_rules, trials_after
from trueup.plan.words import notes, sentences, why
from trueup.versions import versions
from trueup.worlds import World

_LEAST = 0.5
"""Points that an item must add to those above it, whatever is worth while."""
TRAIN = Action(
    name="train-again",
    kind=Kind.TRAIN,
    title="Train again in the world as it is known now, and record nothing",
    then={},
    enter="trueup narrow WORLD --estimate FILE... --gaps GAPS --out space.json, then trueup train "
    "WORLD --from POLICY --space space.json",
)


def planned(
    report: GapReport,
    *,
    world: World | None = None,
    costs: Costs | None = None,
    estimate: Path | str | None = None,
    worth: float = WORTH,
    seed: int = 0,
) -> Protocol:
    """What to do next, most points a minute first.

    Args:
        report: What was lost, and to which gap.
        world: Where it was lost; its space names the parameters that the report does not.
        costs: How long things take; ours by default.
        estimate: What is identified so far: motions are then designed for it.
        worth: Points below which an action is left out.
        seed: Of the draws behind the intervals.
    """
    if not 0.0 <= worth < float("inf"):
        raise TrueupError(
            f"What is worth while begins at {worth:g} points.", fix="Give 0 or more, such as 2."
        )
    for word, rate in (("simulated", report.simulated), ("real", report.measured)):
        if not rate.trials:
            raise TrueupError(
                f"The gap report counts no {word} trials, so nothing was lost that could be told.",
                fix="Try the policy, then diagnose again; `trueup plan outlook` needs no trials.",
            )
    costs = costs or Costs.usual()
    known = doubt(report, world)
    gains = Gains(report, known, np.random.default_rng(seed))
    again = gains.trained(TRAIN)
    chosen, needless = gains.ordered(
        _playable(world), lambda action: costs.minutes(action), max(worth, _LEAST)
    )
    if again.recovery.points >= worth:
        chosen = [again, *chosen]
    items = tuple(
        _item(number, choice, costs, report, _work(choice.action, known, estimate))
        for number, choice in enumerate(chosen, 1)
    )
    checked = None if estimate is None else Estimate.load(estimate).check
    return Protocol(
        world=report.world,
        policy=report.policy,
        real=report.real,
        loss=report.loss,
        report_sha256=sha256_of(report.to_json()),
        items=items,
        stop=stop_rules(report, items, worth),
        sentences=sentences(report, items, checked),
        notes=notes(report, worth, needless),
        made={"costs": costs.to_json(), "worth": worth, "seed": seed, "versions": versions()},
    )


def _playable(world: World | None) -> list[Action]:
    """Every action of every template that this world can play."""
    touches = world is None or any(n.startswith("object/") for n in world.catalogue.names)
    return [a for a in actions().values() if a.kind is not Kind.PROBES or touches]


def _item(number: int, choice: Choice, costs: Costs, report: GapReport, work: Work) -> Item:
    action, recovery = choice.action, choice.recovery
    minutes = costs.minutes(action)
    return Item(
        number=number,
        gap=choice.gap,
        name=action.name,
        kind=action.kind,
        title=action.title,
        why=why(choice.gap, action, report),
        work=work,
        recovery=recovery,
        robot_minutes=minutes - action.hand_minutes,
        hand_minutes=action.hand_minutes,
        per_minute=recovery.in_order / minutes if minutes else None,
        trials=trials_after(report, recovery.points),
    )


def _work(action: Action, known: Doubt, estimate: Path | str | None) -> Work:
    learned = {
        row.name
        for rows in known.unknowns.values()
        for row in rows
        if action.left(row.name, row.left) < row.left and row.name != UNEXPLAINED
    }
    return Work(
        motions=action.motions,
        repeats=action.repeats,
        conditions=action.conditions,
        demonstrations=action.demonstrations_in(len(action.conditions)),
        steps=action.steps,
        design=str(estimate) if estimate is not None and action.designed else "",
        enter=action.enter,
        parameters=tuple(sorted(name for name in learned if not name.endswith("/?"))),
    )
