"""Recordings of contact probes before a fit: cut to what a replay can follow, put to rest, parted.

A probe ends in things no replay follows: a cube that was let go tumbles, and where it comes to lie
depends on a hair's breadth. What comes before tells the numbers, and the rest only hides them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import mujoco
import numpy as np

from trueup.episodes import Channel, Episode, Outcome
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.identify.usable import Split, usable
from trueup.worlds import Signal, World

FOLLOWED = {
    "squeeze": "squeeze",
    "push": "watch",
    "drag": "drag",
    "tilt": "loosen",
    "drop": "still",
}
"""Of each kind of probe, the last phase that a replay can follow."""

FORCE = "joint_force"
"""The signal that holds what currents say of the torque of each servo."""

CARRIED = "carry"
"""The probe that only asks whether hand and eye agree: nothing of it is replayed."""

STOPPED = "stops"
"""The motion that leads a joint to its stops, where no replay of free motion follows it."""

UNSTEADY = {"push"}
"""Probes in which a thing's way hangs on a hair: a tenth of a millimetre beside its middle decides
which way a pushed thing turns. Only what the arm feels of it is compared."""

MOVING = {"push", "drag", "tilt", "drop"}
"""Probes that move a thing by centimetres; where it stays, the hand missed it."""

_REST = "above"  # the phase before the hand comes down: nothing has been touched
_AFTER_SLIP_S = 0.1
_MOVED_M = 0.004  # a thing that was touched has moved this far, held ones many times that
_PARTS = {mujoco.mjtSensor.mjSENS_FRAMEPOS.value, mujoco.mjtSensor.mjSENS_FRAMEQUAT.value}
_UNSURE = {"m": 1e-4, "1": 5e-4}
"""By unit: a mean of many readings is no surer than this."""
_LEAST = {"rad": 3e-4, "N·m": 0.01, "m": 3e-4, "1": 3e-3}
"""By unit: noise below this is not believed, as replays of contact repeat no better."""


def signals_of(world: World, episodes: Sequence[Episode]) -> tuple[str, ...]:
    """What to compare: joints and their currents, and the poses of things, where all have them."""
    wanted = (JOINTS, FORCE, *(seen for seen, _ in _twins(world)))
    return tuple(name for name in wanted if all(name in e.signals for e in episodes))


def moves_freely(episode: Episode) -> bool:
    """Whether nothing was touched, not even a stop, or carried, and no guard stopped the arm."""
    met = episode.labels.get("kind") in (CARRIED, STOPPED)
    return not kind_of(episode) and not met and episode.outcome is not Outcome.ABORTED


def kind_of(episode: Episode) -> str:
    """Which probe an episode is of; empty where it is none."""
    kind = str(episode.labels.get("kind", ""))
    return kind if kind in FOLLOWED else ""


def probed(world: World, episodes: Sequence[Episode]) -> Split:
    """Probes that can be fitted, cut to what can be followed; the last of each kind judges."""
    notes: list[str] = []
    kept: list[Episode] = []
    for number, episode in enumerate(episodes):
        reason = next(_faults(world, episode), "")
        if reason:
            notes.append(f"Episode {number} was left out: {reason}.")
        else:
            kept.append(steady(world, followed(episode)))
    if len(kept) < 2:
        raise TrueupError(
            f"Contact needs two probes at least, one to fit and one to judge, and {len(kept)} of "
            f"{len(episodes)} recordings can be used. " + " ".join(notes[:3]),
            fix="Record each probe twice: trueup record --motion probes.",
        )
    return _parted(kept, notes)


def followed(episode: Episode) -> Episode:
    """A probe up to where a replay can follow it."""
    phases = {phase["name"]: phase for phase in episode.origin.get("phases", ())}
    last = phases.get(FOLLOWED[kind_of(episode)])
    if last is None:
        return episode
    early = last.get("early_s")
    end = last["end_s"] if early is None else early + _AFTER_SLIP_S
    return replace(
        episode,
        videos={},
        signals={name: _until(channel, end) for name, channel in episode.signals.items()},
    )


def rested(world: World, episode: Episode, generator: np.random.Generator | None = None) -> Episode:
    """The episode with the mean pose of what nobody had touched yet, as where a replay begins.

    A tracker is off by a millimetre from reading to reading, and a replay that begins with one
    of them grasps another place of the thing. Replay takes what an episode calls true before what
    a sensor said: the mean goes there. With a generator, it is off by as much as it is uncertain.
    """
    phases = {phase["name"]: phase for phase in episode.origin.get("phases", ())}
    if _REST not in phases:
        return episode
    added = {}
    for seen, true in _twins(world):
        if seen in episode.signals and true not in episode.signals:
            added[true] = _mean(episode[seen], phases[_REST]["end_s"], generator)
    return replace(episode, signals={**episode.signals, **added})


def steady(world: World, episode: Episode) -> Episode:
    """The episode without the poses of things, from the touch on, where none can be foretold."""
    phases = {phase["name"]: phase for phase in episode.origin.get("phases", ())}
    if kind_of(episode) not in UNSTEADY or _REST not in phases:
        return episode
    poses = [seen for seen, _ in _twins(world) if seen in episode.signals]
    blank = {name: _blanked(episode[name], phases[_REST]["end_s"]) for name in poses}
    return replace(episode, signals={**episode.signals, **blank})


def noise_of(episodes: Sequence[Episode], columns: Sequence[str]) -> np.ndarray:
    """(columns,) standard deviation of readings about what changes slowly, `signal/column` each.

    From second differences: motion passes them nearly untouched at 50 Hz, white noise grows by √6.
    """
    sizes = []
    for column in columns:
        signal, name = column.split("/", 1)
        found = [
            np.abs(np.diff(e[signal].values[:, e[signal].names.index(name)], n=2))
            for e in episodes
            if signal in e.signals
        ]
        unit = next(e[signal].unit for e in episodes if signal in e.signals)
        middle = float(np.nanmedian(np.concatenate(found))) if found else 0.0
        sizes.append(max(1.4826 * middle / np.sqrt(6.0), _LEAST.get(unit, 1e-6)))
    return np.array(sizes)


# ------------------------------------------------------------------------------------------------


def _faults(world: World, episode: Episode) -> Iterator[str]:
    """Why a probe cannot be fitted."""
    if not kind_of(episode):
        known = ", ".join(FOLLOWED)
        yield f"it is no contact probe (its label `kind` must be one of {known})"
        return
    if episode.outcome is Outcome.ABORTED:
        yield f"it was cut short: {episode.labels.get('ended', 'nobody said why')}"
        return
    try:
        usable([episode])
    except TrueupError as error:
        yield error.what.split(": ", 1)[-1].rstrip(".")
        return
    for seen, _ in _twins(world) if kind_of(episode) in MOVING else ():
        if seen in episode.signals and episode[seen].unit == "m" and not _touched(episode[seen]):
            yield f"the hand missed: {seen} changed by less than {1e3 * _MOVED_M:g} mm"


def _touched(place_of: Channel) -> bool:
    place = place_of.values[np.isfinite(place_of.values).all(axis=1)]
    if len(place) < 20:
        return True
    # means of ten readings, so that noise of a tracker is no motion
    means = np.array([part.mean(axis=0) for part in np.array_split(place, len(place) // 10)])
    return bool(np.linalg.norm(means - means[0], axis=1).max() > _MOVED_M)


def _parted(kept: Sequence[Episode], notes: list[str]) -> Split:
    by_kind: dict[str, list[int]] = {}
    for i, episode in enumerate(kept):
        by_kind.setdefault(kind_of(episode), []).append(i)
    judges = {rows[-1] for rows in by_kind.values() if len(rows) > 1}
    if not judges:
        judges = {len(kept) - 1}
        notes.append(
            f"Each probe was recorded once, so that the {kind_of(kept[-1])} judges the fit and "
            "tells it nothing: record each twice."
        )
    return Split(
        fitted=tuple(e for i, e in enumerate(kept) if i not in judges),
        held=tuple(kept[i] for i in sorted(judges)),
        notes=tuple(notes),
    )


def _until(channel: Channel, end_s: float) -> Channel:
    rows = channel.time_s <= end_s + 1e-9
    return replace(channel, values=channel.values[rows], time_s=channel.time_s[rows])


def _blanked(channel: Channel, from_s: float) -> Channel:
    values = np.array(channel.values, float)
    values[channel.time_s > from_s] = np.nan
    return replace(channel, values=values)


def _mean(channel: Channel, end_s: float, generator: np.random.Generator | None) -> Channel:
    rest = channel.values[channel.time_s <= end_s]
    rest = rest[np.isfinite(rest).all(axis=1)]
    mean = rest.mean(axis=0)
    if generator is not None:
        least = _UNSURE.get(channel.unit, 0.0)
        unsure = np.maximum(rest.std(axis=0) / np.sqrt(len(rest)), least)
        mean = mean + unsure * generator.standard_normal(len(mean))
    if len(mean) == 4:
        mean = mean / np.linalg.norm(mean)
    times = channel.time_s[[0, -1]]
    return replace(channel, values=np.tile(mean, (2, 1)), time_s=times)


def _twins(world: World) -> Iterator[tuple[str, str]]:
    """Observed poses of bodies, each with the signal that holds the truth of it."""
    true = {_subject(world, s): s.name for s in world.privileged if _subject(world, s)}
    for signal in world.observations:
        if (subject := _subject(world, signal)) and subject in true:
            yield signal.name, true[subject]


def _subject(world: World, signal: Signal) -> tuple[int, int, int] | None:
    """What a signal of one sensor reads of which body; nothing for others."""
    if signal.function is not None or len(signal.sensors) != 1:
        return None
    sensor = world.model.sensor(signal.sensors[0])
    kind, body = int(sensor.type[0]), int(sensor.objid[0])
    return (kind, int(sensor.objtype[0]), body) if kind in _PARTS else None
