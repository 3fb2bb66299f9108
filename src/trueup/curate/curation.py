"""Which episodes to train on: every rule, every episode, one verdict each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from trueup.curate.comparison import Comparison
from trueup.curate.discriminator.discriminator import Discrimination
from trueup.curate.judging import Judgement, Table
from trueup.curate.preparation import Preparation
from trueup.curate.reading import CONSENT, UNREADABLE, Episodes, named, read
from trueup.curate.rules.outcome import Footage, Success
from trueup.curate.rules.registry import RULES
from trueup.curate.verdict import MOST, KeepList, Reason, RuleCount, Verdict
from trueup.errors import TrueupError, UnknownName
from trueup.versions import versions

REALNESS = "realness"
"""What stands in the place of a rule where the discriminator had an episode dropped."""

_OTHERS = {
    CONSENT: "somebody is in it who did not agree to training",
    UNREADABLE: "cannot be read",
    REALNESS: "not taken for real by the discriminator",
}
_EASY = 0.5  # of the way to a fence: up to here an episode has its full weight
_ODDS = 2.3  # how far the discriminator's log-odds may move a weight: a factor of ten


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to curate.

    Attributes:
        ignore: Rules to leave out.
        losses: The share of ordinary episodes that may be dropped by chance, over all rules.
        world: The world that states are put into; by default the one that the episodes name.
        by_reference: Whether the reference set says what is ordinary, instead of the dataset.
        realness: Drop what the discriminator takes for real with less than this probability.
        seed: Of the discriminator's folds and shuffles.
    """

    ignore: tuple[str, ...] = ()
    losses: float = 0.02
    world: str | None = None
    by_reference: bool = False
    realness: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        known = [rule.name for rule in RULES]
        for name in self.ignore:
            if name not in known:
                raise UnknownName("rule", name, known)
        if not 0.0 < self.losses < 0.5:
            raise TrueupError(
                f"A share of {self.losses} of ordinary episodes cannot be lost by chance.",
                fix="Give a number between 0 and 0.5, such as 0.02.",
            )
        if not 0.0 <= self.realness < 1.0:
            raise TrueupError(
                f"A realness of {self.realness} is no probability.", fix="Give 0 up to 1."
            )


def curate(
    episodes: Episodes,
    reference: Episodes | None = None,
    settings: Settings | None = None,
    *,
    on_progress: Callable[[int], None] = lambda episodes: None,
) -> KeepList:
    """Judge every episode of a set, each by what is ordinary in it.

    The set is read twice: some episodes to learn what its signals look like, then all of them one
    by one, so that memory holds a few numbers of each.

    Args:
        episodes: A dataset, or episodes in memory.
        reference: Episodes that are known to be right, or real; a discriminator tells both apart.
        settings: How.
        on_progress: Called with 1 after each episode.
    """
    settings = settings or Settings()
    _check(episodes, reference, settings)
    ready = Preparation.of(episodes, world=settings.world, ignore=settings.ignore)
    beside = None if reference is None else Comparison.of(episodes, reference)
    table = Table()
    for episode, why in read(episodes):
        table.add(ready.rules, None if episode is None else ready.look(episode), why)
        if beside is not None:
            beside.see(episode)
        on_progress(1)
    ordinary = _ordinary(ready, reference) if reference and settings.by_reference else None
    pair = None if beside is None else beside.pair()
    judgement = Judgement.of(table, ready.rules, ordinary, pair, losses=settings.losses)
    told = None if beside is None else beside.discrimination(settings.seed)
    _check_worth(episodes, table)
    verdicts = _verdicts(judgement, told, settings)
    if not any(v.keep for v in verdicts):
        raise _nothing_left(episodes, verdicts)
    blind = {**ready.blind, **judgement.blind}
    return KeepList(
        dataset=named(episodes),
        reference="" if reference is None else named(reference),
        verdicts=verdicts,
        rules=_counted(verdicts, settings, blind),
        notes=(*judgement.notes, *(beside.notes if beside else ()), *_warned(told)),
        discriminator={} if told is None else told.to_json(),
        settings={**asdict(settings), "ignore": list(settings.ignore), "versions": versions()},
    )


def _ordinary(ready: Preparation, reference: Episodes) -> Table:
    """What the rules find in the reference."""
    table = Table()
    for episode, why in read(reference):
        table.add(ready.rules, None if episode is None else ready.look(episode), why)
    return table


