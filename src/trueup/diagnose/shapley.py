"""What each gap of an identified world costs: Shapley values on paired episodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from trueup.diagnose.gap_report import Rate
from trueup.evaluate import Begin, evaluate
from trueup.space import Points, Space
from trueup.streams import seeds_from
from trueup.worlds import World

_DRAWS, _EPISODES = 24, 8  # points of the posterior, and episodes at each
_MOST = 3  # gaps that are told apart, beside the others together
_LOOK = 0.3  # of the points: enough to see which gaps cost something
_FELT = 0.03  # of success, in that look: a gap that costs less need not be told from others
_SURE = 1.645  # standard deviations to either side of a 90 % interval
_GRID = 400  # shares of success that are compared
_ALL = 0.6  # how likely it is that what was identified is all there is


@dataclass(frozen=True, kw_only=True)
class Cost:
    """A number of points of success, as a share of 1, and how sure it is.

    Attributes:
        value: The best guess.
        spread: Its standard deviation, from the posterior and from chance.
    """

    value: float
    spread: float

    @property
    def interval(self) -> tuple[float, float]:
        """Of 90 %."""
        return self.value - _SURE * self.spread, self.value + _SURE * self.spread


@dataclass(frozen=True, kw_only=True)
class Beyond:
    """What was learnt of a robot that no parameter of its world makes.

    Attributes:
        world: The same world, and parameters more, with which it does so.
        values: Those parameters, where they are all that was learnt, on top of what was identified.
    """

    world: World
    values: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """How the success of a policy changes from the nominal to the identified world.

    Attributes:
        gaps: Those that were identified.
        nominal: (n,) success of each episode at nominal.
        identified: (n,) success of the same episodes where all of them differ.
        shares: The Shapley value of each gap; they add up to the whole change exactly.
        alone: What each costs by itself.
        pairs: What two cost together beyond what each costs alone.
        weights: (n,) how much each episode counts, 1 on average; all alike where there are none.
        beyond: What it costs on top of them that was learnt and is no gap's; none where nothing is.
    """

    gaps: tuple[str, ...]
    nominal: np.ndarray
    identified: np.ndarray
    shares: dict[str, Cost]
    alone: dict[str, Cost]
    pairs: dict[tuple[str, str], Cost]
    weights: np.ndarray | None = None
    beyond: Cost | None = None

    @property
    def lost(self) -> Cost:
        """What all of them cost together."""
        return cost_of(self.nominal - self.identified, weights=self.weights)

    @property
    def success(self) -> Rate:
        """In the identified world, of as many episodes as the weights leave."""
        w = np.ones(len(self.identified)) if self.weights is None else self.weights
        many = round(w.sum() ** 2 / (w**2).sum())
        return Rate(successes=round(many * float((w * self.identified).mean())), trials=many)

    def to_json(self) -> dict[str, Any]:
        """For programs: what each gap costs, as shares of 1, with its standard deviation."""
        found: dict[str, Any] = {
            name: {gap: [cost.value, cost.spread] for gap, cost in costs.items()}
            for name, costs in (("shares", self.shares), ("alone", self.alone))
        }
        if self.beyond is not None:
            found["beyond"] = [self.beyond.value, self.beyond.spread]
        return found

    def scaled(self, factor: float) -> Attribution:
        """The same proportions of another loss, less sure by as much as that is another."""
        shares = {gap: _rescaled(cost, factor) for gap, cost in self.shares.items()}
        alone = {gap: _rescaled(cost, factor) for gap, cost in self.alone.items()}
        pairs = {pair: _rescaled(cost, factor) for pair, cost in self.pairs.items()}
        beyond = None if self.beyond is None else _rescaled(self.beyond, factor)
        return replace(self, shares=shares, alone=alone, pairs=pairs, beyond=beyond)

    def void(self) -> Attribution:
        """The same gaps, none of which explains anything."""
        nothing = {gap: Cost(value=0.0, spread=0.0) for gap in self.gaps}
        return replace(
            self, identified=self.nominal, shares=nothing, alone=nothing, pairs={}, beyond=None
        )


def attributed(
    world: World,
    begin: Begin,
    belief: Space,
    generator: np.random.Generator,
    *,
    draws: int = _DRAWS,
    episodes: int = _EPISODES,
    measured: Rate | None = None,
    sober: Space | None = None,
    beyond: Beyond | None = None,
    threads: int = 0,
) -> Attribution:
    """Play a policy in worlds between the nominal and the identified one, and share out the loss.

    Every set of gaps is tried on the same episodes, each at a point drawn from the belief. With
    many gaps, a first look at some of the episodes finds those that cost something; the others are
    taken together as one, whose share is split between them as that first look has it.

    What recordings leave open, trials tell more of: a point at which the policy would lose more
    than it does on the robot counts the less, the less likely that is by chance. One at which it
    loses less counts less as well, if not as much so, for other gaps may cost the rest.

    Args:
        world: Where.
        begin: The policy at the controls, as `evaluate` takes it.
        belief: The parameters that were identified, with what is believed of them.
        generator: Where chance comes from.
        draws: Points of the belief.
        episodes: Episodes at each.
        measured: Success on the robot, if it is to be minded.
        sober: The same parameters, if what need not differ is as it usually is: every other point
            is of that belief, where there is one.
        beyond: What no parameter makes, if that was learnt: it is right only on top of all that was
            identified, so that is where it is played.
        threads: CPU threads; 0 takes all.
    """
    gaps = tuple(gap.value for gap in belief.by_gap())
    values = belief.sample(generator, draws).values.copy()
    if sober is not None:
        values[1::2] = sober.select(*belief.names).sample(generator, draws).values[1::2]
    seeds = seeds_from(generator, draws * episodes)
    rows = np.repeat(np.arange(draws), episodes)
    table = _Table(world, begin, belief, values[rows], seeds, gaps, threads)
    if len(gaps) <= _MOST + 1:
        won = table.played(_sets([(gap,) for gap in gaps]))
        found = _shared(gaps, won, episodes, measured)
    else:
        some = max(2, math.ceil(draws * _LOOK)) * episodes
        look = table.first(min(some, len(seeds)))
        found = _grouped(gaps, table, look, episodes, measured)
    if beyond is None:
        return found
    weights = None if found.weights is None else found.weights[::episodes]
    lost = found.identified - table.played_with(beyond)
    return replace(found, beyond=cost_of(lost, episodes, weights))


def _rescaled(cost: Cost, factor: float) -> Cost:
    moved = abs(1.0 - factor) * abs(cost.value) / _SURE
    return Cost(value=factor * cost.value, spread=float(np.hypot(factor * cost.spread, moved)))


def _sets(players: Sequence[tuple[str, ...]]) -> list[frozenset[str]]:
    """Every union of some players, each of which is a few gaps."""
    return [
        frozenset(gap for player in some for gap in player)
        for k in range(len(players) + 1)
        for some in combinations(players, k)
    ]


def _grouped(
    gaps: tuple[str, ...], table: _Table, look: _Table, episodes: int, measured: Rate | None
) -> Attribution:
    """The gaps that cost something each by itself, the others as one."""
    whole = frozenset(gaps)
    first = look.played([frozenset(), whole, *map(_only, gaps), *(whole - {g} for g in gaps)])
    alone = {g: first[frozenset()] - first[_only(g)] for g in gaps}
    last = {g: first[whole - {g}] - first[whole] for g in gaps}
    rough = {g: float(0.5 * (alone[g] + last[g]).mean()) for g in gaps}
    felt = {g: max(abs(alone[g].mean()), abs(last[g].mean())) for g in gaps}
    told = sorted((g for g in gaps if felt[g] >= _FELT), key=lambda g: -felt[g])[:_MOST]
    others = tuple(g for g in gaps if g not in told)
    together = "+".join(others)
    won = table.played(_sets([*((g,) for g in told), others]))
    named = {_named(some, others, together): each for some, each in won.items()}
    found = _shared((*told, together), named, episodes, measured)
    split = _split(found.shares[together], others, rough)
    return replace(
        found,
        gaps=gaps,
        shares={g: split.get(g) or found.shares[g] for g in gaps},
        alone={g: found.alone.get(g) or cost_of(alone[g], episodes) for g in gaps},
        pairs={pair: cost for pair, cost in found.pairs.items() if together not in pair},
    )


def _only(gap: str) -> frozenset[str]:
    return frozenset([gap])


def _named(some: frozenset[str], others: tuple[str, ...], together: str) -> frozenset[str]:
    return some if not some & set(others) else frozenset([*(some - set(others)), together])


def _split(share: Cost, others: Sequence[str], rough: Mapping[str, float]) -> dict[str, Cost]:
    """One share between several gaps: what each seemed to cost, the remainder evenly."""
    rest = (share.value - sum(rough[g] for g in others)) / len(others)
    spread = share.spread / math.sqrt(len(others))
    return {g: Cost(value=float(rough[g] + rest), spread=spread) for g in others}


class _Table:
    """Success of each episode where some gaps differ and the others are nominal."""

    def __init__(
        self,
        world: World,
        begin: Begin,
        belief: Space,
        values: np.ndarray,
        seeds: np.ndarray,
        gaps: Sequence[str],
        threads: int,
    ) -> None:
        self.world, self.begin, self.threads = world, begin, threads
        self.names, self.values, self.seeds = belief.names, values, seeds
        self.nominal = np.array([p.nominal for p in belief])
        self.of = np.array([gaps.index(p.gap.value) for p in belief])
        self.gaps = gaps

    def first(self, count: int) -> _Table:
        """The same on the first so many episodes."""
        part = copy(self)
        part.values, part.seeds = self.values[:count], self.seeds[:count]
        return part

    def played(self, sets: Sequence[frozenset[str]]) -> dict[frozenset[str], np.ndarray]:
        rows = []
        for members in sets:
            on = np.isin(self.of, [self.gaps.index(gap) for gap in members])
            rows.append(np.where(on, self.values, self.nominal))
        found = evaluate(
            self.world,
            self.begin,
            Points(self.names, np.concatenate(rows)),
            np.tile(self.seeds, len(sets)),
            threads=self.threads,
        )
        return dict(zip(sets, found.success.reshape(len(sets), -1).astype(float), strict=True))

    def played_with(self, beyond: Beyond) -> np.ndarray:
        """Where all gaps differ, and what was learnt is added."""
        names = (*self.names, *beyond.values)
        more = np.tile(list(beyond.values.values()), (len(self.values), 1))
        values = np.column_stack([self.values, more])
        found = evaluate(
            beyond.world, self.begin, Points(names, values), self.seeds, threads=self.threads
        )
        return found.success.astype(float)


def _shared(
    gaps: tuple[str, ...],
    won: dict[frozenset[str], np.ndarray],
    episodes: int,
    measured: Rate | None = None,
) -> Attribution:
    none, full = won[frozenset()], won[frozenset(gaps)]
    weights = None if measured is None else weights_of(full.reshape(-1, episodes), measured)
    orders = _all_orders(gaps)
    shares = {gap: np.zeros_like(none) for gap in gaps}
    for order in orders:
        for k, gap in enumerate(order):
            change = won[frozenset(order[:k])] - won[frozenset(order[: k + 1])]
            shares[gap] += change / len(orders)
    pairs = {}
    for a, b in combinations(gaps, 2):
        if (both := won.get(frozenset([a, b]))) is not None:
            beyond = won[frozenset([a])] + won[frozenset([b])] - none - both
            pairs[a, b] = cost_of(beyond, episodes, weights)
    return Attribution(
        gaps=gaps,
        nominal=none,
        identified=full,
        shares={gap: cost_of(each, episodes, weights) for gap, each in shares.items()},
        alone={gap: cost_of(none - won[frozenset([gap])], episodes, weights) for gap in gaps},
        pairs=pairs,
        weights=None if weights is None else np.repeat(weights, episodes),
    )


def weights_of(won: np.ndarray, measured: Rate) -> np.ndarray:
    """(points,) 1 on average: how likely the robot's trials are, seen (points, n) at each of them.

    Either nothing else costs, and the robot succeeds as often as the policy does there; or
    something does, and it succeeds in any smaller share. The former is a little likelier before
    trials are counted: who needs a second cause explains less.
    """
    grid = (np.arange(_GRID) + 0.5) / _GRID
    good, bad = measured.successes, measured.trials - measured.successes
    trials = grid**good * (1.0 - grid) ** bad
    trials /= trials.mean()
    less = np.cumsum(trials) / np.arange(1, _GRID + 1)
    of = won.sum(axis=1)[:, None]
    there = grid ** (of - 0.5) * (1.0 - grid) ** (won.shape[1] - of - 0.5)
    there /= there.sum(axis=1, keepdims=True)
    likely = there @ (_ALL * trials + (1.0 - _ALL) * less) + 1e-9
    return likely / likely.mean()


def _all_orders(gaps: tuple[str, ...]) -> list[list[str]]:
    if not gaps:
        return [[]]
    return [
        [gap, *rest] for gap in gaps for rest in _all_orders(tuple(g for g in gaps if g != gap))
    ]


def cost_of(each: np.ndarray, episodes: int = 1, weights: np.ndarray | None = None) -> Cost:
    """The mean of changes (n,), episodes at one point lying together; weights are the points'.

    Points of the posterior are as many possible truths: what differs between them is doubt about
    the truth, and does not average out. What differs within them is chance, and does.
    """
    at = each.reshape(-1, episodes)
    w = np.full(len(at), 1.0 / len(at)) if weights is None else weights / weights.sum()
    middle = at.mean(axis=1)
    value, few = float(w @ middle), float(w @ w)
    chance = w @ at.var(axis=1, ddof=1) / episodes if episodes > 1 else 0.0
    between = w @ (middle - value) ** 2 / (1.0 - few) if few < 1.0 else 0.0
    doubt = max(between - chance, 0.0) if episodes > 1 else 0.0
    return Cost(value=value, spread=float(np.sqrt(doubt + between * few)))
