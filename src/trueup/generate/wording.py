"""The task in words, said in many ways: a policy that follows language must not learn one."""

from __future__ import annotations

import numpy as np

from trueup.worlds import World

_PICKED = ("pick up", "lift", "grab", "raise", "take hold of")
_CUBE = ("the cube", "the red cube", "the small cube", "the block")

_TEXTS: dict[str, tuple[str, ...]] = {
    "so101/lift": (
        *(f"{verb} {thing}" for verb in _PICKED for thing in _CUBE),
        *(f"{verb} {thing} and hold it up" for verb in _PICKED[:2] for thing in _CUBE),
    ),
    "so101/place": (
        *(
            f"{verb} {thing} {where}"
            for verb in ("put", "place", "drop")
            for thing in _CUBE
            for where in ("into the bin", "in the box")
        ),
        *(f"pick up {thing} and put it into the bin" for thing in _CUBE),
    ),
    "so101/push": tuple(
        f"{verb} {thing} {where}"
        for verb in ("push", "slide", "move")
        for thing in _CUBE
        for where in ("to the mark", "onto the green mark")
    ),
    "so101/reach": (
        "move the hand to the target",
        "reach for the target",
        "touch the green ball",
        "bring the fingertips to the target",
    ),
}


def texts(world: World) -> tuple[str, ...]:
    """The ways in which a world's task may be said; one where nobody thought of more."""
    return _TEXTS.get(world.name) or (world.summary or world.name,)


def chosen(sayings: tuple[str, ...], luck: np.ndarray) -> list[str]:
    """One for each number from 0 to 1."""
    return [sayings[min(int(u * len(sayings)), len(sayings) - 1)] for u in luck]
