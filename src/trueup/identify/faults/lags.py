"""Clocks that change in the middle: from some moment on, all joints answer later than before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.identify.answers import Answers, Lags
from trueup.identify.faults.flaw import Flaw, Remedy

_SIDE = 4  # windows on each side of a change
_SURE_S = 0.002
_LEAP_S = 0.02
_TIMES_SCATTER = 5.0
_NEAR_S = 8.0  # on each side, to say by how much


def lag_flaws(episodes: Sequence[Episode]) -> list[list[Flaw]]:
    """For each episode, from when on its joints lag by more, or less, than its others say."""
    answers = Answers(episodes)
    return [list(_change(answers, i)) for i in range(len(episodes))]


def _change(answers: Answers, i: int) -> Iterator[Flaw]:
    time_s = answers.episodes[i][JOINTS].time_s
    moment = _moment(answers.lags(i))
    if moment is None:
        return
    before = answers.shift(i, moment - _NEAR_S, moment)
    after = answers.shift(i, moment, moment + _NEAR_S)
    leap = after - before
    late = moment - time_s[0] > 0.5 * (time_s[-1] - time_s[0])
    yield Flaw(
        kind="clock",
        what=f"from {moment:.0f} s on (frame {int(np.searchsorted(time_s, moment))}) all joints "
        f"answer about {1e3 * abs(leap):.0f} ms {'later' if leap > 0 else 'sooner'} than before: a "
        f"clock or a buffer has changed, and the {'later' if late else 'earlier'}, shorter part "
        "is not of the same kind",
        remedy=Remedy.MASK,
        begin_s=moment if late else -np.inf,
        end_s=np.inf if late else moment,
        where=leap,
    )


def _moment(lags: Lags) -> float | None:
    """When the lag leaps from one level to another and stays there; none where it does not.

    A leap counts only if it is large beside how lags go up and down all through the recording: of
    few windows some lie close together by chance.
    """
    sure = lags.std_s < _SURE_S
    all_places = range(_SIDE, len(lags.lag_s) - _SIDE + 1)
    places = [k for k in all_places if sure[k - _SIDE : k + _SIDE].all()]
    if not places:
        return None
    usual = float(np.median(np.abs(np.diff(lags.lag_s[sure]))))
    leaps = np.array([_leap(lags.lag_s, k) for k in places])
    scatter = np.array([max(_scatter(lags.lag_s, k), usual) for k in places])
    size = np.where(np.abs(leaps) > np.maximum(_LEAP_S, _TIMES_SCATTER * scatter), np.abs(leaps), 0)
    return float(lags.begin_s[places[int(size.argmax())]]) if size.any() else None


def _leap(lag_s: np.ndarray, k: int) -> float:
    return float(np.median(lag_s[k : k + _SIDE]) - np.median(lag_s[k - _SIDE : k]))


def _scatter(lag_s: np.ndarray, k: int) -> float:
    """Of the windows beside a place, on the side where they scatter more."""
    return max(_spread(lag_s[k - _SIDE : k]), _spread(lag_s[k : k + _SIDE]), 1e-4)


def _spread(values: np.ndarray) -> float:
    return float(np.median(np.abs(values - np.median(values))))
