"""An episode as failure analysis reads it: joints, hand and object on one clock, gaps marked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np

from trueup.deploy.wiring.preflight import hand
from trueup.diagnose.failures.tracking import Loss, losses, noise, runs
from trueup.episodes import Channel, Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.errors import TrueupError
from trueup.worlds import World

_SEEN_LATE_S = 0.2  # a hand at 0.5 m/s is 10 cm further by then
_READ_LATE_S = 0.08  # so may the joints be, on a busy bus
_LEAP_RAD = 0.03  # between two readings, after some that repeated
_PLACE = "_position"
_LOADS = ("joint_force", "joint_current", "joint_load")


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What a robot knew, reading by reading; k readings of nu joints.

    Attributes:
        time_s: (k,) from the first reading.
        period_s: Between readings, as meant.
        names: (nu,) of the joints.
        joint: (k, nu) where they were read, gaps bridged.
        stale: (k,) whether the bus gave old readings: they repeat to the last digit, and then leap.
        command: (k, nu) what was in force.
        load: (k, nu) how hard they pushed, as a share of what the servo has; none where unknown.
        jaw: The gripper's column; it closes towards its low end. None where there is no gripper.
        shut: Where the jaw is when nothing is in it.
        hand: (k, 3) the fingertips by nominal kinematics; none where the model has no `tcp`.
        thing: (k, 3) the tracked object, gaps bridged; none where there is none.
        aside: (k, lags, 3) the object in the frame of the hand: first as both are read, then as
            the hand was some readings before and after, for either may be read late. None without
            hand or object.
        target: (k, 3) where to bring it; none where the task has none.
        noise_m: How much the tracked place jitters, one standard deviation.
        losses: Where the object was not really seen.
        stopped: Why a guard ended it; empty where none did.
    """

    time_s: np.ndarray
    period_s: float
    names: tuple[str, ...]
    joint: np.ndarray
    stale: np.ndarray
    command: np.ndarray
    load: np.ndarray | None
    jaw: int | None
    shut: float
    hand: np.ndarray | None
    thing: np.ndarray | None
    aside: np.ndarray | None
    target: np.ndarray | None
    noise_m: float = 0.0
    losses: tuple[Loss, ...] = ()
    stopped: str = ""

    def __len__(self) -> int:
        return len(self.time_s)

    def turns(self, seconds: float) -> int:
        """How many readings this long is; at least 2."""
        return max(2, round(seconds / self.period_s))

    @cached_property
    def away(self) -> np.ndarray:
        """(k,) how far the object is from the hand, or from where that was a moment ago; m."""
        if self.aside is None:
            return np.full(len(self), np.inf)
        return np.linalg.norm(self.aside, axis=2).min(axis=1)

    @cached_property
    def moved(self) -> np.ndarray:
        """(k, 3) how far the object is from where it lay at first; m."""
        if self.thing is None:
            return np.zeros((len(self), 3))
        return self.thing - np.median(self.thing[: self.turns(0.12)], axis=0)


