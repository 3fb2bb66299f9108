"""Parameters that differ in nothing but the joint, link or axis they belong to, as one row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trueup.space import Parameter, Space


@dataclass(frozen=True, kw_only=True)
class Family:
    """Parameters with the same numbers.

    Attributes:
        pattern: What names them all, for `--select`; the name itself where there is only one.
        members: The parameters.
        default: Whether they differ unless told otherwise.
    """

    pattern: str
    members: tuple[Parameter, ...]
    default: bool


def families(
    parameters: Iterable[Parameter], defaults: Space, *, by_numbers: bool = True
) -> list[Family]:
    """Group parameters, first by axis (x, y, z) and then by joint, in order of appearance.

    With `by_numbers` off, bounds and priors may differ within a group.
    """
    numbers = _numbers if by_numbers else lambda p: ()
    groups: dict[tuple, list[Parameter]] = {}
    for p in parameters:
        groups.setdefault((_axis_free(p.name), *numbers(p)), []).append(p)
    found: dict[tuple, list[tuple[str, list[Parameter]]]] = {}
    for members in groups.values():
        name = _axis_free(members[0].name) if len(members) > 1 else members[0].name
        key = (_joint_free(name), len(members), *numbers(members[0]), members[0].name in defaults)
        found.setdefault(key, []).append((name, members))
    return [
        Family(
            pattern=key[0] if len(alike) > 1 else alike[0][0],
            members=tuple(p for _, members in alike for p in members),
            default=key[-1],
        )
        for key, alike in found.items()
    ]


def _numbers(p: Parameter) -> tuple:
    return p.unit, p.nominal, p.low, p.high, p.scale, str(p.prior), p.source


def _axis_free(name: str) -> str:
    return f"{name[:-2]}_*" if name.endswith(("_x", "_y", "_z")) else name


def _joint_free(name: str) -> str:
    parts = name.split("/")
    return "/".join([*parts[:-2], "*", parts[-1]]) if len(parts) > 2 else name
