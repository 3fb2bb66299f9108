"""What an expert goes by: the truth of the simulator, or no more than the robot's own sensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueup.errors import TrueupError
from trueup.simulate import CpuWorlds
from trueup.worlds import World, sensor_slots

Knows = Literal["truth", "sensors"]

TARGET = "target_position"


@dataclass(frozen=True, kw_only=True)
class Things:
    """The names under which a world tells of what is handled.

    Attributes:
        thing: The object: `THING_position` and `THING_orientation` are observed; none where the
            task has none.
        target: Whether there is a place to bring it to, `target_position`.
    """

    thing: str | None
    target: bool

    @classmethod
    def of(cls, world: World) -> Things:
        """What a world observes of objects and targets."""
        names = [signal.name for signal in world.observations]
        things = [
            name.removesuffix("_orientation") for name in names if name.endswith("_orientation")
        ]
        things = [thing for thing in things if f"{thing}_position" in names]
        if not things and TARGET not in names:
            raise TrueupError(
                f"World {world.name!r} observes neither an object nor a target, so there is "
                "nothing that a demonstration could be carried to.",
                fix="Let a trained policy be the source: --source POLICY.",
            )
        return cls(thing=things[0] if things else None, target=TARGET in names)


@dataclass(frozen=True, kw_only=True)
class Sensed:
    """Where things are now in n worlds.

    Attributes:
        object_place: (n, 3), m; the target's where there is no object.
        object_quat: (n, 4)
        target_place: (n, 3), m; the object's where there is no target.
        tcp: (n, 3) the fingertips, m.
        joints: (n, nu) what the encoders read, rad.
    """

    object_place: np.ndarray
    object_quat: np.ndarray
    target_place: np.ndarray
    tcp: np.ndarray
    joints: np.ndarray


class Senses:
    """Reads where things are, in all worlds at once.

    Args:
        worlds: The batch.
        knows: `truth`, or `sensors` for what the robot observes, with all its noise and delay.
    """

    def __init__(self, worlds: CpuWorlds, knows: Knows = "sensors") -> None:
        self._worlds, self._knows = worlds, knows
        self.things = Things.of(worlds.world)
        if knows == "truth":
            self._check()

    def __call__(self) -> Sensed:
        observed = self._worlds.observation
        tcp = self._read("tcp_position")
        thing = self.things.thing
        target = observed[TARGET] if self.things.target else None
        place = target if thing is None else self._read(f"{thing}_position")
        assert place is not None
        upright = np.tile([1.0, 0.0, 0.0, 0.0], (len(tcp), 1))
        return Sensed(
            object_place=place,
            object_quat=upright if thing is None else self._read(f"{thing}_orientation"),
            target_place=place if target is None else target,
            tcp=tcp,
            joints=observed["joint_position"],
        )

    def _read(self, name: str) -> np.ndarray:
        if self._knows == "truth":
            return self._worlds.truth[f"truth/{name}"].copy()
        return self._worlds.observation[name]

    def _check(self) -> None:
        wanted = ["tcp_position"]
        if self.things.thing is not None:
            wanted += [f"{self.things.thing}_position", f"{self.things.thing}_orientation"]
        slots = sensor_slots(self._worlds.compiled.model)
        missing = [f"truth/{name}" for name in wanted if f"truth/{name}" not in slots]
        if missing:
            raise TrueupError(
                f"World {self._worlds.world.name!r} has no sensor {missing[0]!r}, which an expert "
                "that knows the truth goes by.",
                fix="Add it to the model, or let the expert go by the sensors: --knows sensors.",
            )
