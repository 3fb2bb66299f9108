"""What a frame holds: our signals and cameras under LeRobot's keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.episodes.episode import COMMAND, JOINTS, Episode
from trueup.errors import TrueupError

TIME = "time_s"
"""LeRobot's `timestamp` is frame number over rate; this column beside it is when it really was."""

UNSTATED = "unstated"
"""The unit of a signal whose dataset does not say."""

ALWAYS: dict[str, dict[str, Any]] = {
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}
"""Columns that every LeRobot dataset has."""

_OBSERVATION, _IMAGES = "observation.", "observation.images."
_OWN_KEYS = {COMMAND: "action", JOINTS: "observation.state"}
_OWN_NAMES = {key: name for name, key in _OWN_KEYS.items()}
_NUMBERS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool")


@dataclass(frozen=True, kw_only=True)
class Signal:
    """A signal as all episodes of a dataset have it."""

    name: str
    key: str
    dtype: str
    unit: str
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """Numbers in one reading."""
        return len(self.names)

    def feature(self) -> dict[str, Any]:
        """How LeRobot declares it; LeRobot passes over the unit."""
        stated = {} if self.unit == UNSTATED else {"unit": self.unit}
        return {"dtype": self.dtype, "shape": [self.size], "names": list(self.names), **stated}


@dataclass(frozen=True, kw_only=True)
class Camera:
    """A camera as all episodes of a dataset have it.

    Attributes:
        embedded: Whether the pictures lie in the table of frames, not in a video.
    """

    name: str
    key: str
    height: int
    width: int
    embedded: bool = False


@dataclass(frozen=True, kw_only=True)
class Features:
    """All signals and cameras of a dataset."""

    signals: tuple[Signal, ...]
    cameras: tuple[Camera, ...] = ()

    def declared(self, info: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """As LeRobot's `features`; `info` holds what is known of each camera's encoding."""
        cameras = {
            camera.key: {
                "dtype": "video",
                "shape": [camera.height, camera.width, 3],
                "names": ["height", "width", "channels"],
                "info": dict(info.get(camera.key, {})),
            }
            for camera in self.cameras
        }
        signals = {signal.key: signal.feature() for signal in self.signals}
        time = {TIME: {"dtype": "float64", "shape": [1], "names": None, "unit": "s"}}
        return {**signals, **cameras, **time, **ALWAYS}


def key_of(name: str) -> str:
    """LeRobot's key of a signal; a name with a dot is a key already, e.g. `next.reward`."""
    if name in _OWN_KEYS:
        return _OWN_KEYS[name]
    key = name if "." in name else f"{_OBSERVATION}{name}"
    if "/" in key or key in _OWN_NAMES or key in ALWAYS or name == TIME:
        raise TrueupError(
            f"A signal cannot be called {name!r} in a dataset: LeRobot uses that name, or the "
            "slash in it, for something else.",
            fix="Rename the signal.",
        )
    return key


def name_of(key: str) -> str:
    """The signal's or camera's name under one of LeRobot's keys."""
    if key in _OWN_NAMES:
        return _OWN_NAMES[key]
    for prefix in (_IMAGES, _OBSERVATION):
        if key.startswith(prefix) and "." not in key.removeprefix(prefix):
            return key.removeprefix(prefix)
    return key


def features_of(episode: Episode) -> Features:
    """What this episode asks of the dataset that holds it."""
    return Features(
        signals=tuple(
            Signal(
                name=name,
                key=key_of(name),
                dtype=_dtype(name, channel.values.dtype),
                unit=channel.unit,
                names=channel.names,
            )
            for name, channel in episode.signals.items()
        ),
        cameras=tuple(
            Camera(name=name, key=f"{_IMAGES}{name}", height=video.height, width=video.width)
            for name, video in episode.videos.items()
        ),
    )


def features_in(declared: Mapping[str, Mapping[str, Any]]) -> Features:
    """The signals and cameras of a dataset; columns of text are passed over."""
    signals, cameras = [], []
    for key, feature in declared.items():
        if key in ALWAYS or key == TIME:
            continue
        if feature["dtype"] in ("video", "image"):
            height, width = _sides(feature)
            embedded = feature["dtype"] == "image"
            cameras.append(
                Camera(name=name_of(key), key=key, height=height, width=width, embedded=embedded)
            )
        elif feature["dtype"] in _NUMBERS:
            signals.append(
                Signal(
                    name=name_of(key),
                    key=key,
                    dtype=feature["dtype"],
                    unit=feature.get("unit", UNSTATED),
                    names=_names(key, feature),
                )
            )
    return Features(signals=tuple(signals), cameras=tuple(cameras))


def differences(there: Features, given: Features) -> list[str]:
    """What keeps an episode out of a dataset, one clause for each; empty where it fits."""
    found = []
    for what, ours, theirs in (
        ("signal", given.signals, there.signals),
        ("camera", given.cameras, there.cameras),
    ):
        new, old = {f.name: f for f in ours}, {f.name: f for f in theirs}
        found += [f"it lacks the {what} {name!r}" for name in old if name not in new]
        found += [f"it has the {what} {name!r} too" for name in new if name not in old]
        for name in [name for name in new if name in old]:
            found += _unlike(f"{what} {name!r}", vars(old[name]), vars(new[name]))
    return found


def _unlike(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[str]:
    for field in ("unit", "names", "dtype", "height", "width"):
        if field in old and old[field] != new[field] and not _both_float(field, old, new):
            order = field == "names" and sorted(old[field]) == sorted(new[field])
            word = "order" if order else "columns" if field == "names" else field
            yield f"{word} of the {what}: {_shown(new[field])} instead of {_shown(old[field])}"


def _both_float(field: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return field == "dtype" and {old[field], new[field]} <= {"float32", "float64"}


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _dtype(name: str, dtype: np.dtype) -> str:
    if str(dtype) not in _NUMBERS:
        raise TrueupError(
            f"The signal {name!r} holds {dtype}, which a dataset cannot keep exactly.",
            fix=f"Convert it to one of {', '.join(_NUMBERS)}.",
        )
    return str(dtype)


def _sides(feature: Mapping[str, Any]) -> tuple[int, int]:
    """Height and width, whichever way round the shape is told."""
    shape, names = [int(side) for side in feature["shape"]], feature.get("names")
    if len(shape) != 3:
        return 0, 0
    said = isinstance(names, list) and str(names[0]).startswith("channel")
    channels_first = said or (not isinstance(names, list) and shape[0] == 3 != shape[2])
    return (shape[1], shape[2]) if channels_first else (shape[0], shape[1])


def _names(key: str, feature: Mapping[str, Any]) -> tuple[str, ...]:
    """One name for each number: as declared where that fits, else numbered."""
    size = int(np.prod(feature["shape"], dtype=int))
    names = feature.get("names")
    while isinstance(names, Mapping) and names:
        names = next(iter(names.values()))
    if isinstance(names, (list, tuple)) and len(names) == size:
        return tuple(str(name) for name in names)
    stem = name_of(key)
    return (stem,) if size == 1 else tuple(f"{stem}_{i}" for i in range(size))
