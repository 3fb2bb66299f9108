"""What the tests of this folder share: rehearsal robots, and planted policies."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.evaluate.pilots import constant
from trueup.policies import Policy
from trueup.worlds import World, get

REACH = "so101/reach"


@cache
def world() -> World:
    return get(REACH)


def reality(folder: Path, *beyond: dict[str, Any], **values: float) -> str:
    """The address of a rehearsal robot that is nominal but for parameters and effects outside."""
    file = folder / "reality.json"
    names = {name.replace("__", "/"): value for name, value in values.items()}
    told = {"trueup_reality": 1, "story": "A test.", "values": names, "beyond": beyond}
    file.write_text(json.dumps(told))
    return f"rehearsal:{file}@{REACH}"


def still(folder: Path | None = None) -> Policy:
    """A policy that hardly moves; saved where a folder is given."""
    policy = constant(world(), 0.0)
    return policy if folder is None else policy.save(folder / "policy")


def moving(folder: Path) -> Policy:
    """A policy that moves every joint one way, saved."""
    return constant(world(), 0.2).save(folder / "policy")
