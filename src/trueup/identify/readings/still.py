"""Noise of a column from stretches at rest: white noise under quantization, and slow drift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import nnls
from scipy.special import logsumexp, ndtr

from trueup.identify.allan import Strength
from trueup.identify.readings.stretches import Rest

_CHUNK = 50  # readings that share one true value
_LEAST = 100
_NONE = 1e-9
_MOST = 20_000
_WANDERING = 3_000  # readings that drift is judged from
_REPEATS = 20
_CONFIDENCE = 0.90
_DROP = 1.353  # of the log likelihood at the ends of a 90 % interval
_WIDTHS = np.geomspace(0.02, 20.0, 61)  # of white noise tried, in quanta
_SHAKEN = 0.1  # of all chunks
_PLACES = (np.arange(16) + 0.5) / 16 - 0.5  # of the true value within a quantum
_WIDE = 1.0  # quanta; white noise beyond this hides quantization


def white_of(rests: Sequence[Rest], quantum: float, unit: str) -> Strength:
    """White noise before quantization: how far one reading lies from the truth, at one sigma."""
    readings = sum(len(rest.values) for rest in rests)
    if readings < _LEAST:
        return nothing(unit, _too_little(readings, rests))
    spread = _spread(rests)
    if spread < _NONE and quantum <= 0.0:
        same = nothing(unit, f"{readings:,} readings at rest are all the same.")
        return replace(same, high=_NONE)
    if quantum <= 0.0 or spread > _WIDE * quantum:
        spread, readings = _spread(rests, anew=True), sum(_anew(rest) for rest in rests)
        value = float(np.sqrt(max(spread**2 - quantum**2 / 12.0, 0.0)))
        std = value / np.sqrt(2.0 * max(readings * 2.0 / 3.0, 1.0))
        return Strength(
            value=value,
            low=float(max(value - 1.645 * std, 0.0)),
            high=float(value + 1.645 * std),
            unit=unit,
            seen=value > 0.0,
            sentence=f"From {readings:,} readings at rest.",
        )
    return _under_steps(rests, quantum, unit, readings)


def _under_steps(rests: Sequence[Rest], quantum: float, unit: str, readings: int) -> Strength:
    """White noise that is smaller than the steps: by how often neighbouring values are read."""
    told = _likelihoods(rests, quantum)
    best = quantum * _peak(told.sum(axis=0))
    generator = np.random.default_rng(0)
    again = [
        quantum * _peak(told[generator.integers(len(told), size=len(told))].sum(axis=0))
        for _ in range(_REPEATS)
    ]
    near = np.flatnonzero(told.sum(axis=0) > told.sum(axis=0).max() - _DROP)
    low = float(min(np.quantile(again, 0.05), best, quantum * _WIDTHS[near[0]]))
    high = float(max(np.quantile(again, 0.95), best, quantum * _WIDTHS[near[-1]]))
    seen = bool(low > quantum * _WIDTHS[0])
    sentence = (
        f"From how often neighbouring steps are read in {readings:,} readings at rest."
        if seen
        else f"Nearly all of {readings:,} readings at rest repeat one step: the noise is smaller."
    )
    value, low = (best, low) if seen else (0.0, 0.0)
    return Strength(value=value, low=low, high=high, unit=unit, seen=seen, sentence=sentence)


def _likelihoods(rests: Sequence[Rest], quantum: float) -> np.ndarray:
    """(chunks, widths) log likelihood of white noise, wherever in a step the true value lies.

    Some chunks shake or creep: each may be of that kind, and then says nothing.
    """
    known: dict[bytes, np.ndarray] = {}
    found = []
    for chunk in _chunks(rests):
        levels = np.rint((chunk - np.median(chunk)) / quantum)
        histogram = np.stack(np.unique(levels, return_counts=True))
        key = histogram.tobytes()
        if key not in known:
            known[key] = _likelihood(*histogram)
        found.append(known[key])
    return np.array(found)


def _likelihood(levels: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(widths,) of one chunk, which was so often read at so many steps from its middle."""
    edges = levels[None, None] - _PLACES[None, :, None]
    width = _WIDTHS[:, None, None]
    chance = ndtr((edges + 0.5) / width) - ndtr((edges - 0.5) / width)
    each = (counts * np.log(np.maximum(chance, 1e-30))).sum(axis=2)
    told = logsumexp(each, axis=1) - np.log(len(_PLACES))
    any_width = logsumexp(told) - np.log(len(told))
    return np.logaddexp(np.log1p(-_SHAKEN) + told, np.log(_SHAKEN) + any_width)


def _peak(likelihood: np.ndarray) -> float:
    """The likeliest width, between those tried."""
    k = int(likelihood.argmax())
    if not 0 < k < len(likelihood) - 1:
        return float(_WIDTHS[k])
    a, b, c = likelihood[k - 1 : k + 2]
    shift = 0.5 * (a - c) / (a - 2.0 * b + c) if a - 2.0 * b + c < 0 else 0.0
    return float(_WIDTHS[k] * (_WIDTHS[1] / _WIDTHS[0]) ** shift)


