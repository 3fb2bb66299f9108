"""The network: one hidden layer that is drawn, and a readout that is learnt.

Half of the hidden layer are waves of one joint's own position, fine enough for the teeth of a gear;
the other half are smooth waves over everything it is told. With the first layer drawn, the best
readout is the solution of a linear problem: no learning rate, no local optimum, the same each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from trueup.errors import TrueupError

_SMOOTH = 40
_WIDTH = 2.5  # of a smooth wave, in standard deviations of the inputs
_WAVES = np.linspace(3.0, 60.0, 20)  # rad⁻¹: from half a turn down to a tenth of a radian
_MARGIN = 1.1  # how far beyond what was learnt a correction may reach
_STILL = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """Inputs of each joint to the torque that is missing there.

    Outside what it was learnt from its inputs are held at the nearest edge, and its torque is
    limited, so that it never says more than the recordings did.

    Attributes:
        joints: The commands of the joints it corrects, in order.
        centre: (joints, inputs) middle of each input.
        spread: (joints, inputs) standard deviation of each.
        low: (joints, inputs) smallest one seen, in spreads from the centre.
        high: (joints, inputs) largest one seen.
        mixing: (inputs, s) first layer of the smooth waves.
        phase: (s,) their phases.
        waves: (w,) wavenumbers of the fine waves of the joint's own position, rad⁻¹.
        readout: (joints, features) second layer.
        limit: (joints,) the largest torque, N·m.
    """

    joints: tuple[str, ...]
    centre: np.ndarray = field(repr=False)
    spread: np.ndarray = field(repr=False)
    low: np.ndarray = field(repr=False)
    high: np.ndarray = field(repr=False)
    mixing: np.ndarray = field(repr=False)
    phase: np.ndarray = field(repr=False)
    waves: np.ndarray = field(repr=False)
    readout: np.ndarray = field(repr=False)
    limit: np.ndarray = field(repr=False)

    def features(self, inputs: np.ndarray, joint: int | slice = slice(None)) -> np.ndarray:
        """The hidden layer (n, joints, features) for inputs (n, joints, inputs); of one joint too.

        Then both are without the axis of joints.
        """
        centre, spread = self.centre[joint], self.spread[joint]
        z = np.clip((inputs - centre) / spread, self.low[joint], self.high[joint])
        place = z[..., :1] * spread[..., :1] + centre[..., :1]
        fine = place * self.waves
        smooth = np.cos(z @ self.mixing + self.phase)
        return np.concatenate([np.ones_like(place), z, smooth, np.sin(fine), np.cos(fine)], axis=-1)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """(n, joints) torques for inputs (n, joints, inputs), N·m."""
        torque = np.einsum("njk,jk->nj", self.features(inputs), self.readout)
        return np.clip(torque, -self.limit, self.limit)

    def moved(self, change: np.ndarray, motions: Sequence[np.ndarray]) -> Network:
        """With another readout, limited by what it says to motions (k, joints, inputs) each."""
        free = replace(self, readout=self.readout + change, limit=np.full(len(self.joints), np.inf))
        said = [np.abs(free(inputs)).max(axis=0) for inputs in motions]
        return replace(free, limit=_MARGIN * np.max(said, axis=0))

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Everything but the names."""
        return {f.name: getattr(self, f.name) for f in _ARRAYS}

    @staticmethod
    def of(joints: tuple[str, ...], arrays: dict[str, np.ndarray], where: str) -> Network:
        """From stored arrays, refused where their shapes do not belong together."""
        missing = [f.name for f in _ARRAYS if f.name not in arrays]
        if missing:
            raise TrueupError(f"{where} has no {missing[0]}.", fix="Learn the residual again.")
        network = Network(joints=joints, **{f.name: arrays[f.name] for f in _ARRAYS})
        rows, inputs = network.centre.shape if network.centre.ndim == 2 else (0, 0)
        hidden = 1 + inputs + len(network.phase) + 2 * len(network.waves)
        wanted = {
            **dict.fromkeys(("centre", "spread", "low", "high"), (len(joints), inputs)),
            "mixing": (inputs, len(network.phase)),
            "readout": (len(joints), hidden),
            "limit": (len(joints),),
        }
        wrong = [name for name, shape in wanted.items() if arrays[name].shape != shape]
        if rows != len(joints) or wrong or not all(np.isfinite(a).all() for a in arrays.values()):
            raise TrueupError(
                f"{where} does not hold a network for {len(joints)} joints"
                f"{f': its {wrong[0]} has the shape {arrays[wrong[0]].shape}' if wrong else ''}.",
                fix="Learn the residual again.",
            )
        return network


_ARRAYS = tuple(f for f in fields(Network) if f.name != "joints")


def drawn(joints: tuple[str, ...], inputs: np.ndarray, generator: np.random.Generator) -> Network:
    """A network that adds nothing yet, for inputs (k, joints, inputs) like these."""
    centre, spread = inputs.mean(axis=0), inputs.std(axis=0)
    spread = np.where(spread > _STILL, spread, 1.0)  # an input that never changed says nothing
    z = (inputs - centre) / spread
    size = inputs.shape[2]
    return Network(
        joints=joints,
        centre=centre,
        spread=spread,
        low=z.min(axis=0),
        high=z.max(axis=0),
        mixing=generator.standard_normal((size, _SMOOTH)) / (_WIDTH * np.sqrt(size / 4.0)),
        phase=generator.uniform(0.0, 2.0 * np.pi, _SMOOTH),
        waves=_WAVES,
        readout=np.zeros((len(joints), 1 + size + _SMOOTH + 2 * len(_WAVES))),
        limit=np.zeros(len(joints)),
    )
