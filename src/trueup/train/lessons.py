"""Lessons: an actor learns what a scripted expert would do, in the situations it gets into itself.

After Ross et al. (2011), "A Reduction of Imitation Learning and Structured Prediction to No-Regret
Online Learning" (DAgger), with noise on what is done, after Laskey et al. (2017), "DART: Noise
Injection for Robust Imitation Learning". The observations, their history and scales, and the way
from answers to commands are those of PPO, which goes on from there.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import torch
from rsl_rl.modules import EmpiricalNormalization
from tensordict import TensorDict

from trueup.simulate.advice import advised
from trueup.train.environment import ACTOR, Environment
from trueup.train.settings import Settings
from trueup.train.side_by_side import SideBySide
from trueup.worlds.scripted_expert import Advice

_KEPT = 16  # rounds that are learned from
_PASSES = 32  # steps down the slope in each round
_FASTEST, _SLOWEST = 1e-3, 1e-4  # learning rate of the first and the last round
_NOISE = 0.25  # standard deviation of what is added to answers, so that mistakes are seen mended
_LED = 0.5  # share of the rounds after which the expert leads no more


class Lessons:
    """Rounds of imitation: the expert leads at first, then only says what it would have done.

    Args:
        expert: Who is asked.
        environment: The worlds.
        ppo: Whose actor learns.
        settings: How many rounds, and how long they are.
    """

    def __init__(
        self, expert: Advice, environment: Environment, ppo: SideBySide, settings: Settings
    ) -> None:
        self._expert, self._environment, self._ppo = expert, environment, ppo
        self._settings = settings
        self._seen: deque[torch.Tensor] = deque(maxlen=_KEPT)
        self._advised: deque[torch.Tensor] = deque(maxlen=_KEPT)

    def forget(self) -> None:
        """Learn from nothing that was seen so far."""
        self._seen.clear()
        self._advised.clear()

    def collect(self, observation: TensorDict, k: int) -> tuple[TensorDict, float]:
        """Play round k; what is seen at its end, and the mean reward of a step."""
        s, environment, actor = self._settings, self._environment, self._ppo.get_policy()
        led = max(0.0, 1.0 - k / max(1.0, _LED * s.lessons))
        leads = torch.rand(environment.num_envs, 1) < led
        seen, advised, total = [], [], 0.0
        with torch.inference_mode():
            for _ in range(s.horizon):
                advice = self._advice()
                done = torch.where(leads, advice, actor(observation))
                noise = _NOISE * torch.randn_like(advice)
                self._ppo.critic.update_normalization(observation)
                seen.append(observation[ACTOR].clone())
                advised.append(advice)
                observation, reward, _, _ = environment.step(done + noise)
                total += float(reward.mean())
        self._seen.append(torch.cat(seen))
        self._advised.append(torch.cat(advised))
        return observation, total / s.horizon

    def learn(self, k: int) -> dict[str, float]:
        """Learn from the rounds so far, k being the last of them; the mean squared error."""
        share = k / max(1, self._settings.lessons - 1)
        rate = _FASTEST * (_SLOWEST / _FASTEST) ** share
        optimizer, actor = self._ppo.actor_optimizer, self._ppo.get_policy()
        for group in optimizer.param_groups:
            group["lr"] = rate
        scales = actor.obs_normalizer
        assert isinstance(scales, EmpiricalNormalization)
        scales.update(self._seen[-1])
        seen, advised = torch.cat(tuple(self._seen)), torch.cat(tuple(self._advised))
        size, total = self._settings.update // self._settings.minibatches, 0.0
        for _ in range(_PASSES):
            rows = torch.randint(len(seen), (size,))
            answer = actor.mlp(scales(seen[rows]))
            error = ((answer - advised[rows]) ** 2).mean()
            optimizer.zero_grad()
            error.backward()
            optimizer.step()
            total += float(error.detach())
        return {"imitation": total / _PASSES}

    def end(self) -> None:
        """Let PPO begin its own way: nothing of the slopes here is left in its optimizer."""
        self.forget()
        self._ppo.actor_optimizer.state.clear()

    def _advice(self) -> torch.Tensor:
        environment = self._environment
        fix = "Correct its expert(), or train without lessons: --no-expert."
        targets = advised(self._expert, environment.worlds, fix=fix, shared=True)
        return torch.from_numpy(environment.answers(targets).astype(np.float32))
