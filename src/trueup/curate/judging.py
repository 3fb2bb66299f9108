"""From measures to verdicts: every rule's fence, and what lies outside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueup.curate.fence import FEWEST, Fence
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.prints import Print, Prints
from trueup.curate.reading import Unread
from trueup.curate.rules.registry import FIRST
from trueup.curate.rules.rule import Check, Measured, Rule, Together
from trueup.curate.verdict import MOST, Reason


@dataclass
class Table:
    """What the rules found in a set, episode by episode.

    Attributes:
        faults: By rule, the sentence of each episode that has one.
        values: By rule, a mapping from place to number for each episode.
        prints: One for each episode.
    """

    faults: dict[str, dict[int, str]] = field(default_factory=dict)
    values: dict[str, list[Mapping[Place, float]]] = field(default_factory=dict)
    prints: list[Print | None] = field(default_factory=list)

    def add(self, rules: Sequence[Rule], look: Look | None, unread: Unread | None = None) -> None:
        """Let every rule look at the next episode."""
        i = len(self.prints)
        for rule in rules:
            if isinstance(rule, Measured):
                found = {} if look is None else rule.measured(look)
                self.values.setdefault(rule.name, []).append(found)
            elif isinstance(rule, Check):
                fault = "" if look is None else rule.fault(look)
                if fault:
                    self.faults.setdefault(rule.name, {})[i] = fault
        if unread is not None:
            self.faults.setdefault(unread.rule, {})[i] = unread.why
        self.prints.append(None if look is None else Print.of(look))

    def columns(self, rule: Measured) -> dict[Place, np.ndarray]:
        """By place the value of each episode, NaN where it has none."""
        rows = self.values.get(rule.name, [])
        places = dict.fromkeys(place for row in rows for place in row)
        return {p: np.array([row.get(p, np.nan) for row in rows], float) for p in places}


_ROUNDS = 3
_CLEARLY = 1.5  # so far out that it no longer says what is ordinary
_FEW = f"fewer than {FEWEST} episodes do not say what is ordinary"


@dataclass
class Judgement:
    """What is said against each episode of a set.

    Attributes:
        reasons: The reasons against each.
        badness: (n,) the largest excess of each; below 1 for those that nothing is said against.
        nearest: What that was.
        notes: What most episodes have, so that it is a habit of the dataset.
        blind: By rule, why it could not judge.
    """

    reasons: list[list[Reason]]
    badness: np.ndarray
    nearest: list[str]
    notes: list[str] = field(default_factory=list)
    blind: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        table: Table,
        rules: Sequence[Rule],
        ordinary: Table | None = None,
        pair: tuple[Prints, Prints] | None = None,
        *,
        losses: float,
    ) -> Judgement:
        """Judge a set by its own fences, or by those of another.

        What is found bad says no longer what is ordinary: the rest is judged again without it.

        Args:
            table: What the rules found.
            rules: Those that could look.
            ordinary: The set that says what is ordinary; none for the set itself.
            pair: Prints of the set and of its reference; none without a reference.
            losses: The share of ordinary episodes that may be dropped by chance, over all rules.
        """
        judge = _Judge(table, rules, ordinary, pair, losses)
        sound, found = np.ones(len(table.prints), bool), judge.judged(None)
        for _ in range(_ROUNDS):
            now = found.badness < _CLEARLY
            if np.array_equal(now, sound) or now.sum() < FEWEST:
                break
            sound, found = now, judge.judged(now)
        for reasons in found.reasons:
            reasons.sort(key=lambda reason: (FIRST.get(reason.rule, len(FIRST)), -reason.excess))
        return found

    def against(self, i: int, rule: str, where: str, sentence: str, excess: float) -> None:
        """Note a reason against an episode."""
        excess = float(min(excess, MOST))
        self.reasons[i].append(Reason(rule=rule, where=where, what=sentence, excess=excess))
        self.badness[i] = max(self.badness[i], excess)

    def near(self, i: int, rule: str, where: str, excess: float) -> None:
        """Note what came near to being one."""
        if excess > self.badness[i]:
            self.badness[i] = excess
            self.nearest[i] = f"{rule}: {where}" if where else rule


class _Judge:
    """Fences and what lies outside them, for one set."""

    def __init__(
        self,
        table: Table,
        rules: Sequence[Rule],
        ordinary: Table | None,
        pair: tuple[Prints, Prints] | None,
        losses: float,
    ) -> None:
        self._table, self._checks = table, [r for r in rules if isinstance(r, Check)]
        self._measured = [rule for rule in rules if isinstance(rule, Measured)]
        self._columns = {rule.name: table.columns(rule) for rule in self._measured}
        self._like = {
            rule.name: {} if ordinary is None else ordinary.columns(rule) for rule in self._measured
        }
        prints = Prints(table.prints)
        self._together = [
            (rule, *rule.values(prints, pair))
            for rule in rules
            if isinstance(rule, Together) and len(prints.some) > 1
        ]
        comparisons = sum(len(c) for c in self._columns.values()) + len(self._together)
        self._chance = losses / max(comparisons, 1)

    def judged(self, sound: np.ndarray | None) -> Judgement:
        """What is said against each, where these (n,) say what is ordinary; all by default."""
        n = len(self._table.prints)
        found = Judgement(reasons=[[] for _ in range(n)], badness=np.zeros(n), nearest=[""] * n)
        self._check(found)
        for rule in self._measured:
            self._measure(found, rule, sound)
        for rule, values, like in self._together:
            if len(like) == n and sound is not None:
                like = like[sound]
            fence = self._fence(rule, like)
            if fence is None:
                found.blind[rule.name] = _FEW
                continue
            bad = np.array([bool(reasons) for reasons in found.reasons])
            excesses = rule.spared(fence.excess(values), bad)
            for i, excess in enumerate(excesses):
                if excess > 1.0:
                    sentence = rule.sentence(i, float(values[i]), fence)
                    found.against(i, rule.name, "", sentence, excess)
                else:
                    found.near(i, rule.name, "", excess)
        return found

    def _fence(self, rule: Measured | Together, values: np.ndarray) -> Fence | None:
        return Fence.around(
            values, side=rule.side, floor=rule.floor, chance=self._chance, rare=rule.rare
        )

    def _check(self, found: Judgement) -> None:
        checks = {rule.name: rule for rule in self._checks}
        n = len(found.reasons)
        for name, faults in self._table.faults.items():
            rule = checks.get(name)
            if rule is not None and len(faults) > rule.habit * n:
                found.notes.append(
                    f"{len(faults)} of {n} episodes have {rule.summary}. None is dropped for it, "
                    f"because the dataset was made that way: {rule.advice}."
                )
                continue
            for i, sentence in faults.items():
                found.against(i, name, "", sentence, MOST)

    def _measure(self, found: Judgement, rule: Measured, sound: np.ndarray | None) -> None:
        columns, seen = self._columns[rule.name], False
        for place, values in columns.items():
            own = values if sound is None else values[sound]
            fence = self._fence(rule, self._like[rule.name].get(place, own))
            if fence is None:
                continue
            seen = True
            excesses = fence.excess(values)
            excesses = np.where(values < rule.matters, np.minimum(excesses, 1.0), excesses)
            for i in np.flatnonzero(excesses > 0.0).tolist():
                if excesses[i] > 1.0:
                    sentence = rule.sentence(place, float(values[i]), fence)
                    found.against(i, rule.name, str(place), sentence, excesses[i])
                else:
                    found.near(i, rule.name, str(place), excesses[i])
        if columns and not seen:
            found.blind[rule.name] = _FEW
