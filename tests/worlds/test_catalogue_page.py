"""The page that lists the catalogue lists all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trueup import worlds
from trueup.effects import FieldEffect

PAGE = Path(__file__).parents[2] / "docs" / "effects.md"


def general(name: str) -> str:
    """A parameter's name with the model's own names left out: `actuation/JOINT/kp`."""
    gap, *middle, quantity = name.split("/")
    quantity = re.sub(r"_[yz]$", "_x", quantity)
    of_a_link = gap == "actuation" and quantity in ("mass", "com_x")
    subjects = {
        "contact": "PAIR",
        "object": "BODY",
        "actuation": "LINK" if of_a_link else "JOINT",
        "latency": "JOINT",
    }
    shared = middle[:1] in (["encoder"], ["speed"], ["current"])
    if gap == "sensing" and not shared:
        subjects["sensing"] = "JOINT"
    if middle and gap in subjects:
        middle = [subjects[gap]]
    middle = ["N" if part.isdigit() else part for part in middle]
    return "/".join([gap, *middle, quantity])


@pytest.mark.parametrize("name", worlds.names())
def test_every_parameter_is_on_the_page(name):
    text = PAGE.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    for parameter in worlds.get(name).catalogue:
        wanted = general(parameter.name)
        stem, quantity = wanted.rsplit("/", 1)
        found = [
            row
            for row in rows
            if f"`{wanted}`" in row or (f"`{stem}/" in row and f"`{quantity}`" in row)
        ]
        assert found, f"docs/effects.md has no row for {wanted}"


@pytest.mark.parametrize("name", worlds.names())
def test_what_is_optional_is_marked(name):
    text = PAGE.read_text(encoding="utf-8")
    world = worlds.get(name)
    for effect in world.effects():
        if isinstance(effect, FieldEffect):
            continue
        title = f"`{type(effect).__name__}`"
        rows = [line for line in text.splitlines() if line.startswith("| `") and title in line]
        assert rows, f"docs/effects.md has no row for {title}"
        last = "optional |" if effect.optional else "yes |"
        assert all(row.endswith(last) for row in rows), title
