"""Motions by name, and motions in files: a recording is planned as data, and can be shared."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Self

from trueup.errors import TrueupError, UnknownName
from trueup.files import whole
from trueup.record.body import Body
from trueup.record.motions.excitation import Excitation
from trueup.record.motions.motion import Motion

_FORMAT, _VERSION = "trueup/motions", 1
ALL = "all"
_KNOWN = {"format", "version", "about", "joints", "motions"}


@dataclass(frozen=True, kw_only=True)
class Series:
    """Motions to record one after the other.

    Attributes:
        motions: What to do, in order.
        about: What for, in one line.
        joints: The robot it was made for, by its commanded joints; any robot where empty.
        name: What to call it.
    """

    motions: tuple[Motion, ...]
    about: str = ""
    joints: tuple[str, ...] = ()
    name: str = ""

    def fits(self, body: Body) -> bool:
        """Whether it was made for such a robot."""
        return not self.joints or self.joints == body.joints

    def adapted(
        self,
        body: Body,
        *,
        joints: tuple[str, ...] = (),
        duration_s: float | None = None,
        scale: float = 1.0,
    ) -> Self:
        """The same for some joints only, in another time, or smaller; probes are only scaled."""
        changed = []
        for motion in self.motions:
            if isinstance(motion, Excitation):
                motion = motion.only(body, joints) if joints else motion
                motion = replace(motion, duration_s=duration_s) if duration_s else motion
            changed.append(motion if scale == 1.0 else motion.scaled(scale))
        return replace(self, motions=tuple(changed))

    def to_json(self) -> dict[str, Any]:
        """What a file of motions holds."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "about": self.about,
            "joints": list(self.joints),
            "motions": [motion.to_json() for motion in self.motions],
        }

    @classmethod
    def from_json(cls, data: Any, *, name: str = "") -> Self:
        """The motions that `to_json` described, or a single motion."""
        if isinstance(data, dict) and "kind" in data:
            return cls(motions=(Motion.from_json(data),), name=name)
        found = (data.get("format"), data.get("version")) if isinstance(data, dict) else (None,) * 2
        if found != (_FORMAT, _VERSION):
            raise TrueupError(
                f"This is no file of motions: its format is {found[0]!r} version {found[1]!r}, not "
                f"{_FORMAT!r} version {_VERSION}.",
                fix=f'Write {{"format": "{_FORMAT}", "version": {_VERSION}, "motions": [...]}}.',
            )
        for key in data:
            if key not in _KNOWN:
                raise UnknownName("entry of a file of motions", key, sorted(_KNOWN))
        motions = data.get("motions")
        if not isinstance(motions, list) or not motions:
            raise TrueupError("A file of motions names none.", fix='List them under "motions".')
        return cls(
            motions=tuple(_numbered(i, motion) for i, motion in enumerate(motions)),
            about=str(data.get("about", "")),
            joints=tuple(map(str, data.get("joints", []))),
            name=name,
        )

    def save(self, path: Path | str) -> None:
        """Write as JSON."""
        with whole(path) as partial:
            text = json.dumps(self.to_json(), indent=1, ensure_ascii=False)
            partial.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read what `save` wrote, or a file with a single motion."""
        path = Path(path)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise TrueupError(
                f"There is no file of motions at {path}.", fix="Check the path."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise TrueupError(
                f"{path} could not be read: {reason}.", fix="Give a JSON file."
            ) from error
        except json.JSONDecodeError as error:
            raise TrueupError(
                f"{path} is not JSON: {error.msg} at line {error.lineno}.",
                fix="Mend it, or write it again with Series.save.",
            ) from error
        try:
            return cls.from_json(data, name=path.stem)
        except TrueupError as error:
            raise TrueupError(f"{path}: {error.what}", fix=error.fix) from error


def names() -> tuple[str, ...]:
    """Series that come with trueup."""
    found = (file.name for file in _folder().iterdir() if file.name.endswith(".json"))
    return tuple(sorted(name.removesuffix(".json") for name in found))


def get(name: str, body: Body | None = None) -> Series:
    """A series by its name, or from a file.

    Args:
        name: Of a series or a kind of motion; `all` for every excitation; or a path to a file.
        body: The robot it is for. A kind is then taken with its own defaults, about the robot's
            ready pose, where the series of that name was made for another robot.
    """
    if name.endswith(".json") or "/" in name:
        return Series.load(name)
    if name == ALL:
        return _all(body)
    if name in names():
        series = replace(Series.load(str(_folder() / f"{name}.json")), name=name)
        if body is None or series.fits(body) or name not in Motion.kinds:
            return series
    if name in Motion.kinds:
        return Series(motions=(Motion.kinds[name](),), name=name)
    known = sorted({*names(), *Motion.kinds, ALL})
    raise UnknownName("motion", name, known, fix="`trueup record motions` lists them.")


def _all(body: Body | None) -> Series:
    """Each kind of excitation once."""
    kinds = [kind for kind, made in Motion.kinds.items() if issubclass(made, Excitation)]
    motions = tuple(motion for kind in kinds for motion in get(kind, body).motions)
    joints = get(kinds[0], body).joints
    return Series(motions=motions, about="Every kind of excitation.", joints=joints, name=ALL)


def _folder():
    return resources.files("trueup.record.motions") / "series"


def _numbered(i: int, data: Any) -> Motion:
    try:
        return Motion.from_json(data)
    except TrueupError as error:
        raise TrueupError(f"Motion {i + 1}: {error.what}", fix=error.fix) from error