def drift_of(
    rests: Sequence[Rest],
    quantum: float,
    white: float,
    unit: str,
    generator: np.random.Generator,
) -> Strength:
    """How a column wanders at rest: a random walk, from the Allan variance of all rests together.

    Its interval comes from rests of the same lengths that are made with what was found, quantized
    and judged in the same way. A joint that creeps cannot be told from a sensor that drifts.
    """
    unit = f"{unit}/√s"
    long = _longest([rest for rest in rests if len(rest.values) >= 2 * _CHUNK])
    readings = sum(len(rest.values) for rest in long)
    if readings < _LEAST:
        longest = max((len(r.values) * r.period_s for r in rests), default=0.0)
        return nothing(unit, f"The longest rest lasts {longest:.2g} s: too short to wander.")
    found = _walk(long)

    def shown(walk: float, times: int) -> np.ndarray:
        made = (_made(long, walk, white, quantum, generator) for _ in range(times))
        return np.array([_walk(rests) for rests in made])

    seen = bool(found > 0.0 and found > shown(0.0, _REPEATS).max())
    low, high = np.quantile(shown(found, _REPEATS), [0.05, 0.95]) if seen else (0.0, 0.0)
    seen = seen and low > 0.0
    sentence = (
        f"From {len(long)} rests, {readings:,} readings; a joint that creeps looks the same."
        if seen
        else f"{len(long)} rests, {readings:,} readings, show none beyond noise and steps."
    )
    return Strength(
        value=found if seen else 0.0,
        low=float(min(low, found)) if seen else 0.0,
        high=float(max(high, found)) if seen else _hidden(long, found, white, quantum, shown),
        unit=unit,
        seen=seen,
        sentence=sentence,
    )


def nothing(unit: str, sentence: str) -> Strength:
    """That a recording does not say: the most that could be there is unknown."""
    return Strength(value=0.0, low=0.0, high=float("inf"), unit=unit, seen=False, sentence=sentence)


# ------------------------------------------------------------------------------------------------


def _too_little(readings: int, rests: Sequence[Rest]) -> str:
    return (
        f"There are {readings} readings at rest, in {len(rests)} stretches: too few. Let the robot "
        "hold still for a few seconds."
    )


def _spread(rests: Sequence[Rest], *, anew: bool = False) -> float:
    """Of one reading, from second differences: slow motion drops out.

    If `anew`, readings that are the last ones again do not count: noise does not repeat itself.
    """
    values = [r.values if r.fresh is None or not anew else r.values[r.fresh] for r in rests]
    parts = [np.diff(each, 2) for each in values if len(each) > 2]
    if not parts:
        return 0.0
    return float(np.sqrt(np.mean(np.concatenate(parts) ** 2) / 6.0))


def _anew(rest: Rest) -> int:
    return len(rest.values) if rest.fresh is None else int(rest.fresh.sum())


def _chunks(rests: Sequence[Rest]) -> list[np.ndarray]:
    parts: list[np.ndarray] = []
    for rest in rests:
        parts += np.array_split(rest.values, max(1, len(rest.values) // _CHUNK))
    most = _MOST // _CHUNK
    chosen = np.linspace(0, len(parts) - 1, min(most, len(parts))).astype(int)
    return [parts[i] for i in chosen]


def _longest(rests: Sequence[Rest]) -> list[Rest]:
    """The longest rests, as many as are judged in reasonable time."""
    ordered = sorted(rests, key=lambda rest: -len(rest.values))
    counts = np.cumsum([len(rest.values) for rest in ordered])
    return ordered[: int(np.searchsorted(counts, _WANDERING)) + 1]


def _walk(rests: Sequence[Rest]) -> float:
    """Strength of a random walk, by least squares of the pooled Allan variance."""
    sizes = np.unique(np.geomspace(1, max(len(r.values) for r in rests) // 3, 12).astype(int))
    period = float(np.mean([rest.period_s for rest in rests]))
    variance, freedom = np.zeros(len(sizes)), np.zeros(len(sizes))
    for rest in rests:
        sums = np.concatenate([[0.0], np.cumsum(rest.values - rest.values.mean())])
        for i, m in enumerate(sizes):
            twice = sums[2 * m :] - 2.0 * sums[m:-m] + sums[: -2 * m]
            if len(sums) > 2 * m:
                worth = len(twice) / m
                variance[i] += worth * np.mean(twice**2) / (2.0 * m**2)
                freedom[i] += worth
    known = (freedom > 0) & (variance > 0)
    if known.sum() < 2:
        return 0.0
    variance, freedom, sizes = (x[known] for x in (variance, freedom, sizes))
    variance = variance / freedom
    slopes = np.stack([1.0 / sizes, sizes * period / 3.0], axis=1)
    weight = np.sqrt(freedom) / variance
    scale = (slopes * weight[:, None]).max(axis=0)
    squares, _ = nnls(slopes * weight[:, None] / scale, variance * weight)
    return float(np.sqrt(squares[1] / scale[1]))


def _made(
    rests: Sequence[Rest],
    walk: float,
    white: float,
    quantum: float,
    generator: np.random.Generator,
) -> list[Rest]:
    """Rests of the same lengths with known noise."""
    made = []
    for rest in rests:
        n = len(rest.values)
        steps = walk * np.sqrt(rest.period_s) * generator.standard_normal(n)
        values = steps.cumsum() + white * generator.standard_normal(n)
        if quantum > 0:
            values = quantum * np.rint(values / quantum + generator.random())
        made.append(Rest(values=values, period_s=rest.period_s, episode=rest.episode))
    return made


def _hidden(
    rests: Sequence[Rest],
    found: float,
    white: float,
    quantum: float,
    shown: Callable[[float, int], np.ndarray],
) -> float:
    """The smallest walk that nearly always would have shown more than was found."""
    total = sum(len(rest.values) * rest.period_s for rest in rests)
    walk = 0.1 * max(white, 0.3 * quantum, 1e-12) / np.sqrt(total)
    for _ in range(10):
        if shown(walk, 10).min() > found:
            break
        walk *= 2.0
    return float(walk)
