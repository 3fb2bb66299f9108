"""A world with one effect more than its own."""

from __future__ import annotations

from trueup.effects import Effect
from trueup.worlds.answers import effects_of
from trueup.worlds.world import World


def with_effect(world: World, effect: Effect) -> World:
    """The same world with an effect of its robot's own: how much of it, a point says.

    It keeps the name, so that what was trained or recorded in the one belongs to the other.
    """
    chosen = (*effects_of(world), effect)
    members = {"effects": lambda self: chosen, "__module__": __name__}
    made = type(type(world).__name__, (type(world),), members)()
    own = {name: value for name, value in vars(world).items() if name not in ("catalogue", "space")}
    vars(made).update(own)  # what this world alone has, such as another control period
    made.model = world.model  # the nominal model is the same, and costs time to compile
    return made
