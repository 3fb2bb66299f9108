"""The learnt residual as an effect: a world has it like any other, and a share of it at a point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import mujoco
import numpy as np

from trueup.effects import Effect, Law, Values, anatomy
from trueup.errors import TrueupError, UnknownName
from trueup.identify.residual.history import LAGS_S, PLAYS_RAD, History
from trueup.identify.residual.network import Network
from trueup.space import Parameter, Uniform

SHARE = "actuation/residual/share"
_LEAST, _MOST = 0.5, 1.5  # of what was learnt: a network that is held at zero learns too little
HOLD_S = 0.02
"""How often the network is asked; its torque is held in between."""


@dataclass(frozen=True, kw_only=True)
class ResidualEffect(Effect):
    """The torque that a network learnt to add at each servo, from recordings.

    A share of 0 is the plain world and 1 is all that was learnt. By default worlds get from half of
    it to half as much again, since nobody knows it better outside the motions it was learnt from.
    """

    network: Network
    name: ClassVar[str] = SHARE

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return (
            Parameter(
                name=self.name,
                unit="1",
                nominal=0.0,
                low=0.0,
                high=_MOST,
                prior=Uniform(_LEAST, _MOST),
                source="share of the learnt residual; 1 is what was judged on unseen motions",
            ),
        )

    def law(self, model: mujoco.MjModel) -> Law:
        return _Residual(self, model)


class _Residual(Law):
    """A torque on top of what a position servo pulls with; the servo's limit holds for both."""

    field = "actuator_biasprm"
    reads = ("qpos", "ctrl")

    def __init__(self, effect: ResidualEffect, model: mujoco.MjModel) -> None:
        self.effect = effect
        servos = _servos(effect.network, model)
        self.elements = tuple(
            anatomy.element(model, "actuator", name, self.field, 0) for name in servos
        )
        numbers = [anatomy.identity(model, "actuator", name) for name in servos]
        self._inputs = model.actuator_ctrladr[numbers]
        self._places = model.jnt_qposadr[model.actuator_trnid[numbers, 0]]

    def start(self, p: Values) -> dict[str, np.ndarray]:
        n, joints = p.n, len(self.elements)
        return {
            "share": np.array(p[self.effect.name])[:, None],
            "age": np.full((n, 1), np.nan),  # nothing is remembered yet
            "torque": np.zeros((n, joints)),
            "lags": np.zeros((n, joints, len(LAGS_S))),
            "plays": np.zeros((n, joints, len(PLAYS_RAD))),
        }

    def apply(
        self,
        state: Mapping[str, np.ndarray],
        memory: dict[str, np.ndarray],
        step_s: np.ndarray,
    ) -> np.ndarray:
        memory["age"] += step_s
        new = np.isnan(memory["age"][:, 0])
        due = np.flatnonzero(new | (memory["age"][:, 0] > HOLD_S - 0.5 * step_s[:, 0]))
        if len(due):
            place = state["qpos"][np.ix_(due, self._places)]
            self._ask(due, place, state["ctrl"][np.ix_(due, self._inputs)], memory)
        return memory["share"] * memory["torque"]

    def _ask(
        self,
        rows: np.ndarray,
        place: np.ndarray,
        told: np.ndarray,
        memory: dict[str, np.ndarray],
    ) -> None:
        """Bring history and torque of some worlds up to date."""
        age = memory["age"][rows][..., None]
        rest, new = History.at_rest(place), np.isnan(age)
        history = History(
            lags=np.where(new, rest.lags, memory["lags"][rows]),
            plays=np.where(new, rest.plays, memory["plays"][rows]),
        )
        inputs, history = history.then(place, told, np.where(new, HOLD_S, age))
        memory["torque"][rows] = self.effect.network(inputs)
        memory["lags"][rows], memory["plays"][rows] = history.lags, history.plays
        memory["age"][rows] = 0.0


def _servos(network: Network, model: mujoco.MjModel) -> tuple[str, ...]:
    """The servos of the network's joints: position servos, all of them in the model."""
    known = anatomy.names(model, "actuator")
    for name in network.joints:
        if name not in known:
            raise UnknownName("servo of this world, as the residual corrects,", name, known)
        servo = model.actuator(name)
        if servo.biastype[0] != mujoco.mjtBias.mjBIAS_AFFINE:
            raise TrueupError(
                f"The servo {name!r} of this world is not a position servo, so that no torque can "
                "be added to what it pulls with.",
                fix="Learn a residual for worlds whose servos are <position> actuators.",
            )
    return network.joints
