"""`trueup/`: what LeRobot has no place for. Each row is one thing of one episode.

A row without a name is about the episode itself: outcome, labels, origin, period, as JSON. The
others hold a clock of their own, and the readings on it where the table of frames shows a view.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from trueup.episodes.episode import Episode, Outcome
from trueup.episodes.storage.frames import Extra
from trueup.errors import TrueupError

SCHEMA = pa.schema(
    [
        pa.field("episode_index", pa.int64()),
        pa.field("name", pa.string()),
        pa.field("size", pa.int32()),
        pa.field("dtype", pa.string()),
        pa.field("time_s", pa.list_(pa.float64())),
        pa.field("values", pa.list_(pa.float64())),
        pa.field("about", pa.string()),
    ]
)


@dataclass(frozen=True, kw_only=True)
class About:
    """What is known of an episode as a whole; all of it optional."""

    outcome: Outcome | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)
    period_s: float | None = None

    @classmethod
    def of(cls, episode: Episode) -> About:
        """What an episode says of itself."""
        return cls(
            outcome=episode.outcome,
            labels=episode.labels,
            origin=episode.origin,
            period_s=episode.period_s,
        )

    def text(self) -> str:
        """As JSON; floats keep every bit."""
        stored = dict(
            outcome=self.outcome,
            labels=dict(self.labels),
            origin=dict(self.origin),
            period_s=self.period_s,
        )
        try:
            return json.dumps(stored, ensure_ascii=False, default=_plain)
        except (TypeError, ValueError) as error:
            raise TrueupError(
                f"The origin or the labels of an episode cannot be stored as JSON: {error}.",
                fix="Use text, numbers, lists and dictionaries there.",
            ) from error

    @classmethod
    def read(cls, text: str) -> About:
        """Again from its text."""
        stored = json.loads(text)
        outcome = stored["outcome"]
        return cls(
            outcome=None if outcome is None else Outcome(outcome),
            labels=stored["labels"],
            origin=stored["origin"],
            period_s=stored["period_s"],
        )


def to_table(index: int, about: About, extras: list[Extra]) -> pa.Table:
    """All rows of one episode."""
    rows = [_row(index, about=about.text()), *(_extra_row(index, extra) for extra in extras)]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def from_table(table: pa.Table) -> tuple[About, dict[str, Extra]]:
    """What is kept of one episode; nothing where the rows are none."""
    about, extras = About(), {}
    for i, name in enumerate(table["name"].to_pylist()):
        if not name:
            about = About.read(table["about"][i].as_py())
        else:
            extras[name] = Extra(
                name=name,
                time_s=_numbers(table["time_s"][i]),
                values=_values(table.slice(i, 1)),
            )
    return about, extras


def _extra_row(index: int, extra: Extra) -> dict[str, Any]:
    row = _row(index, name=extra.name, time_s=extra.time_s)
    if extra.values is not None:
        exact = extra.values.astype(float)
        if not np.array_equal(exact.astype(extra.values.dtype), extra.values, equal_nan=True):
            raise TrueupError(
                f"The signal {extra.name!r} has whole numbers too large to be kept exactly.",
                fix="Split it into two signals, or record it on the frames' clock.",
            )
        dtype = str(extra.values.dtype)
        row |= dict(size=exact.shape[1], dtype=dtype, values=exact.reshape(-1))
    return row


def _row(index: int, **given: Any) -> dict[str, Any]:
    empty: dict[str, Any]
    empty = dict(name="", size=0, dtype="", time_s=None, values=None, about=None)
    return {"episode_index": index, **empty, **given}


def _numbers(cell: pa.ListScalar) -> np.ndarray:
    return np.array(cell.values.to_numpy(zero_copy_only=False), float)


def _values(row: pa.Table) -> np.ndarray | None:
    cell = row["values"][0]
    if cell.values is None:
        return None
    shaped = _numbers(cell).reshape(-1, row["size"][0].as_py())
    return shaped.astype(row["dtype"][0].as_py())


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is none of its kinds")
