"""A policy at many points of a space, and what its trials there look like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.diagnose.planted import structures, within
from trueup.diagnose.signature import Traces, signature
from trueup.evaluate import Begin, Turn, evaluate
from trueup.space import Points, Space
from trueup.streams import seeds_from
from trueup.worlds import World

_BATCH = 512
COUNTS = (5, 10, 20)
"""Signatures are taken of so many trials: fewer are noisier, and must be known as such."""


@dataclass(frozen=True, kw_only=True)
class Played:
    """What came of trials at N points.

    Attributes:
        signatures: (N, F) by number of trials.
        features: What each number of a signature is.
        success: (N,) share of trials.
    """

    signatures: dict[int, np.ndarray]
    features: tuple[str, ...]
    success: np.ndarray


class Player:
    """Plays the policy at points of the space, fast ones and slow ones apart."""

    def __init__(
        self,
        world: World,
        begin: Begin,
        space: Space,
        generator: np.random.Generator,
        threads: int,
    ) -> None:
        self.world, self.begin, self.space = world, begin, space
        self.generator, self.threads = generator, threads

    def success(self, u: np.ndarray, trials: int) -> np.ndarray:
        """(n,) share of successes at points (n, d)."""
        found = np.zeros(len(u))
        for part, rows in structures(self.space, u):
            seeds = seeds_from(self.generator, trials * len(rows))
            points = within(self.space, np.repeat(u[rows], trials, axis=0), part)
            played = self._evaluated(points, seeds, None)
            found[rows] = played.reshape(-1, trials).mean(axis=1)
        return found

    def played(self, u: np.ndarray, trials: int) -> Played:
        """Signatures of trials at points (n, d)."""
        success = np.zeros(len(u))
        rows_of: dict[int, dict[int, np.ndarray]] = {k: {} for k in COUNTS if k <= trials}
        names: tuple[str, ...] = ()
        for part, rows in structures(self.space, u):
            for some in np.array_split(rows, max(1, len(rows) * trials // _BATCH)):
                seeds = seeds_from(self.generator, trials * len(some))
                points = within(self.space, np.repeat(u[some], trials, axis=0), part)
                tape = Tape(self.world.steps)
                won = self._evaluated(points, seeds, tape).reshape(-1, trials)
                success[some] = won.mean(axis=1)
                for row, traces in zip(some, tape.traces(won, self.world), strict=True):
                    for k, signed in rows_of.items():
                        taken = signature(traces.some(np.arange(k)))
                        signed[int(row)], names = taken.values, taken.names
        signatures = {
            k: np.stack([signed[i] for i in range(len(u))]) for k, signed in rows_of.items()
        }
        return Played(signatures=signatures, features=names, success=success)

    def _evaluated(self, points: Points, seeds: np.ndarray, tape: Tape | None) -> np.ndarray:
        return evaluate(
            self.world,
            self.begin,
            points,
            seeds,
            batch=_BATCH,
            threads=self.threads,
            witness=tape,
        ).success


class Tape:
    """Keeps what is observed and commanded."""

    def __init__(self, steps: int) -> None:
        self._steps, self._turns = steps, []

    def __call__(self, turn: Turn) -> None:
        open_ = turn.open[:, None]
        kept = {
            name: np.where(open_, values, np.nan).astype(np.float32)
            for name, values in {**turn.observation, "command": turn.command}.items()
        }
        if turn.number == 0:
            self._turns.append([])
        self._turns[-1].append(kept)

    def traces(self, success: np.ndarray, world: World) -> list[Traces]:
        """One for each row of successes (n, trials)."""
        n, trials = success.shape
        joined = {name: self._joined(name) for name in self._turns[0][0]}
        return [
            Traces(
                signals={k: v[i * trials : (i + 1) * trials] for k, v in joined.items()},
                success=success[i],
                period_s=world.control_period_s,
            )
            for i in range(n)
        ]

    def _joined(self, name: str) -> np.ndarray:
        parts = []
        for batch in self._turns:
            values = np.stack([turn[name] for turn in batch], axis=1).astype(float)
            missing = self._steps - values.shape[1]
            parts.append(np.pad(values, ((0, 0), (0, missing), (0, 0)), constant_values=np.nan))
        return np.concatenate(parts)
