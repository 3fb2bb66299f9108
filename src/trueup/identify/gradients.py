"""Slopes by differentiation: forward mode through MJX instead of finite differences.

For smooth parameters (gains, damping, armature, masses, friction) and free motion only: MJX here
knows neither contact nor delays. MuJoCo itself still gives the residual, and each time it also
judges: where MJX does not follow the same path, its derivatives are of another motion, and finite
differences take their place.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.identify.derivatives import Fields, Rollout
from trueup.identify.problem import Problem, Residual
from trueup.replay import Replayer
from trueup.replay.matching import signal_columns
from trueup.space import Space
from trueup.worlds import Compiled, Signal, World

SMOOTH = frozenset(
    {
        "actuator_gainprm",
        "actuator_biasprm",
        "actuator_forcerange",
        "body_inertia",
        "body_ipos",
        "body_mass",
        "dof_armature",
        "dof_damping",
        "dof_frictionloss",
        "jnt_range",
        "qpos0",
    }
)
"""Model fields through which MJX can be differentiated."""

_APART = 1e-3  # rad or rad/s: MJX and MuJoCo further apart than this took different ways
_POSITION = mujoco.mjtSensor.mjSENS_JOINTPOS.value
_VELOCITY = mujoco.mjtSensor.mjSENS_JOINTVEL.value


class MjxProblem(Problem):
    """Episodes against a world, with slopes by forward mode through MJX; `descend` takes it.

    The first slopes take as long as XLA needs to compile, which is many seconds.

    Attributes:
        notes: Sentences: where finite differences had to take the place of derivatives.

    Args:
        world: Where the episodes are replayed.
        episodes: What was measured: free motion, nothing touched.
        space: The free parameters, smooth ones only.
        signals: What to compare: positions and velocities of joints.
        window_s: Begin anew at the measured state after each so many seconds; open loop by default.
        threads: CPU threads of MuJoCo; XLA takes its own.
    """

    def __init__(
        self,
        world: World,
        episodes: Sequence[Episode],
        space: Space,
        *,
        signals: Sequence[str] = ("joint_position",),
        window_s: float | None = None,
        threads: int = 0,
    ) -> None:
        super().__init__(
            world, episodes, space, signals=signals, window_s=window_s, threads=threads
        )
        self.notes: list[str] = []
        replayer = self.replayer
        _check_parameters(world, space, replayer.compiled)
        self._layout = _layout(replayer, self.signals)
        self._fields = Fields(replayer.compiled)
        self._rollout = Rollout(replayer, self._fields.model_at(np.full(len(space), 0.5)))

    def jacobian(self, u: np.ndarray, *, exact: bool = False) -> tuple[Residual, np.ndarray]:
        """The residual at one point (d,) by MuJoCo, and its slope (N, d) by MJX."""
        here = self.residual(u[None])
        path, change = self._rollout(*self._fields.along(np.clip(u, 0.0, 1.0)))
        row, column, measured = self._layout
        slopes, scale = change[row, column], self.scale[here.column]
        apart = np.abs(path[row, column] - measured - here.values[0] * scale)
        if np.isfinite(slopes).all() and (apart < _APART).all():
            return here, slopes / scale[:, None]
        self.notes.append(self._parted(apart, here))
        return super().jacobian(u, exact=exact)

    def _parted(self, apart: np.ndarray, here: Residual) -> str:
        if (apart < _APART).all():
            return "A derivative through MJX was no number: finite differences were used."
        worst = int(np.nan_to_num(apart, nan=np.inf).argmax())
        return (
            f"In episode {here.episode[worst]}, MJX without contact and MuJoCo come "
            f"{apart[worst]:.2g} apart in {self.columns[here.column[worst]]}: finite differences "
            "were used. Leave out motions in which the robot touches something, or give a window_s."
        )


def _layout(
    replayer: Replayer, signals: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N,) of each number of a residual: its reading, its joint's place in a state, what was read.

    In the order of a residual: episodes, their signals, their joints, time.
    """
    world, model, score = replayer.world, replayer.compiled.model, replayer.score
    row, column, measured = [], [], []
    for e, episode in enumerate(replayer.episodes):
        for signal in _joint_signals(world, model, signals):
            channel = episode[signal.name]
            rows = score.first[e] + np.searchsorted(score.parts[e].time_s, channel.time_s)
            columns = signal_columns(world, signal, channel)
            for sensor, read in zip(signal.sensors, columns, strict=True):
                if read < 0:
                    continue
                values = np.asarray(channel.values[:, read], float)
                known = np.isfinite(values)
                row.append(rows[known])
                column.append(np.full(int(known.sum()), _place(model, sensor)))
                measured.append(values[known])
    return np.concatenate(row), np.concatenate(column), np.concatenate(measured)


def _joint_signals(world: World, model: mujoco.MjModel, signals: Sequence[str]) -> list[Signal]:
    found = [s for s in (*world.observations, *world.privileged) if s.name in signals]
    for signal in found:
        kinds = {int(model.sensor(name).type[0]) for name in signal.sensors}
        if signal.function is not None or not kinds <= {_POSITION, _VELOCITY}:
            raise TrueupError(
                f"The signal {signal.name!r} is not read from joints alone, and MJX is "
                "differentiated for nothing else.",
                fix="Compare positions or velocities of joints, or use finite differences.",
            )
    return found


def _place(model: mujoco.MjModel, sensor: str) -> int:
    """Where the joint that a sensor reads stands in positions and velocities laid end to end."""
    joint = int(model.sensor(sensor).objid[0])
    if model.sensor(sensor).type[0] == _POSITION:
        return int(model.jnt_qposadr[joint])
    return model.nq + int(model.jnt_dofadr[joint])


def _check_parameters(world: World, space: Space, compiled: Compiled) -> None:
    rough = [p.name for p in space if not _is_smooth(Compiled(world, Space((p,))))]
    if rough:
        raise TrueupError(
            f"{', '.join(rough)}: not smooth numbers of the model, so that MJX cannot be "
            "differentiated by them.",
            fix="Leave them out, or use finite differences, which take every parameter.",
        )
    model = compiled.model
    if model.nq != model.nv or model.na or model.nmocap:
        raise TrueupError(
            f"The world {world.name!r} has more in it than a robot's joints, and MJX is "
            "differentiated for free motion only.",
            fix="Use a world of the robot alone, such as so101/arm, or finite differences.",
        )


def _is_smooth(compiled: Compiled) -> bool:
    """Whether numbers of the model as it stands are all that differs, and they are smooth ones."""
    more = (
        compiled.model is not compiled.world.model,
        compiled.laws,
        compiled.step_elements,
        compiled.action_filters,
        compiled.observation_filters,
    )
    return not any(more) and set(compiled.fields) <= SMOOTH
