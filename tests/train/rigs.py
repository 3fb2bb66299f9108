"""Trainings that take a second, for tests of policies and of training."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch

from tests.train.swing import Swing
from trueup.policies import Policy
from trueup.randomize import Plan, plan_named
from trueup.simulate import CpuWorlds
from trueup.space import Points
from trueup.train import Environment, Settings, Trainer
from trueup.train.terms import contract_for
from trueup.worlds import Compiled, World

torch.set_num_threads(1)

QUICK = Settings(  # every number that matters, so that tests do not follow the defaults
    worlds=64,
    horizon=16,
    steps=10 * 64 * 16,
    history=2,
    hidden=(32,),
    gamma=0.9,
    lam=0.95,
    learning_rate=1e-3,
    kl=0.015,
    epochs=5,
    minibatches=4,
    lessons=4,
    exploration=0.6,
    critic_first=6,
    bonus=2.0,
    check_every=4,
    check_episodes=64,
    confirm_episodes=100,
)


def made(world: World | None = None, plan: str = "prior", **options: Any) -> Trainer:
    """A trainer of the quick settings; options are settings, or `start` and `checkpoint`."""
    world = world or Swing()
    parts = {name: options.pop(name) for name in ("start", "checkpoint") if name in options}
    settings = replace(QUICK, **options)
    return Trainer(world, plan_named(plan, world.space), settings, threads=1, **parts)


@cache
def learned(updates: int = 8) -> Trainer:
    """A trainer after some updates, shared between tests: do not train it further."""
    trainer = made()
    for _ in range(updates):
        trainer.learn()
    return trainer


def trained() -> Policy:
    """A policy that has learned the task, not yet in a folder."""
    return learned().policy()


class Told(Plan):
    """A plan that draws from the beliefs, and keeps what it handed out and was told."""

    name = "told"

    def __init__(self, world: World) -> None:
        super().__init__(world.space)
        self.drawn: list[np.ndarray] = []
        self.heard: list[tuple[np.ndarray, np.ndarray]] = []

    def draw(self, generator: np.random.Generator, n: int) -> Points:
        points = self.space.sample(generator, n)
        self.drawn.append(points.values)
        return points

    def learn(self, points: np.ndarray, success: np.ndarray) -> None:
        self.heard.append((points.copy(), success.copy()))


def environment(
    world: World | None = None, *, n: int = 16, plan: Plan | None = None, **settings: Any
) -> Environment:
    """Worlds as the trainer sees them."""
    world = world or Swing()
    chosen = replace(QUICK, worlds=n, **settings)
    plan = plan or plan_named("prior", world.space)
    contract = contract_for(world, plan.space, history=chosen.history)
    worlds = CpuWorlds(Compiled(world, plan.space), n, threads=1)
    return Environment(worlds, contract, plan, chosen, np.random.default_rng(0))
