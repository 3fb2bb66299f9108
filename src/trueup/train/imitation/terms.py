"""Under which terms a policy is cloned: its contract, and which demonstrations judge it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.episodes import Dataset
from trueup.errors import TrueupError
from trueup.policies import Chunk, Contract, Feature, Policy
from trueup.space import Space
from trueup.train.imitation.demonstrations import Shown
from trueup.train.imitation.settings import Cloning, Portion
from trueup.train.terms import contract_for
from trueup.worlds import World

_GENERATION = "meta/generation.json"
_FEW = 4  # episodes from which on at least one is held out


def terms(
    world: World,
    portions: Sequence[Portion],
    features: Sequence[Feature],
    settings: Cloning,
    start: Policy | None,
) -> Contract:
    """The contract of a policy that is about to be cloned; that of `start` where it is tuned."""
    space = demonstrated_space(world, portions)
    made = contract_for(world, space, history=settings.history)
    made = replace(
        made,
        interface=replace(made.interface, observations=tuple(features)),
        chunk=Chunk(length=settings.chunk, forget=settings.forget) if settings.chunk > 1 else None,
    )
    if start is None:
        return made
    start.check(made.interface, of=f"the demonstrations for world {world.name!r}")
    space = _together(start.contract.space, space)
    return replace(start.contract, world=made.world, task=made.task, space=space)


def demonstrated_space(world: World, portions: Sequence[Portion]) -> Space:
    """What differed between demonstrations that were made in simulation."""
    spaces = [_space(world, Dataset.open(portion.dataset)) for portion in portions]
    made = Space(())
    for space in spaces:
        made = _together(made, space)
    return made


def held_out(shown: Shown, settings: Cloning, *, only: bool) -> tuple[int, ...]:
    """Episodes of a portion that it is judged by, drawn by the seed.

    Of few, none is held out, unless they are all there is.
    """
    episodes = np.array(shown.episodes)
    count = round(settings.held_out * len(episodes))
    if settings.held_out > 0 and (len(episodes) >= _FEW or (only and len(episodes) > 1)):
        count = max(1, count)
    if only and len(episodes) == 1:
        raise TrueupError(
            f"{shown.portion.dataset} has one demonstration, and none is left to judge by.",
            fix="Record more, or make more from it: `trueup generate WORLD --source "
            f"{shown.portion.dataset}`.",
        )
    generator = np.random.default_rng([settings.seed, 1])
    return tuple(sorted(generator.permutation(episodes)[:count].tolist()))


def _space(world: World, dataset: Dataset) -> Space:
    try:
        asked = json.loads((dataset.folder / _GENERATION).read_text(encoding="utf-8"))
        return Space.from_json(asked["space"])
    except (OSError, ValueError, KeyError, TypeError, TrueupError):
        pass  # it was not generated; perhaps its episodes say in which worlds they were made
    point = dataset.about(0).origin.get("point") or {}
    known = world.catalogue.names
    return Space(tuple(world.catalogue[name] for name in known if name in point))


def _together(one: Space, other: Space) -> Space:
    """Every parameter of both, as the first has it."""
    more = tuple(parameter for parameter in other if parameter.name not in one.names)
    return Space((*one, *more))
