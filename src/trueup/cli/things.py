"""Where things stand that probes touch: as the model has them, or as the operator told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from trueup.record import Series
from trueup.worlds import World


def needed(series: Series) -> list[str]:
    """The bodies that the probes of a series need."""
    return list(dict.fromkeys(motion.needs for motion in series.motions if motion.needs))


def nominal(world: World, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Poses (7,) of some bodies in the model."""
    model = world.model
    found = {}
    for name in names:
        at = int(model.jnt_qposadr[model.body_jntadr[model.body(name).id]])
        found[name] = model.qpos0[at : at + 7].copy()
    return found


def told(world: World, numbers: Sequence[float], names: Iterable[str]) -> dict[str, np.ndarray]:
    """Poses (7,) of some bodies from --object: x and y in m, and a turn in degrees."""
    if not numbers:
        return {}
    x, y = numbers[:2]
    half = math.radians(numbers[2] if len(numbers) > 2 else 0.0) / 2.0
    return {
        name: np.array([x, y, pose[2], math.cos(half), 0.0, 0.0, math.sin(half)])
        for name, pose in nominal(world, names).items()
    }
