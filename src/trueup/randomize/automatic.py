"""Automatic domain randomization: each end of each range moves out while success holds there."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueup.randomize.ledger import Ledger
from trueup.randomize.plan import Plan, checked_count, checked_outcomes, checked_share
from trueup.randomize.ranges import Ranges
from trueup.space import Points, Space

_RECENT = 512  # plain episodes that the running success looks back on
_MOST_PUSHED = 0.25  # share of parameters at an end in a boundary episode
_WATCHED = 0.2  # share of its boundary episodes that an end keeps which is as far out as it may be
_FASTER, _SLOWEST = 1.25, 8.0  # how an end's pace recovers, and how far it falls
_ARRAYS = ("shares", "paces", "pushed", "others", "group")
_NUMBERS = ("share_pushed", "plain", "plain_count")


class Automatic(Plan):
    """Ranges around nominal that widen where the policy copes and narrow where it does not.

    After OpenAI (2019), "Solving Rubik's Cube with a Robot Hand". There, a boundary episode puts
    one parameter at one end of its range, and the success in such episodes moves that end. With 128
    parameters and 20,000 episodes, half of them at a boundary, each end would be tried some 40
    times, and move once.

    So a boundary episode here puts a random quarter of the parameters at an end at once, as in
    group testing: every end is tried in one boundary episode of eight. Because chance alone decides
    who is pushed, it is plain whom to blame. If the causes of failure act independently, the
    success with some ends pushed is p · ∏ fᵢ, where p is the success of plain episodes and fᵢ the
    price of end i. The others average out between episodes with end i pushed and those without. So
    fᵢ is the ratio of their successes, and p · fᵢ is the success that OpenAI's episodes at end i
    alone would have. That number is held against `low` and `high`.

    An end that had to come back goes out again in smaller steps, so that it stays at an edge rather
    than beyond it: with many such edges, the excursions of all would spoil every episode.

    While the policy is poor everywhere, p is low and all ranges close: a common width needs no rule
    of its own. Where pushing breaks most episodes, little is learned from them. So the pushed share
    halves until boundary episodes succeed half as often as plain ones, and grows again when they do
    better.

    An episode at many ends is harder than any that will come, and is only played to find out how
    far those may go. So boundary episodes become fewer as ends arrive at their full way, down to a
    few that watch over them, unless plain episodes fail too and somebody is to blame. A curriculum
    that has come all the way draws nearly as the plain prior does, and has begun with worlds in
    which the first success is found sooner.

    Args:
        space: The space; its priors are the full ranges.
        widest: Stretches the full ranges, up to the parameters' bounds.
        start: Share of the way to the full ends at which every range begins.
        step: Share of that way by which an end moves at once, or less on its way out.
        low: Success at an end below which it moves in.
        high: Success at an end above which it moves out.
        boundary: Share of boundary episodes, while all ends may still move out.
        trials: Episodes at an end before it may move.
    """

    name = "automatic"
    moves = True

    def __init__(
        self,
        space: Space,
        *,
        widest: float = 1.0,
        start: float = 0.25,
        step: float = 0.1,
        low: float = 0.3,
        high: float = 0.5,
        boundary: float = 0.5,
        trials: int = 16,
    ) -> None:
        super().__init__(space)
        self.step = checked_share("step", step)
        self.high = checked_share("high", high)
        self.low = checked_share("low", low, most=self.high)
        self.boundary = checked_share("boundary", boundary)
        self.trials = int(checked_share("trials", trials, most=1e6))
        self._ranges = Ranges.of(space, widest=widest)
        r = self._ranges
        self._ways = np.stack([r.low - r.centre, r.high - r.centre], axis=-1)
        self._exists = self._ways != 0.0
        self._shares = np.where(self._exists, checked_share("start", start), 0.0)
        self._least = start / 10  # narrower than this, nothing can be told from the nominal world
        self._paces = np.full_like(self._shares, self.step)  # of each end's next move out
        self._pushed = np.zeros((len(r), 2, 2))  # end, (episodes, successes)
        self._others = np.zeros((len(r), 2, 2))
        self._share_pushed = _MOST_PUSHED
        self._group = np.zeros(2)  # boundary episodes since the group was last resized, successes
        self._plain = 0.0  # running success of plain episodes, and how many it stands for
        self._plain_count = 0
        self._ledger = Ledger()

    @property
    def shares(self) -> np.ndarray:
        """(k, 2) how far each moving parameter's lower and upper end is on its full way."""
        return self._shares.copy()

    def draw(self, generator: np.random.Generator, n: int) -> Points:
        rows = self._ranges.background(generator, checked_count(n))
        at_ends = self._pushes(generator, n)
        ends = self._ends()
        inside = ends[:, 0] + generator.random((n, len(ends))) * (ends[:, 1] - ends[:, 0])
        places = np.where(
            at_ends[..., 0], ends[:, 0], np.where(at_ends[..., 1], ends[:, 1], inside)
        )
        rows[:, self._ranges.columns] = self._ranges.values(places)
        flat = at_ends.reshape(n, 2 * len(ends))
        self._ledger.write(rows, [np.flatnonzero(row).tolist() for row in flat])
        return Points(self.space.names, rows)

    def learn(self, points: np.ndarray, success: np.ndarray) -> None:
        rows, good = checked_outcomes(self.space, points, success)
        notes = self._ledger.take(rows)
        plain = np.array([note == [] for note in notes], bool)
        pushed = [i for i, note in enumerate(notes) if note]
        self._count_plain(good[plain])
        at_ends = np.zeros((len(pushed), self._shares.size), bool)
        for row, i in enumerate(pushed):
            at_ends[row, notes[i]] = True
        self._count_pushed(at_ends, good[pushed])
        self._move()
        self._resize_group()

    def distribution(self) -> Space:
        ends = self._ends()
        return self._ranges.evenly(ends[:, 0], ends[:, 1])

    def full(self) -> Space:
        return self._ranges.evenly(self._ranges.low, self._ranges.high)

    def summary(self) -> str:
        if not len(self._ranges):
            return "no parameter is free to move"
        shares = self._widths()
        i = int(shares.argmin())
        p = self.space[self._ranges.names[i]]
        low, high = self._ranges.values(self._ends().T)[:, i]
        return (
            f"{len(shares)} parameters at {100 * shares.mean():.0f} % of full width on average; "
            f"narrowest: {p.name} {low:.3g} – {high:.3g} {'' if p.unit == '1' else p.unit}".rstrip()
            + f", {100 * shares[i]:.0f} %"
        )

    # --------------------------------------------------------------------------------------------

    def _ends(self) -> np.ndarray:
        """(k, 2) ends of the ranges now, along the scales."""
        return self._ranges.centre[:, None] + self._shares * self._ways

    def _widths(self) -> np.ndarray:
        """(k,) width of each range as a share of its full width."""
        full = np.abs(self._ways).sum(axis=1)
        return (self._shares * np.abs(self._ways)).sum(axis=1) / full

    def _pushes(self, generator: np.random.Generator, n: int) -> np.ndarray:
        """(n, k, 2) which ends each episode is put at; none in plain ones."""
        k = len(self._ranges)
        going = self._exists & (self._shares < 1.0)
        failing = self._plain_count >= self.trials and self._plain < self.low
        share = 1.0 if failing else going.sum() / max(1, self._exists.sum())
        watched = 1.0 if failing else max(1.0 - share, _WATCHED)
        boundary = generator.random(n) < self.boundary * max(share, _WATCHED)
        pushed = generator.random((n, k)) < self._share_pushed
        if k:  # at least one each
            pushed[np.arange(n), generator.integers(0, k, n)] = True
        upper = generator.random((n, k)) < 0.5
        upper = np.where(self._exists.all(axis=1), upper, self._exists[:, 1])
        chosen = pushed & boundary[:, None]
        ends = np.stack([chosen & ~upper, chosen & upper], axis=-1)
        watching = generator.random((n, k, 1)) < watched
        return ends & (going | watching)

    def _count_plain(self, good: np.ndarray) -> None:
        for won in good.tolist():
            self._plain_count = min(self._plain_count + 1, _RECENT)
            self._plain += (won - self._plain) / self._plain_count

    def _count_pushed(self, at_ends: np.ndarray, good: np.ndarray) -> None:
        shape = self._shares.shape
        for counts, chosen in ((self._pushed, at_ends), (self._others, ~at_ends)):
            counts[..., 0] += chosen.sum(axis=0).reshape(shape)
            counts[..., 1] += chosen[good].sum(axis=0).reshape(shape)
        self._group += [len(good), good.sum()]

    def _move(self) -> None:
        """Move every end that has been tried often enough, and begin its count anew."""
        due = np.minimum(self._pushed[..., 0], self._others[..., 0]) >= self.trials
        if not due.any() or self._plain_count < self.trials:
            return
        price = self._prices()
        success = self._plain * price
        out, back = due & (success >= self.high), due & (success < self.low)
        shares = self._shares + np.where(out, self._paces, 0.0) - np.where(back, self.step, 0.0)
        self._shares = np.where(self._exists, np.clip(shares, self._least, 1.0), 0.0)
        # an end is slowed for its own price, and not for a policy that is poor everywhere
        slower = np.where(back & (price < self.low), 0.5, 1.0)
        paces = np.where(out, _FASTER, slower) * self._paces
        self._paces = np.clip(paces, self.step / _SLOWEST, self.step)
        self._pushed[due] = 0.0
        self._others[due] = 0.0

    def _prices(self) -> np.ndarray:
        """(k, 2) what pushing an end leaves of success; 1 where nothing succeeds anyway."""
        with_it, without = (
            counts[..., 1] / np.maximum(counts[..., 0], 1.0)
            for counts in (self._pushed, self._others)
        )
        return np.where(without > 0.0, with_it / np.maximum(without, 1e-9), 1.0)

    def _resize_group(self) -> None:
        """Push fewer parameters at once where boundary episodes mostly fail, and more again."""
        episodes, successes = self._group
        if episodes < 4 * self.trials or self._plain_count < self.trials:
            return
        share = successes / episodes
        factor = 0.5 if share < 0.5 * self._plain else 1.25 if share > 0.7 * self._plain else 1.0
        self._share_pushed = float(np.clip(factor * self._share_pushed, 0.0, _MOST_PUSHED))
        self._group[:] = 0.0

    def _kept(self) -> dict[str, Any]:
        arrays = {name: getattr(self, f"_{name}").tolist() for name in _ARRAYS}
        numbers = {name: getattr(self, f"_{name}") for name in _NUMBERS}
        return {**arrays, **numbers, "ledger": self._ledger.state()}

    def _resume(self, state: dict[str, Any]) -> None:
        for name in _ARRAYS:
            array = np.array(state[name], float)
            setattr(self, f"_{name}", array.reshape(getattr(self, f"_{name}").shape))
        for name in _NUMBERS:
            setattr(self, f"_{name}", state[name])
        self._ledger.restore(state["ledger"])
