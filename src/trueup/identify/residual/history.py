"""What a network is told about a joint: where it is, how fast, from which side, and how far off.

Times are in seconds, so that it means the same at any rate: along a recording, and in a simulation
that takes finer steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LAGS_S = np.array([0.05, 0.25])
"""Over which times a position is compared with its past: a fast and a slow speed."""
PLAYS_RAD = np.array([0.01, 0.06])
"""Widths of play: where a position lies between the two sides says from which side it came."""
OWN = 2 + len(LAGS_S) + len(PLAYS_RAD)
"""How many inputs a joint has to itself; the positions of all joints come behind them."""


@dataclass(frozen=True, kw_only=True)
class History:
    """What is remembered of the positions of n robots.

    Attributes:
        lags: (n, joints, lags) positions that follow the true ones slowly.
        plays: (n, joints, plays) positions that are dragged along, with play.
    """

    lags: np.ndarray
    plays: np.ndarray

    @staticmethod
    def at_rest(position: np.ndarray) -> History:
        """Of robots that have long been where they are, (n, joints)."""
        return History(
            lags=np.repeat(position[..., None], len(LAGS_S), axis=-1),
            plays=np.repeat(position[..., None], len(PLAYS_RAD), axis=-1),
        )

    def then(
        self, position: np.ndarray, command: np.ndarray, elapsed_s: np.ndarray | float
    ) -> tuple[np.ndarray, History]:
        """Inputs (n, joints, OWN + joints) some time later, and what is remembered then.

        Args:
            position: (n, joints)
            command: (n, joints)
            elapsed_s: Since the last time; a number, or (n, 1, 1).
        """
        here = position[..., None]
        kept = np.exp(-elapsed_s / LAGS_S)
        lags = here + kept * (self.lags - here)
        plays = np.clip(self.plays, here - PLAYS_RAD, here + PLAYS_RAD)
        joints = position.shape[1]
        everywhere = np.broadcast_to(position[:, None], (len(position), joints, joints))
        parts = (
            here,
            (command - position)[..., None],
            (here - lags) * (1.0 - kept) / (kept * elapsed_s),  # exact where the speed is steady
            (here - plays) / PLAYS_RAD,
            everywhere,
        )
        return np.concatenate(parts, axis=-1), History(lags=lags, plays=plays)


def inputs_along(position: np.ndarray, command: np.ndarray, period_s: float) -> np.ndarray:
    """Inputs (k, joints, OWN + joints) along positions and commands (k, joints) of one motion."""
    history, found = History.at_rest(position[:1]), []
    for here, told in zip(position, command, strict=True):
        inputs, history = history.then(here[None], told[None], period_s)
        found.append(inputs[0])
    return np.array(found)
