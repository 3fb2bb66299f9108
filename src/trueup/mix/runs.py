"""Trainings with so many demonstrations of each kind, and how their policies fared on the robot."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from trueup.errors import TrueupError

_MOST = 10**9


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training, and the trials of its policy on the robot.

    Attributes:
        real: Demonstrations from the robot that it learned from.
        synthetic: Demonstrations from simulation that it learned from.
        good: Trials on the robot that succeeded.
        trials: In all.
    """

    real: int
    synthetic: int
    good: int
    trials: int

    def __post_init__(self) -> None:
        wrong = [name for name, value in vars(self).items() if not 0 <= value <= _MOST]
        if wrong or not self.trials or self.good > self.trials:
            what = f"{wrong[0]} is {getattr(self, wrong[0])}" if wrong else self._trials
            raise TrueupError(
                f"A run cannot be right: {what}.",
                fix="Give counts of demonstrations, and successes among at least one trial.",
            )

    @property
    def _trials(self) -> str:
        return f"{self.good} of {self.trials} trials succeeded"

    @property
    def share(self) -> float:
        """Of its trials that succeeded."""
        return self.good / self.trials


def load_runs(path: Path | str) -> tuple[Run, ...]:
    """Runs from a file: JSON, a list of objects; or CSV with a line of names.

    Each has `real`, `synthetic`, `good` and `trials`; other columns are passed over.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = json.loads(text) if path.suffix.lower() == ".json" else _csv(text)
        found = _ROWS.validate_python(rows)
        return tuple(Run(**row.model_dump()) for row in found)
    except FileNotFoundError:
        raise TrueupError(f"There is no file {path}.", fix="Check the path.") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise TrueupError(f"{path} could not be read: {error}.", fix=_NEEDED) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = " ".join(
            f"row {part + 1}" if isinstance(part, int) else str(part) for part in first["loc"]
        )
        raise TrueupError(
            f"{path} is not a list of runs: {place}: {first['msg']}.", fix=_NEEDED
        ) from error
    except TrueupError as error:
        raise TrueupError(f"{path}: {error.what}", fix=error.fix) from error


_NEEDED = "Give JSON or CSV with real, synthetic, good and trials for each training."


def _csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), skipinitialspace=True))


_Count = Annotated[int, Field(ge=0, le=_MOST)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore")

    real: _Count
    synthetic: _Count
    good: _Count
    trials: _Count


_ROWS = TypeAdapter(Annotated[list[_Row], Field(min_length=1)])
