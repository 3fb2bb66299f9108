"""The training loop: collect, learn, look, keep."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import numpy as np
import torch

from trueup.policies import Policy, Provenance
from trueup.randomize import Plan
from trueup.simulate import CpuWorlds
from trueup.train.beginning import SPREAD, Phases, check_start, exploration_of, parent_of
from trueup.train.checkpoint import Checkpoint, generator_state, learned, relearn
from trueup.train.environment import Environment
from trueup.train.judge import Judge
from trueup.train.learner import (
    actor_bytes,
    check_finite,
    load_actor,
    make_ppo,
    only_critic,
    set_spread,
    spread,
    widths,
)
from trueup.train.lessons import Lessons
from trueup.train.look import Success
from trueup.train.progress import Progress
from trueup.train.settings import Settings
from trueup.train.terms import contract_for
from trueup.versions import versions
from trueup.worlds import Compiled, World
from trueup.worlds.scripted_expert import expert_of

_MAY_CHANGE = (
    "steps",
    "least",
    "keep_every",
    "check_every",
    "check_episodes",
    "confirm_episodes",
    "target",
    "target_nominal",
)
_FASTEST = 2e-3  # learning rate; the adaptive rule of rsl_rl would go up to five times that
_KNOWN = 10**8  # steps that a tuned policy's normalizer counts for: its weights rely on it
_SALT = 5501  # keeps the points of training apart from those a policy is evaluated at
_CAREFUL = 3e-4  # learning rate with which an actor that knows something begins


class Trainer:
    """Trains one policy.

    Args:
        world: Where.
        plan: What differs between episodes; its space is where the policy is looked at.
        settings: How.
        start: A policy to begin from, instead of from nothing.
        threads: CPU threads; 0 takes all.
        checkpoint: Go on from here.
        where: The checkpoint's file, for messages.
    """

    def __init__(
        self,
        world: World,
        plan: Plan,
        settings: Settings,
        *,
        start: Policy | None = None,
        threads: int = 0,
        checkpoint: Checkpoint | None = None,
        where: str = "given",
    ) -> None:
        if start is not None:  # a network keeps its shape
            check_start(start)
            settings = replace(
                settings, history=start.contract.history, hidden=widths(start.stored)
            )
        self.world, self.plan, self.settings, self.start = world, plan, settings, start
        self.threads = threads
        self.update, self.wall_s = 0, 0.0
        self.judge = Judge(world, plan.space, settings, self.policy, threads=threads)
        self._generator = np.random.default_rng([settings.seed, _SALT])
        torch.manual_seed(settings.seed)
        if checkpoint is not None:
            checkpoint.check(self.identity(), where)
        self.contract = contract_for(world, plan.space, history=settings.history)
        if start is not None:
            start.check(self.contract.interface, of=f"world {world.name!r}")
            self.contract = replace(
                self.contract, lead=start.contract.lead, rate=start.contract.rate
            )
        expert = expert_of(world)
        self.phases = Phases.of(settings, start=start, expert=expert is not None)
        known = self.phases.known
        worlds = CpuWorlds(Compiled(world, plan.space), settings.worlds, threads=threads)
        self.environment = Environment(
            worlds, self.contract, plan, settings, self._generator, expected=float(known)
        )
        self.ppo = make_ppo(self.environment, settings)
        self.ppo.threads = threads
        if start is not None:
            load_actor(self.ppo, start.stored, samples=_KNOWN)
        if known:
            set_spread(self.ppo, exploration_of(start, settings))
            self.ppo.critic_rate = settings.learning_rate
        self._lessons = expert and Lessons(expert, self.environment, self.ppo, settings)
        self._observation = self.environment.get_observations()
        if checkpoint is not None:
            self._resume(checkpoint)

    # The loop -----------------------------------------------------------------------------------

    def learn(self) -> Progress:
        """One update: collect experience in all worlds, then learn from it."""
        began = perf_counter()
        reward, losses = self._take_lesson() if self._taught else self._practise()
        check_finite(self.ppo, losses)
        self.update += 1
        took = perf_counter() - began
        self.wall_s += took
        return self._progress(reward, losses, took)

    def _practise(self) -> tuple[float, dict[str, float]]:
        """One update of PPO: the mean reward of a step, and the losses."""
        reward = self._collect()
        self._set_pace()
        with only_critic(self.ppo, self.update < self.phases.before):
            return reward, self.ppo.update()

    def _take_lesson(self) -> tuple[float, dict[str, float]]:
        """One round of imitation: the mean reward of a step, and the error."""
        assert self._lessons is not None
        self.environment.counting = False  # the expert's episodes say nothing of the policy
        self._observation, reward = self._lessons.collect(self._observation, self.update)
        losses = self._lessons.learn(self.update)
        if self.update + 1 == self.phases.lessons:
            self._lessons.end()
            self.environment.counting = True
        return reward, losses

    @property
    def _taught(self) -> bool:
        """Whether the next update is a lesson."""
        return self.update < self.phases.lessons

    def _set_pace(self) -> None:
        """The better the policy, the smaller its steps."""
        s, ppo, phases = self.settings, self.ppo, self.phases
        success = 1.0 if phases.known else np.nan_to_num(self.environment.success_share)
        ppo.desired_kl = float(s.kl + success * (s.kl_done - s.kl))
        ppo.schedule = "fixed" if self.update < phases.before else "adaptive"
        if phases.known and self.update == phases.before:
            ppo.learning_rate = min(s.learning_rate, _CAREFUL)
        ppo.learning_rate = min(ppo.learning_rate, _FASTEST)

    def _collect(self) -> float:
        """Play `horizon` steps in all worlds; the mean reward of a step."""
        total = 0.0
        observation = self._observation
        with torch.inference_mode():
            for _ in range(self.settings.horizon):
                answer = self.ppo.act(observation)
                observation, reward, ended, extras = self.environment.step(answer)
                self.ppo.process_env_step(observation, reward, ended, extras)
                total += float(reward.mean())
            self.ppo.compute_returns(observation)
        self._observation = observation
        return total / self.settings.horizon

    @property
    def done(self) -> bool:
        """Whether all steps are used up."""
        return self.update >= self.settings.updates

    # Looking ------------------------------------------------------------------------------------

    @property
    def untouched(self) -> bool:
        """Whether there is a policy that nothing has been learned on top of."""
        return self.start is not None and self.update == 0

    @property
    def due(self) -> bool:
        """Whether it is time for a look; seldom while hardly an episode succeeds."""
        every = self.settings.check_every
        if self.environment.success_share < 0.5 * self.settings.target:
            every *= 4
        own = self.update - self.phases.lessons  # updates since the last lesson
        return self.done or (own >= 0 and own % every == 0)

    @property
    def keepable(self) -> bool:
        """Whether it is time for a checkpoint."""
        return self.update % self.settings.keep_every == 0

    def look(self) -> Success:
        """Measure the policy as it would be stored, and remember the best."""
        with self._timed():
            return self.judge.look(actor_bytes(self.ppo), self.update)

    def confirm(self, *, whole: bool = True) -> dict[str, Success]:
        """Measure the best policy again on fresh episodes, by "randomized" and "nominal".

        Unless the `whole` answer is wanted, it ends as soon as it is clear that not both targets
        are reached.
        """
        with self._timed():
            return self.judge.confirm(self._best(), self.update, whole=whole)

    def _best(self) -> bytes:
        return self.judge.best[1] if self.judge.best else actor_bytes(self.ppo)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Count what is done towards the time that training takes."""
        began = perf_counter()
        yield
        self.wall_s += perf_counter() - began

    # Keeping ------------------------------------------------------------------------------------

    def policy(self, stored: bytes | None = None, outcome: dict[str, Any] | None = None) -> Policy:
        """The best policy so far as an artefact, or the one whose network is given."""
        return Policy(
            stored=self._best() if stored is None else stored,
            contract=replace(self.contract, space=self.plan.distribution()),
            provenance=Provenance(
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                method="lessons of a scripted expert, ppo" if self.phases.lessons else "ppo",
                seed=self.settings.seed,
                steps=self.update * self.settings.update,
                wall_s=self.wall_s,
                configuration={
                    "plan": self.plan.name,
                    **self.settings.to_json(),
                    SPREAD: spread(self.ppo),
                },
                versions=versions("mujoco", "numpy", "torch", "rsl-rl-lib"),
                outcome=outcome or {},
                parent=None if self.start is None else parent_of(self.start),
            ),
        )

    def checkpoint(self) -> Checkpoint:
        """Where training stands; the worlds restart here.

        So going on now and going on later are the same.
        """
        made = self.snapshot()
        self._restart()
        return made

    def snapshot(self) -> Checkpoint:
        """Where training stands, to be gone on from later."""
        return Checkpoint(
            update=self.update,
            wall_s=self.wall_s,
            ppo=learned(self.ppo),
            torch_state=torch.get_rng_state(),
            generator=generator_state(self._generator),
            plan=self.plan.state(),
            notes={
                "scale": self.environment.scale.state(),
                "recent": [int(good) for good in self.environment.recent],
                **self.judge.state(),
            },
            identity=self.identity(),
        )

    def _restart(self) -> None:
        """Begin all episodes anew, and play until they are spread out again.

        Worlds that have just begun are all at the beginning. A policy that learned from these alone
        would forget the rest.
        """
        if self._lessons is not None:
            self._lessons.forget()
        self.environment.counting = not self._taught
        self.environment.restart()
        observation, actor = self.environment.get_observations(), self.ppo.get_policy()
        with self._timed(), torch.inference_mode():
            for _ in range(self.environment.max_episode_length):
                answer = actor(observation, stochastic_output=True)
                observation, _, _, _ = self.environment.step(answer)
        self._observation = observation

    def identity(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be gone on from."""
        space = json.dumps(self.plan.space.to_json(), sort_keys=True)
        settings = self.settings.to_json()
        return {
            "world": self.world.name,
            "plan": self.plan.name,
            "space": hashlib.sha256(space.encode()).hexdigest()[:16],
            "start": None if self.start is None else parent_of(self.start)["sha256"],
            **{
                name: list(value) if isinstance(value, tuple) else value
                for name, value in settings.items()
                if name not in _MAY_CHANGE
            },
        }

    def _resume(self, checkpoint: Checkpoint) -> None:
        relearn(self.ppo, checkpoint.ppo)
        torch.set_rng_state(checkpoint.torch_state)
        self.update, self.wall_s = checkpoint.update, checkpoint.wall_s
        notes = checkpoint.notes
        self.environment.scale.restore(notes["scale"])
        self.environment.recent.extend(bool(good) for good in notes["recent"])
        self._generator.bit_generator.state = checkpoint.generator
        self.plan.restore(checkpoint.plan)
        self.judge.restore(notes)
        self._restart()

    # --------------------------------------------------------------------------------------------

    def _progress(self, reward: float, losses: dict[str, float], took: float) -> Progress:
        s = self.settings
        left = (s.updates - self.update) * self.wall_s / self.update
        return Progress(
            update=self.update,
            updates=s.updates,
            steps=self.update * s.update,
            exploring=self.environment.success_share,
            look=self.judge.looked,
            reward=reward,
            spread=float(np.mean(spread(self.ppo))),
            steps_per_s=s.update / took,
            left_s=max(0.0, left),
            plan=self.plan.summary(),
            learning_rate=float(self.ppo.learning_rate),
            losses=losses,
        )
