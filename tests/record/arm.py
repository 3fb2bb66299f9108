"""The SO-101 as the tests of recording know it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from trueup.record import Body, Envelope, Situation
from trueup.worlds import World, get

PERIOD_S = 0.04
CENTRE = (0.0, -0.4, -0.3, 0.2, 0.0, 0.6)
"""A pose with room on all sides."""


@cache
def world(name: str = "so101/lift") -> World:
    return get(name)


@cache
def body() -> Body:
    return Body.of(world())


@cache
def envelope() -> Envelope:
    return Envelope(world())


def situation(start: tuple[float, ...] | None = None, **things: np.ndarray) -> Situation:
    """One robot that stands in its ready pose, or in another, among things."""
    return Situation(
        world=world(),
        body=body(),
        period_s=PERIOD_S,
        start=np.array([body().ready if start is None else start], float),
        objects={name: np.atleast_2d(pose) for name, pose in things.items()},
    )


def reality(folder: Path, name: str, values: dict[str, float], of: str = "so101/lift") -> str:
    """The address of a rehearsal robot with a planted truth."""
    file = folder / f"{name}.json"
    truth = {"trueup_reality": 1, "story": "Planted.", "world": of, "values": values}
    file.write_text(json.dumps(truth))
    return f"rehearsal:{file}"
