"""A motion as data: what a robot is to do while it is recorded, and the plan that comes of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from trueup.errors import TrueupError, UnknownName
from trueup.record.body import Body
from trueup.worlds import World

if TYPE_CHECKING:
    from trueup.record.motions.rules import Rule


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What is known when a motion is planned.

    Attributes:
        world: Whose nominal model describes the robot and what it stands on.
        body: Its servos.
        period_s: Time between commands.
        start: (n, nu) where the joints of each of n robots are.
        objects: (n, 7) place and orientation of each thing that was seen, by the name of its body.
    """

    world: World
    body: Body
    period_s: float
    start: np.ndarray
    objects: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A named part of a plan.

    Attributes:
        name: What happens in it.
        first: Its first row.
        end: The row after its last.
        until: What ends its movement early; the rest of the phase is then held.
        relative: Whether it goes as far as the plan from wherever the last phase really ended,
            instead of to where the plan ends.
    """

    name: str
    first: int
    end: int
    until: Rule | None = None
    relative: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The commands of a motion for n robots, before anything moves.

    Attributes:
        motion: What they are for.
        period_s: Time between them.
        path: (k, n, nu) the commands, where nothing ends a phase early.
        phases: What happens when.
        touched: The body that the hand is meant to touch; none where it should touch nothing.
        sunk_m: How far below where the model has it that body is seen to stand.
        stopped: The joint that is meant to meet its own stops; none where none should.
    """

    motion: Motion
    period_s: float
    path: np.ndarray
    phases: tuple[Phase, ...]
    touched: str = ""
    sunk_m: float = 0.0
    stopped: str = ""

    @property
    def duration_s(self) -> float:
        """From the first command to the last."""
        return self.period_s * (len(self.path) - 1)

    def phase(self, row: int) -> Phase:
        """What happens at a row."""
        return next((p for p in self.phases if p.first <= row < p.end), self.phases[-1])


@dataclass(frozen=True, kw_only=True)
class Motion(ABC):
    """One thing to do while recording; a motion is data, and a file can hold it.

    Attributes:
        kinds: Every kind of motion, by the word that names it in a file.
        kind: That word.
    """

    kinds: ClassVar[dict[str, type[Motion]]] = {}
    kind: ClassVar[str] = ""
    _sizes: ClassVar[tuple[str, ...]] = ()

    name: str = ""
    """What to call it; its kind by default."""

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            Motion.kinds[cls.kind] = cls

    @abstractmethod
    def planned(self, situation: Situation, *, end: np.ndarray | None = None) -> Plan:
        """The commands for robots that stand as they stand now.

        Args:
            situation: Where robots and objects are.
            end: (n, nu) pose to go to afterwards; by default the one where the motion ends.
        """

    @property
    def needs(self) -> str:
        """The body that must be seen, or be told where it is, before this can be planned."""
        return ""

    @property
    def title(self) -> str:
        """What to call it in messages and labels."""
        return self.name or self.kind

    def scaled(self, share: float) -> Self:
        """The same motion, smaller or larger: `motion.scaled(0.7)`.

        Commands, speeds and accelerations of an excitation shrink with it in proportion.
        """
        if not (math.isfinite(share) and share > 0):
            raise TrueupError(
                f"A motion cannot be scaled by {share}.", fix="Give a number above 0."
            )
        changed = {name: _times(getattr(self, name), share) for name in self._sizes}
        return replace(self, **changed)

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal motion."""
        return {"kind": self.kind, **asdict(self)}

    @staticmethod
    def from_json(data: Any) -> Motion:
        """The motion that a JSON object describes; what it leaves out is as the kind has it."""
        if not isinstance(data, dict) or "kind" not in data:
            raise TrueupError(
                f"A motion could not be read from {data!r:.60}.",
                fix='Write it as {"kind": "chirp", "duration_s": 10}.',
            )
        kind = Motion.kinds.get(str(data["kind"]))
        if kind is None:
            raise UnknownName("kind of motion", str(data["kind"]), Motion.kinds)
        given = {name: value for name, value in data.items() if name != "kind"}
        known = [f.name for f in fields(kind)]
        for name in given:
            if name not in known:
                raise UnknownName(f"field of a {kind.kind}", name, known)
        return _validated(kind, given)

    def _check(self, good: bool, what: str, fix: str) -> None:
        """Refuse numbers that make no sense."""
        if not good:
            raise TrueupError(f"The motion {self.title!r} has {what}.", fix=fix)


def _validated(kind: type[Motion], given: dict[str, Any]) -> Motion:
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise TrueupError(
            f"The {where} of a {kind.kind} is {first['input']!r:.60}: {first['msg']}.",
            fix="`trueup record motions` shows each kind with its fields.",
        ) from error


def _times(value: Any, share: float) -> Any:
    return tuple(share * v for v in value) if isinstance(value, tuple) else share * value
