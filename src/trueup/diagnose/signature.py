"""What a set of trials looks like, as one row of numbers.

How joints answer, what is seen of things, how the hand meets them, and how it ends. Nothing here
knows which gap leaves which mark; that is learned from simulated trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

Marks = Iterator[tuple[str, float]]

_LAGS = 4
_STILL = 8  # first control steps, in which no thing has been touched yet
_LAST = 10  # steps at an episode's end
_MOMENTS = (0.1, 0.2, 0.35, 0.5, 0.75)  # of the longest episode
_RAISED_M = 0.015
_SMALL = 1e-9


@dataclass(frozen=True, kw_only=True)
class Traces:
    """Trials of one policy on one robot, all signals on the control clock.

    Attributes:
        signals: (K, T, dim) by name, the commands as `command`; NaN after an episode's end.
        success: (K,)
        period_s: Time between control steps.
    """

    signals: Mapping[str, np.ndarray]
    success: np.ndarray
    period_s: float

    @property
    def steps(self) -> np.ndarray:
        """(K,) control steps of each."""
        return np.isfinite(self.signals["command"][:, :, 0]).sum(axis=1)

    def some(self, rows: np.ndarray) -> Traces:
        """A part of the trials."""
        taken = {name: values[rows] for name, values in self.signals.items()}
        return Traces(signals=taken, success=self.success[rows], period_s=self.period_s)


@dataclass(frozen=True, kw_only=True)
class Signature:
    """Numbers that describe a set of trials.

    Attributes:
        names: What each is.
        values: (F,)
    """

    names: tuple[str, ...]
    values: np.ndarray


def signature(traces: Traces) -> Signature:
    """Describe a set of trials; the names depend on the signals alone."""
    marks = [mark for part in _PARTS for mark in part(traces)]
    values = np.nan_to_num(np.array([value for _, value in marks]), posinf=0.0, neginf=0.0)
    return Signature(names=tuple(name for name, _ in marks), values=values)


# How it ends ------------------------------------------------------------------------------------


def _ends(traces: Traces) -> Marks:
    steps = traces.steps
    yield "success", float(traces.success.mean())
    yield "length/mean", float(steps.mean())
    yield "length/spread", float(steps.std())
    for name, good in (("success", traces.success), ("failure", ~traces.success)):
        yield f"length/{name}", float(steps[good].mean()) if good.any() else float(steps.mean())


# How joints answer ------------------------------------------------------------------------------


def _responses(traces: Traces) -> Marks:
    q, c = traces.signals["joint_position"], traces.signals["command"]
    for j in range(q.shape[2]):
        yield from _response(q[:, :, j], c[:, :, j], f"joint{j}")


def _response(q: np.ndarray, c: np.ndarray, name: str) -> Marks:
    """A joint's next move from its last commands and moves, by least squares."""
    now = slice(_LAGS - 1, -1)
    at, step = q[:, now], np.diff(q, axis=1)
    y = step[:, _LAGS - 1 :]
    before, earlier = step[:, _LAGS - 2 : -1], step[:, _LAGS - 3 : -2]
    told = [c[:, _LAGS - 1 - k : c.shape[1] - 1 - k] - at for k in range(_LAGS)]
    parts = [*told, before, earlier, np.tanh(before / 0.004), at, np.ones_like(at)]
    weights, left = _regressed(np.stack(parts, -1), y)
    for k, weight in enumerate(weights):
        yield f"{name}/response{k}", weight
    yield f"{name}/left", _log(left.std())
    peaked = (left**4).mean() / (left.var() ** 2 + 1e-20)
    yield f"{name}/left_peaked", float(np.clip(peaked, 0.0, 50.0))
    error = told[0][np.isfinite(told[0])]
    yield f"{name}/error_mean", float(error.mean())
    yield f"{name}/error_spread", float(error.std())
    for what, x in (("command", c), ("position", q)):
        yield from _roughness(x, f"{name}/{what}")


def _roughness(x: np.ndarray, name: str) -> Marks:
    """How much of a signal is quick, and how often it stands still."""
    third = np.diff(x, n=3, axis=1)
    third = third[np.isfinite(third)]
    step = np.diff(x, axis=1)
    step = step[np.isfinite(step)]
    yield f"{name}/rough", _log(np.abs(third).mean())
    yield f"{name}/rough_typical", _log(np.median(np.abs(third)))
    yield f"{name}/same", float((np.abs(step) < _SMALL).mean())
    yield f"{name}/speed", _log(np.abs(step).mean())


