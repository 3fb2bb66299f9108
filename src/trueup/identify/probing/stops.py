"""The zero of a joint from its mechanical stops: they stay with the links, whatever encoders read.

A servo drives what it reads to what it is told, so that no free motion shows a zero that is off,
and what a held thing tells of the arm's zeros it does not tell of the jaw's. But a joint stops
where its link does: a jaw that is shut and does not read so has its zero elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from trueup.episodes import Episode, Outcome
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.errors import TrueupError
from trueup.identify.answers import command_at
from trueup.identify.estimate import Estimate, Finding, Misfit
from trueup.identify.probing.probes import STOPPED
from trueup.space import JointNormal, Parameter
from trueup.versions import versions
from trueup.worlds import World

DRAWN_RAD = 0.015
"""How well the model has a stop: printed parts and their screws give by a degree."""
_RESTS = (("halfway down", "at the lower end"), ("halfway up", "at the upper end"))
_FEWEST, _LAST_S = 4, 0.3  # of a rest: readings, and before that a joint may still be on its way
_STILL_RAD = 0.03  # a joint that goes further in that time does not rest
_MET_RAD = 0.015  # further from its command than halfway: it met something
_WIDER = 3.0  # times the usual: what is believed before, as of hand and eye
_SIGMAS = 1.645  # of a 90 % interval, to either side


@dataclass(frozen=True, kw_only=True)
class _End:
    """What a joint read at an end of its range.

    Attributes:
        zero: Its zero, if that is where its link stops; else the zero is beyond that.
        met: Whether something kept it from where it was told to go.
        off: How far from there it came to rest.
        unsure: How unsure all that is, for noise.
    """

    zero: float
    met: bool
    off: float
    unsure: float


@dataclass(frozen=True, kw_only=True)
class _Rest:
    """Where a joint rests, how far that is from its command, and how unsure that is."""

    read: float
    off: float
    unsure: float


def identify_stops(world: World, episodes: Sequence[Episode]) -> Estimate:
    """Where the zero of a joint is that was led to its stops, and how sure.

    Args:
        world: Whose stops they are.
        episodes: The motion `stops`, among any others.
    """
    began = perf_counter()
    led = [e for e in episodes if _joint_of(e) and e.outcome is not Outcome.ABORTED]
    if not led:
        raise TrueupError(
            f"{len(episodes)} recordings lead no joint to its stops.",
            fix="Record it, with nothing in the hand: trueup record --motion stops.",
        )
    joint = _joint_of(led[0])
    p = _parameter(world, joint)
    ends = [_ends(world, e, joint) for e in led if _joint_of(e) == joint]
    zeros, widths = zip(*(_between(low, high, joint) for low, high in ends), strict=True)
    zero, width = float(np.mean(zeros)), float(np.mean(widths))
    noisy = _size([end.unsure for pair in ends for end in pair])
    spread = math.hypot(DRAWN_RAD, noisy, width / _SIGMAS)
    misfit = Misfit(
        episodes=len(ends),
        before={f"{JOINTS}/{joint}": _size([abs(end.off) for pair in ends for end in pair])},
        after={f"{JOINTS}/{joint}": _size([float(np.ptp(zeros)), *widths])},
    )
    return Estimate(
        world=world.name,
        belief=JointNormal((p.name,), np.array([zero]), np.array([[spread**2]])),
        findings=(_finding(p, zero, spread),),
        unseen=(),
        fitted=misfit,
        held=misfit,
        noise={},
        made={
            "seconds": round(perf_counter() - began, 2),
            "recordings": len(ends),
            "versions": versions("mujoco", "numpy"),
        },
    )


# ------------------------------------------------------------------------------------------------


def _joint_of(episode: Episode) -> str:
    """The joint that an episode leads to its stops; empty where it leads none."""
    if episode.labels.get("kind") != STOPPED:
        return ""
    return str(dict(episode.origin.get("motion", {})).get("joint", ""))


def _parameter(world: World, joint: str) -> Parameter:
    name = f"actuation/{joint}/zero_offset"
    if name not in world.catalogue:
        raise TrueupError(
            f"The world {world.name!r} has no {name}, so no stop tells it.",
            fix="Use a world of the robot that was recorded (--world).",
        )
    return world.catalogue[name]


def _ends(world: World, episode: Episode, joint: str) -> tuple[_End, _End]:
    """What was read at the lower end, and at the upper.

    Halfway, come from both sides, friction leaves a joint as far on one side of its command as on
    the other; what is left of that on average its encoder reads beside what its servo goes by.
    """
    usual = [_rest(episode, joint, before) for before, _ in _RESTS]
    bias = float(np.mean([rest.off for rest in usual]))
    found = []
    for halfway, (_, at), stop in zip(usual, _RESTS, _stops(world, joint), strict=True):
        rest = _rest(episode, joint, at)
        unsure, off = math.hypot(halfway.unsure, rest.unsure), rest.off - halfway.off
        met = abs(off) > _MET_RAD + _SIGMAS * unsure
        found.append(_End(zero=rest.read - bias - stop, met=met, off=off, unsure=unsure))
    return found[0], found[1]


def _stops(world: World, joint: str) -> tuple[float, float]:
    low, high = world.model.jnt_range[world.model.joint(joint).id]
    return float(low), float(high)


def _rest(episode: Episode, joint: str, phase: str) -> _Rest:
    """A rest of a joint at the end of a phase."""
    for signal in (JOINTS, COMMAND):
        if signal not in episode.signals or joint not in episode[signal].names:
            raise TrueupError(
                f"A recording leads {joint!r} to its stops, and has no {signal} of it.",
                fix="Record it with a robot that has this joint.",
            )
    joints = episode[JOINTS]
    end_s = max((p["end_s"] for p in episode.origin["phases"] if p["name"] == phase), default=-1.0)
    rows = (joints.time_s > end_s - _LAST_S) & (joints.time_s <= end_s)
    read = joints.values[rows, joints.names.index(joint)].astype(float)
    read = read[np.isfinite(read)]
    if len(read) < _FEWEST:
        raise TrueupError(
            f"A recording of {joint!r} at its stops has {len(read)} readings {phase}.",
            fix="Record it again: trueup record --motion stops.",
        )
    early, late = (float(np.median(half)) for half in np.array_split(read, 2))
    if abs(late - early) > _STILL_RAD:
        raise TrueupError(
            f"{joint!r} does not come to rest {phase}: it goes on by {abs(late - early):.2f} rad.",
            fix="Record it again with longer rests (still_s).",
        )
    where = float(np.median(read))
    told = command_at(episode, joints.time_s[rows])[:, joints.names.index(joint)]
    unsure = float(read.std()) / math.sqrt(len(read))
    return _Rest(read=where, off=where - float(np.nanmedian(told)), unsure=unsure)


def _between(low: _End, high: _End, joint: str) -> tuple[float, float]:
    """The zero that both ends allow, and how far it may be from there."""
    if low.met and high.met:
        raise TrueupError(
            f"{joint!r} stops before both ends of its range, {low.zero - high.zero:.2f} rad nearer "
            "to each other than they are drawn: something was in its way, or it is another joint.",
            fix="Record it with nothing in the hand; mend the joint's range in the model.",
        )
    if low.met or high.met:
        return (low if low.met else high).zero, 0.0
    return 0.5 * (low.zero + high.zero), 0.5 * abs(low.zero - high.zero)


def _size(values: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _finding(p: Parameter, zero: float, spread: float) -> Finding:
    low, high = p.quantile(np.array([0.02, 0.98]))
    believed = _WIDER * 0.5 * float(high - low)
    ends = np.clip(zero + _SIGMAS * spread * np.array([-1.0, 0.0, 1.0]), p.low, p.high)
    return Finding(
        name=p.name,
        unit=p.unit,
        value=float(ends[1]),
        low=float(ends[0]),
        high=float(ends[2]),
        before=p.nominal,
        left=min(1.0, spread / believed),
    )
