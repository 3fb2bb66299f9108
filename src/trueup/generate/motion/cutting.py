"""Recorded demonstrations, cut where the hand takes hold of a thing and where it lets go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trueup.errors import TrueupError
from trueup.generate.motion.events import Events, begun, events_of
from trueup.generate.motion.frames import azimuth, eased, face_yaw, nearest_quarter, unit
from trueup.generate.motion.hand import Hand, Pose, jaw_middle
from trueup.generate.motion.legs import Frame, Leg, Source, in_frame
from trueup.generate.motion.senses import TARGET, Things
from trueup.generate.motion.track import Track
from trueup.worlds import World
from trueup.worlds.tabletop import PAN_AXIS_X

_DEPTH = 0.004  # m: how much deeper or less deep in the fingers a thing may lie
_CENTRED = 0.5  # of the way to the middle: a thing is pushed over to the finger that stands still
_SPARE = 0.9  # of an episode's time that a demonstration may take

_Around = tuple[np.ndarray, float, float]
"""A frame: its origin (3,), its turn, and how far that is from the shoulder's direction."""


def cut(told: Track, world: World, things: Things, *, name: str, infer: bool = False) -> Source:
    """Legs from a demonstration.

    Args:
        told: The demonstration.
        world: Where it will be performed; its nominal model says where the hand was.
        things: What the world tells of.
        name: For people.
        infer: Where the thing is not recorded, take it to be where the hand closed, and the
            target where it opened.
    """
    hand = Hand(world)
    pose = hand.pose(told.q)
    gripper = next(i for i in range(told.q.shape[1]) if i not in hand.arm)
    if things.thing is None:
        legs = (_leg("reach", Frame.TARGET, told, pose, slice(0, len(told)), _target(told, name)),)
        return Source(name=name, legs=_paced(legs, world))
    events = events_of(told, gripper, name, releases=things.target)
    if told.place is None:
        if not infer:
            raise UnknownThing(name, things.thing)
        told = _inferred(told, pose, events)
    return _source(told, pose, events, world, things, gripper, name)


class UnknownThing(TrueupError):
    """A demonstration that does not say where its object was."""

    def __init__(self, name: str, thing: str) -> None:
        super().__init__(
            f"{name} does not say where the {thing} was: it has no signal '{thing}_position'.",
            fix="Track it, or take it to be where the hand closed: --infer-objects.",
        )


def _source(
    told: Track,
    pose: Pose,
    events: Events,
    world: World,
    things: Things,
    gripper: int,
    name: str,
) -> Source:
    assert told.place is not None and told.quat is not None
    place, quat = told.place[events.close], told.quat[events.close]
    place = place + _disagreement(told.place[events.held], pose, events.held)
    turn = float(nearest_quarter(face_yaw(quat), azimuth(place)) - azimuth(place))
    first = max(events.ready, begun(pose.place, events.close))
    around: _Around = (place, float(azimuth(place)) + turn, turn)
    pose = _steadied(pose, place, events, jaw_middle(world, told.q[events.close]))

    def leg(kind: str, frame: Frame, a: int, b: int, at: _Around = around) -> Leg:
        return _leg(kind, frame, told, pose, slice(a, max(b, a + 2)), at, gripper)

    legs = [
        leg("reach", Frame.OBJECT, first, events.close),
        leg("grasp", Frame.HELD, events.close, events.held),
    ]
    if not things.target:
        legs.append(leg("carry", Frame.HELD, events.held, len(told)))
    else:
        goal, end = _target(told, name), events.release or len(told)
        legs.append(leg("carry", Frame.TARGET, events.held, end, goal))
        if events.release is not None and events.opened is not None:
            legs.append(leg("release", Frame.TARGET, events.release, events.opened, goal))
            legs.append(leg("leave", Frame.TARGET, events.opened, len(told), goal))
    return Source(
        name=name,
        legs=_paced(tuple(legs), world),
        reach=float(np.hypot(place[0] - PAN_AXIS_X, place[1])),
        turn=turn,
    )


