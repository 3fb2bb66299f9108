"""Geared servos for an engine that has none: what MuJoCo's joints have and PyBullet's lack.

PyBullet knows torques on joints. It has neither the inertia that a gearbox reflects (armature), nor
damping that stays stable where a link is light, nor dry friction that holds. So the acceleration is
solved here, from PyBullet's own mass matrix and bias, and PyBullet is then given the torque that
leads to it. What contacts do to the joints is not known before a step; it is carried over from the
steps before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_SWEEPS = 12


@dataclass(frozen=True, kw_only=True)
class Drive:
    """The numbers of the joints of n cells, (n, k) each.

    Attributes:
        armature: Reflected inertia.
        damping: Viscous friction, that of the servo's own loop included.
        friction: Dry friction: the torque below which a joint holds.
    """

    armature: np.ndarray
    damping: np.ndarray
    friction: np.ndarray

    def accelerations(
        self,
        mass: np.ndarray,
        bias: np.ndarray,
        speeds: np.ndarray,
        pull: np.ndarray,
        step_s: np.ndarray,
    ) -> np.ndarray:
        """(n, k) of the joints over the next step, damping and dry friction at its end.

        Args:
            mass: (n, k, k)
            bias: (n, k) gravity and the motion itself, as torques that must be overcome.
            speeds: (n, k)
            pull: (n, k) torques of the servos, and of contacts.
            step_s: (n,)
        """
        h, k = step_s[:, None], speeds.shape[1]
        diagonal = np.arange(k)
        inertia = mass.copy()
        inertia[:, diagonal, diagonal] += self.armature + h * self.damping
        inverse = np.linalg.inv(inertia)
        drive = pull - self.damping * speeds - bias
        held = self._friction(inverse, drive, speeds, h)
        return (inverse @ (drive + held)[..., None])[..., 0]

    def coupled(self, rotors: np.ndarray, axes: np.ndarray, hangs: np.ndarray) -> np.ndarray:
        """(n, k, k) what rotors in the links add to the mass matrix.

        A light link with a large armature behind it, such as a jaw, would give way to every
        contact, as PyBullet does not know of the armature. So part of it is put into the links
        themselves. There it also turns with the joints below, which the torques make up for.

        Args:
            rotors: (n, k) inertia that was added to each link about the axis of its joint.
            axes: (n, k, 3) where the axes point.
            hangs: (k, k) whether the link of joint i hangs on joint j.
        """
        along = np.where(hangs, axes @ np.swapaxes(axes, 1, 2), 0.0)
        return np.einsum("nl,nli,nlj->nij", rotors, along, along)

    def _friction(
        self, inverse: np.ndarray, drive: np.ndarray, speeds: np.ndarray, h: np.ndarray
    ) -> np.ndarray:
        """(n, k) torques of dry friction: what stops each joint, but no more than it can.

        Gauss and Seidel, one joint after the other, all cells at once.
        """
        held = np.zeros_like(drive)
        after = speeds + h * (inverse @ drive[..., None])[..., 0]
        for _ in range(_SWEEPS):
            for j in range(drive.shape[1]):
                stop = held[:, j] - after[:, j] / (h[:, 0] * inverse[:, j, j])
                new = np.minimum(np.maximum(stop, -self.friction[:, j]), self.friction[:, j])
                after += h * inverse[:, :, j] * (new - held[:, j])[:, None]
                held[:, j] = new
        return held
