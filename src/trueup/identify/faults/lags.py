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
    """When the lag leaps from one level to another and stays there; none where it does not."""
    sure = lags.std_s < _SURE_S
    best, at = 0.0, -1
    for k in range(_SIDE, len(lags.lag_s) - _SIDE + 1):
        if not sure[k - _SIDE : k + _SIDE].all():
            continue
        before, after = lags.lag_s[k - _SIDE : k], lags.lag_s[k : k + _SIDE]
        leap = float(np.median(after) - np.median(before))
        scatter = max(_spread(before), _spread(after), 1e-4)
        if abs(leap) > max(_LEAP_S, _TIMES_SCATTER * scatter, abs(best)):
            best, at = leap, k
    return None if at < 0 else float(lags.begin_s[at])


def _spread(values: np.ndarray) -> float:
    return float(np.median(np.abs(values - np.median(values))))
