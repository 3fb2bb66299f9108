"""The world, the spaces and the commands that the benchmarks share."""

from __future__ import annotations

import numpy as np

from trueup import worlds
from trueup.effects import Effect
from trueup.simulate import CpuWorlds
from trueup.space import Space
from trueup.streams import seeds_from
from trueup.worlds import Compiled, World
from trueup.worlds.so101 import HOME, REACH

WORLD = "so101/lift"
_HELD_STEPS = 10  # control steps between two targets
_SPREAD = 0.15  # rad


def spaces() -> dict[str, Space]:
    """What may be randomized: by default, in the model, and at all."""
    world = worlds.get(WORLD)
    return {
        "default space": world.space,
        "every model-stage effect": _model_stage(world),
        "whole catalogue": world.catalogue,
    }


def randomized(space: Space, n: int, *, threads: int = 0, seed: int = 0) -> CpuWorlds:
    """n copies of the world at points of a space; the same seed gives the same copies."""
    batch = CpuWorlds(Compiled(worlds.get(WORLD), space), n, threads=threads)
    generator = np.random.default_rng(seed)
    batch.reset(space.sample(generator, n), seeds_from(generator, n))
    return batch


class Commands:
    """Targets between the ready pose and the cube, with noise, new every 0.4 s.

    Hands come down on table and cube, so the physics has contacts to solve, as in a real run.
    """

    def __init__(self, worlds: CpuWorlds, *, seed: int = 1) -> None:
        self._generator = np.random.default_rng(seed)
        self._low, self._high = worlds.compiled.model.actuator_ctrlrange[: len(HOME)].T
        self._shape = (worlds.n, len(HOME))
        self._target = np.zeros(self._shape)

    def __call__(self, k: int) -> np.ndarray:
        if k % _HELD_STEPS == 0:
            home, reach = np.array(HOME), np.array(REACH)
            share = self._generator.random((self._shape[0], 1))
            noise = _SPREAD * self._generator.standard_normal(self._shape)
            self._target = np.clip(home + share * (reach - home) + noise, self._low, self._high)
        return self._target


def _model_stage(world: World) -> Space:
    """Parameters of all effects, optional ones too, that write model fields or edit the spec."""
    names = {
        parameter.name
        for effect in world.effects()
        if type(effect).writes is not Effect.writes or type(effect).edit is not Effect.edit
        for parameter in effect.parameters(world.model)
    }
    return Space(tuple(p for p in world.catalogue if p.name in names))