def _forces(traces: Traces) -> Marks:
    """What joints' force and speed readings have to do with their positions."""
    q, c = traces.signals["joint_position"], traces.signals["command"]
    v, force = traces.signals.get("joint_velocity"), traces.signals.get("joint_force")
    moved = np.gradient(q, traces.period_s, axis=1)
    for j in range(q.shape[2]):
        if force is not None:
            told = np.stack([c[:, :, j] - q[:, :, j], moved[:, :, j], np.ones_like(q[:, :, j])], -1)
            weights, left = _regressed(told, force[:, :, j])
            for word, weight in zip(("gain", "drag", "offset"), weights, strict=True):
                yield f"force{j}/{word}", weight
            yield f"force{j}/left", _log(left.std())
            yield from _roughness(force[:, :, j], f"force{j}")
            largest = np.nanmax(np.abs(force[:, :, j]), axis=1)
            yield f"force{j}/largest", float(largest.mean())
        if v is not None:
            weights, left = _regressed(moved[:, :, j, None], v[:, :, j])
            yield f"speed{j}/gain", weights[0]
            yield f"speed{j}/left", _log(left.std())


# What is seen of things, and how the hand meets them --------------------------------------------


def _things(traces: Traces) -> Marks:
    for name in traces.signals:
        thing = name.removesuffix("_position")
        if thing != name and thing not in ("joint", "tcp"):
            yield from _seen(traces, thing)
            if f"{thing}_in_hand" in traces.signals:
                yield from _met(traces, thing)
    for name, values in traces.signals.items():
        if name.endswith("_orientation"):
            yield from _leaning(values, name)


def _seen(traces: Traces, thing: str) -> Marks:
    """Where a thing stands before it is touched, and how steady its reading is."""
    place = traces.signals[f"{thing}_position"]
    first = place[:, :_STILL]
    start = np.nanmean(first, axis=1)
    flat = np.column_stack([start[:, :2] - [0.2, 0.0], np.ones(len(start))])
    weights = np.linalg.lstsq(flat, start[:, 2], rcond=None)[0] if len(start) > 3 else np.zeros(3)
    for word, weight in zip(("slope_x", "slope_y", "height"), weights, strict=True):
        yield f"{thing}/{word}", 100.0 * float(weight)
    yield f"{thing}/height_spread", _log(start[:, 2].std())
    for i, axis in enumerate("xyz"):
        step = np.diff(first[:, :, i], axis=1)
        step = step[np.isfinite(step)]
        yield f"{thing}/jitter_{axis}", _log(step.std())
        yield f"{thing}/same_{axis}", float((np.abs(step) < _SMALL).mean())
        yield f"{thing}/leap_{axis}", _log(np.abs(step).max(initial=0.0))
        yield f"{thing}/start_{axis}", 10.0 * float(start[:, i].mean())
        drifted = np.nanmean(place[:, 2:_STILL, i] - place[:, :1, i])
        yield f"{thing}/drift_{axis}", 100.0 * float(drifted)
    whole = np.diff(place, axis=1)
    still = np.asarray((np.abs(whole) < _SMALL).all(axis=2))
    yield f"{thing}/same", float(still[np.isfinite(whole[:, :, 0])].mean())


