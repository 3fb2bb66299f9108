"""How sure a fit is: its covariance, and the directions in which the data say nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.identify.problem import Residual
from trueup.space import Space

_BLOCK = 25  # readings whose errors may hang together
_UNSEEN = 0.8  # of what was believed before: a direction that is no narrower says nothing
_SPOKEN = 0.35  # share of a direction from which on a parameter is named


@dataclass(frozen=True, kw_only=True)
class Direction:
    """A way to change parameters together that leaves hardly a trace in the data.

    Attributes:
        parts: How much of it each parameter is, largest first; only those that matter.
        left: Its spread as a share of what was believed before.
    """

    parts: tuple[tuple[str, float], ...]
    left: float

    def __str__(self) -> str:
        names = [name for name, _ in self.parts]
        if len(names) == 1:
            return (
                f"These data do not tell {names[0]}: {100 * self.left:.0f} % of its prior is left."
            )
        shown = ", ".join(f"{name} {'up' if part > 0 else 'down'}" for name, part in self.parts)
        return (
            f"These data cannot tell {_and(names)} apart: moved together ({shown}) they leave "
            "hardly a trace."
        )


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """What is believed after the fit, in the unit cube.

    Attributes:
        covariance: (d, d)
        shrink: (d,) spread of each parameter as a share of its prior's.
        unseen: Directions about which the data say nothing.
        noise: (columns,) standard deviation of what is left, in the signals' units.
    """

    covariance: np.ndarray
    shrink: np.ndarray
    unseen: tuple[Direction, ...]
    noise: np.ndarray


def posterior_of(space: Space, here: Residual, slopes: np.ndarray, scale: np.ndarray) -> Posterior:
    """Laplace's approximation, with errors that hang together in time counted as what they are.

    Readings 20 ms apart are not independent evidence where the model itself is a little wrong.
    Instead of their number, the scatter of the score over blocks of them says how much they tell
    (the sandwich estimate of White and Huber).

    Args:
        space: The free parameters, with what was believed of them.
        here: The residual at the best point.
        slopes: (N, d) its slope there.
        scale: (columns,) what residuals were divided by.
    """
    r = here.values[0]
    size = np.array([r[here.column == c].std() for c in range(len(scale))]) + 1e-12
    weight = 1.0 / size[here.column] ** 2
    information = (slopes * weight[:, None]).T @ slopes
    spread = prior_spread(space)
    before = np.diag(1.0 / spread**2)
    covariance = np.linalg.inv(_told(information, here, slopes, weight) + before)
    shrink = np.sqrt(np.diag(covariance)) / spread
    return Posterior(
        covariance=covariance,
        shrink=shrink,
        unseen=_unseen(space, covariance, spread),
        noise=size * scale,
    )


def prior_spread(space: Space) -> np.ndarray:
    """(d,) standard deviation of each parameter's prior, in the unit cube."""
    u = (np.arange(64) + 0.5) / 64
    return np.array([max(float(p.encode(p.quantile(u)).std()), 1e-6) for p in space])


def _told(
    information: np.ndarray, here: Residual, slopes: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """(d, d) the precision that the data are worth; never more than if all were independent."""
    scores = slopes * (weight * here.values[0])[:, None]
    sums = []
    for key in np.unique(here.episode * 10_000 + here.column):
        rows = np.flatnonzero(here.episode * 10_000 + here.column == key)
        for begin in range(0, len(rows), _BLOCK):
            sums.append(scores[rows[begin : begin + _BLOCK]].sum(axis=0))
    blocks = np.array(sums)
    scatter = blocks.T @ blocks * len(blocks) / max(len(blocks) - len(information), 1)
    # along each direction, the scatter of the score over what independent errors would give
    values, vectors = np.linalg.eigh(information)
    values = np.maximum(values, 1e-12 * values.max())
    half = vectors * np.sqrt(values)
    inflation = np.linalg.inv(half) @ scatter @ np.linalg.inv(half).T
    least, ways = np.linalg.eigh(0.5 * (inflation + inflation.T))
    worth = (ways / np.maximum(least, 1.0)) @ ways.T
    return half @ worth @ half.T


def _unseen(space: Space, covariance: np.ndarray, spread: np.ndarray) -> tuple[Direction, ...]:
    values, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))
    found = []
    for value, vector in zip(values[::-1], vectors.T[::-1], strict=True):
        if np.sqrt(value) < _UNSEEN:
            break
        vector = vector * np.sign(vector[np.abs(vector).argmax()])
        parts = [
            (space.names[i], float(vector[i]))
            for i in np.argsort(-np.abs(vector))
            if abs(vector[i]) >= _SPOKEN
        ]
        found.append(Direction(parts=tuple(parts), left=float(np.sqrt(value))))
    return tuple(found)


def _and(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
