"""The training loop: collect, learn, look, keep."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import numpy as np
import torch

from trueup.policies import Policy, Provenance
from trueup.randomize import Plan
from trueup.simulate import CpuWorlds
from trueup.space import Space
from trueup.train.checkpoint import Checkpoint, generator_state, learned, relearn
from trueup.train.environment import Environment
from trueup.train.learner import (
    actor_bytes,
    check_finite,
    load_actor,
    make_ppo,
    only_critic,
    widths,
)
from trueup.train.look import Success, success_of
from trueup.train.settings import Settings
from trueup.train.terms import contract_for
from trueup.versions import versions
from trueup.worlds import Compiled, World

_MAY_CHANGE = (
    "steps",
    "keep_every",
    "check_every",
    "check_episodes",
    "confirm_episodes",
    "target",
    "target_nominal",
)
_FASTEST = 2e-3  # learning rate; the adaptive rule of rsl_rl would go up to five times that
_SALT = 5501  # keeps the points of training apart from those a policy is evaluated at
_CRITIC_FIRST = 6  # updates in which only the critic learns, when a policy is tuned


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where training stands after an update.

    Attributes:
        update: Updates done, of `updates`.
        updates: In all, at most.
        steps: Control steps learned from.
        exploring: Success of the last training episodes, exploration included; nan at first.
        look: Success at the last look, without exploration; none before the first.
        reward: Mean of the last update, per step, scaled as it is learned from.
        spread: Standard deviation of the answers.
        steps_per_s: Control steps a second, learning included, looks not.
        left_s: Seconds left if no target stops it earlier.
        plan: Where the plan stands.
        learning_rate: Of the last update.
        losses: Of the last update.
    """

    update: int
    updates: int
    steps: int
    exploring: float
    look: Success | None
    reward: float
    spread: float
    steps_per_s: float
    left_s: float
    plan: str
    learning_rate: float
    losses: dict[str, float]


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
            settings = replace(
                settings, history=start.contract.history, hidden=widths(start.stored)
            )
        self.world, self.plan, self.settings, self.start = world, plan, settings, start
        self.threads = threads
        self.update, self.wall_s = 0, 0.0
        self.looked: Success | None = None
        self.best: tuple[float, bytes] | None = None
        self._best_now = False
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
        worlds = CpuWorlds(Compiled(world, plan.space), settings.worlds, threads=threads)
        self.environment = Environment(worlds, self.contract, plan, settings, self._generator)
        self.ppo = make_ppo(self.environment, settings)
        if start is not None:
            load_actor(self.ppo, start.stored, samples=settings.update)
        self._observation = self.environment.get_observations()
        if checkpoint is not None:
            self._resume(checkpoint)

    # The loop -----------------------------------------------------------------------------------

    def learn(self) -> Progress:
        """One update: collect experience in all worlds, then learn from it."""
        began = perf_counter()
        reward = self._collect()
        self._set_pace()
        with only_critic(self.ppo, self.start is not None and self.update < _CRITIC_FIRST):
            losses = self.ppo.update()
        check_finite(self.ppo, losses)
        self.update += 1
        took = perf_counter() - began
        self.wall_s += took
        return self._progress(reward, losses, took)

    def _set_pace(self) -> None:
        """The better the policy, the smaller its steps."""
        s, success = self.settings, np.nan_to_num(self.environment.success_share)
        self.ppo.desired_kl = float(s.kl + success * (s.kl_done - s.kl))
        self.ppo.learning_rate = min(self.ppo.learning_rate, _FASTEST)

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
    def due(self) -> bool:
        """Whether it is time for a look; seldom while hardly an episode succeeds."""
        every = self.settings.check_every
        if self.environment.success_share < 0.5 * self.settings.target:
            every *= 4
        return self.done or self.update % every == 0

    @property
    def keepable(self) -> bool:
        """Whether it is time for a checkpoint."""
        return self.update % self.settings.keep_every == 0

    def look(self) -> Success:
        """Measure the policy as it would be stored, and remember the best."""
        began = perf_counter()
        stored = actor_bytes(self.ppo)
        self.looked = self._success(stored, self.plan.space, self.settings.check_episodes, 0)
        self._best_now = self.best is None or self.looked.share >= self.best[0]
        if self._best_now:
            self.best = (self.looked.share, stored)
        self.wall_s += perf_counter() - began
        return self.looked

    def confirm(self) -> dict[str, Success]:
        """Measure the best policy again on fresh episodes: a look alone picks lucky ones.

        From then on it counts for what was found here.
        """
        began = perf_counter()
        stored = self.best[1] if self.best else actor_bytes(self.ppo)
        n = self.settings.confirm_episodes
        found = {
            "nominal": self._success(stored, Space(()), n, 1),
            "randomized": self._success(stored, self.plan.space, n, 2),
        }
        self.best = (found["randomized"].share, stored)
        self.wall_s += perf_counter() - began
        return found

    def reached(self, found: dict[str, Success]) -> bool:
        """Whether both targets are reached for sure: by the lower ends of the intervals."""
        s = self.settings
        wanted = {"nominal": s.target_nominal, "randomized": s.target}
        return all(found[name].interval[0] >= target for name, target in wanted.items())

    @property
    def promising(self) -> bool:
        """Whether the last look was the best one and is worth the time of confirming it."""
        good = self.looked is not None and self.looked.share >= self.settings.target
        return good and self._best_now

    def _success(self, stored: bytes, space: Space, n: int, stream: int) -> Success:
        return success_of(
            self.policy(stored),
            self.world,
            space,
            n,
            [self.settings.seed, self.update, stream],
            threads=self.threads,
        )

    # Keeping ------------------------------------------------------------------------------------

    def policy(self, stored: bytes | None = None, outcome: dict[str, Any] | None = None) -> Policy:
        """The best policy so far as an artefact, or the one whose network is given."""
        if stored is None:
            stored = self.best[1] if self.best else actor_bytes(self.ppo)
        return Policy(
            stored=stored,
            contract=replace(self.contract, space=self.plan.distribution()),
            provenance=Provenance(
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                method="ppo",
                seed=self.settings.seed,
                steps=self.update * self.settings.update,
                wall_s=self.wall_s,
                configuration={"plan": self.plan.name, **self.settings.to_json()},
                versions=versions("mujoco", "numpy", "torch", "rsl-rl-lib"),
                outcome=outcome or {},
                parent=None if self.start is None else _parent(self.start),
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
                "looked": None if self.looked is None else [self.looked.good, self.looked.n],
                "best": None if self.best is None else [self.best[0], self.best[1].hex()],
            },
            identity=self.identity(),
        )

    def _restart(self) -> None:
        """Begin all episodes anew, and play until they are spread out again.

        Worlds that have just begun are all at the beginning. A policy that learned from these alone
        would forget the rest.
        """
        began = perf_counter()
        self.environment.restart()
        observation, actor = self.environment.get_observations(), self.ppo.get_policy()
        with torch.inference_mode():
            for _ in range(self.environment.max_episode_length):
                answer = actor(observation, stochastic_output=True)
                observation, _, _, _ = self.environment.step(answer)
        self._observation = observation
        self.wall_s += perf_counter() - began

    def identity(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be gone on from."""
        space = json.dumps(self.plan.space.to_json(), sort_keys=True)
        settings = self.settings.to_json()
        return {
            "world": self.world.name,
            "plan": self.plan.name,
            "space": hashlib.sha256(space.encode()).hexdigest()[:16],
            "start": None if self.start is None else _parent(self.start)["sha256"],
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
        if notes["looked"]:
            self.looked = Success(good=notes["looked"][0], n=notes["looked"][1])
        if notes["best"]:
            self.best = (notes["best"][0], bytes.fromhex(notes["best"][1]))
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
            look=self.looked,
            reward=reward,
            spread=float(self.ppo.get_policy().output_std.mean().detach()),
            steps_per_s=s.update / took,
            left_s=max(0.0, left),
            plan=self.plan.summary(),
            learning_rate=float(self.ppo.learning_rate),
            losses=losses,
        )


def _parent(policy: Policy) -> dict[str, Any]:
    """Which policy this one was tuned from."""
    known = policy.provenance
    return {
        "name": policy.name,
        "sha256": hashlib.sha256(policy.stored).hexdigest(),
        "created": known.created,
        "steps": known.steps,
        "parent": known.parent,
    }
