"""Readings at the moments they are wanted, picked from what an engine records step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Moments:
    """When readings are wanted.

    Attributes:
        world: (p, Q) which world.
        step: (p, Q) physics steps since it began.
        share: (p, Q) of the next step, from 0 to 1.
    """

    world: np.ndarray
    step: np.ndarray
    share: np.ndarray


class Picks:
    """The readings that were asked for, picked from stretches as they come.

    MuJoCo records what it read before a step. Positions and velocities read at moment s are
    therefore in record s. Forces follow from the command and are in record s - 1, as a robot has
    them when it is asked at moment s. The state is recorded after a step: likewise in s - 1.

    Args:
        moments: When.
        columns: Which are wanted.
        begin: (n, width) what is to be recorded as it is at step 0.
        late: (width,) which of it is in record s - 1.
    """

    def __init__(
        self, moments: Moments, columns: np.ndarray, begin: np.ndarray, late: np.ndarray
    ) -> None:
        self._step, self._share = moments.step, moments.share
        self._world, self._columns = moments.world.ravel(), columns
        order = np.argsort(self._step, axis=None, kind="stable")
        self._order, self._sorted = order, self._step.ravel()[order]
        self._late = late[columns]
        offsets = [0] + [1] * bool((self._share > 0).any()) + [-1] * bool(self._late.any())
        self._found = {k: np.empty((self._world.size, len(columns))) for k in offsets}
        if -1 in offsets:
            self._found[-1][:] = begin[self._world][:, columns]
        self.last_step = np.zeros(len(begin), int)
        np.maximum.at(self.last_step, self._world, self._step.ravel() + int(1 in offsets))

    def take(self, out: np.ndarray, first: int, last: int, rows: np.ndarray) -> None:
        """Keep what is wanted of the records of steps first to last."""
        place = np.zeros(len(self.last_step), int)
        place[rows] = np.arange(len(rows))
        for offset, found in self._found.items():
            some = slice(*np.searchsorted(self._sorted, [first - offset, last - offset]))
            which = self._order[some]
            record = self._sorted[some] + offset - first
            found[which] = out[place[self._world[which]], record][:, self._columns]

    def readings(self, broken: np.ndarray) -> np.ndarray:
        """(p, Q, columns), between steps where a reading was taken between them."""
        shape = (*self._step.shape, len(self._columns))
        now = self._found[0].reshape(shape)
        after = self._found.get(1, self._found[0]).reshape(shape)
        if self._late.any():
            before = self._found[-1].reshape(shape)
            now, after = np.where(self._late, before, now), np.where(self._late, now, after)
        share = self._share[..., None]
        values = np.where(share > 0, now + share * (after - now), now)
        values[broken[self._world].reshape(self._step.shape)] = np.nan
        return values
