"""What a training begins with, where it does not begin with nothing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from trueup.errors import TrueupError
from trueup.policies import Policy
from trueup.train.settings import Settings

SPREAD = "spread"
"""In a policy's provenance: the standard deviation of each answer when its training ended."""

_CAREFUL = 0.15  # after lessons, or where a policy does not say what its training ended with
_LEAST, _MOST = 0.05, 0.6  # what may be learned from: less finds nothing, more ruins the policy
_SPREADS = TypeAdapter(list[float], config={"allow_inf_nan": False})


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Which updates do what: lessons first, then the critic alone, then PPO.

    Attributes:
        known: Whether PPO goes on from a policy, instead of from nothing.
        lessons: Updates that imitate an expert.
        judging: Updates after these in which only the critic learns.
    """

    known: bool = False
    lessons: int = 0
    judging: int = 0

    @staticmethod
    def of(settings: Settings, *, start: Policy | None, expert: bool) -> Phases:
        """Those of a training that begins from a policy, from an expert's lessons or nothing."""
        lessons = settings.lessons if expert and start is None else 0
        known = start is not None or lessons > 0
        judging = settings.critic_first if known else 0
        return Phases(known=known, lessons=lessons, judging=judging)

    @property
    def before(self) -> int:
        """Updates before the first one of PPO proper."""
        return self.lessons + self.judging


def check_start(start: Policy) -> None:
    """Refuse a policy that reward cannot go on from: it learns answers for the present alone."""
    if start.contract.chunk is not None:
        raise TrueupError(
            f"Policy {start.name} answers for {start.contract.chunk.length} steps at once, and "
            "training from reward goes on from policies that answer for one.",
            fix="Begin from one_step(policy) of trueup.train.imitation, as the command line does.",
        )


def exploration_of(start: Policy | None, settings: Settings) -> float | list[float]:
    """How much a policy that exists already explores at first.

    One that is tuned does as its own training did in the end.
    """
    if settings.exploration is not None:
        return settings.exploration
    if start is None:
        return _CAREFUL
    try:
        known = _SPREADS.validate_python(start.provenance.configuration.get(SPREAD))
    except ValidationError:
        return _CAREFUL
    fits = len(known) == start.contract.outputs
    return [min(max(value, _LEAST), _MOST) for value in known] if fits else _CAREFUL


def parent_of(policy: Policy) -> dict[str, Any]:
    """Which policy another one was tuned from."""
    known = policy.provenance
    return {
        "name": policy.name,
        "sha256": hashlib.sha256(policy.stored).hexdigest(),
        "created": known.created,
        "steps": known.steps,
        "parent": known.parent,
    }
