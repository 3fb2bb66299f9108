"""The noise of a tracked pose, heard while the thing lies where it lies.

Nothing needs to rest but the thing itself, and that only most of the time: what is heard is how far
each new pose is from the one before, by its median.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.evaluate import wilson
from trueup.identify.allan import Strength, plain
from trueup.identify.readings.still import nothing
from trueup.space import Prior, Uniform

_PLACE, _TURN = "_position", "_orientation"
_LEAST = 100  # new poses
_MEDIAN = 0.6745 * np.sqrt(2.0)  # of the size of a difference of two normal numbers
_SCATTER = 1.5  # how unsure, times 1 / √n: a median is, and neighbours have a pose in common
_FINER = {"noise": 1e-5, "angle_noise": 1e-4}  # m, rad: simulation and rounding do as much
_CONFIDENT = 1.645
_MOVING = 0.2  # of readings differ from the one before: fewer, and joints are at rest


@dataclass(frozen=True, kw_only=True)
class TrackedNoise:
    """What a tracker adds to the pose of a thing.

    Attributes:
        thing: Its name, as signals have it.
        noise: Of its place, along each axis.
        angle_noise: Of its turn, about each axis.
        dropout: Share of frames that are the last one again while joints were read anew.
    """

    thing: str
    noise: Strength
    angle_noise: Strength
    dropout: Strength

    @property
    def priors(self) -> dict[str, Prior]:
        """What these say about parameters of the catalogue."""
        return {
            f"visual/tracker/{name}": Uniform(strength.low, strength.high)
            for name in _KINDS
            if np.isfinite((strength := getattr(self, name)).high)
        }

    def to_json(self) -> dict[str, Any]:
        """For programs; an end that is unknown is null."""
        return {"thing": self.thing, **{name: plain(getattr(self, name)) for name in _KINDS}}


_KINDS = tuple(field.name for field in fields(TrackedNoise) if field.name != "thing")


def tracked_noise(episodes: Sequence[Episode]) -> TrackedNoise | None:
    """Of the first thing whose place and turn are both seen; none where there is none."""
    names = dict.fromkeys(name for episode in episodes for name in episode.signals)
    things = [n.removesuffix(_PLACE) for n in names if n.endswith(_PLACE)]
    thing = next((t for t in things if f"{t}{_TURN}" in names), None)
    if thing is None:
        return None
    seen = [
        e for e in episodes if f"{thing}{_PLACE}" in e.signals and f"{thing}{_TURN}" in e.signals
    ]
    steps = [_steps(episode, thing) for episode in seen]
    place = np.concatenate([s.place for s in steps])
    turn = np.concatenate([s.turn for s in steps])
    noise = _strength("noise", place, "m")
    angle = _strength("angle_noise", turn, "rad")
    again, due = (sum(getattr(s, n) for s in steps) for n in ("again", "due"))
    return TrackedNoise(
        thing=thing,
        noise=noise,
        angle_noise=angle,
        dropout=_dropout(again, due, told=noise.seen or angle.seen),
    )


@dataclass(frozen=True, kw_only=True)
class _Steps:
    """From pose to new pose: (k, 3) of the place, of the turn; and how often there was none."""

    place: np.ndarray
    turn: np.ndarray
    again: int
    due: int


def _steps(episode: Episode, thing: str) -> _Steps:
    place, turn = (np.asarray(episode[f"{thing}{n}"].values, float) for n in (_PLACE, _TURN))
    n = min(len(place), len(turn))
    place, turn = place[:n], turn[:n]
    whole = np.isfinite(place).all(axis=1) & (np.linalg.norm(turn, axis=1) > 0.5)
    place, turn = place[whole], turn[whole]
    if not len(place):
        return _Steps(place=np.zeros((0, 3)), turn=np.zeros((0, 3)), again=0, due=0)
    same = (np.diff(place, axis=0) == 0.0).all(axis=1) & (np.diff(turn, axis=0) == 0.0).all(axis=1)
    read = _read_anew(episode, whole)
    new = np.append(True, ~same)
    turned = Rotation.from_quat(turn[new], scalar_first=True)
    return _Steps(
        place=np.diff(place[new], axis=0),
        turn=(turned[1:] * turned[:-1].inv()).as_rotvec(),
        again=int((same & read).sum()),
        due=int(read.sum()),
    )


def _read_anew(episode: Episode, whole: np.ndarray) -> np.ndarray:
    """(k - 1,) whether joints were: where they were not, a whole packet was the last one again."""
    k = int(whole.sum())
    if JOINTS not in episode.signals or len(episode[JOINTS]) < len(whole):
        return np.ones(max(k - 1, 0), bool)
    joints = np.asarray(episode[JOINTS].values, float)[: len(whole)][whole]
    changed = (np.diff(joints, axis=0) != 0.0).any(axis=1)
    return changed if changed.mean() > _MOVING else np.ones(max(k - 1, 0), bool)


def _strength(name: str, steps: np.ndarray, unit: str) -> Strength:
    if len(steps) < _LEAST:
        return nothing(
            unit,
            f"Only {len(steps)} new poses were seen; {_LEAST} are needed. Record for longer, and "
            "leave the thing alone.",
        )
    value = float(np.median(np.abs(steps)) / _MEDIAN)
    if value < _FINER[name]:
        return Strength(
            value=0.0,
            low=0.0,
            high=_FINER[name],
            unit=unit,
            seen=False,
            sentence=f"{len(steps):,} poses of a thing at rest hardly differ.",
        )
    reach = float(_CONFIDENT * _SCATTER * value / np.sqrt(steps.size))
    return Strength(
        value=value,
        low=value - reach,
        high=value + reach,
        unit=unit,
        seen=True,
        sentence=f"From {len(steps):,} new poses, by how far each is from the one before.",
    )


def _dropout(again: int, due: int, *, told: bool) -> Strength:
    if not told:
        return nothing("1", "Poses without noise do not tell a frame that is missing at rest.")
    if due < _LEAST:
        return nothing("1", f"Only {due} frames were seen; {_LEAST} are needed.")
    low, high = wilson(again, due, 0.90)
    return Strength(
        value=again / due,
        low=low,
        high=high,
        unit="1",
        seen=again > 0,
        sentence=f"{again:,} of {due:,} frames are the one before again.",
    )
