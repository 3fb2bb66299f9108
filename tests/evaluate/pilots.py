"""Policies with planted weights, for tests: untrained, real files, real networks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from trueup.policies import Contract, Interface, Layer, Policy, Provenance, network_bytes
from trueup.space import Space
from trueup.worlds import World, interface_of

_PROVENANCE = Provenance(
    created="2026-01-01",
    method="planted",
    seed=0,
    steps=0,
    wall_s=0.0,
    configuration={},
    versions={},
)


def constant(world: World, answer: float, *, seed: int = 0, **changes) -> Policy:
    """A policy whose answers lie around one value; `changes` bend its interface."""
    interface: Interface = replace(interface_of(world), **changes)
    servos = len(interface.commands)
    contract = Contract(
        world=world.name,
        task="a test",
        interface=interface,
        history=2,
        lead=(0.8,) * servos,
        rate=(20.0,) * servos,
        space=Space(()),
    )
    generator = np.random.default_rng(seed)
    sizes = (contract.inputs, 16, servos)
    layers = [Layer(0.3 * generator.normal(size=(b, a)), np.zeros(b)) for a, b in pairwise(sizes)]
    layers[-1].weight[:] *= 0.02
    layers[-1].bias[:] = answer
    stored = network_bytes(mean=np.zeros(sizes[0]), scale=np.ones(sizes[0]), layers=layers)
    return Policy(stored=stored, contract=contract, provenance=_PROVENANCE)
