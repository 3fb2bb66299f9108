"""Frames that come late by chance: what hand and eye show of it, as an effect that worlds may have.

A delay that all frames have is a number of the catalogue, and so are frames that are missed. A
camera that hands out now a new frame, now one from a third of a second ago is neither. A policy
that never met it believes every frame; one that was trained with it waits until it has seen enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import mujoco
from array_api_compat import array_namespace

from trueup.effects import Array, Effect, Filter, Tracker, Values, anatomy
from trueup.identify.estimate import Estimate, Finding
from trueup.identify.probing.agreement import LATE
from trueup.space import JointNormal, Parameter, Prior, Space, Uniform
from trueup.worlds import World
from trueup.worlds.added import with_effect

LATENESS, PERIOD = "visual/frames/lateness", "visual/frames/period"
_MISSED = "visual/tracker/dropout"
_LONGEST_S = 1.0
_LEAST, _MOST = 0.5, 1.5  # of what recordings show
_ACCOUNTED = 0.5  # of how early and late frames are, by missed ones: more, and that is all there is


@dataclass(frozen=True, kw_only=True)
class FrameLateness(Effect):
    """A thing is seen every so often, and each frame is late by a time of its own.

    Attributes:
        sensors: Of the tracked thing.
    """

    sensors: tuple[str, ...]

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        told = {
            LATENESS: "the most that a frame is late, beside a delay that all of them have",
            PERIOD: "between frames; what is seen stands still in between",
        }
        return tuple(
            Parameter(name=name, unit="s", nominal=0.0, low=0.0, high=_LONGEST_S, source=source)
            for name, source in told.items()
        )

    def observation(self, model: mujoco.MjModel, period_s: float) -> Filter:
        return _Late(anatomy.readings(model, self.sensors), period_s)


class _Late(Filter):
    """Shows a past sight of the thing whenever a frame is due, and holds it until the next."""

    uniforms = 1

    def __init__(self, columns: tuple[int, ...], period_s: float) -> None:
        self.columns, self.period_s = columns, period_s
        self.depth = math.ceil(_LONGEST_S / period_s) + 1

    def start(self, x: Array, p: Values) -> dict[str, Array]:
        xp = array_namespace(x)
        past = xp.stack([x] * self.depth, axis=1)
        return {"past": past, "shown": x, "left": xp.zeros_like(x[:, 0])}

    def apply(self, x, p, memory, draws):
        xp = array_namespace(x)
        past = xp.concat([x[:, None], memory["past"][:, :-1]], axis=1)
        late = xp.round(draws.uniform[:, 0] * p[LATENESS] / self.period_s)
        frame = past[xp.arange(len(x)), xp.astype(late, xp.int64)]
        due = memory["left"] <= 1e-9
        shown = xp.where(due[:, None], frame, memory["shown"])
        left = xp.where(due, p[PERIOD], memory["left"]) - self.period_s
        return shown, {"past": past, "shown": shown, "left": left}


@dataclass(frozen=True, kw_only=True)
class Frames:
    """How often frames come, and how late by chance.

    Attributes:
        most_s: The most that one is late beside what all of them are, as if each time up to that
            were as likely as the next.
        period_s: Between frames.
    """

    most_s: float
    period_s: float

    @property
    def values(self) -> dict[str, float]:
        """By parameter."""
        return {LATENESS: self.most_s, PERIOD: self.period_s}


def lateness_of(estimate: Estimate) -> Frames | None:
    """What hand and eye show of it; none where frames are in step, or missed and no more."""
    accounted = estimate.accounted.get(LATE, 1.0)
    if accounted >= _ACCOUNTED:
        return None
    stale_s, extra_s = (estimate.varies[LATE] * math.sqrt(s) for s in (accounted, 1.0 - accounted))
    most = _LONGEST_S / _MOST
    return Frames(
        most_s=min(math.sqrt(12.0) * extra_s, most), period_s=min(math.sqrt(3.0) * stale_s, most)
    )


def seen_late(known: Sequence[Estimate]) -> Frames | None:
    """The same of all that was identified; the last that tells counts."""
    return next((late for one in reversed(known) if (late := lateness_of(one))), None)


def not_missed(noise: Mapping[str, Prior], known: Sequence[Estimate]) -> dict[str, Prior]:
    """What was heard, less that frames are missed where they are seldom and late."""
    return {n: p for n, p in noise.items() if n != _MISSED or seen_late(known) is None}


def with_lateness(world: World) -> World:
    """The same world, in which frames may come late; a world that tracks nothing stays as it is."""
    tracker = next((e for e in world.effects() if isinstance(e, Tracker)), None)
    if tracker is None or LATENESS in world.catalogue:
        return world
    sensors = tuple(name for name in (tracker.position, tracker.orientation) if name)
    return with_effect(world, FrameLateness(sensors=sensors))


def drawn_late(world: World, space: Space, late: Frames) -> Space:
    """A space of the world and how late its frames are: half of what was seen, to half more.

    Args:
        world: Of the space, without the effect.
        space: What to randomize.
        late: What was seen.
    """
    more = with_lateness(world).catalogue.select(LATENESS, PERIOD)
    ends = {name: Uniform(_LEAST * value, _MOST * value) for name, value in late.values.items()}
    return Space((*space, *more), space.joints).narrowed(ends)


def in_step(estimate: Estimate) -> Estimate:
    """What was identified, for a world in which frames are late by chance as was seen.

    A fit of one delay has the mean of what all frames are late by, of what some are late by
    themselves, and of the age of frames that stand still: here it has the first alone.
    """
    late = lateness_of(estimate)
    if late is None:
        return estimate
    less = 0.5 * (late.most_s + late.period_s)
    belief, mean = estimate.belief, estimate.belief.mean.copy()
    at = belief.names.index(LATE)
    mean[at] = max(mean[at] - less, 0.0)
    return replace(
        estimate,
        belief=JointNormal(belief.names, mean, belief.covariance),
        findings=tuple(_earlier(f, less) if f.name == LATE else f for f in estimate.findings),
        varies={},
        accounted={},
    )


def _earlier(found: Finding, less: float) -> Finding:
    value, low, high = (max(end - less, 0.0) for end in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high)
