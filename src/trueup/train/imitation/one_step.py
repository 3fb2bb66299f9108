"""From a policy that answers for many steps to one that answers for the present alone."""

from __future__ import annotations

from dataclasses import replace

from trueup.policies import Layer, Policy, network_bytes, network_layers


def one_step(policy: Policy) -> Policy:
    """The same network without its answers for steps to come, e.g. to train it on from reward.

    It succeeds less often than with them, as nothing smooths its answers any more.
    """
    if policy.contract.chunk is None:
        return policy
    servos = len(policy.contract.interface.commands)
    mean, scale, layers = network_layers(policy.stored)
    last = Layer(layers[-1].weight[:servos], layers[-1].bias[:servos])
    return replace(
        policy,
        stored=network_bytes(mean=mean, scale=scale, layers=[*layers[:-1], last]),
        contract=replace(policy.contract, chunk=None),
    )
