"""The path of a robot in MJX, and how it changes with the numbers of its model."""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Mapping
from copy import copy
from functools import partial
from typing import Any

import mujoco
import numpy as np

from trueup.effects import Values
from trueup.errors import TrueupError
from trueup.replay import Replayer
from trueup.replay.score import whole_steps
from trueup.worlds import Compiled

_DERIVED = ("body_invweight0", "body_subtreemass", "dof_invweight0")  # by mj_setConst
_STEP = 1e-5  # of the unit cube, for the fields alone: they are as good as linear in it
_OFF = mujoco.mjtDisableBit.mjDSBL_CONTACT.value | mujoco.mjtDisableBit.mjDSBL_SENSOR.value


class Fields:
    """The numbers of the model that parameters decide, and how they change along the unit cube."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled, self._model = compiled, copy(compiled.model)
        self._model.opt.disableflags |= _OFF
        self._model.opt.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL.value  # MJX trips over no contacts
        self._data = mujoco.MjData(self._model)
        derived = _DERIVED if compiled.needs_set_const else ()
        self._names = (*compiled.fields, *derived)

    def model_at(self, u: np.ndarray) -> mujoco.MjModel:
        """The model at one point (d,) of the cube; the same object each time."""
        points = self._compiled.space.decode(u[None])
        values = Values.at(points, self._compiled.nominal)
        for name, numbers in self._compiled.numbers(values).items():
            getattr(self._model, name).reshape(-1)[numbers.elements] = numbers.values[0]
        if self._compiled.needs_set_const:
            mujoco.mj_setConst(self._model, self._data)
        return self._model

    def along(self, u: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Fields at one point (d,), and their slopes: by name, the latter with a last axis d."""
        slopes: dict[str, list[np.ndarray]] = {name: [] for name in self._names}
        for i in range(len(u)):
            low, high = u.copy(), u.copy()
            low[i], high[i] = max(u[i] - _STEP, 0.0), min(u[i] + _STEP, 1.0)
            below, above = self._at(low), self._at(high)
            for name in self._names:
                slopes[name].append((above[name] - below[name]) / (high[i] - low[i]))
        return self._at(u), {name: np.stack(some, axis=-1) for name, some in slopes.items()}

    def _at(self, u: np.ndarray) -> dict[str, np.ndarray]:
        model = self.model_at(u)
        return {name: np.array(getattr(model, name), float) for name in self._names}


class Rollout:
    """All runs of some episodes in MJX, differentiated by the fields of the model."""

    def __init__(self, replayer: Replayer, model: mujoco.MjModel) -> None:
        self._jax, self._mjx = _imported()
        with self._jax.enable_x64(True):
            try:
                self._model = self._mjx.put_model(model)
            except NotImplementedError as error:
                raise TrueupError(
                    f"MJX cannot simulate the world {replayer.world.name!r}: {error}.",
                    fix="Use finite differences: trueup.identify.problem.Problem.",
                ) from error
            self._empty = self._mjx.make_data(model)
        self._start, self._controls = _played(replayer, model)
        self._run, self._step, self._share = _moments(replayer, model)
        self._compiled = self._jax.jit(self._differentiated)

    def __call__(
        self, fields: Mapping[str, np.ndarray], slopes: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (Q, nq + nv) at the readings, and their slopes (Q, nq + nv, d).

        Args:
            fields: Of the model, by name.
            slopes: Of each along the unit cube, with a last axis d.
        """
        with self._jax.enable_x64(True):
            found = self._compiled(dict(fields), dict(slopes), self._start, self._controls)
        path, change = (np.asarray(part) for part in found)
        return self._picked(path), self._picked(change)

    def _differentiated(self, fields, slopes, start, controls):
        """(R, K + 1, nq + nv) and (R, K + 1, nq + nv, d)."""

        def path(z):
            moved = {name: fields[name] + slopes[name] @ z for name in fields}
            found = self._jax.vmap(partial(self._run_of, moved))(start, controls)
            return found, found

        width = next(iter(slopes.values())).shape[-1]
        change, found = self._jax.jacfwd(path, has_aux=True)(np.zeros(width))
        return found, change

    def _run_of(self, fields, start, controls):
        """One run (K + 1, nq + nv) from its start, told something (K, nu) before each step."""
        model, numpy = self._model.replace(**fields), self._jax.numpy
        nq, nv = model.nq, model.nv

        def step(state, told):
            q, v, warm = state
            data = self._empty.replace(qpos=q, qvel=v, qacc_warmstart=warm, ctrl=told)
            after = self._mjx.step(model, data)
            state = (after.qpos, after.qvel, after.qacc_warmstart)
            return state, numpy.concatenate(state[:2])

        first = (start[:nq], start[nq:], numpy.zeros(nv))
        _, path = self._jax.lax.scan(step, first, controls)
        return numpy.concatenate([start[None], path])

    def _picked(self, path: np.ndarray) -> np.ndarray:
        """(Q, ...) of what is known before each step, between steps where a reading was."""
        now = path[self._run, self._step]
        after = path[self._run, np.minimum(self._step + 1, path.shape[1] - 1)]
        share = self._share.reshape(-1, *[1] * (now.ndim - 1))
        return now + share * (after - now)


def _played(replayer: Replayer, model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """Where each run starts (R, nq + nv), and what it is told at each physics step (R, K, nu)."""
    score, step_s = replayer.score, model.opt.timestep
    stage, _ = replayer.poses(replayer.compiled.space.nominal())
    states = stage.states
    start = np.nan_to_num(np.concatenate([states.qpos, states.qvel], axis=1))
    steps = int(np.ceil(((score.end_s - score.start_s) / step_s).max())) + 1
    servos = model.jnt_qposadr[model.actuator_trnid[:, 0]]
    told = np.repeat(start[:, None, servos], steps, axis=1)
    for run, (e, begin) in enumerate(zip(score.episode, score.start_s, strict=True)):
        part = score.parts[e]
        sent = np.rint((part.command_s - begin) / step_s)
        latest = np.searchsorted(sent, np.arange(steps), side="right") - 1
        told[run, latest >= 0] = part.commands[latest[latest >= 0]]
    return start, told


def _moments(
    replayer: Replayer, model: mujoco.MjModel
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(Q,) of each reading: its run, the physics steps passed, and the share of the next one."""
    score = replayer.score
    elapsed = score.time_s - score.start_s[score.run]
    step, share = whole_steps(elapsed, np.full(len(elapsed), model.opt.timestep))
    return score.run, step, share


def _imported() -> tuple[Any, Any]:
    """JAX and MJX, which also says on the console what it does not find; nobody asked."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return importlib.import_module("jax"), importlib.import_module("mujoco.mjx")
    except ImportError as error:
        raise TrueupError(
            f"Derivatives through MJX need JAX and MJX: {error}.",
            fix="Run: pip install 'trueup[mjx]'",
        ) from error
