"""Whether trials look like anything that a space can produce."""

from __future__ import annotations

import numpy as np

_FOLDS = 4
_VARIANCE = 0.97  # of what differs between worlds: directions beyond are not learned
_WORST = 0.04  # of the numbers: those that fit least
_PRIOR, _SHAPE = 0.1, 0.15  # how often a cause is outside, and how soon its marks tell
_USUAL = 0.5  # times as likely at least: what lies outside may leave marks like any other
_DOUBTED = 6.0  # times as likely where recordings could not be explained either


class Familiarity:
    """Knows which marks go together in the worlds of a bank, and how well others fit in.

    Args:
        signatures: (N, F) of worlds inside the space.
    """

    def __init__(self, signatures: np.ndarray) -> None:
        low, self._middle, high = np.quantile(signatures, [0.1, 0.5, 0.9], axis=0)
        self._scale = np.maximum((high - low) / 2.56, 1e-3 * np.abs(self._middle) + 1e-6)
        z = self._squashed(signatures)
        self._axes = _axes(z)
        left = np.zeros_like(z)
        for fold in range(_FOLDS):
            mine = np.arange(len(z)) % _FOLDS == fold
            left[mine] = _left(z[mine], _axes(z[~mine]))
        self._size = np.sqrt((left**2).mean(axis=0)) + 1e-3
        self._usual = np.sort(_worst(left / self._size))

    def p_value(self, values: np.ndarray) -> float:
        """How many of a hundred worlds inside the space fit in as badly, as a share of 1."""
        found = _worst(_left(self._squashed(values[None]), self._axes) / self._size)[0]
        above = len(self._usual) - np.searchsorted(self._usual, found)
        return float((above + 1) / (len(self._usual) + 1))

    def strangest(self, values: np.ndarray, many: int = 3) -> list[int]:
        """Which numbers fit in least."""
        left = _left(self._squashed(values[None]), self._axes)[0] / self._size
        return np.argsort(-np.abs(left))[:many].tolist()

    def _squashed(self, values: np.ndarray) -> np.ndarray:
        z = np.clip((values - self._middle) / self._scale, -50.0, 50.0)
        return np.sign(z) * np.log1p(np.abs(z))


def outside(p: float, *, doubted: bool = False, odds: float = 1.0) -> float:
    """How likely it is that a cause lies outside the space, if marks fit in only so badly.

    By Bayes: one cause in ten is outside before anything is seen; inside, every p is as likely as
    any other; outside, small ones are more likely by far.

    Args:
        p: See `Familiarity.p_value`.
        doubted: Whether recordings of free motion could not be explained inside the space either.
        odds: How many times as likely it is by anything else, see `Answer.odds`.
    """
    likely = max(_SHAPE * p ** (_SHAPE - 1.0), _USUAL) * (_DOUBTED if doubted else 1.0) * odds
    return _PRIOR * likely / (_PRIOR * likely + 1.0 - _PRIOR)


def _axes(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean, and (k, F) directions in which worlds differ."""
    mean = z.mean(axis=0)
    _, sizes, axes = np.linalg.svd(z - mean, full_matrices=False)
    share = np.cumsum(sizes**2) / (sizes**2).sum()
    return mean, axes[: int(np.searchsorted(share, _VARIANCE)) + 1]


def _left(z: np.ndarray, axes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    off = z - axes[0]
    return off - (off @ axes[1].T) @ axes[1]


def _worst(sizes: np.ndarray) -> np.ndarray:
    """(n,) root mean square of the largest of each row."""
    many = max(1, round(_WORST * sizes.shape[1]))
    return np.sqrt((np.sort(sizes**2, axis=1)[:, -many:]).mean(axis=1))
