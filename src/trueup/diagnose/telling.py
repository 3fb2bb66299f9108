"""What an identification tells of a gap: recordings show some of its numbers and not others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

import numpy as np

from trueup.diagnose.planted import GAPS, family

_STAND_FOR = {
    "actuation/*/kp": ("actuation/*",),
    "latency/action_delay": ("latency/encoder_delay", "latency/*/delay"),
}
"""What is fitted, and what shows in it although it is not: a weak supply looks like soft servos."""
_NEVER = ("actuation/command_noise", "actuation/*/zero_offset")
"""What no fit stands for: where a joint's zero is shows in what the hand holds, if anywhere."""


def told_of(names: Sequence[str], identified: Collection[str]) -> np.ndarray:
    """(P,) whether each parameter would show in the values of those that were identified."""
    along = [
        pattern
        for fitted, others in _STAND_FOR.items()
        if any(fnmatchcase(name, fitted) for name in identified)
        for pattern in others
    ]

    def shows(name: str) -> bool:
        if name in identified:
            return True
        own = any(fnmatchcase(name, pattern) for pattern in _NEVER)
        return not own and any(fnmatchcase(name, pattern) for pattern in along)

    return np.array([shows(name) for name in names], bool)


def share_told(names: Sequence[str], bent: np.ndarray, identified: Collection[str]) -> np.ndarray:
    """(N, 8) of what is bent in each gap, the share that an identification tells of.

    Counted by families of parameters, each as much as any other; 1 where nothing of a gap is bent.

    Args:
        names: The parameters.
        bent: (N, P) which of them are off in each world.
        identified: Names of those that recordings tell.
    """
    told, found = told_of(names, identified), np.ones((len(bent), len(GAPS)))
    families = np.array([family(name) for name in names])
    for g, gap in enumerate(GAPS):
        seen = total = np.zeros(len(bent))
        for each in np.unique([f for f in families if f.split("/")[0] == gap]):
            own = families == each
            off = bent[:, own].any(axis=1)
            part = bent[:, own & told].sum(axis=1) / np.maximum(bent[:, own].sum(axis=1), 1)
            seen, total = seen + np.where(off, part, 0.0), total + off
        found[:, g] = np.where(total > 0, seen / np.maximum(total, 1), 1.0)
    return found
