"""How a loss is split up between gaps and an unexplained rest, to the last point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueup.diagnose.doubt import Doubt, Trust
from trueup.diagnose.echo import Echo
from trueup.diagnose.ends import ends
from trueup.diagnose.enough import Enough
from trueup.diagnose.gap_report import UNEXPLAINED, Rate, Share
from trueup.diagnose.inference import Answer
from trueup.diagnose.planted import GAPS
from trueup.diagnose.shapley import Attribution

_NAMES = (*GAPS, UNEXPLAINED)
_DRAWS = 4000
_HALF = 0.5
_SURE = 1.645  # standard deviations to either side of a 90 % interval
_ROUGHLY = 0.15  # of a cost: a robot is never quite as it was identified
_SECOND = 0.15  # of a loss: blamed for so much, another cause is there
_OVERLAP = 0.5  # of what a gap costs alone, others would cost as well: anything from none to all


@dataclass(frozen=True, kw_only=True)
class Split:
    """Shares of a loss.

    Attributes:
        shares: Of the gaps, the most costly first.
        unexplained: What is left; with it, shares add up to the loss.
        made: What it rests on, as JSON.
    """

    shares: tuple[Share, ...]
    unexplained: Share
    made: dict[str, Any] = field(default_factory=dict)


def split(
    answer: Answer,
    found: Attribution | None,
    simulated: Rate,
    measured: Rate,
    strange: float,
    generator: np.random.Generator,
    *,
    doubts: Sequence[Doubt] = (),
    echo: Echo | None = None,
    elsewhere: float = 1.0,
) -> Split:
    """Shares and their intervals.

    What the identified values reproduce, an identified gap costs. Where the trials blame it for
    more, that is its other parameters' doing; or, if recordings show something that nothing in the
    fit explains, as likely as not the doing of no parameter at all: half of it is unexplained. Of
    what numbers cost that were fitted to such a thing, as much counts as they explain of it. What
    the thing itself was played to cost on top of them, no gap does.

    As likely as it is that nothing else costs, what was identified costs all that was lost.

    Args:
        answer: What the trials look like, if the cause is inside the space.
        found: What identified gaps cost; none where nothing was identified.
        simulated: Success at nominal.
        measured: Success on the robot.
        strange: How likely it is that the cause is outside the space.
        generator: Where chance comes from.
        doubts: What recordings show that nothing in the fit explains.
        echo: What is read from trials in the identified world; none where they were not played.
        elsewhere: How likely numbers that nobody identified are to cost something, before trials
            are counted.
    """
    loss = simulated.share - measured.share
    kept, trust = _HALF if doubts else 1.0, Trust(doubts)
    here = (answer.parts[None], np.array([loss]), found, _costs(found), np.array([strange]))
    half = np.array([_OVERLAP])
    mean = echo and echo.mean
    middle = _accounted(*here, kept, trust.mean[None], half, mean, bounded=True)[0]
    draws = _drawn(answer, found, simulated, measured, strange, generator, kept, trust, echo)
    before = 0.0 if doubts else (1.0 - elsewhere) * (1.0 - strange)
    if enough := _enough(found, simulated, measured, before, generator):
        alone = _alone(found, enough.given(enough.costs[None], np.array([loss])))[0]
        middle = enough.likely * alone + (1.0 - enough.likely) * middle
        lost = _lost(simulated, measured, generator)
        ones = generator.random((_DRAWS, 1)) < enough.likely
        draws = np.where(ones, _alone(found, enough.drawn(lost, generator)), draws)
    drawn = np.quantile(draws, [0.05, 0.95], axis=0)
    shares = _shares(middle, *ends(middle, drawn[0], drawn[1], simulated.share))
    return Split(
        shares=tuple(sorted(shares[:-1], key=lambda share: -share.points)),
        unexplained=shares[-1],
        made={
            "outside": strange,
            "enough": enough.likely if enough else 0.0,
            "drawn": {name: (100 * drawn[:, g]).tolist() for g, name in enumerate(_NAMES)},
        },
    )


def _shares(middle: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[Share]:
    """Of every gap and of the rest (9,), in points."""
    rows = zip(_NAMES, middle, low, high, strict=True)
    return [
        Share(gap=name, points=100 * float(at), low=100 * float(below), high=100 * float(above))
        for name, at, below, above in rows
    ]


def _drawn(
    answer: Answer,
    found: Attribution | None,
    simulated: Rate,
    measured: Rate,
    strange: float,
    generator: np.random.Generator,
    kept: float,
    trust: Trust,
    echo: Echo | None,
) -> np.ndarray:
    """(draws, 9) accounts that might be true: of both successes, the parts and the cause."""
    loss = _lost(simulated, measured, generator)
    below, above = (np.abs(end - answer.parts) / _SURE for end in (answer.low, answer.high))
    z = generator.standard_normal((_DRAWS, len(GAPS)))
    parts = answer.parts + z * np.where(z < 0, below, above)
    outside = generator.random(_DRAWS) < strange
    costs = _costs(found)
    if found is not None and costs is not None:
        middle, spread = costs[0], _spreads(found)
        lost = simulated.share - measured.share
        wrong = np.abs(_no_more_than(costs, np.array([lost]))[0] - middle) / _SURE
        spread = np.hypot(spread, wrong)  # what costs more than was lost is not quite right
        spread = np.hypot(spread, _ROUGHLY * middle)
        costs = middle + spread * generator.standard_normal((_DRAWS, len(middle)))
    trusted = trust.drawn(_DRAWS, generator)
    here = (parts, loss, found, costs, outside.astype(float), kept, trusted)
    overlap = generator.random(_DRAWS)
    echo = echo and echo.some(_DRAWS, generator)
    free, bounded = (_accounted(*here, overlap, echo, bounded=bound) for bound in (False, True))
    return np.where(generator.random((_DRAWS, 1)) < _HALF, free, bounded)


def _enough(
    found: Attribution | None,
    simulated: Rate,
    measured: Rate,
    before: float,
    generator: np.random.Generator,
) -> Enough | None:
    """What it would mean if identified numbers cost all that was lost; none where none were."""
    costs = _costs(found)
    if found is None or costs is None or before <= 0.0:
        return None
    spreads = np.hypot(_spreads(found), _ROUGHLY * costs[0])
    lost = _lost(simulated, measured, generator)
    return Enough.of(costs[0], spreads, lost, simulated.share, before)


def _alone(found: Attribution | None, costs: np.ndarray) -> np.ndarray:
    """(n, 9) accounts where identified gaps cost this much (n, g + 1), and no other anything."""
    shares = np.zeros((len(costs), len(GAPS) + 1))
    if found is not None:
        columns = [GAPS.index(gap) for gap in _identified(found)]
        shares[:, [*columns, len(GAPS)]] = costs
    return shares


def _identified(found: Attribution) -> list[str]:
    return [gap for gap in found.gaps if gap in GAPS]


def _costs(found: Attribution | None) -> np.ndarray | None:
    """(1, g + 1) what identified gaps cost, and what was learnt beside them."""
    if found is None:
        return None
    beyond = found.beyond.value if found.beyond else 0.0
    return np.array([[*(found.shares[gap].value for gap in _identified(found)), beyond]])


def _spreads(found: Attribution) -> np.ndarray:
    beyond = found.beyond.spread if found.beyond else 0.0
    return np.array([*(found.shares[gap].spread for gap in _identified(found)), beyond])


def _lost(simulated: Rate, measured: Rate, generator: np.random.Generator) -> np.ndarray:
    """(draws,) losses that may be behind what was counted."""
    return _successes(simulated, generator) - _successes(measured, generator)


def _successes(rate: Rate, generator: np.random.Generator) -> np.ndarray:
    """(draws,) shares of success that may be behind what was counted.

    Of the two ends between which Clopper and Pearson leave it, each as often: where nothing
    succeeded, or all of it, that may be all there is.
    """
    more = generator.integers(0, 2, _DRAWS)
    good, bad = rate.successes + more, rate.trials - rate.successes + 1 - more
    drawn = generator.beta(np.maximum(good, 1), np.maximum(bad, 1))
    return np.where(good == 0, 0.0, np.where(bad == 0, 1.0, drawn))


def _accounted(
    parts: np.ndarray,
    loss: np.ndarray,
    found: Attribution | None,
    costs: np.ndarray | None,
    strange: np.ndarray,
    kept: float,
    trusted: np.ndarray,
    overlap: np.ndarray,
    echo: Echo | None,
    *,
    bounded: bool = False,
) -> np.ndarray:
    """(k, 9) points of each gap and of the rest, for parts (k, 8) of losses (k,).

    Of what identified gaps cost (k, 8) shares are `trusted`; together, and with what was learnt
    beside them, they cost no more than was lost. Of that, gaps which nobody identified would cost
    an `overlap` (k,) as well, if there are any.

    Bounded, trials blame gaps for no more than identified ones leave of the loss. What may be true
    need not be: noise of the one would be taken off the other.
    """
    points = parts * loss[:, None]
    points = (echo.beyond(points, loss) if echo else points) * (1.0 - strange[:, None])
    if found is not None and costs is not None:
        names = _identified(found)
        columns = [GAPS.index(gap) for gap in names]
        believed = trusted[:, columns]
        own = _without(costs[:, :-1], names, found, believed) * believed
        learnt = np.broadcast_to(np.maximum(costs[:, -1:], 0.0), (len(own), 1))
        both = _no_more_than(np.column_stack([own, learnt]), loss)
        costs, learnt = both[:, :-1], both[:, -1]
        beyond, too_much = points[:, columns] * believed, learnt
        if echo is None:
            beyond = np.maximum(beyond - costs, 0.0)
            named = np.maximum(points[:, columns], 0.0)
            too_much = learnt + np.maximum(costs - named, 0.0).sum(axis=1)
        others = np.setdiff1d(np.arange(len(GAPS)), columns)
        points[:, columns] = kept * beyond
        points = _taken_off(points, others, too_much)
        if bounded:
            points = _within(points, loss - costs.sum(axis=1) - learnt)
        points = _joined(points, columns, costs, loss, overlap)
    rest = loss - points.sum(axis=1)
    return np.column_stack([points, rest])


def _without(
    costs: np.ndarray, names: Sequence[str], found: Attribution, trusted: np.ndarray
) -> np.ndarray:
    """(k, g) costs, less what gaps cost, or save, only together with others that are not trusted.

    Half of what two cost together beyond each alone is in either's share. If the one is not as it
    was fitted, the other costs what it costs alone.
    """
    alone = np.broadcast_to(costs, (len(trusted), len(names))).copy()
    for pair, cost in found.pairs.items():
        if set(pair) <= set(names):
            a, b = (names.index(gap) for gap in pair)
            alone[:, a] -= 0.5 * cost.value * (1.0 - trusted[:, b])
            alone[:, b] -= 0.5 * cost.value * (1.0 - trusted[:, a])
    return alone


def _joined(
    points: np.ndarray,
    columns: Sequence[int],
    costs: np.ndarray,
    loss: np.ndarray,
    overlap: np.ndarray,
) -> np.ndarray:
    """What trials blame gaps for beside identified numbers (k, 8), and what those cost (k, g).

    Identified numbers were played without what is wrong elsewhere: that is what they cost alone. An
    episode that would fail for either is lost to both, half and half.
    """
    held = np.maximum(points, 0.0)
    total = held.sum(axis=1, keepdims=True)
    there = (total - held[:, columns]) / np.maximum(_SECOND * loss, 1e-9)[:, None]
    given = 0.5 * overlap[:, None] * np.clip(there, 0.0, 1.0) * np.maximum(costs, 0.0)
    found = points + held * given.sum(axis=1, keepdims=True) / np.maximum(total, 1e-12)
    found[:, columns] += costs - given
    return found


def _no_more_than(costs: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """(k, g) costs in the same proportions, whose sum is no larger than the losses (k,)."""
    total = np.maximum(costs.sum(axis=1), 1e-12)
    return costs * np.clip(loss / total, 0.0, 1.0)[:, None]


def _within(points: np.ndarray, left: np.ndarray) -> np.ndarray:
    """No more than what is left of the loss, in the same proportions."""
    total = np.maximum(points, 0.0).sum(axis=1)
    share = np.clip(left, 0.0, None) / np.maximum(total, 1e-12)
    return np.where(points > 0.0, points * np.minimum(share, 1.0)[:, None], points)


def _taken_off(points: np.ndarray, others: np.ndarray, too_much: np.ndarray) -> np.ndarray:
    """What identified gaps cost beyond what trials say of them, the others do not cost."""
    held = np.maximum(points[:, others], 0.0)
    total = held.sum(axis=1) + 1e-12
    found = points.copy()
    found[:, others] -= held * (np.minimum(too_much, total) / total)[:, None]
    return found
