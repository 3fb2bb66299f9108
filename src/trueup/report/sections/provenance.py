"""Provenance: seeds, versions, hashes, and what to type to have it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trueup.report.blocks import Commands, Prose, Row, Table
from trueup.report.material import Material
from trueup.report.section import Block, Section
from trueup.versions import versions

_COMMANDS = "commands"


def provenance_section(material: Material) -> Section:
    """How to repeat it."""
    facts = {"world": material.before.world, "policy": material.before.policy}
    told = {**facts, **material.provenance}
    told.setdefault("versions", versions())
    rows = [Row(cells=pair) for pair in _flat({k: v for k, v in told.items() if k != _COMMANDS})]
    blocks: list[Block] = [
        Table(
            caption="What gave this result",
            says="Same seeds, same versions, same inputs: same numbers.",
            columns=("what", "value"),
            rows=tuple(rows),
        )
    ]
    lines = tuple(str(line) for line in told.get(_COMMANDS, ()))
    if lines:
        blocks += [Prose(text="To have it again:"), Commands(lines=lines)]
    return Section(key="provenance", title="Provenance", blocks=tuple(blocks), data=told)


def _flat(told: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """A line for each fact, however deep it lies."""
    for key, value in told.items():
        name = f"{above} {key}".strip().replace("_", " ")
        if isinstance(value, Mapping):
            yield from _flat(value, name)
        elif isinstance(value, (list, tuple)):
            yield name, ", ".join(str(item) for item in value)
        elif value is not None:
            yield name, str(value)
