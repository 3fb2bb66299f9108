"""What preflight found, and whether to go on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from trueup.errors import TrueupError


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        check: What it fails: `contract`, `units`, `input`, `pose`, `room`, `order`, `sign`,
            `scale`, `zero`, `weight`, `rate` or `motion`.
        joint: Which joint; none where it concerns the whole robot.
        evidence: What was seen, and what should have been, as a sentence.
        fix: What to do about it.
        body: Which of several bodies showed it first.
    """

    check: str
    joint: str | None
    evidence: str
    fix: str
    body: int = 0

    def __str__(self) -> str:
        return f"{self.check}: {self.evidence} {self.fix}"


@dataclass(frozen=True, kw_only=True)
class Preflight:
    """The result of preflight.

    Attributes:
        robot: Its name.
        policy: Its name.
        findings: What is wrong; nothing where all is well.
        checked: What was looked at, in words.
        skipped: What was not, and why.
        measured: Numbers by joint, for the record.
        motion_s: How long the robot moved, on its clock.
    """

    robot: str
    policy: str
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    measured: dict[str, Any] = field(default_factory=dict)
    motion_s: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the policy may move the robot."""
        return not self.findings

    def refuse(self) -> None:
        """Raise where something is wrong: the first finding is told in full."""
        if self.findings:
            first, *more = self.findings
            rest = f" ({len(more)} more)" if more else ""
            raise TrueupError(
                f"Preflight of {self.robot} for {self.policy} found that {first.check} is wrong: "
                f"{first.evidence}{rest}",
                fix=first.fix,
            )

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "passed": self.passed}