def _disagreement(place: np.ndarray, pose: Pose, at: int) -> np.ndarray:
    """What to add to the recorded places of a thing so that tracker and encoders agree, m.

    A thing in a closed hand lies between its fingers. Where the two say otherwise, the fingers are
    right; along the fingers it may lie a little deeper or less deep.
    """
    off, jaw = pose.place[at] - place, pose.jaw[at]
    across = (off @ jaw) * jaw
    along = off - across
    length = float(np.linalg.norm(along))
    return across + along * max(0.0, 1.0 - _DEPTH / max(length, 1e-9))


def _steadied(pose: Pose, place: np.ndarray, events: Events, middle: float | None) -> Pose:
    """The way there and the closing without what luck had in them.

    A hand may close while it still swings in, or come within a hair of touching the thing with a
    finger. Carried to worlds whose sensors are off by millimetres, the thing is missed, or the
    finger lands on top of it. So the hand closes where it will hold, with the thing near the middle
    of the open jaw.
    """
    rows = np.clip(np.arange(len(pose.place)), events.close, events.held)
    jaw = pose.jaw[events.close]
    beside = unit(np.cross(jaw, [0.0, 0.0, 1.0]))
    lacks = (pose.place[events.held] - pose.place[rows]) @ beside
    shift = lacks[:, None] * beside
    if middle is not None:
        off = float((place - pose.place[events.close]) @ jaw) - middle
        left = 1.0 - eased((rows - events.close) / max(1, events.held - events.close))
        shift = shift + (_CENTRED * off * left)[:, None] * jaw
    return replace(pose, place=pose.place + shift)


def _leg(
    kind: str,
    frame: Frame,
    told: Track,
    pose: Pose,
    rows: slice,
    around: _Around,
    gripper: int = -1,
) -> Leg:
    origin, yaw, turn = around
    place, jaw, down = in_frame(pose.place[rows], (pose.jaw[rows], pose.down[rows]), origin, yaw)
    settled = {"reach": 0.6, "carry": 0.6}.get(kind, 0.7)
    return Leg(
        name=kind,
        frame=frame,
        place=place,
        jaw=jaw,
        down=down,
        grip=told.told[rows, gripper],
        turn=turn,
        settled=settled,
    )


def _target(told: Track, name: str) -> tuple[np.ndarray, float, float]:
    if told.target is None:
        raise TrueupError(
            f"{name} does not say where its target was: it has no signal '{TARGET}'.",
            fix="Record it, or take it to be where the hand opened: --infer-objects.",
        )
    goal = told.target[-1]
    return goal, float(azimuth(goal)), 0.0


def _inferred(told: Track, pose: Pose, events: Events) -> Track:
    """The thing where the hand closed, its faces along the jaw; the target where it opened."""
    k, at = len(told), events.held
    yaw = float(np.arctan2(pose.jaw[at, 1], pose.jaw[at, 0]))
    quat = np.array([np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)])
    goal = told.target
    if goal is None:
        end = events.release or k - 1
        goal = np.tile([*pose.place[end, :2], 0.0], (k, 1))
    return Track(
        q=told.q,
        told=told.told,
        place=np.tile(pose.place[at], (k, 1)),
        quat=np.tile(quat, (k, 1)),
        target=goal,
    )


def _paced(legs: tuple[Leg, ...], world: World) -> tuple[Leg, ...]:
    """Legs that fit into an episode of the world: a slow demonstration is run through faster."""
    total = sum(map(len, legs))
    hold = world.hold_s / world.control_period_s
    room = _SPARE * world.steps - hold
    rate = total / room
    if rate <= 1.0:
        return legs
    return tuple(_resampled(leg, rate) for leg in legs)


def _resampled(leg: Leg, rate: float) -> Leg:
    k = max(2, round(len(leg) / rate))
    rows = np.linspace(0, len(leg) - 1, k)
    values = {
        name: np.stack(
            [np.interp(rows, np.arange(len(leg)), column) for column in np.atleast_2d(v.T)], axis=-1
        )
        for name in ("place", "jaw", "down", "grip")
        for v in (getattr(leg, name),)
    }
    return replace(leg, **{**values, "grip": values["grip"][:, 0]})
