"""Rehearsal realities in which a policy from simulation succeeds now and then; sim-to-sim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cotrain_operator import performed
from benchmarks.realities import tried
from trueup.diagnose.planted import GAPS, bends
from trueup.hardware.reality import reality_from
from trueup.policies import Policy
from trueup.streams import seeds_from
from trueup.worlds import World

LOW, HIGH = 0.2, 0.6
_ABLE = 0.8  # of the operator's tries: where even an operator fails, nothing can be shown
_BENT = ("contact", "sensing", "object", "environment", "actuation", "latency")
_GAPS = 2
_LOOKS, _TRIALS, _OPERATOR = 40, 200, 32
_HALVINGS = 4


@dataclass(frozen=True, kw_only=True)
class Hard:
    """A reality in which the policy succeeds in 20 to 60 % of its trials.

    Attributes:
        file: What a reality file would hold.
        gaps: Those that were bent.
        success: Of the policy, over 200 trials.
        operator: Share of an operator's tries that succeed.
    """

    file: Mapping[str, Any]
    gaps: tuple[str, ...]
    success: float
    operator: float


def hard_realities(world: World, policy: Policy, seed: int) -> Iterator[Hard]:
    """Such realities without end.

    Two gaps are bent at random, up to the bounds of the catalogue; where that leaves less than
    20 %, the bend is halved until it does not.
    """
    generator = np.random.default_rng(seed)
    while True:
        gaps = tuple(str(gap) for gap in generator.permutation(_BENT)[:_GAPS])
        space = world.catalogue.select(*(f"{gap}/*" for gap in gaps))
        drawn = bends(space, 1, generator)
        rows = [int(np.flatnonzero(drawn.gap == GAPS.index(gap))[0]) for gap in gaps]
        nominal = space.encode(space.nominal())[0]
        away, seeds = drawn.joined(rows) - nominal, seeds_from(generator, _TRIALS)
        for file in _files(world, policy, space, nominal, away, seeds[:_LOOKS]):
            reality = reality_from(file)
            operator = float(performed(world, reality, seed, _OPERATOR)[0].success.mean())
            if operator < _ABLE:
                continue
            success = float(tried(world, policy, reality, seeds).success.mean())
            if LOW <= success <= HIGH:
                yield Hard(file=file, gaps=gaps, success=success, operator=operator)


def _files(world, policy, space, nominal, away, seeds) -> Iterator[dict[str, Any]]:
    """The strength of a bend at which the policy succeeds now and then, found by halving."""
    low, high, share = 0.0, 1.0, 1.0
    for _ in range(_HALVINGS):
        point = dict(space.decode((nominal + share * away)[None])[0])
        off = {name: float(v) for name, v in point.items() if v != space[name].nominal}
        file = {
            "trueup_reality": 1,
            "story": "Drawn at random.",
            "world": world.name,
            "values": off,
            "beyond": [],
        }
        won = float(tried(world, policy, reality_from(file), seeds).success.mean())
        if LOW - 0.05 <= won <= HIGH + 0.05:
            yield file
            return
        if won > HIGH:
            low = share
        else:
            high = share
        if high == low or (low == 1.0):
            return
        share = 0.5 * (low + high)
