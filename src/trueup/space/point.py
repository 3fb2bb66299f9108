"""Values for the parameters of a space: one possible world, or many."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from trueup.errors import TrueupError, UnknownName
from trueup.files import whole

_FORMAT = "trueup/point"


class Point(Mapping[str, float]):
    """One value for each parameter: one possible world. Read-only, equal by value."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = MappingProxyType({name: float(value) for name, value in values.items()})

    def __getitem__(self, name: str) -> float:
        if name not in self._values:
            raise UnknownName("parameter in this point", name, self._values)
        return self._values[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self._values.get(name, default)  # the mixin waits for a KeyError

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Point({dict(self._values)})"

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal point."""
        return {"format": _FORMAT, "version": 1, "values": dict(self._values)}

    @staticmethod
    def from_json(data: Any) -> Point:
        """The point that `to_json` described; a plain {name: value} object will do too."""
        if isinstance(data, dict) and "format" in data:
            found = data["format"], data.get("version")
            if found != (_FORMAT, 1):
                raise TrueupError(
                    f"This is not a point: its format is {found[0]!r} version {found[1]!r}, "
                    f"not {_FORMAT!r} version 1.",
                    fix="Give it as what it is, or upgrade trueup.",
                )
        values = data.get("values", data) if isinstance(data, dict) else None
        if not isinstance(values, dict):
            raise TrueupError(
                "A point could not be read: it is not a JSON object of names and numbers.",
                fix='Write it as {"object/cube/mass": 0.05, ...}.',
            )
        return Point(numbers_only(values))

    def save(self, path: Path | str) -> None:
        """Write as JSON."""
        with whole(path) as partial:
            partial.write_text(json.dumps(self.to_json(), indent=1) + "\n")

    @staticmethod
    def load(path: Path | str) -> Point:
        """Read what `save` wrote, or a plain JSON object of names and numbers."""
        with about_file(path):
            return Point.from_json(read_json(path, "point"))


class Points(Sequence[Point]):
    """Many points of one space as an array: row i is world i.

    Attributes:
        names: The parameters, in column order.
        values: (n, k) values, read-only.
    """

    def __init__(self, names: Sequence[str], values: np.ndarray) -> None:
        self.names = tuple(names)
        self.values = np.atleast_2d(np.array(values, float))
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise TrueupError(
                f"Points of {len(self.names)} parameters need an array of shape "
                f"(n, {len(self.names)}), not {np.shape(values)}.",
                fix="Give one column for each name.",
            )
        self.values.flags.writeable = False
        self._columns = {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        """Point i; or a subset of points for a slice, mask or index array."""
        if isinstance(index, (int, np.integer)):
            return Point(dict(zip(self.names, self.values[index].tolist(), strict=True)))
        return Points(self.names, self.values[index])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Points)
            and self.names == other.names
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Points({len(self)} of {len(self.names)} parameters)"

    def column(self, name: str) -> np.ndarray:
        """The values of one parameter, (n,)."""
        if name not in self._columns:
            raise UnknownName("parameter in these points", name, self.names)
        return self.values[:, self._columns[name]]


def numbers_only(values: Any) -> dict[str, float]:
    """Names and finite-or-not numbers, but no texts, booleans or lists in their place."""
    if not isinstance(values, Mapping):
        raise TrueupError(
            f"Values of parameters were given as {type(values).__name__}.",
            fix='Give names and numbers: {"object/cube/mass": 0.05}.',
        )
    for name, value in values.items():
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
            raise TrueupError(
                f"The value of {name!r} is {value!r}, which is not a number.",
                fix="Give a plain number, in the parameter's own unit.",
            )
    return {str(name): float(value) for name, value in values.items()}


@contextmanager
def about_file(path: Path | str) -> Iterator[None]:
    """Let errors say which file they are about."""
    try:
        yield
    except TrueupError as error:
        if str(path) in error.what:
            raise
        raise TrueupError(f"{path}: {error.what}", fix=error.fix) from error


def read_json(path: Path | str, kind: str) -> Any:
    """The JSON in a file, or a sentence that says why there is none."""
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise TrueupError(f"There is no {kind} file at {path}.", fix="Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise TrueupError(
            f"The {kind} file {path} could not be read: {reason}.", fix="Give a JSON file."
        ) from error
    except json.JSONDecodeError as error:
        raise TrueupError(
            f"The {kind} file {path} is not JSON: {error.msg} at line {error.lineno}.",
            fix="Was it cut short or edited by hand? Write it again.",
        ) from error
