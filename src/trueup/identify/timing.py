"""When things happen: the control period, clocks beside each other, and how much each varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.errors import TrueupError
from trueup.identify.allan import Strength, plain
from trueup.identify.answers import Answer, Answers
from trueup.identify.faults import mended
from trueup.identify.faults.lags import lag_flaws
from trueup.identify.readings.still import nothing
from trueup.space import Prior, Uniform

_LATE = 1.5  # periods
_SAME_S = 1e-6
_ROUNDED_S = 1e-9
_BLOCKS = 12  # of all readings, left out in turn
_LEAST_READINGS = 200
_EXACT = 1e-4  # relative: what a clock of a computer is good for
_MODEL = 0.25  # relative: a servo is not quite linear, and jitter found is off by so much
_LEAST_S = 2e-4  # jitter below this is as good as none


@dataclass(frozen=True, kw_only=True)
class Timing:
    """What the time stamps of recordings say, and the phase of what moved.

    Attributes:
        period: Between commands.
        period_error: Relative, against the period that was meant.
        period_jitter: Standard deviation of the time between commands.
        late: Share of commands that came more than half a period late.
        offsets: For each signal, how much later than the commands its readings are stamped.
        response: From a command to the joints having followed: bus, servo and reading together.
        action_jitter: How much the time varies at which commands act.
        reading_jitter: How much the age of readings varies.
    """

    period: Strength
    period_error: Strength
    period_jitter: Strength
    late: Strength
    offsets: Mapping[str, Strength]
    response: Strength
    action_jitter: Strength
    reading_jitter: Strength

    @property
    def priors(self) -> dict[str, Prior]:
        """What these say about parameters of the catalogue."""
        found: dict[str, Prior] = {}
        error = self.period_error
        found["latency/control_period_error"] = Uniform(error.low - _EXACT, error.high + _EXACT)
        if self.response.seen:  # a delay is shorter than the quickest answer
            found["latency/action_delay"] = Uniform(0.0, self.response.low)
        if np.isfinite(self.action_jitter.high):  # joints share other errors, too: at most this
            found["latency/action_jitter"] = Uniform(0.0, self.action_jitter.high)
        return found

    def to_json(self) -> dict[str, Any]:
        """For programs; an end that is unknown is null."""
        rows = {name: plain(value) for name, value in vars(self).items() if name != "offsets"}
        return {**rows, "offsets": {k: plain(v) for k, v in self.offsets.items()}}


def timing(episodes: Sequence[Episode]) -> Timing:
    """Periods and clocks from time stamps, delays and their jitter from how joints answer."""
    some = [e for e in episodes if COMMAND in e.signals and len(e[COMMAND]) > 2]
    if not some:
        raise TrueupError(
            "None of these recordings has commands, so that they have no control period.",
            fix="Record the commands too: `trueup record` does.",
        )
    moving = [e for e in some if JOINTS in e.signals and len(e[JOINTS]) >= _LEAST_READINGS]
    moving = [mended(e, flaws) for e, flaws in zip(moving, lag_flaws(moving), strict=True)]
    answers = Answers(moving, own=True)
    told = [answers.of(i) for i in range(len(moving))]
    action, reading = _jitters(moving, told)
    return Timing(
        **_periods(some),
        offsets=_offsets(some),
        response=_response(moving, told),
        action_jitter=action,
        reading_jitter=reading,
    )


# Stamps -----------------------------------------------------------------------------------------


def _periods(episodes: Sequence[Episode]) -> dict[str, Strength]:
    steps = [np.diff(e[COMMAND].time_s) for e in episodes]
    ratio = np.array([s.mean() / e.period_s for s, e in zip(steps, episodes, strict=True)])
    every = np.concatenate(steps)
    usual = np.concatenate([s - np.median(s) for s in steps])
    usual = np.where(np.abs(usual) < _ROUNDED_S, 0.0, usual)
    meant = np.concatenate(
        [np.full(len(s), e.period_s) for s, e in zip(steps, episodes, strict=True)]
    )
    late = float((every > _LATE * meant).mean())
    n = f"{len(every):,} commands"
    return {
        "period": _ranged(every, "s", f"From the stamps of {n}."),
        "period_error": Strength(
            value=float(np.median(ratio)) - 1.0,
            low=float(ratio.min()) - 1.0,
            high=float(ratio.max()) - 1.0,
            unit="1",
            seen=True,
            sentence=f"The mean of each of {len(ratio)} recordings against the period meant.",
        ),
        "period_jitter": Strength(
            value=float(usual.std()),
            low=float(np.std(np.clip(usual, *np.quantile(usual, [0.01, 0.99])))),
            high=float(np.abs(usual).max()),
            unit="s",
            seen=bool(usual.std() > _SAME_S),
            sentence=f"Standard deviation over {n}; its ends are that without the outermost "
            "2 %, and the worst.",
        ),
        "late": Strength(
            value=late,
            low=late,
            high=late,
            unit="1",
            seen=late > 0,
            sentence=f"Share of {n} that came more than half a period late.",
        ),
    }


def _ranged(values: np.ndarray, unit: str, sentence: str) -> Strength:
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    return Strength(
        value=float(middle),
        low=float(low),
        high=float(high),
        unit=unit,
        seen=True,
        sentence=sentence,
    )


def _offsets(episodes: Sequence[Episode]) -> dict[str, Strength]:
    """By signal: how long after the last command each reading is stamped."""
    found = {}
    names = {name: None for episode in episodes for name in episode.signals if name != COMMAND}
    for name in names:
        apart = []
        for episode in episodes:
            if name not in episode.signals or not len(episode[name]):
                continue
            sent, read = episode[COMMAND].time_s, episode[name].time_s
            after = np.clip(np.searchsorted(sent, read), 1, len(sent) - 1)
            apart.append(_nearer(read - sent[after - 1], read - sent[after]))
        every = np.concatenate(apart) if apart else np.zeros(1)
        one = bool((np.abs(every) < _SAME_S).all())
        found[name] = _ranged(
            every,
            "s",
            "Commands and readings share one stamp: how far apart they really are, up to a "
            "period, cannot be told from it."
            if one
            else "Stamps of readings less those of the nearest commands.",
        )
    return found


def _nearer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(np.abs(a) < np.abs(b), a, b)


# Phase ------------------------------------------------------------------------------------------


def _response(episodes: Sequence[Episode], told: Sequence[Mapping[str, Answer]]) -> Strength:
    """Until a joint is where its command was: the mean age of the commands that it answers."""
    ages = []
    for episode, answers in zip(episodes, told, strict=True):
        for answer in answers.values():
            weights = answer.weights / (answer.weights.sum() or 1.0)
            if abs(answer.weights.sum() - 1.0) < 0.3:
                ages.append(episode.period_s * float(weights @ np.arange(len(weights))))
    if not ages:
        return nothing("s", "Nothing moved enough to see when joints answer.")
    return _ranged(
        np.maximum(ages, 0.0),
        "s",
        "Mean age of the commands that the joints answer: the bus, the servo's own lag and the age "
        "of the reading together. A delay alone is shorter.",
    )


def _jitters(
    episodes: Sequence[Episode], told: Sequence[Mapping[str, Answer]]
) -> tuple[Strength, Strength]:
    """Of commands and of readings, from errors that pairs of joints have in common.

    All servos hear a late packet late: it moves the errors of two joints together, in proportion
    to the commands' steps (where the command was late) or to the speeds (where the reading was).
    Friction and rounding are each joint's own and drop out of the product.
    """
    rows = [_pairs(e, list(a.values())) for e, a in zip(episodes, told, strict=True)]
    rows = [row for row in rows if len(row)]
    if not rows:
        why = "Two joints must move at once to tell a late packet from an error of one joint."
        return nothing("s", why), nothing("s", why)
    blocks = [b for row in rows for b in np.array_split(row, max(1, _BLOCKS // len(rows)))]
    products = np.array([b[:, :2].T @ b for b in blocks])
    whole = _two(products.sum(axis=0))
    if len(blocks) < 3:
        why = "The recordings are too short to say how much delays vary."
        return nothing("s", why), nothing("s", why)
    partial = np.array([_two(products.sum(axis=0) - one) for one in products])
    std = np.sqrt((len(blocks) - 1) * np.mean((partial - partial.mean(axis=0)) ** 2, axis=0))
    names = ("commands act", "readings are taken")
    action, reading = (_jitter(float(whole[k]), float(std[k]), names[k]) for k in range(2))
    return action, reading


def _pairs(episode: Episode, answers: Sequence[Answer]) -> np.ndarray:
    """(N, 3) of pairs of joints: what late commands and late readings would do, what was seen."""
    parts = []
    quick = [_quick(answer, episode.period_s) for answer in answers]
    for a in range(len(quick)):
        for b in range(a):
            steps = (quick[a][0] * quick[b][0]).sum(axis=1)
            speeds = 2.0 * quick[a][1] * quick[b][1]
            seen = quick[a][2] * quick[b][2]
            scale = answers[a].size * answers[b].size
            parts.append(np.stack([steps, speeds, seen], axis=1) / scale)
    return np.concatenate(parts) if parts else np.zeros((0, 3))


def _quick(answer: Answer, period_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What lateness does to the change of the error from reading to reading, and that change.

    Per second of each command (m, taps) and of the reading (m,); slow errors drop out.
    """
    steps = answer.told[:, :-1] - answer.told[:, 1:]
    effect = -steps * np.diff(answer.weights, prepend=0.0)[:-1] / period_s
    change = np.diff(answer.off, prepend=answer.off[:1])
    kept = np.abs(change) < 6.0 * np.std(change)
    return effect * kept[:, None], answer.speed * kept, np.where(kept, change, 0.0)


def _two(products: np.ndarray) -> np.ndarray:
    """(2,) variances of lateness from normal equations (2, 3); negative where there is none."""
    square, right = products[:, :2], products[:, 2]
    scale = np.sqrt(np.maximum(np.diag(square), 1e-300))
    known = square / np.outer(scale, scale) + 1e-6 * np.eye(2)
    return np.linalg.solve(known, right / scale) / scale


def _jitter(variance: float, std: float, name: str) -> Strength:
    # a variance below 0 is an error of the linear answer, and as much may hide a true one
    low = np.sqrt(max(variance - 1.645 * std, 0.0)) * (1.0 - _MODEL)
    high = np.sqrt(abs(variance) + 1.645 * std) * (1.0 + _MODEL)
    seen = bool(low > 0.0 and variance > _LEAST_S**2)
    return Strength(
        value=float(np.sqrt(variance)) if seen else 0.0,
        low=float(low) if seen else 0.0,
        high=float(high),
        unit="s",
        seen=seen,
        sentence=f"How much the time varies at which {name}, from errors that joints share; stale "
        "readings and lost commands count in."
        if seen
        else f"No variation of the time at which {name} shows in errors that joints share.",
    )