def _met(traces: Traces, thing: str) -> Marks:
    """Where a thing is in the hand at the nearest and at the end, and what became of it."""
    in_hand, place = traces.signals[f"{thing}_in_hand"], traces.signals[f"{thing}_position"]
    distance = np.linalg.norm(in_hand, axis=2)
    nearest = np.nanargmin(np.nan_to_num(distance, nan=np.inf), axis=1)
    rows = np.arange(len(in_hand))
    hand = traces.signals["joint_position"][:, :, -1]
    wanted = traces.signals["command"][:, :, -1]
    ends = traces.steps - 1
    moments = {"nearest": nearest, "end": ends, "before_end": np.maximum(ends - _LAST, 0)}
    good = traces.success
    for word, when in moments.items():
        numbers = [*in_hand[rows, when].T, place[rows, when, 2], hand[rows, when]]
        numbers.append(wanted[rows, when] - hand[rows, when])
        for k, (scale, x) in enumerate(zip((100, 100, 100, 100, 3, 10), numbers, strict=True)):
            yield f"{thing}/{word}{k}", scale * float(x.mean())
            yield f"{thing}/{word}{k}/spread", scale * float(x.std())
            for which, chosen in (("success", good), ("failure", ~good)):
                value = float(x[chosen].mean() - x.mean()) if chosen.any() else 0.0
                yield f"{thing}/{word}{k}/{which}", scale * value
    highest = np.nanmax(place[:, :, 2], axis=1) - place[:, 0, 2]
    yield f"{thing}/highest", 10 * float(highest.mean())
    yield f"{thing}/highest_failed", 10 * float(highest[~good].mean()) if (~good).any() else 0.0
    for share in _MOMENTS:
        t = int(share * (distance.shape[1] - 1))
        x = distance[:, t]
        yield f"{thing}/distance{share}", 10 * float(np.nanmean(x)) if np.isfinite(x).any() else 0.0
    sideways = np.linalg.norm(place[:, :, :2] - place[:, :1, :2], axis=2)
    low = place[:, :, 2] - place[:, :1, 2] < 0.005
    shoved = np.nanmax(np.where(low, sideways, 0.0), axis=1)
    yield f"{thing}/shoved", 10 * float(shoved.mean())
    yield from _carried(traces, place, in_hand, thing)


def _carried(traces: Traces, place: np.ndarray, in_hand: np.ndarray, thing: str) -> Marks:
    """Once raised: how late a thing is seen to follow the hand, and how it moves within it."""
    tcp = traces.signals.get("tcp_position")
    raised = place[:, :, 2] - place[:, :1, 2] > _RAISED_M
    held = raised[:, _LAGS:] & raised[:, _LAGS - 1 : -1]
    yield f"{thing}/raised", float(raised.mean())
    slid = np.diff(in_hand, axis=1)[:, _LAGS - 1 :]
    for i in range(3):
        x = slid[:, :, i][held]
        yield f"{thing}/slid{i}", 1000 * float(x.mean()) if len(x) else 0.0
        yield f"{thing}/slid{i}/spread", 1000 * float(x.std()) if len(x) else 0.0
    if tcp is None:
        return
    moved, hand = np.diff(place, axis=1)[:, _LAGS - 1 :], np.diff(tcp, axis=1)
    late = [hand[:, _LAGS - 1 - k : hand.shape[1] - k] for k in range(_LAGS)]
    x = np.stack([part[held].ravel() for part in late], -1)
    y = moved[held].ravel()
    weights, left = _regressed(x, y) if len(y) > 60 else (np.zeros(_LAGS).tolist(), np.zeros(1))
    for k, weight in enumerate(weights):
        yield f"{thing}/late{k}", weight
    yield f"{thing}/late/left", _log(left.std())


def _leaning(q: np.ndarray, name: str) -> Marks:
    """How a thing's upright axis leans before it is touched, and how steady that reading is."""
    w, x, y, z = (q[:, :_STILL, i] for i in range(4))
    lean = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x)], -1)
    for i, axis in enumerate("xy"):
        yield f"{name}/lean_{axis}", 10.0 * float(np.nanmean(lean[:, :, i]))
    step = np.diff(q[:, :_STILL], axis=1)
    yield f"{name}/jitter", _log(np.nanstd(step))
    yield f"{name}/rough", _log(np.nanmean(np.abs(np.diff(q, n=3, axis=1))))


# --------------------------------------------------------------------------------------------------


def _regressed(x: np.ndarray, y: np.ndarray) -> tuple[list[float], np.ndarray]:
    """Weights (k,) of columns (..., k) that explain y best, slightly damped, and what is left."""
    x, y = x.reshape(-1, x.shape[-1]), y.reshape(-1)
    known = np.isfinite(y) & np.isfinite(x).all(axis=1)
    x, y = x[known], y[known]
    if len(y) < 3 * x.shape[1]:
        return [0.0] * x.shape[1], np.zeros(1)
    scale = np.sqrt((x**2).mean(axis=0)) + 1e-9
    z = x / scale
    square = z.T @ z + 1e-3 * len(y) * np.eye(z.shape[1])
    weights = np.linalg.solve(square, z.T @ y)
    return (weights / scale).tolist(), y - z @ weights


def _log(size: float | np.floating) -> float:
    return float(np.log10(float(size) + 1e-7))


_PARTS: tuple[Callable[[Traces], Marks], ...] = (_ends, _responses, _forces, _things)
