"""`trueup identify noise`: what each sensor and clock adds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console
from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.files import check_distinct
from trueup.cli.options import File, Machine
from trueup.episodes import Dataset
from trueup.errors import TrueupError
from trueup.files import whole
from trueup.identify.allan import Strength
from trueup.identify.noise import NoiseModel, noise_model
from trueup.identify.readings.tracked import TrackedNoise
from trueup.identify.timing import Timing
from trueup.identify.usable import cleaned, readable

_KINDS = ("quantum", "white", "drift", "stale", "repeat")


@dataclass(frozen=True, kw_only=True)
class Noise(Machine):
    """What each sensor and clock adds, from recordings alone.

    Steps, white noise, drift and stale readings of every column, the control period and its
    jitter; and what is wrong with the recordings. No world is needed, and nothing is fitted.

    trueup identify noise recordings --signals joint_position joint_velocity
    """

    episodes: Annotated[Positional[Path], arg(metavar="EPISODES")]
    """The folder of a dataset, as `trueup record` and `trueup episodes import` write it."""
    signals: Annotated[tuple[str, ...], arg(metavar="SIGNAL...")] = ()
    """Of these signals only; of all but the commands by default."""
    out: File = None
    """Write everything, intervals, sentences and priors, as JSON into this file."""

    def run(self) -> None:
        """Listen, then tell."""
        if self.out:
            check_distinct(read={"EPISODES": self.episodes}, written={"--out": self.out})
        episodes, unread = readable(Dataset.open(self.episodes))
        if not episodes:
            raise TrueupError(
                f"{self.episodes} has no episodes that can be read. {' '.join(unread[:1])}".strip(),
                fix="Record some first: trueup record.",
            )
        model = noise_model(episodes, signals=self.signals or None)
        notes = (*unread, *cleaned(episodes).notes)
        data = {**model.to_json(), "notes": list(notes)}
        if self.out:
            with whole(self.out) as partial:
                partial.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        if self.json:
            show.print_json(data)
        else:
            _print(model, notes)


def _print(model: NoiseModel, notes: tuple[str, ...]) -> None:
    out = show.console()
    rows = show.table(
        "sensor", *_KINDS, "unit", "at rest", right=(*_KINDS, "at rest"), keep=("sensor",)
    )
    for sensor in model.sensors:
        cells = [_cell(getattr(sensor, kind)) for kind in _KINDS]
        name = f"{sensor.signal}/{sensor.column}"
        rows.add_row(name, *cells, show.unit(sensor.unit), f"{sensor.rest_s:.0f} s")
    out.print(rows)
    out.print(
        "< : none seen, and no more than that would hide; ? : these recordings do not say. "
        "drift per √s, stale as a share"
    )
    if model.tracked:
        _print_tracked(out, model.tracked)
    if model.timing:
        _print_timing(out, model.timing)
    silent = {
        getattr(sensor, kind).sentence: None
        for sensor in model.sensors
        for kind in _KINDS
        if not np.isfinite(getattr(sensor, kind).high)
    }
    for line in (*silent, *(["", "What a fit would meet in these recordings:"] if notes else [])):
        out.print(line)
    for line in notes:
        out.print(line)
    if not model.real:
        out.print("sim-to-sim: no real robot took part")


def _print_tracked(out: Console, tracked: TrackedNoise) -> None:
    rows = show.table(f"tracked {tracked.thing}", "value", "unit", "what it is", right=("value",))
    for name, words in (
        ("noise", "of its place, along each axis"),
        ("angle_noise", "of its turn, about each axis"),
        ("dropout", "share of frames that are the last one again"),
    ):
        strength = getattr(tracked, name)
        rows.add_row(name.replace("_", " "), _cell(strength), show.unit(strength.unit), words)
    out.print(rows)


def _print_timing(out: Console, timing: Timing) -> None:
    rows = show.table("time", "value", "90 % interval", right=("value",))
    for name in ("period", "period_jitter", "response", "action_jitter", "reading_jitter"):
        strength = getattr(timing, name)
        ends = f"{_milliseconds(strength.low)} … {_milliseconds(strength.high)}"
        value = f"{_milliseconds(strength.value)} ms" if strength.seen else "none"
        rows.add_row(name.replace("_", " "), value, f"{ends} ms")
    shared = []
    for signal, strength in timing.offsets.items():
        if strength.low == strength.high == 0.0:
            shared.append(signal)
            continue
        ends = f"{_milliseconds(strength.low)} … {_milliseconds(strength.high)}"
        value = f"{_milliseconds(strength.value)} ms"
        rows.add_row(f"{signal} after command", value, f"{ends} ms")
    out.print()
    out.print(rows)
    out.print(
        f"The loop is {100 * timing.period_error.value:+.2f} % off the period that was meant."
    )


def _milliseconds(seconds: float) -> str:
    return show.number(1e3 * seconds) if np.isfinite(seconds) else "?"


def _cell(strength: Strength) -> str:
    if strength.seen:
        return show.number(strength.value)
    return f"< {show.number(strength.high)}" if np.isfinite(strength.high) else "?"
