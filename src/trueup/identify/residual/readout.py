"""The best readout of a network, from what a simulator misses and how it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from trueup.identify.residual.motions import Motions
from trueup.identify.residual.network import Network

_PUSH_RAD = 0.01  # times the stiffness: about what is missed, enough to move against friction
_PUSH_HELD_S = 0.12
_REMEMBERED_S = 0.6  # how long a servo answers to a push
_ROBUST = 4.0  # misses beyond so many of their usual size count less and less: contact, stops
_PLAIN = 0.1  # plain inputs are held at zero less strongly than waves
STRENGTHS = tuple(10.0 ** np.arange(-4.0, 1.6, 0.5))
"""How strongly readouts may be held at zero, in sizes of what their features do."""


def answers(motions: Motions, generator: np.random.Generator) -> np.ndarray:
    """(joints, lags) how far each joint moves, step by step, after a push of 1 N·m for one step.

    Found by pushing at random and replaying: stiffness, damping and inertia are all in it. With dry
    friction it is the mean over sliding and sticking.
    """
    period_s = motions.episodes[0].period_s
    held = max(1, round(_PUSH_HELD_S / period_s))
    lags = max(4, round(_REMEMBERED_S / period_s))
    pushes = []
    for commands in motions.commands:
        signs = generator.choice([-1.0, 1.0], (len(commands) // held + 1, commands.shape[1]))
        push = np.repeat(signs, held, axis=0)[: len(commands)]
        pushes.append(_PUSH_RAD * motions.stiffness * push)
    moved = motions.pushed(pushes)
    joints = range(len(motions.stiffness))
    return np.array(
        [_answer([p[:, j] for p in pushes], [m[:, j] for m in moved], lags) for j in joints]
    )


def _answer(pushes: list[np.ndarray], moved: list[np.ndarray], lags: int) -> np.ndarray:
    """(lags,) by least squares."""
    rows = np.concatenate([_lagged(push, lags) for push in pushes])
    values = np.concatenate(moved)
    known = np.isfinite(values)
    rows, values = rows[known], values[known]
    square = rows.T @ rows
    return np.linalg.solve(square + 1e-3 * np.trace(square) / lags * np.eye(lags), rows.T @ values)


def _lagged(values: np.ndarray, lags: int) -> np.ndarray:
    padded = np.concatenate([np.zeros(lags - 1), values])
    return np.lib.stride_tricks.sliding_window_view(padded, lags)[:, ::-1]


@dataclass(frozen=True, kw_only=True)
class _Evidence:
    """What m motions say about the readout of one joint, as squares: all that a fit needs.

    Attributes:
        squares: (m, features, features) of what each feature would move.
        slopes: (m, features) of that with what is missed.
        sizes: (m,) what is missed.
        readings: (m,) how many say so.
    """

    squares: np.ndarray
    slopes: np.ndarray
    sizes: np.ndarray
    readings: np.ndarray

    def fitted(self, hold: np.ndarray, motions: np.ndarray) -> np.ndarray:
        """(features,) the readout that some motions (a mask) want, held at zero."""
        readings = max(self.readings[motions].sum(), 1)
        square = self.squares[motions].sum(axis=0) / readings
        size = np.trace(square) / len(hold) + 1e-30
        slope = self.slopes[motions].sum(axis=0) / readings
        return np.linalg.solve(square + size * np.diag(hold), slope)

    def left(self, readout: np.ndarray, motion: int) -> float:
        """What of the error of one motion a readout leaves."""
        moved = self.squares[motion] @ readout - 2.0 * self.slopes[motion]
        return float(self.sizes[motion] + readout @ moved)


def readouts(
    network: Network,
    inputs: Sequence[np.ndarray],
    missed: Sequence[np.ndarray],
    answer: np.ndarray,
    learnt: int,
) -> np.ndarray:
    """(joints, features) what to add to each readout; zeros where that would not help.

    How strongly it is held at zero is decided by leaving out one motion after the other.

    Args:
        network: Whose.
        inputs: (k, joints, inputs) of each motion.
        missed: (k, joints) of each motion.
        answer: (joints, lags)
        learnt: How many of the motions, from the first on, the readout may be fitted to.
    """
    hold = np.ones(network.readout.shape[1])
    hold[: 1 + network.centre.shape[1]] = _PLAIN
    some = np.arange(len(inputs)) < learnt
    found = np.zeros_like(network.readout)
    for joint, response in enumerate(answer):
        evidence = _evidence(network, inputs, missed, joint, response)
        left = [_unseen(evidence, strength * hold) for strength in STRENGTHS]
        best = int(np.argmin(left))
        if left[best] < evidence.sizes.sum():
            found[joint] = evidence.fitted(STRENGTHS[best] * hold, some)
    return found


def _unseen(evidence: _Evidence, hold: np.ndarray) -> float:
    """What is left of each motion by a readout that was fitted to all others, together."""
    count = len(evidence.sizes)
    return sum(evidence.left(evidence.fitted(hold, np.arange(count) != m), m) for m in range(count))


def _evidence(
    network: Network,
    inputs: Sequence[np.ndarray],
    missed: Sequence[np.ndarray],
    joint: int,
    answer: np.ndarray,
) -> _Evidence:
    weights = _weights([m[:, joint] for m in missed])
    squares, slopes, sizes = [], [], []
    for x, m, weight in zip(inputs, missed, weights, strict=True):
        features = network.features(x[:, joint], joint)
        rows = np.asarray(lfilter(answer, 1.0, features, axis=0))
        values = np.nan_to_num(m[:, joint])  # where nothing was read the weight is zero
        squares.append((rows * weight[:, None]).T @ rows)
        slopes.append(rows.T @ (weight * values))
        sizes.append((weight * values**2).sum())
    return _Evidence(
        squares=np.array(squares),
        slopes=np.array(slopes),
        sizes=np.array(sizes),
        readings=np.array([(weight > 0).sum() for weight in weights]),
    )


def _weights(motions: Sequence[np.ndarray]) -> list[np.ndarray]:
    """(k,) for each motion: less where much is missed, by a motion or by a moment of it."""
    usual = [1.4826 * np.nanmedian(np.abs(m)) if np.isfinite(m).any() else np.nan for m in motions]
    middle = np.nanmedian(usual) if np.isfinite(usual).any() else 1.0
    found = []
    for missed, own in zip(motions, usual, strict=True):
        scale = np.hypot(own, middle) + 1e-9
        weight = (middle / scale) ** 2 / (1.0 + (missed / (_ROBUST * scale)) ** 2)
        found.append(np.nan_to_num(weight, nan=0.0))
    return found
