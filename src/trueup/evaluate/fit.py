"""A policy in a world: whether it fits, and how it takes the controls."""

from __future__ import annotations

from trueup.evaluate.play import Begin
from trueup.policies import Policy
from trueup.simulate import Worlds
from trueup.simulate.rollout import Controller
from trueup.worlds import World, interface_of


def check_fit(policy: Policy, world: World) -> None:
    """Refuse a world that a policy's contract does not fit, with both sides named."""
    policy.check(interface_of(world), of=f"the world {world.name!r}")


def piloted(policy: Policy) -> Begin:
    """What `evaluate` needs to let a policy play; it checks the fit before the first step."""

    def begin(worlds: Worlds) -> Controller:
        check_fit(policy, worlds.world)
        pilot = policy.pilot(worlds.n)
        pilot.begin(worlds.observation, worlds.hold)
        return lambda k, observation: pilot(observation)

    return begin
