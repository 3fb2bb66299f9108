"""Episodes from start to end: a controller, many worlds, and what happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trueup.errors import UnknownName
from trueup.files import whole
from trueup.simulate.contract import Step, Worlds
from trueup.space import Points

Controller = Callable[[int, dict[str, np.ndarray]], np.ndarray]
"""From the number of the step and the observation to commands (n, nu)."""


@dataclass(kw_only=True)
class Trajectory:
    """What happened in n worlds, one row per control step.

    Attributes:
        period_s: Time between rows.
        time_s: (steps, n) seconds since each episode began, after the step.
        action: (steps, n, nu) commands.
        signals: Recorded signals by name, (steps, n, dim), after the step.
        reward: (steps, n)
        success: (n,) whether the world ever succeeded.
        end: (n,) index of the step at which each episode was done; -1 where it was not.
        diverged: (n,) whether the physics broke down.
        seeds: (n,) the seed of each episode.
        points: The point of each world.
    """

    period_s: float
    time_s: np.ndarray
    action: np.ndarray
    signals: dict[str, np.ndarray]
    reward: np.ndarray
    success: np.ndarray
    end: np.ndarray
    diverged: np.ndarray
    seeds: np.ndarray
    points: Points

    def save(self, path: Path | str) -> None:
        """Write as a compressed .npz that numpy reads without trueup."""
        arrays = {f"signal/{name}": values for name, values in self.signals.items()}
        for name in ("period_s", "time_s", "action", "reward", "success", "end", "diverged"):
            arrays[name] = np.asarray(getattr(self, name))
        arrays |= {"seeds": self.seeds, "points": self.points.values}
        arrays["parameters"] = np.array(self.points.names, dtype=str)
        with whole(path) as partial, partial.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)


@dataclass
class Rollout:
    """Runs a controller in worlds that were just reset, and keeps what is asked for.

    Args:
        worlds: The batch, reset.
        record: Names of signals to keep, from observation or privileged; none by default, so that
            memory does not grow with the length of an episode.
    """

    worlds: Worlds
    record: Sequence[str] = ()
    on_step: Callable[[int, Step], None] | None = field(default=None)

    def run(self, controller: Controller, steps: int | None = None) -> Trajectory:
        """Step until every episode is over, or for `steps` control steps."""
        worlds = self.worlds
        limit = steps or worlds.world.steps
        kept = _Kept(worlds, self.record, limit)
        observation = worlds.observation
        for k in range(limit):
            if steps is None and kept.over:
                break
            action = controller(k, observation)
            step = worlds.step(action)
            kept.add(k, action, step)
            if self.on_step is not None:
                self.on_step(k, step)
            observation = step.observation
        return kept.trajectory()


class _Kept:
    def __init__(self, worlds: Worlds, record: Sequence[str], limit: int) -> None:
        n, nu = worlds.n, worlds.compiled.model.nu
        self.worlds = worlds
        self.names = tuple(record)
        known = [s.name for s in (*worlds.world.observations, *worlds.world.privileged)]
        for name in self.names:
            if name not in known:
                raise UnknownName("signal", name, known)
        self.steps = 0
        keep = limit if record else 0
        self.action = np.zeros((keep, n, nu))
        self.time_s, self.reward = np.zeros((keep, n)), np.zeros((keep, n))
        self.signals: dict[str, np.ndarray] = {}
        self.success, self.diverged = np.zeros(n, bool), np.zeros(n, bool)
        self.end = np.full(n, -1)
        self.keep = keep

    @property
    def over(self) -> bool:
        """Whether every episode is done."""
        return bool((self.end >= 0).all())

    def add(self, k: int, action: np.ndarray, step: Step) -> None:
        self.success |= step.success & (self.end < 0)
        self.diverged |= step.diverged
        self.end = np.where((self.end < 0) & step.done, k, self.end)
        self.steps = k + 1
        if not self.keep:
            return
        self.action[k], self.reward[k] = action, step.reward
        self.time_s[k] = self.worlds.time_s
        known = {**step.privileged, **step.observation}
        for name in self.names:
            rows = self.signals.setdefault(name, np.zeros((self.keep, *known[name].shape)))
            rows[k] = known[name]

    def trajectory(self) -> Trajectory:
        return Trajectory(
            period_s=self.worlds.world.control_period_s,
            time_s=self.time_s[: self.steps],
            action=self.action[: self.steps],
            signals={name: rows[: self.steps] for name, rows in self.signals.items()},
            reward=self.reward[: self.steps],
            success=self.success,
            end=self.end,
            diverged=self.diverged,
            seeds=self.worlds.seeds.copy(),
            points=Points(self.worlds.space.names, self.worlds.points),
        )
