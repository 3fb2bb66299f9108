"""Recordings before a fit: what can be used, what is kept out to judge, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.episodes import Dataset, Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.errors import TrueupError
from trueup.identify.cutting import between
from trueup.identify.faults import Flaw, Remedy, mended, said
from trueup.identify.faults.clocks import clock_flaws
from trueup.identify.faults.lags import lag_flaws
from trueup.identify.faults.robots import robot_flaws
from trueup.identify.faults.stale import stale_flaws
from trueup.identify.faults.stalls import spike_flaws, stall_flaws
from trueup.identify.faults.units import unit_flaws

_HELD = 3  # one episode of so many is kept out
_HELD_SHARE = 0.3  # of a single episode: its end
_MOVES_RAD = 0.02
_SHORTEST_S = 2.0

Limits = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Split:
    """Recordings for a fit and for judging it.

    Readings that cannot be trusted are NaN in them, which a fit passes over; commands stay.

    Attributes:
        fitted: To fit.
        held: To judge.
        notes: What was left out, and why, in sentences.
        flaws: The same for programs: the number of an episode as it was given, and its flaw.
    """

    fitted: tuple[Episode, ...]
    held: tuple[Episode, ...]
    notes: tuple[str, ...]
    flaws: tuple[tuple[int, Flaw], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """Recordings as far as they can be trusted, not yet parted.

    Attributes:
        episodes: Those that are left; single readings in them may be NaN.
        numbers: Of each, its place among those that were given.
        notes: What was left out, and why, in sentences.
        flaws: The same for programs.
    """

    episodes: tuple[Episode, ...]
    numbers: tuple[int, ...]
    notes: tuple[str, ...]
    flaws: tuple[tuple[int, Flaw], ...]


def usable(
    episodes: Sequence[Episode], *, limits: Limits | None = None, keep_stalls: bool = False
) -> Split:
    """Leave out what would spoil a fit, and part the rest.

    Args:
        episodes: What was recorded.
        limits: How far each joint can go, in rad, where that is known.
        keep_stalls: Keep readings of joints that are held up: in contact probes they are the data.
    """
    found = cleaned(episodes, limits=limits, keep_stalls=keep_stalls)
    kept, notes = found.episodes, list(found.notes)
    if not kept:
        raise TrueupError(
            "None of the recordings can be fitted. " + " ".join(notes[:3]),
            fix="Record motions that move every joint by at least a few degrees: trueup record.",
        )
    if len(kept) == 1:
        fitted, held = _parted(kept[0])
        notes.append(
            f"There is one recording: the last {100 * _HELD_SHARE:.0f} % of it judge the fit."
        )
        return Split(fitted=(fitted,), held=(held,), notes=tuple(notes), flaws=found.flaws)
    judges = set(range(_HELD - 1, len(kept), _HELD)) or {len(kept) - 1}
    return Split(
        fitted=tuple(episode for i, episode in enumerate(kept) if i not in judges),
        held=tuple(kept[i] for i in sorted(judges)),
        notes=tuple(notes),
        flaws=found.flaws,
    )


def cleaned(
    episodes: Sequence[Episode], *, limits: Limits | None = None, keep_stalls: bool = False
) -> Cleaned:
    """Find every flaw, mend what can be mended, and leave out the episodes that cannot.

    Each look sees only what those before it have left: an episode in degrees would make every
    other robot look strange. The arguments are those of `usable`.
    """
    flaws: list[tuple[int, Flaw]] = []
    left = dict(enumerate(episodes))
    for look in (
        _each(_single_flaws),
        _each(clock_flaws),
        _each(unit_flaws),
        lambda some: robot_flaws(some, limits),
        _each(spike_flaws),
        stale_flaws,
        *(() if keep_stalls else (stall_flaws,)),
        lag_flaws,
    ):
        numbers = tuple(left)
        for number, found in zip(numbers, look(tuple(left.values())), strict=True):
            flaws += [(number, flaw) for flaw in found]
            if any(flaw.remedy is Remedy.LEAVE_OUT for flaw in found):
                del left[number]
            elif found:
                left[number] = mended(left[number], found)
    notes = _sentences(sorted(flaws, key=_place), episodes)
    return Cleaned(
        episodes=tuple(left.values()),
        numbers=tuple(left),
        notes=(*notes, *_idle(tuple(left.values()))),
        flaws=tuple(flaws),
    )


def readable(dataset: Dataset) -> tuple[list[Episode], tuple[str, ...]]:
    """All episodes that can be read at all, and a sentence on each that cannot.

    A clock that runs backwards is found here: such an episode cannot even be opened.
    """
    found, notes = [], []
    for i in range(len(dataset)):
        try:
            found.append(dataset[i])
        except TrueupError as error:
            notes.append(f"Episode {i} was left out, as it cannot be read: {error.what}")
    return found, tuple(notes)


# ------------------------------------------------------------------------------------------------


def _each(look):
    """A look at single episodes as one at all of them."""
    return lambda episodes: [list(look(episode)) for episode in episodes]


def _place(row: tuple[int, Flaw]) -> tuple[int, float]:
    return row[0], row[1].begin_s


def _single_flaws(episode: Episode) -> Iterator[Flaw]:
    """Why an episode alone cannot be fitted."""

    def out(kind: str, what: str) -> Flaw:
        return Flaw(kind=kind, what=what, remedy=Remedy.LEAVE_OUT)

    for name in (COMMAND, JOINTS):
        if name not in episode.signals:
            yield out("signals", f"it has no {name}, only {', '.join(episode.signals)}")
            return
        values = np.asarray(episode[name].values, float)
        if not np.isfinite(values).any():
            yield out("signals", f"its {name} holds no numbers")
            return
    command, joints = episode[COMMAND], episode[JOINTS]
    if episode.duration_s < _SHORTEST_S:
        yield out("motion", f"it lasts {episode.duration_s:.2g} s, less than {_SHORTEST_S:g} s")
    elif _way(command.values) < _MOVES_RAD:
        yield out("motion", "its commands do not change")
    elif _way(joints.values) == 0.0:
        yield out("motion", "its joints never move: the channel is frozen, or torque was off")


def _way(values: np.ndarray) -> float:
    """How far the column goes that goes furthest."""
    values = np.asarray(values, float)
    known = values[:, np.isfinite(values).any(axis=0)]
    return float((np.nanmax(known, axis=0) - np.nanmin(known, axis=0)).max(initial=0.0))


def _idle(episodes: Sequence[Episode]) -> Iterator[str]:
    """Joints that are never told to move: nothing can be learned about their servos."""
    moves: dict[str, float] = {}
    for episode in episodes:
        for name, values in zip(episode[COMMAND].names, episode[COMMAND].values.T, strict=True):
            moves[name] = max(moves.get(name, 0.0), _way(values[:, None]))
    still = [name for name, way in moves.items() if way < _MOVES_RAD]
    if still and len(still) < len(moves):
        names = ", ".join(still)
        yield f"No recording tells {names} to move: its servo cannot be learned from them."


def _sentences(flaws: Sequence[tuple[int, Flaw]], episodes: Sequence[Episode]) -> Iterator[str]:
    """A sentence for each kind of flaw that a joint of an episode has, however often."""
    alike: dict[tuple, list[Flaw]] = {}
    for number, flaw in flaws:
        alike.setdefault((number, flaw.kind, flaw.remedy, flaw.columns), []).append(flaw)
    for (number, *_), some in alike.items():
        worst = max(some, key=_extent)
        more = f", and {len(some) - 1} times more" if len(some) > 1 else ""
        yield said(replace(worst, what=worst.what + more), number, episodes[number])


def _extent(flaw: Flaw) -> float:
    return flaw.end_s - flaw.begin_s


def _parted(episode: Episode) -> tuple[Episode, Episode]:
    """The first part of an episode, and the rest."""
    first = min(channel.time_s[0] for channel in episode.signals.values())
    border = first + (1.0 - _HELD_SHARE) * episode.duration_s
    return between(episode, -np.inf, border), between(episode, border, np.inf)
