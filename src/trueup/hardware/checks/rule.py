"""What a check of the robot contract says where a rule is broken."""

from __future__ import annotations

from typing import NoReturn


class Broken(Exception):
    """A rule of the contract that a robot breaks: what was found, and what to do."""


def broken(found: str, fix: str) -> NoReturn:
    """Say that a rule is broken."""
    raise Broken(f"{found}. {fix}")


def rule(holds: object, found: str, fix: str) -> None:
    """Say that a rule is broken unless it holds."""
    if not holds:
        broken(found, fix)
