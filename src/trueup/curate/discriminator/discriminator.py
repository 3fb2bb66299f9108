"""A set against a reference: how well a model tells them apart, by what, and which episodes.

Every episode is judged by a model that never saw it. The control is the same procedure with labels
shuffled between episodes: it must fall to chance, and where it does not, no number here counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from trueup.curate.discriminator.logistic import Logistic, auroc
from trueup.curate.discriminator.windows import COUNT, Sheet

FOLDS = 5
FEWEST = 2 * FOLDS
"""Fewer episodes in either set cannot be told apart honestly."""

CHANCE = 0.05
"""How far from one half the control may be."""

_MOST = 500  # episodes of each set that a model learns from
_EFFORT, _FEW, _MANY = 6000, 5, 40  # shuffles: more where they are cheap


@dataclass(frozen=True, kw_only=True)
class Discrimination:
    """How the two sets can be told apart.

    Attributes:
        auroc: How often an episode of the reference looks more real than one of the set; one half
            is chance, 1 is always.
        control: The same with labels shuffled between episodes, on average.
        control_spread: Its standard deviation from shuffle to shuffle.
        by_signal: The same as `auroc` for models that see one signal alone.
        tells: The traits that the model leans on most, in words.
        odds: (n,) log-odds of each episode of the set to be of the reference; NaN where it is
            shorter than a window.
        giveaways: (n,) the signal that spoke most against each.
    """

    auroc: float
    control: float
    control_spread: float
    by_signal: dict[str, float]
    tells: tuple[str, ...]
    odds: np.ndarray
    giveaways: list[str]

    @property
    def sound(self) -> bool:
        """Whether the control fell to chance."""
        return abs(self.control - 0.5) <= CHANCE

    @property
    def realness(self) -> np.ndarray:
        """(n,) the odds as a probability, were both sets equally likely."""
        return expit(self.odds)

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "auroc": self.auroc,
            "control": self.control,
            "control_spread": self.control_spread,
            "sound": self.sound,
            "by_signal": self.by_signal,
            "tells": list(self.tells),
        }


def discriminated(
    sheet: Sheet, made: list[np.ndarray | None], real: list[np.ndarray | None], *, seed: int = 0
) -> Discrimination | None:
    """Tell windows (COUNT, k) of a set from those of a reference; none where either is too small.

    Args:
        sheet: What the numbers are.
        made: Of each episode of the set; none for one that is too short.
        real: Of each episode of the reference.
        seed: Of folds and shuffles.
    """
    known = [i for i, windows in enumerate(made) if windows is not None]
    x = np.array([made[i] for i in known] + [w for w in real if w is not None])
    n, m = len(known), len(x) - len(known)
    if min(n, m) < FEWEST:
        return None
    x = x.reshape(n + m, COUNT, -1)
    y = np.arange(n + m) >= n
    rng = np.random.default_rng(seed)
    cross = _Crossed(x, y, rng)
    odds, parts = cross.odds()
    signals = np.array(sheet.signals)
    controls = _controls(x, y, rng)
    told = np.full(len(made), np.nan)
    told[known] = odds[:n]
    giveaways = [""] * len(made)
    for i, word in zip(known, _giveaways(parts, y, signals)[:n], strict=True):
        giveaways[i] = word
    return Discrimination(
        auroc=cross.auroc(odds),
        control=float(np.mean(controls)),
        control_spread=float(np.std(controls)),
        by_signal=_by_signal(x, y, signals, rng),
        tells=_tells(cross, sheet),
        odds=told,
        giveaways=giveaways,
    )


class _Crossed:
    """Models that each judge the episodes which they did not see."""

    def __init__(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> None:
        self.x, self.y = x, y
        self.fold = np.zeros(len(y), int)
        for label in (False, True):  # each fold gets its share of both
            rows = np.flatnonzero(y == label)
            self.fold[rng.permutation(rows)] = np.arange(len(rows)) % FOLDS
        self.models = [self._fitted(np.flatnonzero(self.fold != f), rng) for f in range(FOLDS)]

    def _fitted(self, rows: np.ndarray, rng: np.random.Generator) -> Logistic:
        some = [rows[self.y[rows] == label] for label in (False, True)]
        kept = np.concatenate([rng.permutation(part)[:_MOST] for part in some])
        return Logistic.fitted(
            self.x[kept].reshape(-1, self.x.shape[2]), self.y[kept].repeat(COUNT)
        )

    def odds(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) log-odds of each episode, the mean of its windows; and (n, k) what adds to them."""
        odds, parts = np.zeros(len(self.y)), np.zeros((len(self.y), self.x.shape[2]))
        for f, model in enumerate(self.models):
            rows = self.fold == f
            parts[rows] = (
                model.parts(self.x[rows].reshape(-1, self.x.shape[2]))
                .reshape(rows.sum(), COUNT, -1)
                .mean(axis=1)
            )
            odds[rows] = parts[rows].sum(axis=1) + model.bias
        return odds, parts

    def auroc(self, odds: np.ndarray) -> float:
        """Within each fold, whose odds are of one model, and averaged."""
        found = [
            auroc(odds[self.y & (self.fold == f)], odds[~self.y & (self.fold == f)])
            for f in range(FOLDS)
        ]
        return float(np.mean(found))


def _controls(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same with labels shuffled between episodes, several times."""
    turns = int(np.clip(_EFFORT // len(y), _FEW, _MANY))
    found = []
    for _ in range(turns):
        cross = _Crossed(x, rng.permutation(y), rng)
        found.append(cross.auroc(cross.odds()[0]))
    return np.array(found)


def _by_signal(
    x: np.ndarray, y: np.ndarray, signals: np.ndarray, rng: np.random.Generator
) -> dict[str, float]:
    found = {}
    for signal in dict.fromkeys(signals.tolist()):
        cross = _Crossed(x[:, :, signals == signal], y, rng)
        found[signal] = cross.auroc(cross.odds()[0])
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _giveaways(parts: np.ndarray, y: np.ndarray, signals: np.ndarray) -> list[str]:
    """(n,) of each episode the signal that speaks most against it, beside the real ones."""
    names = list(dict.fromkeys(signals.tolist()))
    against = parts - parts[y].mean(axis=0)
    sums = np.stack([against[:, signals == name].sum(axis=1) for name in names], axis=1)
    return [names[k] if row[k] < 0.0 else "" for row in sums for k in [int(np.argmin(row))]]


def _tells(cross: _Crossed, sheet: Sheet, shown: int = 5) -> tuple[str, ...]:
    weights = np.mean([model.weights for model in cross.models], axis=0)
    order = np.argsort(-np.abs(weights))[:shown]
    return tuple(f"{sheet.traits[k]} ({sheet.signals[k]})" for k in order)
