"""Whether a tracked object was really seen: readings that are missing, stand still, or leap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

_SHORTEST_S = 0.2  # a tracker that misses less than this is like any other
_LEAP_M, _LEAP_M_PER_S = 0.03, 3.0  # further and faster than anything falls from a hand
_HANDLED_M = 0.08  # from the hand: beyond, nobody moves an object
_FIRST = 13  # readings: nothing is touched in the first half second of an episode
_BACK_M = 0.01  # how far it must be elsewhere after standing still, to have moved unseen


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A stretch in which an object was not really seen.

    Attributes:
        kind: `missing`, `frozen` or `leap`.
        start_s: When it began, from the first reading.
        end_s: When it ended.
        distance_m: How far it was elsewhere afterwards.
    """

    kind: str
    start_s: float
    end_s: float
    distance_m: float

    def __str__(self) -> str:
        length, far = f"{self.end_s - self.start_s:.2f} s", f"{1000 * self.distance_m:.0f} mm"
        if self.kind == "leap":
            return f"the object leapt {far} from one reading to the next with no hand near it"
        what = "was not seen" if self.kind == "missing" else "stood still in the record"
        then = f" and was {far} elsewhere after that" if self.distance_m >= _BACK_M else ""
        return f"the object {what} for {length}{then}"


def noise(place: np.ndarray) -> float:
    """Standard deviation of a tracked place (k, 3), m: by how readings differ from neighbours.

    Second differences, which a smooth motion leaves small, in the median.
    """
    if len(place) < 5:
        return 0.0
    bend = np.abs(np.diff(place, n=2, axis=0))
    return float(np.median(bend) / 0.6745 / np.sqrt(6.0))


def losses(place: np.ndarray, time_s: np.ndarray, hand: np.ndarray | None) -> tuple[Loss, ...]:
    """Where an object (k, 3) was not really seen, in order of time.

    Args:
        place: Its readings; not finite where there were none.
        time_s: (k,) when.
        hand: (k, 3) where the hand was; none where unknown.
    """
    missing = np.logical_not(np.isfinite(place).all(axis=1))
    same = np.zeros(len(place), bool)
    same[1:] = (place[1:] == place[:-1]).all(axis=1)
    found = [_loss("missing", run, place, time_s) for run in runs(missing) if _long(run, time_s)]
    jitters = _jitters(place)
    for start, end in runs(same):
        loss = _loss("frozen", (start - 1, end), place, time_s)
        unseen = loss.distance_m >= _BACK_M and _handled(place, hand, start, end)
        if _long((start - 1, end), time_s) and (jitters or unseen):
            found.append(loss)
    return tuple(sorted([*found, *_leaps(place, time_s, hand)], key=lambda loss: loss.start_s))


def runs(mask: ArrayLike) -> list[tuple[int, int]]:
    """First and one-past-last index of every stretch in which a mask holds."""
    edges = np.diff(np.concatenate([[0], np.asarray(mask, int), [0]]))
    first, after = np.flatnonzero(edges > 0).tolist(), np.flatnonzero(edges < 0).tolist()
    return list(zip(first, after, strict=True))


def _long(run: tuple[int, int], time_s: np.ndarray) -> bool:
    return _end(run, time_s) - float(time_s[run[0]]) >= _SHORTEST_S - 1e-9


def _end(run: tuple[int, int], time_s: np.ndarray) -> float:
    return float(time_s[min(run[1], len(time_s) - 1)])


def _loss(kind: str, run: tuple[int, int], place: np.ndarray, time_s: np.ndarray) -> Loss:
    before = place[max(run[0] - (kind == "missing"), 0)]
    after = place[min(run[1], len(place) - 1)]
    far = float(np.linalg.norm(after - before)) if np.isfinite([before, after]).all() else 0.0
    start_s = float(time_s[run[0]] - time_s[0])
    return Loss(
        kind=kind, start_s=start_s, end_s=_end(run, time_s) - float(time_s[0]), distance_m=far
    )


def _jitters(place: np.ndarray) -> bool:
    """Whether this tracker jitters while the object still lies, so that a repeat is an old one."""
    step = np.abs(np.diff(place[:_FIRST], axis=0)).max(axis=1, initial=0.0)
    known = step[np.isfinite(step)]
    return bool(len(known) >= 5 and np.median(known) > 2e-4)


def _handled(place: np.ndarray, hand: np.ndarray | None, start: int, end: int) -> bool:
    """Whether somebody could have moved it meanwhile."""
    if hand is None:
        return True
    away = np.linalg.norm(place[start:end] - hand[start:end], axis=1)
    return bool(away.min() < _HANDLED_M)


def _leaps(place: np.ndarray, time_s: np.ndarray, hand: np.ndarray | None) -> list[Loss]:
    if hand is None or len(place) < 2:
        return []
    step = np.linalg.norm(np.diff(place, axis=0), axis=1)
    away = np.linalg.norm(place - hand, axis=1)
    alone = np.minimum(away[1:], away[:-1]) > _HANDLED_M
    fast = step > np.maximum(_LEAP_M, _LEAP_M_PER_S * np.diff(time_s))
    resting = _resting(place)
    return [
        _loss("leap", (int(k), int(k) + 1), place, time_s)
        for k in np.flatnonzero(fast | ((step > _LEAP_M) & alone & resting[:-1]))
    ]


def _resting(place: np.ndarray) -> np.ndarray:
    """(k,) whether an object had hardly moved over the two readings before."""
    step = np.linalg.norm(np.diff(place, axis=0), axis=1)
    still = np.zeros(len(place), bool)
    still[2:] = np.maximum(step[1:], step[:-1]) < 0.2 * _LEAP_M
    return still
