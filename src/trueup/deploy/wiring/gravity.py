"""What gravity asks of each servo, by the nominal model: the weight that droop is judged by."""

from __future__ import annotations

import mujoco
import numpy as np

from trueup.worlds import World


class Gravity:
    """Droop of nominal servos under the nominal weight of the links.

    Args:
        world: Whose nominal model.
    """

    def __init__(self, world: World) -> None:
        model = world.model
        self._model, self._data = model, mujoco.MjData(model)
        joints = model.actuator_trnid[:, 0]
        self._qpos, self._dofs = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        self._stiffness = model.actuator_gainprm[:, 0]

    def droop(self, poses: np.ndarray) -> np.ndarray:
        """(k, nu) how far each joint of (k, nu) hangs behind its target, rad."""
        found = np.zeros(poses.shape)
        for k, pose in enumerate(poses):
            self._data.qpos[self._qpos] = pose
            mujoco.mj_fwdPosition(self._model, self._data)
            mujoco.mj_fwdVelocity(self._model, self._data)  # leaves the weight in qfrc_bias
            found[k] = self._data.qfrc_bias[self._dofs]
        return found / self._stiffness