class Reader:
    """Reads episodes of one world.

    Args:
        world: Whose model says where the hand is, and which of the seen things can move.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._hand = hand(world)
        model = world.model
        self._joints = tuple(model.joint(int(j)).name for j in model.actuator_trnid[:, 0])
        low, high = model.actuator_forcerange.T
        self._limit = np.where(model.actuator_forcelimited.astype(bool), np.maximum(-low, high), 0)
        jaws = [i for i, name in enumerate(world.commands) if "gripper" in name or "jaw" in name]
        self._jaw = jaws[0] if jaws else None
        self._shut = float(model.jnt_range[model.joint(self._joints[jaws[0]]).id, 0]) if jaws else 0

    def trace(self, episode: Episode, number: int = 0) -> Trace:
        """What failure analysis needs of an episode; `number` is for the message."""
        joints = self._checked(episode, number)
        time_s = joints.time_s
        joint = filled(joints.values)
        command = filled(_latest(episode[COMMAND], time_s + 0.5 * episode.period_s))
        seen = self._seen(episode, time_s)
        at = self._hand(joint) if self._hand is not None else _recorded(episode, time_s)
        thing, target = seen.get("thing"), seen.get("target")
        lost = () if thing is None else losses(thing, time_s, at)
        thing = None if thing is None or not np.isfinite(thing).any() else filled(thing)
        return Trace(
            time_s=time_s - time_s[0],
            period_s=episode.period_s,
            names=self.world.commands,
            joint=joint,
            stale=_stale(joints.values),
            command=command,
            load=self._load(episode, time_s),
            jaw=self._jaw,
            shut=self._shut,
            hand=at,
            thing=thing,
            aside=self._aside(joint, at, thing, episode.period_s),
            target=None if target is None else filled(target),
            noise_m=0.0 if thing is None else noise(thing),
            losses=lost,
            stopped=str(episode.labels.get("stopped", "")),
        )

    def _checked(self, episode: Episode, number: int) -> Channel:
        """The joint positions, where they are of this world's robot."""
        for name in (JOINTS, COMMAND):
            if name not in episode.signals or len(episode[name]) < 3:
                raise TrueupError(
                    f"Episode {number} has no {name!r} of three readings or more; it has "
                    f"{', '.join(episode.signals)}.",
                    fix="Give trials as `trueup deploy` records them, or a CSV of outcomes.",
                )
            names = episode[name].names
            if names != self.world.commands and names != self._joints:
                raise TrueupError(
                    f"Episode {number} has {name!r} of {', '.join(names)}; the world "
                    f"{self.world.name!r} has {', '.join(self.world.commands)}.",
                    fix="Give the world of this robot with --world.",
                )
        return episode[JOINTS]

    def _seen(self, episode: Episode, time_s: np.ndarray) -> dict[str, np.ndarray]:
        """The object to handle and the place to bring it to, of all that is tracked."""
        found: dict[str, np.ndarray] = {}
        for name, channel in episode.signals.items():
            body = name.removesuffix(_PLACE)
            if name == body or channel.values.shape[1] != 3 or channel.unit != "m":
                continue
            if body != "tcp" and len(channel):
                kind = "target" if not self._movable(body) else "thing"
                found.setdefault(kind, _latest(channel, time_s))
        return found

    def _movable(self, body: str) -> bool:
        model = self.world.model
        at = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY.value, body)
        if at < 0:
            return body not in ("target", "goal", "bin")
        joint = int(model.body_jntadr[at])
        return joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE

    def _load(self, episode: Episode, time_s: np.ndarray) -> np.ndarray | None:
        for name in _LOADS:
            if name in episode.signals and len(episode[name]):
                load = np.abs(filled(_latest(episode[name], time_s)))
                if load.shape[1] != len(self.world.commands):
                    continue
                newton = episode[name].unit == "N·m" and (self._limit > 0).all()
                return load / (self._limit if newton else np.maximum(load.max(axis=0), 1e-9))
        return None

    def _aside(
        self,
        joint: np.ndarray,
        at: np.ndarray | None,
        thing: np.ndarray | None,
        period_s: float,
    ) -> np.ndarray | None:
        if at is None or thing is None:
            return None
        rows, last = np.arange(len(joint)), len(joint) - 1
        late, early = (round(s / period_s) for s in (_SEEN_LATE_S, _READ_LATE_S))
        shifts = (0, *range(-late, 0), *range(1, early + 1))
        before = [np.clip(rows + shift, 0, last) for shift in shifts]
        turned = self._hand.into_site if self._hand is not None else (lambda q, vector: vector)
        return np.stack([turned(joint[b], thing - at[b]) for b in before], axis=1)


def filled(values: np.ndarray) -> np.ndarray:
    """The same with gaps (not finite) bridged by straight lines; a column without any is zero."""
    values = np.array(values, float)
    rows = np.arange(len(values))
    for column in values.T:
        good = np.isfinite(column)
        if not good.all():
            column[~good] = np.interp(rows[~good], rows[good], column[good]) if good.any() else 0.0
    return values


def _stale(joint: np.ndarray) -> np.ndarray:
    """(k,) readings of all joints that repeat until one of them leaps: the bus stood, not the arm.

    Joints that stand still may repeat, too, as encoders count in steps; but they start gently.
    """
    same = np.zeros(len(joint), bool)
    same[1:] = (joint[1:] == joint[:-1]).all(axis=1)
    leap = np.abs(np.diff(joint, axis=0, append=joint[-1:])).max(axis=1) > _LEAP_RAD
    stale = np.zeros(len(joint), bool)
    for start, end in runs(same):
        stale[start:end] = leap[end - 1]
    return stale


def _latest(channel: Channel, time_s: np.ndarray) -> np.ndarray:
    """(k, size) the last reading at or before each time; the first one before all."""
    rows = np.searchsorted(channel.time_s, time_s + 1e-9, side="right") - 1
    return np.asarray(channel.values, float)[np.maximum(rows, 0)]


def _recorded(episode: Episode, time_s: np.ndarray) -> np.ndarray | None:
    known = "tcp" + _PLACE
    return filled(_latest(episode[known], time_s)) if known in episode.signals else None
