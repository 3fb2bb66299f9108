"""Where MuJoCo's history buffers keep their values, so that an episode starts as if at rest.

MuJoCo starts buffers at zero: a delayed servo would first be driven to zero, a delayed sensor
would first read zero. The layout of the buffers is MuJoCo's own business, so it is asked instead of
assumed: fill one buffer with ones through the API and see which numbers changed.
"""

from __future__ import annotations

from functools import partial

import mujoco
import numpy as np


class History:
    """The value slots of all delayed servos and sensors of a model.

    Attributes:
        commands: (slots, column of ctrl) index pairs as two arrays.
        readings: (slots, column of sensordata) likewise.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model
        data = mujoco.MjData(model)
        self.commands = _slots(data, _actuator_fills(model, data))
        self.readings = _slots(data, _sensor_fills(model, data))

    def fill_commands(self, history: np.ndarray, rows: np.ndarray, ctrl: np.ndarray) -> None:
        """Write commands (k, nu) into some rows of the worlds' buffers, for all of the past."""
        slots, columns = self.commands
        history[rows[:, None], slots] = ctrl[:, columns]

    def fill_readings(self, history: np.ndarray, rows: np.ndarray, data: np.ndarray) -> None:
        """Write readings (k, nsensordata) likewise."""
        slots, columns = self.readings
        history[rows[:, None], slots] = data[:, columns]


def _actuator_fills(model: mujoco.MjModel, data: mujoco.MjData):
    for i in np.flatnonzero(model.actuator_history[:, 0]):
        samples = int(model.actuator_history[i, 0])
        column = int(model.actuator_ctrladr[i])
        yield (
            column,
            partial(mujoco.mj_initCtrlHistory, model, data, int(i), None, np.ones(samples)),
        )


def _sensor_fills(model: mujoco.MjModel, data: mujoco.MjData):
    for i in np.flatnonzero(model.sensor_history[:, 0]):
        samples, width = int(model.sensor_history[i, 0]), int(model.sensor_dim[i])
        for offset in range(width):
            values = np.zeros((samples, width))
            values[:, offset] = 1.0
            values = values if width > 1 else values.ravel()
            yield (
                int(model.sensor_adr[i]) + offset,
                partial(mujoco.mj_initSensorHistory, model, data, int(i), None, values, 0.0),
            )


def _slots(data: mujoco.MjData, fills) -> tuple[np.ndarray, np.ndarray]:
    slots: list[int] = []
    columns: list[int] = []
    for column, fill in fills:
        data.history[:] = np.where(data.history == 1.0, 0.0, data.history)
        before = data.history.copy()
        fill()
        changed = np.flatnonzero((data.history != before) & (data.history == 1.0))
        slots += changed.tolist()
        columns += [column] * len(changed)
    return np.array(slots, int), np.array(columns, int)
