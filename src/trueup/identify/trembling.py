"""A world as a trembling hand commands it.

A tremor that is no part of a replay bends what is fitted: it shakes friction loose. A replay cannot
repeat its phases, and need not: whichever they are, joints that are shaken stick less, and the tone
itself hangs together with nothing that is fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.effects import Filter, Values
from trueup.effects.human import Tremor
from trueup.effects.wrapped import Wrapped
from trueup.space import Prior, Space
from trueup.worlds import World


def trembling(world: World, space: Space, tremor: Mapping[str, Prior]) -> World:
    """The world with a hand that always trembles, for points of a space; itself where none does.

    Args:
        world: The arm without its task.
        space: What is fitted in it, without the tremor.
        tremor: How much and how fast a hand trembles, as `tremor_readings` says.
    """
    if Tremor.frequency not in tremor:
        return world
    effects, period_s = list(world.effects()), world.control_period_s
    at = next(
        i
        for i, e in enumerate(effects)
        if any(p.name in space for p in e.parameters(world.model))
        and e.action(world.model, period_s) is None
    )
    size, hz = (
        float(tremor[name].quantile(np.array([0.5]), 0.0, np.inf)[0])
        for name in (Tremor.amplitude, Tremor.frequency)
    )
    shaken = (*effects[:at], _Shaken(inner=effects[at], size=size, hz=hz), *effects[at + 1 :])
    found = copy(world)
    vars(found)["effects"] = lambda: shaken  # declared for the class; this copy has its own
    return found


@dataclass(frozen=True)
class _Shaken(Wrapped):
    """An effect that is at work anyway, and a tremor of given size with it.

    Attributes:
        size: Of the tremor, in rad.
        hz: Its frequency.
    """

    size: float
    hz: float

    def action(self, model: mujoco.MjModel, period_s: float) -> Filter:
        given = {Tremor.amplitude: self.size, Tremor.frequency: self.hz}
        return _Given(Tremor().action(model, period_s), given)


class _Given(Filter):
    """A filter whose parameters are the same for all worlds."""

    def __init__(self, inner: Filter, given: Mapping[str, float]) -> None:
        self.inner, self.given = inner, given
        self.normals, self.uniforms = inner.normals, inner.uniforms

    def start(self, x, p):
        return self.inner.start(x, p)

    def apply(self, x, p, memory, draws):
        given = {name: x[:, 0] * 0.0 + value for name, value in self.given.items()}
        return self.inner.apply(x, Values(given, len(x)), memory, draws)
