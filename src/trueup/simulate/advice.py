"""Asking an expert that sees the truth what to do next, in every world of a batch."""

from __future__ import annotations

import numpy as np

from trueup.errors import TrueupError
from trueup.simulate.cpu import CpuWorlds
from trueup.worlds import interface_of
from trueup.worlds.scripted_expert import Advice


def advised(advice: Advice, worlds: CpuWorlds, *, fix: str, shared: bool = False) -> np.ndarray:
    """Targets (n, servos) of an expert for each servo, as they must be to be used.

    Args:
        advice: The expert.
        worlds: What it looks at.
        fix: What to do where it answers with nonsense.
        shared: Tell it only what the worlds have in common; see `known`.
    """
    targets = np.asarray(advice(worlds.observation, known(worlds, shared=shared)))
    wanted = (worlds.n, worlds.world.model.nu)
    if targets.shape != wanted or not np.isfinite(targets).all():
        found = "nan" if targets.shape == wanted else f"shape {targets.shape}"
        raise TrueupError(
            f"The expert of world {worlds.world.name!r} answered with {found}; finite targets of "
            f"shape {wanted} were expected.",
            fix=fix,
        )
    return targets


def known(worlds: CpuWorlds, *, shared: bool = False) -> dict[str, np.ndarray]:
    """All that an expert may know beside what the robot reads, by name.

    It is what the world tells critics; where the joints are in the frame of their servos, as
    `true_` and the name of the signal that reads them; and every number of the points, (n,).

    Args:
        worlds: What the expert looks at.
        shared: Means over all worlds instead of each world's own numbers, and joints as read, less
            what readings are off on average. A policy that is taught while it acts cannot see what
            is a world's own, and would learn to do what suits none. Without it, what is known of a
            world does not depend on the others.
    """
    found, points = dict(worlds.privileged), worlds.points
    measured = interface_of(worlds.world).measured
    for signal in worlds.world.observations:
        if signal.name == measured:
            truth = np.concatenate([worlds.truth[name] for name in signal.sensors], axis=1)
            read = worlds.observation[signal.name]
            found[f"true_{measured}"] = read - (read - truth).mean(axis=0) if shared else truth
    if shared:
        points = np.broadcast_to(points.mean(axis=0), points.shape)
    return found | dict(zip(worlds.space.names, points.T, strict=True))
