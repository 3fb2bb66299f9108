"""Numbers that cannot be in the unit that they are said to be in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.identify.answers import command_at
from trueup.identify.faults.flaw import Flaw, Remedy
from trueup.identify.readings.lattice import lattice_of

_LARGEST_RAD = 20.0  # a joint angle beyond this is in another unit
_WHOLE_TURN = 6.4
_TICKS = 4096  # of a turn, as magnetic encoders of servos have
_MOVES_RAD = 0.05
_NEAR = 0.15  # relative
_RATIOS = {
    180.0 / np.pi: "degrees",
    _TICKS / (2.0 * np.pi): "ticks",
    100.0 / np.pi: "per cent of the range",
}


def unit_flaws(episode: Episode) -> Iterator[Flaw]:
    """Joint angles that no joint has, or that are another unit's beside their commands."""
    for name in (COMMAND, JOINTS):
        channel = episode[name]
        if channel.unit == "rad" and (reason := _impossible(name, channel)):
            yield Flaw(kind="units", what=reason, remedy=Remedy.LEAVE_OUT)
            return
    if episode[COMMAND].unit == episode[JOINTS].unit:
        yield from _unlike(episode)


def _impossible(name: str, channel: Channel) -> str | None:
    values = np.asarray(channel.values, float)
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest > _LARGEST_RAD:
        return (
            f"its {name} reaches {largest:.4g} rad, which no joint does: "
            f"are these {_guess(values, largest)}"
        )
    steps = [lattice_of(column) for column in values.T]
    for step, column in zip(steps, channel.names, strict=True):
        for expected, unit in ((360.0 / _TICKS, "degrees"), (1.0, "ticks")):
            if step is not None and abs(step.step / expected - 1.0) < 1e-3:
                return (
                    f"its {name} of {column} comes in steps of {step.step:.4g} rad, as an encoder "
                    f"has in {unit}"
                )
    return None


def _guess(values: np.ndarray, largest: float) -> str:
    finite = values[np.isfinite(values)]
    whole = bool((finite == np.rint(finite)).all())
    if whole and 360.0 < largest < _TICKS:
        return "ticks"
    if largest <= 100.0 and (np.abs(finite) == 100.0).any():
        return "per cent, or degrees"
    return "degrees" if largest <= 360.0 else "ticks"


def _unlike(episode: Episode) -> Iterator[Flaw]:
    """Joints that move so many times further than they were told, all along."""
    joints = episode[JOINTS]
    told = command_at(episode, joints.time_s)
    for k, name in enumerate(joints.names):
        if name not in episode[COMMAND].names:
            continue
        slope = _slope(told[:, k], np.asarray(joints.values[:, k], float))
        for ratio, unit in _RATIOS.items():
            if slope is None:
                break
            wrong = next(
                (
                    side
                    for side, factor in ((JOINTS, ratio), (COMMAND, 1.0 / ratio))
                    if abs(slope / factor - 1.0) < _NEAR
                ),
                None,
            )
            if wrong:
                yield Flaw(
                    kind="units",
                    what=f"{name} moves {slope:.3g} times as far as it was told: is its {wrong} in "
                    f"{unit}",
                    remedy=Remedy.LEAVE_OUT,
                )
                return
        if slope is not None and -1.0 - _NEAR < slope < -1.0 + _NEAR:
            yield Flaw(
                kind="units",
                what=f"{name} moves against its commands: one of the two has the wrong sign",
                remedy=Remedy.MASK,
                columns=(name,),
            )


def _slope(told: np.ndarray, read: np.ndarray) -> float | None:
    """How far a joint moves for each unit that it is told; none where that cannot be said."""
    known = np.isfinite(told) & np.isfinite(read)
    if known.sum() < 20 or np.ptp(told[known]) < min(_MOVES_RAD, np.ptp(read[known])):
        return None
    told, read = told[known] - told[known].mean(), read[known] - read[known].mean()
    related = float(told @ read) / (np.linalg.norm(told) * np.linalg.norm(read) + 1e-12)
    return float(told @ read / (told @ told)) if abs(related) > 0.8 else None
