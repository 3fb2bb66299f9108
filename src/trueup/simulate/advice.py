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

    It is what the world tells critics; the joints' positions in the frame of their servos, neither
    biased nor late, as `true_` and the name of the signal that reads them; and every number of the
    point that a world is at, (n,).
    """
    found = dict(worlds.privileged)
    measured = interface_of(worlds.world).measured
    for signal in worlds.world.observations:
        if signal.name == measured:
            truth = [worlds.truth[name] for name in signal.sensors]
            found[f"true_{measured}"] = np.concatenate(truth, axis=1)
    return found | dict(zip(worlds.space.names, worlds.points.T, strict=True))
