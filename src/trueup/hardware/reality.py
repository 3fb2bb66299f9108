"""The reality file: what a rehearsal robot really is, and nobody else may know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from trueup.errors import TrueupError, UnknownName, suggestion
from trueup.hardware.hidden import Hidden, rehearsed
from trueup.hardware.hidden_motion import CableDrag, FrictionLaw, GearRipple, ThermalFade
from trueup.hardware.hidden_signals import BusHiccups, LateFrames
from trueup.hardware.hidden_things import OilFilm, UndeclaredShape, WobblyMount
from trueup.space import Point
from trueup.space.point import about_file, read_json
from trueup.worlds import World

VERSION = 1
BEYOND: dict[str, type[Hidden]] = {
    "friction_law": FrictionLaw,
    "cable_drag": CableDrag,
    "gear_ripple": GearRipple,
    "thermal_fade": ThermalFade,
    "bus_hiccups": BusHiccups,
    "late_frames": LateFrames,
    "undeclared_shape": UndeclaredShape,
    "oil_film": OilFilm,
    "wobbly_mount": WobblyMount,
}
"""Effects outside every space, by the word a reality file names them with."""

_SHIPPED = files("trueup.hardware") / "realities"


@dataclass(frozen=True, kw_only=True)
class Reality:
    """Hidden truth.

    Attributes:
        story: One line for people.
        world: The world it is of, where none is named.
        values: Parameters by name or pattern, as `Space.select` takes them; the last one counts.
        beyond: Effects outside the space.
        engine: Whose physics.
        grade: How hard it is meant to be, from 0 up; orders lists.
    """

    story: str
    world: str = "so101/lift"
    values: Mapping[str, float] = field(default_factory=dict)
    beyond: tuple[Hidden, ...] = ()
    engine: Literal["mujoco", "bullet"] = "mujoco"
    grade: int = 0

    def point(self, world: World) -> Point:
        """The values it gives to parameters of a world, each checked against its bounds."""
        found: dict[str, float] = {}
        for pattern, value in self.values.items():
            try:
                chosen = world.catalogue.select(pattern)
            except TrueupError as error:
                raise TrueupError(
                    f"The reality names {pattern!r}, which no parameter of the world "
                    f"{world.name!r} matches.",
                    fix=f"{suggestion(pattern, world.catalogue.names)} `trueup space {world.name} "
                    "--all` lists them; or choose another world.",
                ) from error
            for parameter in chosen:
                parameter.check_values(value)
                found[parameter.name] = float(value)
        return Point(found)

    def fits(self, world: World) -> bool:
        """Whether a world has all that it bends."""
        try:
            self.point(world)
            _ = rehearsed(world, self.beyond, world.control_period_s).catalogue
        except TrueupError:
            return False
        return True


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    trueup_reality: Literal[1]
    story: str = Field(min_length=1, max_length=200, pattern=r"^[^\n]+$")
    world: str | None = None
    values: dict[str, float] = {}
    beyond: list[dict[str, Any]] = []
    engine: Literal["mujoco", "bullet"] = "mujoco"
    grade: int = Field(default=0, ge=0, le=9)


def read_reality(word: str | Path) -> Reality:
    """The reality of a name that comes with trueup, or of a JSON file."""
    if str(word) in realities():
        return reality_from(json.loads((_SHIPPED / f"{word}.json").read_text("utf-8")), str(word))
    path = Path(word)
    if not path.suffix and not path.exists():
        raise UnknownName(
            "reality", str(word), realities(), fix="`trueup rehearse` lists them; or give a file."
        )
    with about_file(path):
        return reality_from(read_json(path, "reality"), str(path))


def reality_from(data: Any, where: str = "the reality") -> Reality:
    """A reality from the JSON of its file, checked in full."""
    try:
        stored = _Stored.model_validate(data)
    except ValidationError as error:
        raise _mistake(where, error, [*_Stored.model_fields]) from error
    beyond = tuple(_hidden(entry, f"{where}, beyond[{i}]") for i, entry in enumerate(stored.beyond))
    chosen = {} if stored.world is None else {"world": stored.world}
    return Reality(
        story=stored.story,
        values=stored.values,
        beyond=beyond,
        engine=stored.engine,
        grade=stored.grade,
        **chosen,
    )


@cache
def realities() -> tuple[str, ...]:
    """Names of the realities that come with trueup, from benign to nasty as they are meant."""
    found = [file for file in _SHIPPED.iterdir() if file.name.endswith(".json")]
    grades = {f.name.removesuffix(".json"): json.loads(f.read_text("utf-8")) for f in found}
    return tuple(sorted(grades, key=lambda name: (grades[name].get("grade", 0), name)))


def _hidden(entry: dict[str, Any], where: str) -> Hidden:
    numbers = dict(entry)
    word = numbers.pop("effect", None)
    if word not in BEYOND:
        shown = f"names the effect {word!r}" if word else "does not say which effect it is"
        raise TrueupError(
            f"{where} {shown}.",
            fix=f"{suggestion(str(word or ''), BEYOND)} Write it as "
            '{"effect": "cable_drag", ...}; docs/hardware.md explains each.',
        )
    kind = BEYOND[word]
    known = [f.name for f in fields(kind) if f.name != "number"]
    if "number" in numbers:
        raise _unknown(f"{where} ({word})", "number", known)
    try:
        return TypeAdapter(kind).validate_json(json.dumps(numbers))
    except ValidationError as error:
        raise _mistake(f"{where} ({word})", error, known) from error


def _mistake(where: str, error: ValidationError, known: list[str]) -> TrueupError:
    """The first complaint as a sentence: what is wrong, what was there, what may be there."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return _unknown(where, place, known)
    if first["type"] == "missing":
        return TrueupError(f"{where} lacks {place!r}.", fix=f"It may have: {', '.join(known)}.")
    was = "" if isinstance(first["input"], dict) else f" (it is {first['input']!r:.60})"
    return TrueupError(
        f"{where}: {place or 'all of it'}: {first['msg']}{was}.",
        fix="docs/hardware.md shows what a reality file looks like.",
    )


def _unknown(where: str, name: str, known: list[str]) -> TrueupError:
    return TrueupError(f"{where} has no field {name!r}.", fix=suggestion(name, known))
