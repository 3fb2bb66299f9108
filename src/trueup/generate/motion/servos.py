"""What servos can be told: within limits, no faster than they turn or further than they pull."""

from __future__ import annotations

import mujoco
import numpy as np


class Servos:
    """Commands that servos can follow.

    Attributes:
        reach: (nu,) furthest that a target adds force ahead of its joint: torque limit over
            stiffness; infinite where the model knows neither.
        step: (nu,) furthest that a target moves in one period.

    Args:
        model: The nominal robot.
        period_s: Time between commands.
    """

    def __init__(self, model: mujoco.MjModel, period_s: float) -> None:
        kp = np.abs(model.actuator_gainprm[:, 0])
        force = np.abs(model.actuator_forcerange).min(axis=1)
        known = (kp > 0) & (force > 0)
        self.reach = np.where(known, force / np.where(kp > 0, kp, 1.0), np.inf)
        damping = model.dof_damping[model.jnt_dofadr[model.actuator_trnid[:, 0]]]
        rate = force / np.where(damping > 0, damping, 1.0)
        self.step = np.where(known & (damping > 0), rate * period_s, np.inf)
        limited = model.actuator_ctrllimited.astype(bool)
        low, high = model.actuator_ctrlrange.T
        self._low, self._high = np.where(limited, low, -np.inf), np.where(limited, high, np.inf)

    def pulled(self, wanted: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """(n, nu) targets no further from their joints than adds force."""
        return np.clip(wanted, joints - self.reach, joints + self.reach)

    def told(self, last: np.ndarray, wanted: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """(n, nu) the next commands, as a stored single-precision number has them."""
        wanted = np.clip(self.pulled(wanted, joints), last - self.step, last + self.step)
        return np.clip(wanted, self._low, self._high).astype(np.float32).astype(float)
