"""How the measured signals of a set follow from each other: a linear law, learned from it.

The next change of a signal follows from all signals of a few frames before, and from what the other
measured signals read by then: a position that moves while its velocity says no is not believed.

The law is fitted to the episodes that obey it best, again and again, so that bad ones do not teach
it. It need not be a good model of the robot: what it misses in every episode is ordinary, and only
an episode that it misses far more than the others is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.curate.place import Place
from trueup.curate.survey import Survey
from trueup.episodes.episode import COMMAND

_MEMORY = 3  # frames before that the law sees
_RIDGE = 1e-3  # of the regressors' own variance
_TURNS = 4
_TEACHERS = 0.6  # the share of episodes that the law is learned from
_LEAST_ROWS = 200


@dataclass(frozen=True, kw_only=True)
class Dynamics:
    """A law for the next change of every measured column.

    Attributes:
        survey: Of the set it was learned from.
        told: Signals that are given and not foreseen: commands.
        weights: (regressors, columns) of each signal that is foreseen, in shares of spans.
    """

    survey: Survey
    told: tuple[str, ...]
    weights: dict[str, np.ndarray]

    @classmethod
    def learned(
        cls, gridded: Sequence[Mapping[str, np.ndarray]], survey: Survey
    ) -> Dynamics | None:
        """From episodes on a grid; none where there is too little to learn from."""
        told = tuple(name for name in survey.signals if name == COMMAND)
        if len(told) == len(survey.signals):
            return None
        laid = [rows for g in gridded if (rows := _Rows.of(g, survey, told)) is not None]
        if sum(len(rows) for rows in laid) < _LEAST_ROWS:
            return None
        weights = {
            name: _taught(laid, name)
            for name in survey.signals
            if name not in told and name not in survey.turned  # on a sphere no law is linear
        }
        return cls(survey=survey, told=told, weights=weights)

    def residuals(self, gridded: Mapping[str, np.ndarray]) -> dict[Place, np.ndarray]:
        """(t,) of each measured column what was not foreseen, in shares of its span."""
        rows = _Rows.of(gridded, self.survey, self.told)
        if rows is None:
            return {}
        found = {}
        for name, weights in self.weights.items():
            missed = rows.changes[name] - rows.known(name) @ weights
            for column, values in zip(self.survey.names[name], missed.T, strict=True):
                found[Place(name, column)] = values
        return found


class _Rows:
    """One episode, moment by moment: what came before, what is read now, how each changed."""

    def __init__(self, past: np.ndarray, now: dict[str, np.ndarray], changes: dict) -> None:
        self.past, self._now, self.changes = past, now, changes

    @classmethod
    def of(
        cls, gridded: Mapping[str, np.ndarray], survey: Survey, told: tuple[str, ...]
    ) -> _Rows | None:
        """None where the episode is too short, or lacks a signal."""
        if any(name not in gridded for name in survey.signals):
            return None
        shares = {n: np.clip(gridded[n] / survey.span[n], -1e6, 1e6) for n in survey.signals}
        every = np.concatenate(list(shares.values()), axis=1)
        steps = len(every) - _MEMORY
        if steps < 1:
            return None
        past = np.concatenate(
            [*(every[k : k + steps] for k in range(_MEMORY)), np.ones((steps, 1))], axis=1
        )
        now = {n: values[_MEMORY:] for n, values in shares.items() if n not in told}
        changes = {n: np.diff(shares[n], axis=0)[_MEMORY - 1 :] for n in now}
        return cls(past, now, changes)

    def __len__(self) -> int:
        return len(self.past)

    def known(self, name: str) -> np.ndarray:
        """(t, k) all that a signal's change may follow from."""
        others = [values for other, values in self._now.items() if other != name]
        return np.concatenate([self.past, *others], axis=1)


def _taught(laid: Sequence[_Rows], name: str) -> np.ndarray:
    """The law of one signal, from the episodes that obey it best."""
    x, y = [rows.known(name) for rows in laid], [rows.changes[name] for rows in laid]
    weights = _solved(np.concatenate(x), np.concatenate(y))
    for _ in range(_TURNS):
        missed = np.array([_size(b - a @ weights) for a, b in zip(x, y, strict=True)])
        teachers = np.argsort(missed)[: max(1, round(_TEACHERS * len(laid)))]
        weights = _solved(
            np.concatenate([x[i] for i in teachers]), np.concatenate([y[i] for i in teachers])
        )
    return weights


def _solved(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    gram = x.T @ x / len(x)
    ridge = _RIDGE * np.maximum(np.diag(gram), 1e-12)
    return np.linalg.solve(gram + np.diag(ridge), x.T @ y / len(x))


def _size(missed: np.ndarray) -> float:
    """Of what a law missed in an episode: typical columns, not the worst one."""
    return float(np.median(np.sqrt(np.mean(missed**2, axis=0))))
