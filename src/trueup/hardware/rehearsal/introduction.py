"""What a rehearsal robot says of itself when somebody connects: all that its contract offers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trueup.errors import TrueupError
from trueup.hardware.rehearsal.wire import PROTOCOL, BadFrame
from trueup.policies import Feature, Interface

if TYPE_CHECKING:  # a client has no physics
    from trueup.hardware.rehearsal.cells import Cells


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Feature(_Strict):
    name: str
    size: int = Field(ge=1)
    unit: str
    columns: list[str]


class _Command(_Strict):
    name: str
    unit: str
    low: float | None
    high: float | None


class Introduction(_Strict):
    """Names, units, limits and rate of a robot, and how many bodies it has. Never its truth."""

    protocol: Literal[1]
    kind: Literal["rehearsal"] = "rehearsal"
    world: str
    task: str
    cells: int = Field(ge=1)
    realtime: bool
    period_s: float = Field(gt=0)
    tick_s: float = Field(gt=0)
    observations: list[_Feature]
    commands: list[_Command]
    measured: str | None

    @classmethod
    def read(cls, words: Any) -> Introduction:
        """What came over the line, checked."""
        spoken = words.get("protocol") if isinstance(words, dict) else None
        if spoken is not None and spoken != PROTOCOL:
            raise TrueupError(
                f"The robot speaks version {spoken} of the protocol, and this trueup version "
                f"{PROTOCOL}.",
                fix="Use the same trueup on both sides.",
            )
        try:
            return cls.model_validate(words)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise BadFrame(f"it introduces itself wrongly ({place}: {first['msg']})") from error

    @property
    def interface(self) -> Interface:
        """What passes between it and a policy."""
        return Interface(
            observations=tuple(
                Feature(name=f.name, size=f.size, unit=f.unit) for f in self.observations
            ),
            commands=tuple(c.name for c in self.commands),
            unit=tuple(c.unit for c in self.commands),
            low=tuple(-math.inf if c.low is None else c.low for c in self.commands),
            high=tuple(math.inf if c.high is None else c.high for c in self.commands),
            period_s=self.period_s,
            measured=self.measured,
        )

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The name of each number of each observation."""
        return {f.name: tuple(f.columns) for f in self.observations}


def introduced(cells: Cells, *, realtime: bool) -> Introduction:
    """What these bodies say of themselves."""
    face = cells.interface
    limits = zip(face.commands, face.unit, face.low, face.high, strict=True)
    return Introduction(
        protocol=PROTOCOL,
        world=cells.world.name,
        task=cells.world.summary,
        cells=cells.n,
        realtime=realtime,
        period_s=face.period_s,
        tick_s=cells.tick_s,
        observations=[
            _Feature(name=f.name, size=f.size, unit=f.unit, columns=[*cells.columns[f.name]])
            for f in face.observations
        ],
        commands=[
            _Command(name=name, unit=unit, low=_finite(low), high=_finite(high))
            for name, unit, low, high in limits
        ],
        measured=face.measured,
    )


def _finite(limit: float) -> float | None:
    return limit if math.isfinite(limit) else None
