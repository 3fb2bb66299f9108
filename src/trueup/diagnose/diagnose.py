"""From trials to a gap report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from trueup.diagnose.bank import Bank, Told
from trueup.diagnose.doubt import Doubt
from trueup.diagnose.echo import echoed
from trueup.diagnose.familiarity import Familiarity, outside
from trueup.diagnose.gap_report import UNEXPLAINED, Departure, GapReport, Interaction, Rate, Share
from trueup.diagnose.inference import Reader
from trueup.diagnose.planted import GAPS
from trueup.diagnose.shapley import Attribution, Beyond, attributed
from trueup.diagnose.signature import signature
from trueup.diagnose.splitting import Split, split
from trueup.diagnose.trialed import Trials, traces
from trueup.diagnose.words import sentences
from trueup.errors import TrueupError
from trueup.evaluate import Begin
from trueup.space import Joint, Prior, Space
from trueup.versions import versions
from trueup.worlds import World

FEWEST = 5
"""Trials: fewer say next to nothing."""

_LEAST = 0.05  # of success: a smaller loss has no cause worth a search
_SLIGHTLY = 1.5  # times what was lost: an identification that explains so much is about right
_VAGUE = 0.8  # of what was believed before: as much left, and recordings tell nothing of a number
_SURELY = 0.98  # confidence at which trials contradict an identification


class Belief(Protocol):
    """What identification returns, as far as diagnosis needs it."""

    @property
    def priors(self) -> Any: ...
    @property
    def joints(self) -> Sequence[Joint]: ...


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is to be diagnosed.

    Attributes:
        world: Where the policy was trained.
        begin: The policy at the controls, as `evaluate` takes it.
        policy: Its name.
        trials: What it did on the robot.
        bank: What it does in many bent worlds.
        beliefs: What recordings say of the robot; none where there are none.
        sober: The same, if what need not differ is as it usually is; none where nobody asked.
        evidence: The words for it: `trials`, `recordings`, `probes`.
        departures: Parameters that recordings say differ.
        doubts: What the identification could not explain; none where nothing is.
        usual: Parameters that recordings showed to be as they usually are.
        beyond: What was learnt that no parameter makes; none where nothing was.
    """

    world: World
    begin: Begin
    policy: str
    trials: Trials
    bank: Bank
    beliefs: tuple[Belief, ...] = ()
    sober: tuple[Belief, ...] = ()
    evidence: tuple[str, ...] = ("trials",)
    departures: tuple[Departure, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    usual: tuple[str, ...] = ()
    beyond: Beyond | None = None


def diagnose(
    case: Case,
    *,
    seed: int = 0,
    draws: int = 24,
    threads: int = 0,
    on_progress: Told | None = None,
) -> GapReport:
    """Which gap explains the lost success, and how sure.

    Gaps that recordings identified cost what the policy loses where the simulator has the
    identified values. The others cost what networks say that have seen this policy in a bank of
    bent worlds. What neither reproduces is unexplained.

    Args:
        case: What is to be diagnosed.
        seed: Of every draw.
        draws: Points of what was identified at which the policy is played.
        threads: CPU threads; 0 takes all.
        on_progress: Told in a line how it stands.
    """
    tell, began = on_progress or (lambda _: None), perf_counter()
    bank, won = case.bank, case.trials.success
    simulated = Rate(
        successes=round(bank.nominal * bank.nominal_trials), trials=bank.nominal_trials
    )
    measured = Rate(successes=int(won.sum()), trials=len(won))
    loss = simulated.share - measured.share
    generator = np.random.default_rng([seed, 6])
    found = _attribution(case, measured, generator, draws, threads, tell) if case.beliefs else None
    doubted = [doubt.what for doubt in case.doubts]
    notes = [*case.trials.notes, *doubted, *_notes(simulated, measured)]
    parts = None
    if found is not None and _contradicted(found, measured):
        slight = found.lost.value <= _SLIGHTLY * loss
        notes.append(_contradiction(found, measured, slight))
        if slight:
            found = found.scaled(loss / found.lost.value)
        elif case.doubts:  # joints do what no parameter makes them do: none of it is explained
            found = found.void()
        else:
            found, case = None, replace(case, evidence=("trials",))
    if len(won) >= FEWEST and loss >= _LEAST:
        told = (simulated, measured, generator, seed, threads, tell, notes)
        parts = _split(case, found, *told)
    report = _report(case, simulated, measured, parts, found, tuple(notes))
    made = {
        "seconds": round(perf_counter() - began, 1),
        "bank": len(bank),
        "seed": seed,
        "versions": versions("mujoco", "numpy", "torch"),
        **({"identified": found.to_json()} if found else {}),
        **(parts.made if parts else {}),
    }
    words = sentences(report, doubted=bool(doubted))
    return replace(report, sentences=words, made=made)


def _attribution(
    case: Case,
    measured: Rate,
    generator: np.random.Generator,
    draws: int,
    threads: int,
    tell: Told,
) -> Attribution:
    tell("what the identified values cost")
    belief = belief_of(case.world, case.beliefs)
    return attributed(
        case.world,
        case.begin,
        belief,
        generator,
        draws=draws,
        measured=measured,
        sober=belief_of(case.world, case.sober) if case.sober else None,
        beyond=case.beyond,
        threads=threads,
    )


def belief_of(world: World, beliefs: Sequence[Belief]) -> Space:
    """The identified parameters, with what is believed of them; the last belief counts."""
    names: dict[str, None] = {}
    for belief in beliefs:
        of: dict[str, Prior] = dict(belief.priors)
        names |= dict.fromkeys([*of, *(n for joint in belief.joints for n in joint.names)])
    unknown = [name for name in names if name not in world.catalogue]
    if len(unknown) == len(names):
        raise TrueupError(
            f"Nothing of what was identified is a parameter of the world {world.name!r}.",
            fix="Identify the robot that the trials were of.",
        )
    space = world.catalogue.select(*(name for name in names if name not in unknown))
    for belief in beliefs:
        space = space.narrowed(_known(belief, space))
    return space


@dataclass(frozen=True, kw_only=True)
class _Known:
    """The part of a belief that a world has parameters for."""

    priors: dict[str, Prior]
    joints: tuple[Joint, ...]


def _known(belief: Belief, space: Space) -> _Known:
    joints = []
    for joint in belief.joints:
        names = [name for name in joint.names if name in space]
        if names:
            joints.append(joint if len(names) == len(joint.names) else joint.marginal(names))
    return _Known(
        priors={n: p for n, p in dict(belief.priors).items() if n in space}, joints=tuple(joints)
    )


def _split(
    case: Case,
    found: Attribution | None,
    simulated: Rate,
    measured: Rate,
    generator: np.random.Generator,
    seed: int,
    threads: int,
    tell: Told,
    notes: list[str],
) -> Split | None:
    seen = traces(case.trials, case.world)
    if seen is None:
        notes.append(
            "The trials have no commands and joint positions: nothing can be said about a cause."
        )
        return None
    tell("reading the trials")
    known = [gap for gap in (found.gaps if found else ()) if gap in GAPS]
    names = _told(case) if found else ()
    reader = Reader(case.bank, len(case.trials.episodes), names, seed=seed)
    signed = signature(seen.some(np.arange(min(len(seen.success), max(case.bank.signatures)))))
    missing = [name for name in case.bank.features if name not in signed.names]
    if missing:
        notes.append(f"{len(missing)} of {len(case.bank.features)} marks were not recorded.")
    of = dict(zip(signed.names, signed.values, strict=True))
    usual = np.median(case.bank.signatures[reader.count], axis=0)
    values = np.array([of.get(n, u) for n, u in zip(case.bank.features, usual, strict=True)])
    familiar = Familiarity(case.bank.signatures[reader.count])
    p = familiar.p_value(values)
    alone = {gap: found.alone[gap].value for gap in known} if found else {}
    answer = reader.read(values, simulated.share - measured.share, alone)
    strange_ = outside(p, doubted=bool(case.doubts), odds=answer.odds)
    echo = None
    if found is not None and found.lost.value > 0.0:
        tell("trials in the identified world")
        belief = belief_of(case.world, case.beliefs)
        where = (case.world, case.begin, belief, reader)
        echo = echoed(*where, simulated, measured, alone, generator, threads=threads)
    told = (simulated, measured, strange_, generator)
    rest = {"doubts": case.doubts, "echo": echo, "elsewhere": answer.elsewhere}
    parts = split(answer, found, *told, **rest)
    strange = [case.bank.features[i] for i in familiar.strangest(values)]
    parts.made.update({"familiar_p": p, "strangest": strange, "read_trials": reader.count})
    return parts


def _told(case: Case) -> tuple[str, ...]:
    """Parameters that recordings tell, and not only have been asked for."""
    open_ = {departure.name for departure in case.departures if departure.left >= _VAGUE}
    fitted = belief_of(case.world, case.beliefs).names
    return (*(name for name in fitted if name not in open_), *case.usual)


def _contradicted(found: Attribution, measured: Rate) -> bool:
    """Whether the identified world loses far more than the robot does, beyond all chance."""
    most = found.success.interval(_SURELY)[1] + 3 * found.lost.spread
    return most < measured.interval(_SURELY)[0]


def _contradiction(found: Attribution, measured: Rate, slight: bool) -> str:
    worst = max(found.shares, key=lambda gap: found.shares[gap].value)
    told = (
        f"With the identified values the policy would succeed in "
        f"{100 * found.success.share:.0f} %, mostly for {worst}, and the robot does in "
        f"{100 * measured.share:.0f} %: "
    )
    if slight:
        return f"{told}they explain more than was lost, and their shares were made smaller alike."
    return (
        f"{told}what was identified stands for something else there, such as a pull taken for a "
        "wrong zero, and does not count."
    )


def _notes(simulated: Rate, measured: Rate) -> list[str]:
    found = []
    if measured.trials < FEWEST:
        found.append(
            f"{measured.trials} trials are too few to name a cause; {FEWEST} are the least, 20 are "
            "better."
        )
    elif measured.successes == measured.trials:
        found.append("No trial failed: there is no failure to explain.")
    elif measured.successes == 0:
        found.append(
            "No trial succeeded: shares say what would be lost to each gap, not what is left once "
            "one of them is mended; a gap may hide behind another."
        )
    if simulated.share < 0.5:
        found.append(
            f"The policy succeeds in only {100 * simulated.share:.0f} % of simulated episodes: "
            "train it further before looking for a gap."
        )
    return found


def _report(
    case: Case,
    simulated: Rate,
    measured: Rate,
    parts: Split | None,
    found: Attribution | None,
    notes: tuple[str, ...],
) -> GapReport:
    loss = 100.0 * (simulated.share - measured.share)
    rest = parts.unexplained if parts else Share(gap=UNEXPLAINED, points=loss, low=loss, high=loss)
    pairs = []
    for gaps, cost in (found.pairs if found else {}).items():
        low, high = (100 * end for end in cost.interval)
        pairs.append(Interaction(gaps=gaps, points=100 * cost.value, low=low, high=high))
    return GapReport(
        world=case.world.name,
        policy=case.policy,
        real=case.trials.real,
        evidence=case.evidence,
        simulated=simulated,
        measured=measured,
        shares=parts.shares if parts else (),
        unexplained=rest,
        interactions=tuple(pair for pair in pairs if pair.sure),
        departures=case.departures,
        notes=notes,
    )
