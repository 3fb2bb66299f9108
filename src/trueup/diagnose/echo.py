"""Trials as they would look if nothing were wrong but what was identified.

Who reads trials may be wrong about them, and is then wrong in the same way about trials of an
identified world that looks alike. So what the robot's trials show beyond those tells of causes that
nobody identified, and what both show does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trueup.diagnose.gap_report import Rate
from trueup.diagnose.inference import Reader
from trueup.diagnose.playing import Player
from trueup.diagnose.shapley import weights_of
from trueup.evaluate import Begin
from trueup.space import Space
from trueup.worlds import World

_POINTS = 24


@dataclass(frozen=True, kw_only=True)
class Echo:
    """What is read from trials at m points of a belief.

    Attributes:
        points: (m, 8) of success that each gap is blamed for, as shares of 1.
        weights: (m,) how likely each is, beside how the robot did; they add up to 1.
    """

    points: np.ndarray
    weights: np.ndarray

    def some(self, count: int, generator: np.random.Generator) -> Echo:
        """So many of them, drawn again and again: points are as many possible truths."""
        rows = generator.choice(len(self.weights), count, p=self.weights)
        return Echo(points=self.points[rows], weights=np.full(count, 1.0 / count))

    @property
    def mean(self) -> Echo:
        """All of them as one."""
        return Echo(points=self.weights[None] @ self.points, weights=np.ones(1))

    def beyond(self, points: np.ndarray, loss: np.ndarray) -> np.ndarray:
        """(m, 8) points that the robot's trials blame gaps for beyond what was identified.

        Args:
            points: (m, 8) that they blame gaps for in all.
            loss: (m,) what was lost.
        """
        more = np.maximum(points - self.points, 0.0)
        left = np.maximum(loss - self.points.sum(axis=1), 0.0)
        return more * np.minimum(left / np.maximum(more.sum(axis=1), 1e-12), 1.0)[:, None]


def echoed(
    world: World,
    begin: Begin,
    belief: Space,
    reader: Reader,
    simulated: Rate,
    measured: Rate,
    alone: Mapping[str, float],
    generator: np.random.Generator,
    *,
    threads: int = 0,
) -> Echo:
    """Play as many trials as were read from the robot, at points drawn from a belief.

    Args:
        world: Where.
        begin: The policy at the controls, as `evaluate` takes it.
        belief: The parameters that were identified, with what is believed of them.
        reader: Who reads the robot's trials, too.
        simulated: Success where nothing is wrong.
        measured: Success on the robot: points that lose more are the less likely.
        alone: What the identified numbers of each gap cost by themselves, as for the robot's.
        generator: Where chance comes from.
        threads: CPU threads; 0 takes all.
    """
    u = belief.encode(belief.sample(generator, _POINTS))
    played = Player(world, begin, belief, generator, threads).played(u, reader.count)
    lost = np.maximum(simulated.share - played.success, 0.0)
    parts = reader.parts(played.signatures[reader.count], played.features, lost, alone)
    won = np.arange(reader.count) < np.rint(played.success * reader.count)[:, None]
    weights = weights_of(won, measured)
    return Echo(points=parts * lost[:, None], weights=weights / weights.sum())
