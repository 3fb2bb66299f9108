"""Under which terms a policy is trained in a world: its contract."""

from __future__ import annotations

import mujoco
import numpy as np

from trueup.policies import Contract
from trueup.space import Space
from trueup.worlds import World, interface_of

_LEAD_SHARE = 0.05  # of a command's range, where nothing else says how far a servo can pull
_LEAD_RAD = 0.2
_RANGE_S = 0.5  # s to cross a command's range, where nothing else says how fast a servo is


def contract_for(world: World, space: Space, *, history: int) -> Contract:
    """The contract of a policy that is about to be trained."""
    lead = servo_lead(world.model)
    return Contract(
        world=world.name,
        task=world.summary,
        interface=interface_of(world),
        history=history,
        lead=tuple(lead.tolist()),
        rate=tuple(servo_rate(world.model, lead).tolist()),
        space=space,
    )


def servo_lead(model: mujoco.MjModel) -> np.ndarray:
    """(nu,) how far ahead of its joint a target adds force: torque limit over stiffness."""
    kp = np.abs(model.actuator_gainprm[:, 0])
    force = np.where(model.actuator_forcelimited, np.abs(model.actuator_forcerange).min(axis=1), 0)
    ranges = np.where(model.actuator_ctrllimited, np.ptp(model.actuator_ctrlrange, axis=1), 0)
    fallback = np.where(ranges > 0, _LEAD_SHARE * ranges, _LEAD_RAD)
    known = (kp > 0) & (force > 0)
    return np.where(known, force / np.where(kp > 0, kp, 1.0), fallback)


def servo_rate(model: mujoco.MjModel, lead: np.ndarray) -> np.ndarray:
    """(nu,) how fast a servo can turn at its torque limit against its own damping."""
    joints = model.actuator_trnid[:, 0]
    damping = model.dof_damping[model.jnt_dofadr[joints]] + np.abs(model.actuator_biasprm[:, 2])
    force = np.abs(model.actuator_gainprm[:, 0]) * lead
    slow = np.where(damping > 0, damping, 1.0)
    return np.where(damping > 0, force / slow, 2.0 * lead / _RANGE_S)
