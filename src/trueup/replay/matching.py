"""Which columns of a record are which numbers of a world: by name, never by luck."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from trueup.episodes import Channel, Episode
from trueup.episodes.episode import COMMAND
from trueup.errors import TrueupError, UnknownName
from trueup.worlds import Signal, World

_JOINT_SENSORS = (
    mujoco.mjtSensor.mjSENS_JOINTPOS.value,
    mujoco.mjtSensor.mjSENS_JOINTVEL.value,
)
_ENDINGS = (".pos", ".vel", "_position", "_velocity")


class Mismatch(TrueupError):
    """A channel that cannot be laid over a world's numbers."""

    def __init__(self, name: str, found: Sequence[str], world: World, wanted: Sequence[str]):
        super().__init__(
            f"The signal {name!r} of this episode has the columns {', '.join(found)}, but the "
            f"world {world.name!r} has {', '.join(wanted)}.",
            fix="Give the columns these names when the episode is recorded or imported, or choose "
            "the world of that robot.",
        )


def _shared(world: World, episode: Episode) -> tuple[str, ...]:
    """Signals that an episode recorded and a world can simulate, in the world's order."""
    return tuple(
        signal.name
        for signal in (*world.observations, *world.privileged)
        if signal.name in episode.signals and len(episode[signal.name])
    )


def compared_signals(
    world: World, episode: Episode, signals: Sequence[str] | None, number: int
) -> tuple[str, ...]:
    """The signals of an episode that are compared, after a look at its commands."""
    if COMMAND not in episode.signals or not len(episode[COMMAND]):
        raise TrueupError(
            f"Episode {number} has no commands, so that there is nothing to replay.",
            fix=f"Record what the robot was told as the signal {COMMAND!r}.",
        )
    values = episode[COMMAND].values
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise TrueupError(
            f"Command {row} of episode {number} is {values[row, column]} for "
            f"{episode[COMMAND].names[column]!r}.",
            fix="Leave the episode out, or end it before that command.",
        )
    shared = _shared(world, episode)
    if not shared:
        known = ", ".join(s.name for s in world.observations)
        raise TrueupError(
            f"Episode {number} has the signals {', '.join(episode.signals)}, none of which the "
            f"world {world.name!r} can simulate.",
            fix=f"It can simulate {known}.",
        )
    for name in signals or ():
        if name not in shared:
            raise UnknownName(f"signal to compare in episode {number}", name, shared)
    return shared if signals is None else tuple(n for n in shared if n in signals)


def command_columns(world: World, episode: Episode) -> np.ndarray:
    """(nu,) which column of the episode's commands drives each servo of the world."""
    names = episode[COMMAND].names
    places = _by_name(names, world.commands)
    if places is None or (places < 0).any():
        raise Mismatch(COMMAND, names, world, world.commands)
    return places


def signal_columns(world: World, signal: Signal, channel: Channel) -> np.ndarray:
    """(size,) which column of a channel is each number of a world's signal; -1 where it has none.

    Joints are matched by name. What has no joints, such as a place, is taken in its order.
    """
    if channel.unit != signal.unit:
        raise TrueupError(
            f"The signal {signal.name!r} of this episode is in {channel.unit!r}, but the world "
            f"{world.name!r} has it in {signal.unit!r}.",
            fix="Convert it when the episode is recorded or imported.",
        )
    size = world.sizes(world.observations + world.privileged)[signal.name]
    joints = joints_of(world.model, signal)
    if joints:
        places = _by_name(channel.names, joints)
        if places is None:
            raise Mismatch(signal.name, channel.names, world, joints)
        return places
    if len(channel.names) != size:
        wanted = [f"{size} numbers"]
        raise Mismatch(signal.name, channel.names, world, wanted)
    return np.arange(size)


def joints_of(model: mujoco.MjModel, signal: Signal) -> tuple[str, ...]:
    """The joint that each number of a signal is read from; none where one is from elsewhere."""
    if signal.function is not None:
        return ()
    sensors = [model.sensor(name).id for name in signal.sensors]
    if all(model.sensor_type[i] in _JOINT_SENSORS for i in sensors):
        return tuple(model.joint(int(model.sensor_objid[i])).name for i in sensors)
    forces = mujoco.mjtSensor.mjSENS_ACTUATORFRC.value
    if all(model.sensor_type[i] == forces for i in sensors):
        return tuple(model.actuator(int(model.sensor_objid[i])).name for i in sensors)
    return ()


def _by_name(found: Sequence[str], wanted: Sequence[str]) -> np.ndarray | None:
    """Where each wanted name stands among those found, -1 if nowhere; None where none does."""
    bare = [_bare(name) for name in found]
    places = np.array([bare.index(name) if name in bare else -1 for name in wanted])
    known = (places >= 0).sum()
    return places if known and known == len(found) else None


def _bare(name: str) -> str:
    """A joint's name without what some recorders add to it."""
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name
