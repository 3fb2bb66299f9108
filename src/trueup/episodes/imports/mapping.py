"""The mapping file: which column of which file is which signal, in which unit.

TOML or JSON. Docs: docs/episodes.md.
"""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trueup.errors import TrueupError, suggestion

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

Numbers = float | list[float] | dict[str, float]
"""One for all columns, one for each in order, or by column name where the others keep theirs."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class TimeColumn(_Strict):
    """Where a file keeps its clock.

    Attributes:
        column: Its name.
        unit: Of its numbers.
    """

    column: str
    unit: Literal["s", "ms", "us", "ns"] = "s"


class Names(_Strict):
    """Column names that several signals share.

    Attributes:
        names: In their order in the files.
        file: Instead, a text file beside the data that lists them, one on each line.
        rename: Other names for some of them.
        order: The names in the order wanted, where it may not be that of the files.
    """

    names: list[str] | None = None
    file: str | None = None
    rename: dict[str, str] = Field(default_factory=dict)
    order: list[str] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Names:
        if (self.names is None) == (self.file is None):
            raise ValueError("either names or a file that lists them is needed")
        return self


class SignalColumns(_Strict):
    """One signal.

    Attributes:
        name: What it is called here; `command` and `joint_position` mean what they say.
        unit: What it is in after scaling: rad, rad/s, A, N m, m, ...
        column: The column that holds it: one number in each row, or a list of numbers.
        columns: Instead, several columns of one number each.
        names: Of the numbers, in their order in the file; or which of the mapping's `names` it has.
        scale: What the numbers are multiplied by.
        offset: What is added after that.
        float32: Whether single precision holds all that was measured.
    """

    name: str
    unit: str
    column: str | None = None
    columns: list[str] | None = None
    names: list[str] | str | None = None
    scale: Numbers = 1.0
    offset: Numbers = 0.0
    float32: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> SignalColumns:
        if (self.column is None) == (self.columns is None):
            raise ValueError(f"signal {self.name!r} needs either column or columns")
        return self


class SourceFile(_Strict):
    """One file of a recording: `.csv`, `.csv.gz` or `.npz`.

    Attributes:
        path: Its name; `*` where each recording is a file of its own.
        time: Its clock.
        where: Only rows in which these columns have these texts.
        signals: What is in it.
        delimiter: Between cells of a CSV file.
        missing: What an empty or non-finite cell means: an error, or a reading that was lost.
    """

    path: str
    time: TimeColumn
    where: dict[str, str] = Field(default_factory=dict)
    signals: Annotated[list[SignalColumns], Field(min_length=1)]
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    missing: Literal["refuse", "keep"] = "refuse"


class Mapping(_Strict):
    """How recordings in files become episodes.

    Attributes:
        format: `trueup/mapping`.
        version: 1.
        each: What one episode is: a folder inside the source, a file inside it, or the source.
        period_s: The time between frames that was meant.
        task: In words; `{name}` is the folder's or file's name.
        labels: Words to slice by later; `{name}` as above.
        origin: Where it comes from.
        robot_type: What LeRobot should call the robot.
        names: Column names that several signals share, by a word that the signals refer to.
        files: The files of one recording.
    """

    format: Literal["trueup/mapping"]
    version: Literal[1]
    each: Literal["folder", "file", "source"] = "folder"
    period_s: Annotated[float, Field(gt=0)]
    task: str = "{name}"
    labels: dict[str, str] = Field(default_factory=dict)
    origin: dict[str, Any] = Field(default_factory=dict)
    robot_type: str | None = None
    names: dict[str, Names] = Field(default_factory=dict)
    files: Annotated[list[SourceFile], Field(min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Mapping:
        names = [signal.name for file in self.files for signal in file.signals]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"signal {twice[0]!r} is mapped twice")
        for signal in (signal for file in self.files for signal in file.signals):
            if isinstance(signal.names, str) and signal.names not in self.names:
                raise ValueError(f"signal {signal.name!r} refers to names {signal.names!r}")
        if self.each == "file" and len(self.files) > 1:
            raise ValueError("each file is an episode, so only one kind of file can be mapped")
        return self


def load_mapping(given: Path | str) -> Mapping:
    """A mapping from a file, or one of those that come with trueup by its name."""
    path = Path(given)
    shipped = shipped_mappings()
    if not path.is_file() and str(given) in shipped:
        return _checked(tomllib.loads(shipped[str(given)]), f"the mapping {given}")
    if not path.is_file():
        raise TrueupError(
            f"There is no mapping file {path}, and no mapping of that name comes with trueup.",
            fix=suggestion(str(given), shipped),
        )
    try:
        text = path.read_text(encoding="utf-8")
        stored = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, OSError) as error:  # both parsers name line and column
        raise TrueupError(
            f"{path} cannot be read as {'JSON' if path.suffix == '.json' else 'TOML'}: {error}.",
            fix="docs/episodes.md shows a mapping.",
        ) from error
    return _checked(stored, str(path))


def shipped_mappings() -> dict[str, str]:
    """The text of each mapping that comes with trueup, by name."""
    folder = resources.files("trueup.episodes").joinpath("mappings")
    return {
        file.name.removesuffix(".toml"): file.read_text(encoding="utf-8")
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
    }


def _checked(stored: Any, where: str) -> Mapping:
    try:
        return Mapping.model_validate(stored)
    except ValidationError as error:
        faults = "; ".join(_told(fault) for fault in error.errors()[:5])
        raise TrueupError(
            f"{where} is not a mapping: {faults}.", fix="docs/episodes.md lists the fields."
        ) from error


def _told(fault: Any) -> str:
    """`files[1].signals[0].unit: field required`."""
    where = ""
    for part in fault["loc"]:
        where += f"[{part}]" if isinstance(part, int) else f".{part}"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{where.lstrip('.') or 'the whole'}: {message[0].lower()}{message[1:]}"
