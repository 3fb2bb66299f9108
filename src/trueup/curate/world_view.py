"""Recorded states put back into a world: what touches what, how hard, and is the task done?

Nothing is simulated. Each recorded moment is written into the nominal model as it was, and MuJoCo
says which bodies overlap and what its contacts would press with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND
from trueup.errors import TrueupError
from trueup.replay.matching import command_columns
from trueup.replay.states import states_at, value_at
from trueup.worlds import World, get
from trueup.worlds.scene import Readings, sensor_slots

_AWAY_M = 10.0  # where an object stands that the record says nothing about


@dataclass(frozen=True, kw_only=True)
class Touch:
    """What a world says of one episode.

    Attributes:
        depth_m: How deep bodies overlap at most.
        between: Which two.
        force_n: The largest force of a contact.
        pressing: Between which two.
        done: Whether the task was done for as long as the world asks; none where an object that
            it needs was not recorded.
    """

    depth_m: float
    between: str
    force_n: float
    pressing: str
    done: bool | None


class WorldView:
    """Puts episodes into a world.

    Args:
        world: The world that they were recorded in, or the robot's.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._model = world.model
        self._data = mujoco.MjData(self._model)
        self._slots = sensor_slots(self._model)

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Lower and upper end of each limited joint, rad."""
        model = self._model
        return {
            model.joint(i).name: (float(model.jnt_range[i, 0]), float(model.jnt_range[i, 1]))
            for i in range(model.njnt)
            if model.jnt_limited[i]
        }

    def of(self, episode: Episode) -> Touch:
        """Look at every frame of an episode."""
        model, data = self._model, self._data
        time_s = episode[COMMAND].time_s
        told = value_at(episode[COMMAND], time_s)[:, command_columns(self.world, episode)]
        told = np.nan_to_num(told)
        states = states_at(self.world, model, episode, time_s)
        known = bool(np.isfinite(states.qpos).all())
        qpos, qvel = _placed(model, states.qpos), np.nan_to_num(states.qvel)
        mocap = np.nan_to_num(states.mocap)
        deepest, hardest = (0.0, ""), (0.0, "")
        readings = np.zeros((len(time_s), model.nsensordata))
        for k in range(len(time_s)):
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = qpos[k], qvel[k]
            data.ctrl[:], data.mocap_pos[:] = told[k], mocap[k]
            mujoco.mj_forward(model, data)
            readings[k] = data.sensordata
            if data.ncon:
                deepest = max(deepest, self._deepest())
                hardest = max(hardest, self._hardest())
        return Touch(
            depth_m=deepest[0],
            between=deepest[1],
            force_n=hardest[0],
            pressing=hardest[1],
            done=self._done(readings, time_s) if known else None,
        )

    def _deepest(self) -> tuple[float, str]:
        at = int(np.argmin(self._data.contact.dist))
        return float(-self._data.contact.dist[at]), self._pair(at)

    def _hardest(self) -> tuple[float, str]:
        rows = self._data.contact.efc_address
        if not (rows >= 0).any():
            return 0.0, ""
        force = np.where(rows >= 0, self._data.efc_force[np.maximum(rows, 0)], 0.0)
        at = int(np.argmax(force))
        return float(force[at]), self._pair(at)

    def _pair(self, contact: int) -> str:
        names = [self._body(int(geom)) for geom in self._data.contact.geom[contact]]
        return " and ".join(names)

    def _body(self, geom: int) -> str:
        model = self._model
        return model.geom(geom).name or model.body(int(model.geom_bodyid[geom])).name or "a body"

    def _done(self, readings: np.ndarray, time_s: np.ndarray) -> bool:
        """Whether success ever lasted long enough.

        A robot is read, then told: what its last command brought about is not in the record.
        """
        seen = Readings(self._slots, readings, time_s - time_s[0])
        done = np.asarray(self.world.success(seen), bool)
        runs = np.split(done, np.flatnonzero(np.diff(done.astype(int))) + 1)
        longest = max((len(run) for run in runs if run[0]), default=0)
        period_s = float(np.median(np.diff(time_s))) if len(time_s) > 1 else 0.0
        return longest > 0 and (longest + 1) * period_s >= self.world.hold_s - 1e-6


def found_view(
    name: str | None, origins: Iterable[dict], sample: Episode
) -> tuple[WorldView | None, str]:
    """The world of a dataset, tried on one episode; or the sentence why there is none.

    Args:
        name: The one that was asked for; else the one that most origins name.
        origins: Of the episodes.
        sample: To try it on.
    """
    if name is None:
        named = Counter(str(origin["world"]) for origin in origins if origin.get("world"))
        if not named:
            return None, "the episodes do not say in which world they were recorded"
        name = named.most_common(1)[0][0]
        try:
            view = WorldView(get(name))
            view.of(sample)
        except TrueupError as error:
            return None, f"the world {name} cannot hold these episodes ({error.what})"
        return view, ""
    view = WorldView(get(name))
    view.of(sample)  # what was asked for and does not fit is an error
    return view, ""


def _placed(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    """States without gaps: an object that was not recorded is put out of the way."""
    default, known = model.qpos0.copy(), np.isfinite(qpos)
    for joint in range(model.njnt):
        first = int(model.jnt_qposadr[joint])
        free = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
        if free and not np.isfinite(qpos[:, first : first + 3]).all():
            default[first + 2] = _AWAY_M * (joint + 1)
            known[:, first : first + 7] = False
    return np.where(known, qpos, default)
