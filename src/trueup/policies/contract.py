"""`contract.json`: under which terms a network was trained, and may be used."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trueup.errors import TrueupError
from trueup.policies.chunks import Chunk
from trueup.policies.commands import Drive, Memory
from trueup.policies.interface import Feature, Interface
from trueup.space import Space

_FORMAT = "trueup/policy"
_VERSION, _WITH_CHUNKS = 1, 2


@dataclass(frozen=True, kw_only=True)
class Contract:
    """All that a network needs from the outside.

    Attributes:
        world: The world it was trained in, by name.
        task: What it does, in words.
        interface: Observations, commands, units, limits and rate it was trained with.
        history: How many observations it sees at once, newest first, each with the targets sent.
        lead: Furthest that an answer puts each target ahead of its joint.
        rate: Fastest that each target may move, per second.
        space: What was randomized while it was trained, and how widely.
        chunk: How far ahead it answers; none where it answers for the present step alone.
    """

    world: str
    task: str
    interface: Interface
    history: int
    lead: tuple[float, ...]
    rate: tuple[float, ...]
    space: Space
    chunk: Chunk | None = None

    @property
    def inputs(self) -> int:
        """How many numbers the network takes."""
        return self.history * (self.interface.width + len(self.interface.commands))

    @property
    def outputs(self) -> int:
        """How many numbers the network answers with."""
        return len(self.interface.commands) * (self.chunk.length if self.chunk else 1)

    def drive(self) -> Drive:
        """How its answers become commands."""
        face = self.interface
        return Drive(
            low=np.array(face.low),
            high=np.array(face.high),
            lead=np.array(self.lead),
            rate=np.array(self.rate),
            period_s=face.period_s,
        )

    def memory(self, n: int) -> Memory:
        """The memory of n policies under this contract."""
        return Memory(n, self.interface.width, len(self.interface.commands), self.history)

    def to_json(self) -> str:
        """The text of `contract.json`."""
        face = self.interface
        stored = {
            "format": _FORMAT,
            "version": _WITH_CHUNKS if self.chunk else _VERSION,
            "world": self.world,
            "task": self.task,
            "control_rate_hz": 1.0 / face.period_s,
            "control_period_s": face.period_s,
            "observations": [asdict(feature) for feature in face.observations],
            "measured": face.measured,
            "history": self.history,
            "commands": [
                dict(
                    joint=joint,
                    unit=unit,
                    low=_finite(low),
                    high=_finite(high),
                    lead=lead,
                    rate_per_s=rate,
                )
                for joint, unit, low, high, lead, rate in zip(
                    face.commands,
                    face.unit,
                    face.low,
                    face.high,
                    self.lead,
                    self.rate,
                    strict=True,
                )
            ],
            "answer_clip": [-1.0, 1.0],
            "network": {
                "file": "policy.onnx",
                "input": {"name": "input", "size": self.inputs, "order": _ORDER},
                "output": {"name": "answer", "size": self.outputs, "meaning": self._meaning},
                "normalizer": "inside the network: give raw readings in the units above",
            },
            **({"chunk": asdict(self.chunk)} if self.chunk else {}),
            "space": self.space.to_json(),
        }
        return json.dumps(stored, indent=1, ensure_ascii=False) + "\n"

    @property
    def _meaning(self) -> str:
        return f"{_CHUNKED}; {_MEANING}" if self.chunk else _MEANING

    @classmethod
    def from_json(cls, text: str, where: str = "the contract") -> Contract:
        """Read the text of a `contract.json`, checking all of it."""
        try:
            return _Stored.model_validate_json(text).contract()
        except TrueupError as error:
            raise TrueupError(f"The space in {where}: {error.what}", fix=error.fix) from error
        except ValidationError as error:
            raise TrueupError(
                f"{where} is not a policy's contract: {_first(error)}.",
                fix="Take the whole policy folder again from where it was trained.",
            ) from error


_ORDER = "newest first; each frame: all observations in the order above, then the targets sent last"
_CHUNKED = (
    "answers for this step and those that follow, one after the other; the answer for a step is "
    "the mean of all that were given for it, one that is k steps old counting exp(-forget × k)"
)
_MEANING = (
    "one per joint, -1 to 1; target = measured joint + answer × lead, moved from the last target "
    "by no more than rate × period, then clipped to low and high"
)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


_Positive = Annotated[float, Field(gt=0)]
_Count = Annotated[int, Field(ge=1, le=100_000)]


class _Feature(_Strict):
    name: str
    size: _Count
    unit: str


class _Command(_Strict):
    joint: str
    unit: str
    low: float | None
    high: float | None
    lead: _Positive
    rate_per_s: _Positive

    @property
    def limits(self) -> tuple[float, float]:
        return (
            -math.inf if self.low is None else self.low,
            math.inf if self.high is None else self.high,
        )


class _Chunk(_Strict):
    length: Annotated[int, Field(ge=1, le=1000)]
    forget: Annotated[float, Field(ge=0)]


class _Stored(_Strict):
    format: Literal["trueup/policy"]
    version: Literal[1, 2]
    world: str
    task: str
    control_period_s: _Positive
    observations: Annotated[list[_Feature], Field(min_length=1)]
    measured: str | None
    history: _Count
    commands: Annotated[list[_Command], Field(min_length=1)]
    chunk: _Chunk | None = None
    space: dict[str, Any]

    @model_validator(mode="after")
    def _consistent(self) -> _Stored:
        for what, names in (
            ("observation", [o.name for o in self.observations]),
            ("joint", [c.joint for c in self.commands]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what} {twice[0]!r} is named twice")
        for command in self.commands:
            low, high = command.limits
            if low >= high:
                raise ValueError(f"{command.joint!r} may move from {low} to {high}")
        sizes = {o.name: o.size for o in self.observations}
        if self.measured is not None and sizes.get(self.measured) != len(self.commands):
            raise ValueError(
                f"{self.measured!r} should hold the {len(self.commands)} commanded joints"
            )
        return self

    def contract(self) -> Contract:
        columns = zip(
            *((c.joint, c.unit, *c.limits, c.lead, c.rate_per_s) for c in self.commands),
            strict=True,
        )
        joints, units, lows, highs, leads, rates = map(tuple, columns)
        return Contract(
            world=self.world,
            task=self.task,
            interface=Interface(
                observations=tuple(
                    Feature(**feature.model_dump()) for feature in self.observations
                ),
                commands=joints,
                unit=units,
                low=lows,
                high=highs,
                period_s=self.control_period_s,
                measured=self.measured,
            ),
            history=self.history,
            lead=leads,
            rate=rates,
            space=Space.from_json(self.space),
            chunk=None if self.chunk is None else Chunk(**self.chunk.model_dump()),
        )


def _finite(limit: float) -> float | None:
    """A limit as JSON has it: nothing where there is none."""
    return limit if math.isfinite(limit) else None


def _first(error: ValidationError) -> str:
    """The first complaint, with the place it is about."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