def _verdicts(
    judgement: Judgement, told: Discrimination | None, settings: Settings
) -> tuple[Verdict, ...]:
    n = len(judgement.reasons)
    odds = np.zeros(n) if told is None else np.nan_to_num(told.odds)
    real = np.full(n, np.nan) if told is None else told.realness
    for i in np.flatnonzero(real < settings.realness):
        judgement.reasons[i].append(_given_away(float(real[i]), told.giveaways[i] if told else ""))
    keep = np.array([not reasons for reasons in judgement.reasons])
    ease = np.clip((1.0 - judgement.badness) / (1.0 - _EASY), 0.0, 1.0)
    weight = np.where(keep, ease * np.exp(np.clip(odds, -_ODDS, _ODDS)), 0.0)
    if weight.any():
        weight = weight / weight[keep].mean()
    return tuple(
        Verdict(
            episode=i,
            keep=bool(keep[i]),
            badness=float(min(judgement.badness[i], MOST)),
            weight=float(weight[i]),
            reasons=tuple(judgement.reasons[i]),
            nearest=judgement.nearest[i] if keep[i] else "",
            real=None if np.isnan(real[i]) else float(real[i]),
            giveaway="" if told is None else told.giveaways[i],
        )
        for i in range(n)
    )


def _given_away(real: float, signal: str) -> Reason:
    by = f", given away by {signal}" if signal else ""
    what = f"it is taken for real with a probability of {real:.2f}{by}"
    return Reason(rule=REALNESS, where=signal, what=what, excess=1.0)


def _counted(
    verdicts: tuple[Verdict, ...], settings: Settings, blind: dict[str, str]
) -> tuple[RuleCount, ...]:
    """What each rule did, those included that could not look or were left out."""
    dropped = Counter(name for v in verdicts for name in {r.rule for r in v.reasons})
    first = Counter(v.reasons[0].rule for v in verdicts if v.reasons)
    known = {rule.name: rule.summary for rule in RULES}
    known |= {name: summary for name, summary in _OTHERS.items() if name in dropped}
    ignored = dict.fromkeys(settings.ignore, "it was to be left out")
    return tuple(
        RuleCount(
            name=name,
            summary=summary,
            dropped=dropped[name],
            first=first[name],
            blind={**blind, **ignored}.get(name, ""),
        )
        for name, summary in known.items()
    )


def _warned(told: Discrimination | None) -> tuple[str, ...]:
    if told is None or told.sound:
        return ()
    return (
        f"The discriminator's control with shuffled labels is {told.control:.2f} instead of 0.5: "
        "something leaks, or there are too few episodes; do not trust its verdicts here.",
    )


def _check(episodes: Episodes, reference: Episodes | None, settings: Settings) -> None:
    for some in (episodes, reference):
        if some is not None and not len(some):
            raise TrueupError(f"{named(some)} has no episodes.", fix="Record some first.")
    if len(episodes) == 1 and reference is None:
        raise TrueupError(
            f"{named(episodes)} has one episode, and nothing says what is ordinary.",
            fix="Give a set of similar episodes as the reference, or look at this one with "
            "`trueup replay`.",
        )
    if settings.by_reference and reference is None:
        raise TrueupError(
            "There is no reference to take the thresholds from.", fix="Give one, or leave it out."
        )
    if settings.realness and reference is None:
        raise TrueupError(
            "Without a reference nothing says what is real.", fix="Give one, or leave it out."
        )


def _check_worth(episodes: Episodes, table: Table) -> None:
    """Refuse a set in which every episode has the same fatal fault, with what can be done."""
    n = len(table.prints)
    if len(table.faults.get(Success.name, {})) == n:
        raise TrueupError(
            f"None of the {n} episodes of {named(episodes)} is a success, so that there is nothing "
            "to imitate.",
            fix="Check their outcomes with `trueup episodes info`; leave out the rule `success` "
            "(--ignore success) to judge how they move alone.",
        )
    if len(table.faults.get(Footage.name, {})) == n:
        raise TrueupError(
            f"The videos of all {n} episodes of {named(episodes)} are missing.",
            fix="Download them too, or leave out the rule `videos` (--ignore videos) to judge the "
            "signals alone.",
        )


def _nothing_left(episodes: Episodes, verdicts: tuple[Verdict, ...]) -> TrueupError:
    why = Counter(v.reasons[0].rule for v in verdicts).most_common(3)
    told = ", ".join(f"{rule} ({count})" for rule, count in why)
    return TrueupError(
        f"Nothing of {named(episodes)} would be left: {told}.",
        fix="Leave out the rules that do not apply to this dataset (--ignore RULE), or take the "
        "thresholds from the dataset itself.",
    )
