"""Does a robot keep the contract? For whoever writes a driver, before anybody trusts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from trueup.errors import TrueupError
from trueup.hardware.checks import declaration, motion, session
from trueup.hardware.checks.rule import Broken
from trueup.hardware.robot import Robot


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What came of one rule.

    Attributes:
        rule: What the contract asks for, in words.
        verdict: Whether it is kept, broken, or was left out because the robot is real.
        words: What was found where it is broken, and what to do.
    """

    rule: str
    verdict: Literal["kept", "broken", "left out"]
    words: str = ""

    def __str__(self) -> str:
        return f"{self.verdict}: {self.rule}" + (f": {self.words}" if self.words else "")


class ContractBroken(TrueupError):
    """A robot that does not keep the contract; every broken rule is told."""

    def __init__(self, robot: Robot, findings: list[Finding]) -> None:
        self.findings = findings
        broken = [finding for finding in findings if finding.verdict == "broken"]
        told = "; ".join(f"({i + 1}) {f.rule}: {f.words}" for i, f in enumerate(broken))
        super().__init__(
            f"{getattr(robot, 'name', type(robot).__name__)} breaks {len(broken)} of "
            f"{len(findings)} rules of the robot contract: {told}.",
            fix="trueup.hardware.Robot says what each method must do; mend them in this order.",
        )


@dataclass(frozen=True, kw_only=True)
class _Rule:
    words: str
    check: Callable[[Robot], None]
    moves: bool = False
    essential: bool = False


_RULES = (
    _Rule(
        words="it says what it is",
        check=declaration.introduced,
        essential=True,
    ),
    _Rule(words="observations have names and columns", check=declaration.observations),
    _Rule(words="units are SI", check=declaration.units),
    _Rule(words="commands have limits", check=declaration.limits),
    _Rule(words="measured joints are declared", check=declaration.measured),
    _Rule(words="nothing is observed before connect", check=session.refused_before),
    _Rule(words="connect opens the connection", check=session.connect, essential=True),
    _Rule(words="observe gives what is declared", check=session.observes, essential=True),
    _Rule(words="observations are the caller's own", check=session.own_arrays),
    _Rule(words="the clock rises and can be waited for", check=session.clock, essential=True),
    _Rule(words="torque is off after connect", check=motion.limp, moves=True),
    _Rule(words="reset brings an episode's beginning", check=session.resets, moves=True),
    _Rule(words="enable holds where it is", check=motion.holds, moves=True, essential=True),
    _Rule(words="act answers with what was sent", check=motion.acts, moves=True),
    _Rule(words="act keeps the limits", check=motion.clipped, moves=True),
    _Rule(words="act refuses what is no command", check=motion.refuses, moves=True),
    _Rule(words="each servo follows its own command", check=motion.follows, moves=True),
    _Rule(words="bodies are commanded apart", check=motion.apart, moves=True),
    _Rule(words="it keeps its rate", check=session.rate),
    _Rule(words="disable and enable again", check=motion.again, moves=True),
    _Rule(words="disconnect, twice", check=session.disconnects),
    _Rule(words="nothing is observed after disconnect", check=session.refused_after),
)


def check_robot(robot: Robot, *, armed: bool = False) -> list[Finding]:
    """Go through the robot contract, rule by rule.

    Hand over a robot that is not connected; it is disconnected afterwards. It moves by a tenth of a
    radian, one joint at a time, so a real robot is only observed unless it is `armed`.

    Args:
        robot: The robot.
        armed: Whether a real robot may move.

    Returns:
        A finding for each rule, all kept or left out.

    Raises:
        ContractBroken: Where a rule is broken; its `findings` hold all of them.
    """
    findings: list[Finding] = []
    with _disconnected(robot):
        for rule in _RULES:
            finding = _found(rule, robot, armed)
            findings.append(finding)
            if finding.verdict == "broken" and rule.essential:
                break
    if any(finding.verdict == "broken" for finding in findings):
        raise ContractBroken(robot, findings)
    return findings


def _found(rule: _Rule, robot: Robot, armed: bool) -> Finding:
    if rule.moves and robot.real and not armed:
        return Finding(rule=rule.words, verdict="left out", words="it would move a real robot")
    try:
        rule.check(robot)
    except Broken as broken:
        return Finding(rule=rule.words, verdict="broken", words=str(broken).rstrip("."))
    except Exception as error:  # whatever a driver under test may raise
        told = str(error).rstrip(".")
        return Finding(
            rule=rule.words, verdict="broken", words=f"it raised {type(error).__name__}: {told}"
        )
    return Finding(rule=rule.words, verdict="kept")


@contextmanager
def _disconnected(robot: Robot) -> Iterator[None]:
    """Whatever is found, the torque is off at the end."""
    try:
        yield
    finally:
        with suppress(Exception):  # told as a broken rule already
            robot.disconnect()
