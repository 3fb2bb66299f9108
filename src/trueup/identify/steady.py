"""A world as replays need it, which draw nothing anew that nobody fits.

A delay that varies is written anew before each command, so that physics stops there every time.
Where no parameter of a space says how much it varies, it does not, and replays run through: twice
as fast where few worlds are stepped together, and the same to the last bit.
"""

from __future__ import annotations

from copy import copy

import mujoco

from trueup.effects import Write
from trueup.effects.latency import ActionDelay
from trueup.space import Space
from trueup.worlds import World


class SteadyDelay(ActionDelay):
    """Time from sending a command until the servo acts on it, each time the same."""

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        return tuple(write for write in super().writes(model) if not write.each_step)


def steady(world: World, space: Space) -> World:
    """The world, for points of a space; itself where the space has jitter."""
    if ActionDelay.jitter in space:
        return world
    effects = tuple(SteadyDelay() if type(e) is ActionDelay else e for e in world.effects())
    found = copy(world)
    vars(found)["effects"] = lambda: effects  # declared for the class; this copy has its own
    return found
