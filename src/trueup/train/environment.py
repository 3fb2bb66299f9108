"""Worlds as rsl_rl sees them: rewards, episodes that restart, the views of actor and critic."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from trueup.errors import TrueupError
from trueup.policies import Contract
from trueup.randomize import Plan
from trueup.simulate import CpuWorlds, Step
from trueup.space import Points
from trueup.streams import seeds_from
from trueup.train.scaling import Scale
from trueup.train.settings import Settings

ACTOR, CRITIC = "policy", "privileged"
_MIXED = 20  # the seed of the mixtures: the same in every training
_GROUPS = 8  # episodes that begin together end together: few large resets are cheap


class Environment(VecEnv):
    """Many worlds that restart by themselves, each time at a new point.

    The actor sees what the robot has, over a short history. The critic also sees the truth, the
    point in short, how much time is left and whether the task was done. Arrays are shared with
    torch, not copied.

    Args:
        worlds: The batch.
        contract: What the actor sees, and how its answers become commands.
        plan: Where points come from.
        settings: Costs and bonuses.
        generator: All randomness of points, episodes and their order.
        expected: Success before the first episode has ended: 1 where there is a policy already.
    """

    def __init__(
        self,
        worlds: CpuWorlds,
        contract: Contract,
        plan: Plan,
        settings: Settings,
        generator: np.random.Generator,
        *,
        expected: float = 0.0,
    ) -> None:
        self.worlds, self.contract, self.plan = worlds, contract, plan
        self.settings, self.generator = settings, generator
        self.num_envs, self.num_actions = worlds.n, contract.outputs
        self.device, self.cfg = "cpu", {}
        self.max_episode_length = worlds.world.steps
        self.recent: deque[bool] = deque(maxlen=4 * worlds.n)
        self._expected = expected
        self.counting = True  # whether episodes say how good the policy is
        self.scale = Scale(worlds.n, settings.gamma)
        self._drive, self._memory = contract.drive(), contract.memory(worlds.n)
        n = worlds.n
        self._age, self._answer = np.zeros(n, int), np.zeros((n, self.num_actions))
        self.episode_length_buf = torch.from_numpy(self._age)
        self._succeeded, self._whole = np.zeros(n, bool), np.zeros(n, bool)
        self._mix = _mixture(len(worlds.space), settings.point_inputs)
        self._mixed = np.zeros((n, self._mix.shape[1]), np.float32)
        self.restart()

    # What rsl_rl asks for -----------------------------------------------------------------------

    def get_observations(self) -> TensorDict:
        """What actor and critic see now."""
        left = 1.0 - self._age[:, None] / self.max_episode_length
        known = (*self.worlds.privileged.values(), self._mixed, left, self._succeeded[:, None])
        private = np.concatenate(known, axis=1, dtype=np.float32)
        if not np.isfinite(private).all():
            self._refuse("privileged signal", self.worlds.privileged)
        seen = {ACTOR: self._memory.input, CRITIC: private}
        return TensorDict(
            {name: torch.from_numpy(values) for name, values in seen.items()},
            batch_size=[self.num_envs],
        )

    def step(
        self, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
        """One control step of all worlds; those that end begin anew."""
        answer = np.clip(actions.numpy(), -1.0, 1.0).astype(float)
        step = self.worlds.step(self._commands(answer))
        self._age += 1
        self._succeeded |= step.success
        reward = self._reward(step, answer)
        lost = np.logical_or(step.failure, step.diverged)
        over = self._age >= self.max_episode_length
        ended = lost | over
        rows = np.flatnonzero(ended)
        self._close(rows)
        self._reset(rows)
        seen = self._observed()
        self._memory.see(seen)
        self._memory.begin(rows, seen[rows], self.worlds.hold[rows])
        return (
            self.get_observations(),
            torch.from_numpy(reward.astype(np.float32)),
            torch.from_numpy(ended.astype(np.float32)),
            {"time_outs": torch.from_numpy((over & ~lost).astype(np.float32))},
        )

    # --------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Begin every episode anew, spread over their length so that they do not end together.

        Nothing of what was before is left, so that a run which restarts here and goes on does the
        same as one that is resumed here.
        """
        rows = np.arange(self.num_envs)
        self._reset(rows)
        self._memory.begin(rows, self._observed(), self.worlds.hold)
        group = self.generator.permutation(self.num_envs) % _GROUPS
        self._age[:] = group * self.max_episode_length // _GROUPS
        self._whole &= self._age == 0

    @property
    def success_share(self) -> float:
        """Of the last episodes, with all the randomness of exploration; nan before the first."""
        return float(np.mean(self.recent)) if self.recent else float("nan")

    def answers(self, targets: np.ndarray) -> np.ndarray:
        """The answers (n, servos) that pull the servos to some targets, as far as they can."""
        return np.clip((targets - self._joints()) / self._drive.lead, -1.0, 1.0)

    def _joints(self) -> np.ndarray:
        """Where the joints are, as far as the robot knows."""
        measured = self.contract.interface.measured
        return self._memory.targets if measured is None else self.worlds.observation[measured]

    def _commands(self, answer: np.ndarray) -> np.ndarray:
        memory = self._memory
        memory.targets = self._drive.moved(memory.targets, answer, self._joints())
        return memory.targets

    def _reward(self, step: Step, answer: np.ndarray) -> np.ndarray:
        s = self.settings
        change = ((answer - self._answer) ** 2).sum(axis=1)
        self._answer = answer
        reward = (
            step.reward + s.bonus * step.success - s.smoothness * change - s.loss * step.failure
        )
        return self.scale.scaled(np.where(step.diverged, 0.0, reward))

    def _close(self, rows: np.ndarray) -> None:
        """Tell the plan how episodes ended; those that began in the middle or eased say nothing."""
        counted = rows[self._whole[rows]]
        if len(counted) and self.counting:
            success = self._succeeded[counted].copy()
            self.plan.learn(self.worlds.points[counted], success)
            self.recent.extend(success.tolist())

    def _reset(self, rows: np.ndarray) -> None:
        if not len(rows):
            return
        self.scale.end(rows)
        self.worlds.ease[rows] = self._ease(len(rows))
        n, worlds, space = len(rows), self.worlds, self.worlds.space
        worlds.reset(self.plan.draw(self.generator, n), seeds_from(self.generator, n), rows)
        points = Points(space.names, worlds.points[rows])
        self._mixed[rows] = space.encode(points) @ self._mix
        self._age[rows], self._answer[rows] = 0, 0.0
        self._succeeded[rows], self._whole[rows] = False, self.worlds.ease[rows] == 0.0

    def _ease(self, n: int) -> np.ndarray:
        """How much easier the next episodes begin: fewer do, the more of the others succeed."""
        success = self.success_share if self.recent else self._expected
        share = self.settings.practice * (1.0 - success)
        chosen = self.generator.random(n) < share
        return np.where(chosen, self.generator.random(n), 0.0)

    def _observed(self) -> np.ndarray:
        """All observations side by side (n, width), checked: a policy must not learn from NaN."""
        seen = np.concatenate(list(self.worlds.observation.values()), axis=1)
        if not np.isfinite(seen).all():
            self._refuse("observation", self.worlds.observation)
        return seen

    def _refuse(self, kind: str, signals: Mapping[str, np.ndarray]) -> None:
        for name, values in signals.items():
            bad = np.argwhere(~np.isfinite(values))
            if len(bad):
                row, column = (int(i) for i in bad[0])
                raise TrueupError(
                    f"Training stopped: {kind} {name!r}[{column}] of "
                    f"{self.worlds.world.name!r} is {values[row, column]} in world {row} (seed "
                    f"{int(self.worlds.seeds[row])}) after {self.worlds.time_s[row]:.2f} s.",
                    fix="Check that signal of the world; its point is "
                    f"{dict(self.worlds.point(row))}.",
                )


def _mixture(parameters: int, most: int) -> np.ndarray:
    """What makes the critic's numbers of a point: the point itself, or fixed mixtures of it.

    A critic that sees a hundred numbers which are drawn once an episode knows each episode by them,
    learns its luck by heart, and judges the next ones worse for it.
    """
    if parameters <= most:
        return np.eye(parameters)
    generator = np.random.default_rng(_MIXED)
    return generator.standard_normal((parameters, most)) / np.sqrt(parameters / 12.0)
