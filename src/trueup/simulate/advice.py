"""Asking an expert that sees the truth what to do next, in every world of a batch."""

from __future__ import annotations

import numpy as np

from trueup.errors import TrueupError
from trueup.simulate.cpu import CpuWorlds
from trueup.worlds import interface_of
from trueup.worlds.scripted_expert import Advice


def advised(advice: Advice, worlds: CpuWorlds, *, fix: str) -> np.ndarray:
    """Targets (n, servos) of an expert for each servo, as they must be to be used.

    Args:
        advice: The expert.
        worlds: What it looks at.
        fix: What to do where it answers with nonsense.
    """
    targets = np.asarray(advice(worlds.observation, known(worlds)))
    wanted = (worlds.n, worlds.world.model.nu)
    if targets.shape != wanted or not np.isfinite(targets).all():
        found = "nan" if targets.shape == wanted else f"shape {targets.shape}"
        raise TrueupError(
            f"The expert of world {worlds.world.name!r} answered with {found}; finite targets of "
            f"shape {wanted} were expected.",
            fix=fix,
        )
    return targets


def known(worlds: CpuWorlds) -> dict[str, np.ndarray]:
    """All that an expert may know beside what the robot reads, by name.

    It is what the world tells critics; the joints' positions as read, less what the readings of all
    worlds are off on average, as `true_` and the name of the signal that reads them; and the mean
    of every number of the points, (n,). One world's own offset or stiffness is not told: a policy
    that learns from the expert cannot see it, and would learn to do what suits none.
    """
    found = dict(worlds.privileged)
    measured = interface_of(worlds.world).measured
    for signal in worlds.world.observations:
        if signal.name == measured:
            truth = np.concatenate([worlds.truth[name] for name in signal.sensors], axis=1)
            read = worlds.observation[signal.name]
            found[f"true_{measured}"] = read - (read - truth).mean(axis=0)
    means = np.broadcast_to(worlds.points.mean(axis=0), worlds.points.shape)
    return found | dict(zip(worlds.space.names, means.T, strict=True))
