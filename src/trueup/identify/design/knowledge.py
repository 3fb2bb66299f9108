"""What is known before a design, in the unit cube: an estimate as numbers to reckon with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.errors import TrueupError
from trueup.identify.estimate import Estimate
from trueup.identify.target import prior_spread
from trueup.space import JointNormal, Space
from trueup.worlds import World

_LEAST_NOISE = 1e-6


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """A posterior in the unit cube, and what its data were read with.

    Attributes:
        space: The parameters that were fitted, with what was believed before.
        precision: (d, d) of the posterior.
        spread: (d,) standard deviation of each parameter's prior.
        draws: (k, d) points that are still possible; the best one first.
        noise: By column, in the signals' units.
        window_s: How recordings are fitted.
    """

    space: Space
    precision: np.ndarray
    spread: np.ndarray
    draws: np.ndarray
    noise: dict[str, float]
    window_s: float | None

    @classmethod
    def of(
        cls, world: World, estimate: Estimate, generator: np.random.Generator, draws: int
    ) -> Knowledge:
        """From an estimate of a robot that this world describes."""
        names = estimate.belief.names
        unknown = [name for name in names if name not in world.catalogue]
        if unknown:
            raise TrueupError(
                f"The estimate was made in {estimate.world!r} and speaks of {unknown[0]!r}, which "
                f"the world {world.name!r} does not have.",
                fix=f"Design in the world of the estimate: --world {estimate.world}.",
            )
        if not any("/" in column for column in estimate.noise):  # of joints
            raise TrueupError(
                "The estimate does not say how noisy its readings were, so that nothing can be "
                "weighed.",
                fix="Identify again: `trueup identify` writes the noise of each column.",
            )
        space = Space(tuple(world.catalogue[name] for name in names))
        width = np.array([np.ptp(_scaled(p)) for p in space])
        belief = estimate.belief
        # equal across the diagonal to the last digit, which an inverse is not
        even = 0.5 * (belief.covariance + belief.covariance.T)
        covariance = even / np.outer(width, width)
        believed = JointNormal(names, belief.mean, even)
        drawn = space.narrowed(believed).sample(generator, max(draws - 1, 0))
        point = {name: value for name, value in estimate.point.items() if name in names}
        best = space.encode(space.point(point))
        return cls(
            space=space,
            precision=np.linalg.inv(covariance),
            spread=prior_spread(space),
            draws=np.concatenate([best, space.encode(drawn)]),
            noise={name: max(float(s), _LEAST_NOISE) for name, s in estimate.noise.items()},
            window_s=estimate.made.get("window_s"),
        )

    def signals(self, *, without: tuple[str, ...] = ()) -> tuple[str, ...]:
        """What was compared; without signals of some things."""
        names = dict.fromkeys(column.split("/")[0] for column in self.noise)
        return tuple(n for n in names if not any(n.startswith(thing) for thing in without))

    def columns(self, signal: str) -> tuple[str, ...]:
        """The names of a signal's columns."""
        head = f"{signal}/"
        return tuple(name.removeprefix(head) for name in self.noise if name.startswith(head))


def _scaled(parameter) -> np.ndarray:
    bounds = np.array([parameter.low, parameter.high])
    return np.log(bounds) if parameter.scale == "log" else bounds
