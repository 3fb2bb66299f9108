"""A design in words: what each motion is, which doubt it removes, and what no motion can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.identify.design.knowledge import Knowledge
from trueup.record import Chirp, Excitation, Holds, Motion, Multisine, Plan, Prbs, Steps, Triangle

SPOKEN = 0.35  # share of a direction from which on a parameter is named
UNTOLD = 0.8  # of the prior: a direction that is no narrower is not told
_STILL_RAD = 0.05
_NAMED = 3
_FEW = 2
_SECOND = 0.4  # of the largest doubt removed: from there on another one is told too
_WORDS = {
    "kp": "stiffness",
    "kv": "servo damping",
    "frictionloss": "friction",
    "force_limit": "force limit",
    "zero_offset": "zero",
}
_SCALED = {"kp", "kv", "damping", "frictionloss", "armature", "force_limit", "stribeck_torque"}
_RANDOM = ("noise", "drift", "jitter", "dropout", "probability", "quantum")


@dataclass(frozen=True, kw_only=True)
class Opened:
    """The way to change parameters together about which a recording tells most.

    Attributes:
        parts: How much of it each parameter is, largest first; only those that matter.
        before: Its spread as a share of the prior's.
        after: The same once the recording is made.
    """

    parts: tuple[tuple[str, float], ...]
    before: float
    after: float

    def __str__(self) -> str:
        return f"{_told([name for name, _ in self.parts])} {self.shares}"

    @property
    def shares(self) -> str:
        """Before and after, for a bracket."""
        return f"({_percent(self.before)} of the prior's doubt, then {_percent(self.after)})"


def opened(known: Knowledge, precision: np.ndarray, told: np.ndarray) -> tuple[Opened, ...]:
    """Which doubts a recording removes most of: one or two, the larger first.

    Args:
        known: What the design began with.
        precision: (d, d) before this recording.
        told: (d, d) what it tells.
    """
    half = np.linalg.cholesky(np.linalg.inv(precision))
    gains, ways = np.linalg.eigh(half.T @ told @ half)
    moved = half @ ways / known.spread[:, None]  # (d, d) one standard deviation along each way
    before = np.linalg.norm(moved, axis=0)
    after = before / np.sqrt(1.0 + np.maximum(gains, 0.0))
    removed = before - after
    best = [i for i in np.argsort(-removed)[:2] if removed[i] >= _SECOND * removed.max()]
    return tuple(
        Opened(parts=parts_of(known, moved[:, i]), before=float(before[i]), after=float(after[i]))
        for i in best
    )


def parts_of(known: Knowledge, direction: np.ndarray) -> tuple[tuple[str, float], ...]:
    """The parameters that matter in a direction (d,), largest first."""
    direction = direction / np.linalg.norm(direction)
    direction = direction * np.sign(direction[np.abs(direction).argmax()])
    order = np.argsort(-np.abs(direction))
    return tuple(
        (known.space.names[i], float(direction[i])) for i in order if abs(direction[i]) >= SPOKEN
    )


def untold(known: Knowledge, precision: np.ndarray) -> tuple[str, ...]:
    """Sentences: what stays open after all, and what would tell it."""
    covariance = np.linalg.inv(precision)
    values, vectors = np.linalg.eigh(covariance / np.outer(known.spread, known.spread))
    found = []
    for value, vector in zip(values[::-1], vectors.T[::-1], strict=True):
        if np.sqrt(value) < UNTOLD:
            break
        parts = parts_of(known, vector)
        names = [name for name, _ in parts]
        found.append(f"No motion here tells {_listed(names)}. {advice(parts)}")
    return tuple(found)


def advice(parts: Sequence[tuple[str, float]]) -> str:
    """What would tell a direction that no motion does."""
    names = [name for name, _ in parts]
    kinds, owners = {_kind(name) for name in names}, {_owner(name) for name in names}
    alike = len({part > 0 for _, part in parts}) == 1
    if len(names) > 1 and len(owners) == 1 and kinds <= _SCALED and alike:
        return (
            f"They have one common scale, as too little loads {owners.pop()}: fix a weighed mass "
            "to the hand, add it to the world, and record again."
        )
    if all(name.startswith("latency/") for name in names) and len(names) > 1:
        return "Only their sum shows in a motion: clock one of them by itself."
    if all(name.startswith(("contact/", "object/")) for name in names):
        return "Only touching tells it: record probes of the object (--motion probes)."
    if all(any(word in name for word in _RANDOM) for name in names):
        return "It is noise, and shows in its strength: leave the robot still and look at that."
    if kinds == {"zero_offset"}:
        return "Where no weight pulls, a zero leaves no trace: calibrate it against a mark."
    return "Measure it by itself, or let it stay randomized."


def motion_words(motion: Motion, plan: Plan, joints: Sequence[str]) -> str:
    """What a motion does, in words: who moves, how, and how fast."""
    if not isinstance(motion, Excitation):
        return f"{motion.kind} of the {motion.needs}" if motion.needs else motion.kind
    path = plan.path[:, 0]
    quickest = np.abs(np.diff(path, axis=0)).max() / plan.period_s
    moving = np.ptp(path, axis=0) > 2 * _STILL_RAD
    return f"{_who(joints, moving)}: {_how(motion)}, up to {quickest:.1f} rad/s"


def _who(joints: Sequence[str], moving: np.ndarray) -> str:
    still = [joint for joint, moves in zip(joints, moving, strict=True) if not moves]
    if not still:
        return "all joints"
    if len(still) <= _FEW:
        return f"all joints but {' and '.join(still)}"
    return ", ".join(joint for joint in joints if joint not in still)


def _how(motion: Excitation) -> str:
    match motion:
        case Chirp():
            return f"sweep from {motion.low_hz:.2g} to {motion.high_hz:.2g} Hz"
        case Multisine():
            return f"many sines from {motion.low_hz:.2g} to {motion.high_hz:.2g} Hz"
        case Triangle():
            speed = "slow" if motion.cycles / motion.duration_s < 0.4 else "quick"
            return f"{speed} and steady, there and back"
        case Steps():
            return f"stairs of {motion.hold_s:.2g} s"
        case Prbs():
            return f"to and fro at chance, at least {motion.bit_s:.2g} s"
        case Holds():
            return f"still in {motion.poses} poses"
    return motion.kind


def _told(names: Sequence[str]) -> str:
    """What is told, in a few words."""
    shown = names[:_NAMED]
    owners = {_owner(name) for name in shown}
    rest = " and more" if len(names) > _NAMED else ""
    if len(shown) == 1:
        return f"pins {_said(shown[0])}"
    if len({_word(name) for name in shown}) == 1:
        return f"tells {_word(shown[0])} of {_apart([_owner(name) for name in shown])}{rest}"
    if len(owners) == 1 and (owner := owners.pop()):
        return f"tells {_apart([_word(name) for name in shown])} of {owner}{rest}"
    return f"tells {_apart([_said(name) for name in shown])}{rest}"


def _apart(words: Sequence[str]) -> str:
    return " from ".join(words) if len(words) == 2 else f"{', '.join(words[:-1])} and {words[-1]}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]} apart"


def _said(name: str) -> str:
    owner = _owner(name)
    return f"{_word(name)} of {owner}" if owner else _word(name)


def _word(name: str) -> str:
    kind = _kind(name)
    return _WORDS.get(kind, kind.replace("_", " "))


def _kind(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _owner(name: str) -> str:
    parts = name.split("/")
    return parts[1] if len(parts) > 2 else ""
