"""The state of a world at moments of a record: where its joints and objects were seen to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.episodes import Channel, Episode
from trueup.errors import TrueupError
from trueup.replay.matching import signal_columns
from trueup.worlds import World

_Sensor = mujoco.mjtSensor
_XBODY = mujoco.mjtObj.mjOBJ_XBODY.value
_FREE = mujoco.mjtJoint.mjJNT_FREE.value


@dataclass(frozen=True, kw_only=True)
class States:
    """What a record says about k moments; NaN where it says nothing.

    Attributes:
        qpos: (k, nq)
        qvel: (k, nv)
        mocap: (k, nmocap, 3)
    """

    qpos: np.ndarray
    qvel: np.ndarray
    mocap: np.ndarray


def states_at(world: World, model: mujoco.MjModel, episode: Episode, time_s: np.ndarray) -> States:
    """Joints and objects where they were seen; velocities as read, or else as positions changed.

    What the episode calls true counts more than what a sensor of it said.
    """
    k = len(time_s)
    states = States(
        qpos=np.full((k, model.nq), np.nan),
        qvel=np.full((k, model.nv), np.nan),
        mocap=np.full((k, model.nmocap, 3), np.nan),
    )
    read = list(_readings(world, model, episode))
    for sensor, channel in read:
        _derive_velocity(states, model, sensor, channel, time_s)
    for sensor, channel in read:
        _place(states, model, sensor, channel, time_s)
    _check_joints(world, model, states)
    return states


def _readings(
    world: World, model: mujoco.MjModel, episode: Episode
) -> Iterator[tuple[int, Channel]]:
    """Each recorded sensor of the model, as a channel of its own."""
    for signal in (*world.observations, *world.privileged):
        if signal.function is not None or signal.name not in episode.signals:
            continue
        channel = episode[signal.name]
        columns, first = signal_columns(world, signal, channel), 0
        for name in signal.sensors:
            sensor = model.sensor(name)
            some = columns[first : first + int(sensor.dim[0])]
            first += int(sensor.dim[0])
            if len(channel) and (some >= 0).all():
                names = tuple(channel.names[i] for i in some)
                values = channel.values[:, some]
                yield (
                    sensor.id,
                    Channel(values=values, time_s=channel.time_s, unit=channel.unit, names=names),
                )


def _place(
    states: States, model: mujoco.MjModel, sensor: int, channel: Channel, time_s: np.ndarray
) -> None:
    """Write what a sensor read into the numbers of the state that it reads."""
    kind, joint = model.sensor_type[sensor], int(model.sensor_objid[sensor])
    if kind == _Sensor.mjSENS_JOINTPOS:
        states.qpos[:, model.jnt_qposadr[joint]] = value_at(channel, time_s)[:, 0]
    elif kind == _Sensor.mjSENS_JOINTVEL:
        states.qvel[:, model.jnt_dofadr[joint]] = value_at(channel, time_s)[:, 0]
    elif model.sensor_objtype[sensor] == _XBODY:
        _place_body(states, model, sensor, channel, time_s)


def _place_body(
    states: States, model: mujoco.MjModel, sensor: int, channel: Channel, time_s: np.ndarray
) -> None:
    kind, body = model.sensor_type[sensor], int(model.sensor_objid[sensor])
    mocap, free = int(model.body_mocapid[body]), _free_joint(model, body)
    if kind == _Sensor.mjSENS_FRAMEPOS and mocap >= 0:
        states.mocap[:, mocap] = value_at(channel, time_s)
    if free < 0:
        return
    q, v = int(model.jnt_qposadr[free]), int(model.jnt_dofadr[free])
    if kind == _Sensor.mjSENS_FRAMEPOS:
        states.qpos[:, q : q + 3] = value_at(channel, time_s)
    elif kind == _Sensor.mjSENS_FRAMEQUAT:
        latest = np.searchsorted(channel.time_s, time_s + 1e-9, side="right") - 1
        states.qpos[:, q + 3 : q + 7] = channel.values[np.maximum(latest, 0)]
    elif kind == _Sensor.mjSENS_FRAMELINVEL:
        states.qvel[:, v : v + 3] = value_at(channel, time_s)


def _derive_velocity(
    states: States, model: mujoco.MjModel, sensor: int, channel: Channel, time_s: np.ndarray
) -> None:
    """Velocities from how positions change; a velocity that was read is written over it."""
    kind, of = model.sensor_type[sensor], int(model.sensor_objid[sensor])
    if kind == _Sensor.mjSENS_JOINTPOS:
        states.qvel[:, model.jnt_dofadr[of]] = _slope(channel, time_s)[:, 0]
        return
    of_body = kind == _Sensor.mjSENS_FRAMEPOS and model.sensor_objtype[sensor] == _XBODY
    if of_body and (free := _free_joint(model, of)) >= 0:
        v = int(model.jnt_dofadr[free])
        states.qvel[:, v : v + 3] = _slope(channel, time_s)


def _free_joint(model: mujoco.MjModel, body: int) -> int:
    joint = int(model.body_jntadr[body])
    return joint if joint >= 0 and model.jnt_type[joint] == _FREE else -1


def value_at(channel: Channel, time_s: np.ndarray) -> np.ndarray:
    """(k, size) readings, between neighbours where needed, held at both ends.

    Those that are NaN are passed over; a column of nothing else stays NaN.
    """
    found = np.full((len(time_s), channel.values.shape[1]), np.nan)
    for column, values in enumerate(channel.values.T):
        finite = np.isfinite(values)
        if finite.any():
            found[:, column] = np.interp(time_s, channel.time_s[finite], values[finite])
    return found


def _slope(channel: Channel, time_s: np.ndarray) -> np.ndarray:
    """(k, size) change per second around some moments: over one reading to each side."""
    distinct = np.flatnonzero(np.diff(channel.time_s, prepend=-np.inf) > 0)
    times, values = channel.time_s[distinct], channel.values[distinct]
    if len(times) < 2:
        return np.zeros((len(time_s), values.shape[1]))
    change = np.gradient(values, times, axis=0)
    return value_at(
        Channel(values=change, time_s=times, unit=f"{channel.unit}/s", names=channel.names), time_s
    )


def _check_joints(world: World, model: mujoco.MjModel, states: States) -> None:
    driven = model.actuator_trnid[model.actuator_ctrlnum > 0, 0]
    if np.isfinite(states.qpos[:, model.jnt_qposadr[driven]]).any():
        return
    signals = [s.name for s in world.observations if s.function is None]
    raise TrueupError(
        "This episode does not say where the joints were, so that a replay cannot begin.",
        fix=f"Record joint positions; the world {world.name!r} knows {', '.join(signals)}.",
    )
