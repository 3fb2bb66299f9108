"""What a task sees of many worlds at once: their sensor readings, and the scene they start in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mujoco
import numpy as np

from trueup.effects import Array, anatomy
from trueup.effects.environment import surface_height
from trueup.errors import UnknownName
from trueup.streams import Streams


class Readings(Mapping[str, Array]):
    """Sensor readings of n worlds by sensor name, each (n, dim).

    Attributes:
        time: (n,) seconds since the episode began.
    """

    def __init__(self, slots: Mapping[str, slice], data: Array, time: Array) -> None:
        self._slots, self._data, self.time = slots, data, time

    def __getitem__(self, name: str) -> Array:
        if name not in self._slots:
            raise MissingSensor(name, self._slots)
        return self._data[:, self._slots[name]]

    def __iter__(self):
        return iter(self._slots)

    def __len__(self) -> int:
        return len(self._slots)


class MissingSensor(UnknownName):
    """A sensor that a task reads and the model does not have."""

    def __init__(self, name: str, known: Any) -> None:
        super().__init__(
            "sensor", name, known, fix="Add it to the <sensor> section of the world's MJCF."
        )


def sensor_slots(model: mujoco.MjModel) -> dict[str, slice]:
    """Where each named sensor stands in `sensordata`."""
    slots = {}
    for name in anatomy.names(model, "sensor"):
        i = anatomy.identity(model, "sensor", name)
        first = int(model.sensor_adr[i])
        slots[name] = slice(first, first + int(model.sensor_dim[i]))
    return slots


class Scene:
    """The worlds that start an episode now.

    Attributes:
        n: How many.
        streams: Their random streams; row i belongs to world i.
        ease: (n,) how much nearer to its goal than the task wants an episode should begin, from 0
            (not at all) to 1. Only training ever asks for it, for some of its episodes, and a world
            may leave it alone.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        streams: Streams,
        field: Callable[[str], np.ndarray],
        ease: np.ndarray | None = None,
    ) -> None:
        self.n, self.streams = len(streams), streams
        self.ease = np.zeros(self.n) if ease is None else ease
        self._model, self._field = model, field

    def number(self, kind: str, name: str, field: str) -> np.ndarray:
        """The numbers of a named object in a model field, (n, width), each world's own.

        For example `scene.number("geom", "cube", "geom_size")`.
        """
        known = anatomy.names(self._model, kind)
        if name not in known:
            raise UnknownName(kind, name, known)
        width = np.shape(getattr(self._model, field))[1:]
        first = anatomy.element(self._model, kind, name, field)
        return self._field(field)[:, first : first + int(np.prod(width))]

    def surface(self, body: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Height (n,) of the plane a body carries above the points x, y (n,)."""
        place = self.number("body", body, "body_pos")
        turn = self.number("body", body, "body_quat")
        return place[:, 2] + surface_height(turn, x - place[:, 0], y - place[:, 1])
