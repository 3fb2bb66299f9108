"""What was seen of a thing while a hand held it: the same motion told twice, by arm and camera."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from trueup.effects import Tracker
from trueup.episodes import Channel, Episode
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.worlds import World

_RAISED_M = 0.015  # a thing this far above where it stood is in the hand
_REST_S = 0.2  # at the beginning nobody has touched it yet
_LYING_RAD = 0.3  # a face that leans further is not the one it lies on
_LEAST_S = 0.3  # in the hand; shorter holds tell little, and may be throws
_ROWS_PER_S = 10.0  # of a hold: neighbours say the same
_LOST = 5  # readings in a row that may be stale; more of them are an arm at rest
_MOVED_RAD = 0.005  # an arm that went so far is elsewhere
_UNTOLD = (np.zeros(0), 0.0)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The signals that a tracker of the world gives.

    Attributes:
        position: Name of the signal of the thing's place.
        orientation: Of its orientation; empty where only its place is tracked.
        camera: (3,) where the camera stands.
        body: The thing's body.
    """

    position: str
    orientation: str
    camera: np.ndarray
    body: str


@dataclass(frozen=True, kw_only=True)
class Grasp:
    """One hold of a thing.

    Attributes:
        clock_s: (m,) when the joints were read.
        joints: (m, nu) what the encoders said, over the whole episode.
        time_s: (k,) when the thing was seen in the hand.
        place: (k, 3) where.
        turn: (k, 4) its orientation, w first; empty (k, 0) where nobody tracks it.
        rest: (3,) where it stood before it was touched.
        rested: Frames that say so.
        upright: (3,) which way was up for it then, as it was seen; empty where nobody could tell.
        unsteady: How far that varied, in rad, by the number of frames.
        stale_s: How old the last frame was on average (as a root mean square) while the arm moved.
    """

    clock_s: np.ndarray
    joints: np.ndarray
    time_s: np.ndarray
    place: np.ndarray
    turn: np.ndarray
    rest: np.ndarray
    rested: int
    upright: np.ndarray
    unsteady: float
    stale_s: float = 0.0

    def read(self, late_s: float) -> np.ndarray:
        """(k, nu) joints when the thing was seen, if seeing takes so much longer than reading."""
        at = self.time_s - late_s
        return np.stack([np.interp(at, self.clock_s, q) for q in self.joints.T], axis=1)


def seen_in(world: World) -> Seen:
    """How the world's thing is seen."""
    tracker = next((e for e in world.effects() if isinstance(e, Tracker)), None)
    if tracker is None:
        raise TrueupError(
            f"In {world.name!r} no camera follows a thing.",
            fix="Use a world with a tracked thing to hold, such as so101/lift.",
        )
    names = {s.sensors[0]: s.name for s in world.observations if not s.function}
    sensor = world.model.sensor(tracker.position)
    return Seen(
        position=names[tracker.position],
        orientation=names.get(tracker.orientation, ""),
        camera=np.array(tracker.camera),
        body=world.model.body(int(world.model.sensor_objid[sensor.id])).name,
    )


def grasps_in(seen: Seen, episodes: Sequence[Episode]) -> list[Grasp]:
    """Every hold that episodes show, in their order."""
    return [grasp for episode in episodes for grasp in _grasps(seen, episode)]


def _grasps(seen: Seen, episode: Episode) -> Iterator[Grasp]:
    if JOINTS not in episode.signals or seen.position not in episode.signals:
        return
    joints, place = episode[JOINTS], episode[seen.position]
    turn = episode.signals.get(seen.orientation)
    if turn is not None and len(turn.values) != len(place.values):
        turn = None
    known = np.isfinite(place.values).all(axis=1)
    early = known & (place.time_s <= place.time_s[0] + _REST_S)
    if not early.any():
        return
    rest = np.median(place.values[early], axis=0)
    upright, unsteady = _upright(turn.values[early]) if turn is not None else _UNTOLD
    fresh = _fresh(joints)
    high = known & (place.values[:, 2] > rest[2] + _RAISED_M)
    for held in _runs(high):
        rows = _thinned(place.time_s, held)
        if place.time_s[rows[-1]] - place.time_s[rows[0]] < _LEAST_S:
            continue
        yield Grasp(
            clock_s=joints.time_s[fresh],
            joints=joints.values[fresh].astype(float),
            time_s=place.time_s[rows],
            place=place.values[rows].astype(float),
            turn=np.zeros((len(rows), 0)) if turn is None else turn.values[rows].astype(float),
            rest=rest.astype(float),
            rested=int(early.sum()),
            upright=upright,
            unsteady=unsteady,
            stale_s=_stale_s(joints, place, held),
        )


def _fresh(joints: Channel) -> np.ndarray:
    """(m,) which readings are not the one before again; an arm that rests reads the same for long.

    A hand that moves on while its encoders say what they said is elsewhere than they say.
    """
    again = np.append(False, (np.diff(joints.values, axis=0) == 0.0).all(axis=1))
    found = ~again
    for run in _runs(again):
        found[run] = len(run) > _LOST
    return found


def _stale_s(joints: Channel, place: Channel, rows: np.ndarray) -> float:
    """How old frames are in some rows: a camera that sees an arm move shows no two alike."""
    time, seen = place.time_s[rows], place.values[rows]
    new = np.append(True, (np.diff(seen, axis=0) != 0.0).any(axis=1))
    last = np.maximum.accumulate(np.where(new, np.arange(len(rows)), 0))
    q = np.stack([np.interp(time, joints.time_s, column) for column in joints.values.T], axis=1)
    moves = np.abs(q - q[last]).max(axis=1) > _MOVED_RAD
    age = np.where(moves, time - time[last], 0.0)
    moving = moves | np.append(False, np.abs(np.diff(q, axis=0)).max(axis=1) > _MOVED_RAD)
    return float(np.sqrt((age[moving] ** 2).mean())) if moving.any() else 0.0


def _upright(turn: np.ndarray) -> tuple[np.ndarray, float]:
    """The axis of a thing that points up, in the world, as the mean of (k, 4); and how sure."""
    turn = turn[np.linalg.norm(turn, axis=1) > 0.5]  # frames in which nobody saw it have none
    if not len(turn):
        return _UNTOLD
    axes = Rotation.from_quat(turn.astype(float), scalar_first=True).as_matrix()
    lying = int(np.abs(axes[:, 2, :].mean(axis=0)).argmax())
    up = axes[:, :, lying] * np.sign(axes[:, 2, lying].mean())
    mean = up.mean(axis=0) / np.linalg.norm(up.mean(axis=0))
    if np.linalg.norm(mean[:2]) > _LYING_RAD:
        return _UNTOLD
    return mean, float(np.sqrt(up[:, :2].var(axis=0).mean() / len(up)))


def _runs(flags: np.ndarray) -> list[np.ndarray]:
    """Rows of each unbroken run of True."""
    rows = np.flatnonzero(flags)
    return [run for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(run)]


def _thinned(time_s: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Every so many rows of a run, so that they lie a tenth of a second apart."""
    if len(rows) < 2:
        return rows
    period = np.median(np.diff(time_s[rows]))
    return rows[:: max(1, round(1.0 / (_ROWS_PER_S * max(period, 1e-6))))]
