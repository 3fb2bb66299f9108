"""What a replay says, for people and for programs."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from trueup.cli import show

_NUMBERS = ("RMSE", "MAE", "worst", "correlation", "lag")


def means(episodes: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean over episodes of each signal's error, with the unit."""
    found: dict[str, list[float]] = defaultdict(list)
    units: dict[str, str] = {}
    for episode in episodes:
        for name, errors in episode["signals"].items():
            units[name] = errors["unit"]
            if errors["overall"]["rmse"] is not None:
                found[name].append(errors["overall"]["rmse"])
    return {
        name: {"unit": unit, "mean": float(np.mean(found[name])) if found[name] else None}
        for name, unit in units.items()
    }


def print_result(result: dict[str, Any]) -> None:
    """The result for people."""
    out = show.console()
    how = "open loop" if result["window_s"] is None else f"windows of {result['window_s']:g} s"
    where = f"at a point of {len(result['point'])} parameters" if result["point"] else "nominal"
    out.print(f"{result['world']}, {where}, {how}; {result['label']}", markup=False)
    out.print()
    if len(result["episodes"]) == 1:
        _print_columns(out, result["episodes"][0])
    else:
        _print_episodes(out, result["episodes"])
    _print_rest(out, result)


def _print_episodes(out: Any, episodes: list[dict[str, Any]]) -> None:
    numbers = tuple(name for name in _NUMBERS if name != "worst")
    rows = show.table("episode", "task", "signal", *numbers, right=numbers, keep=("signal",))
    for episode in episodes:
        for name, errors in episode["signals"].items():
            first = name == next(iter(episode["signals"]))
            rows.add_row(
                str(episode["episode"]) if first else "",
                episode["task"] if first else "",
                name,
                *_cells(errors["overall"], errors["unit"], numbers),
            )
    out.print(rows)


def _print_columns(out: Any, episode: dict[str, Any]) -> None:
    rows = show.table("signal", "column", *_NUMBERS, right=_NUMBERS, keep=("signal", "column"))
    for name, errors in episode["signals"].items():
        for column, found in {**errors["columns"], "all": errors["overall"]}.items():
            first = column == next(iter(errors["columns"]))
            rows.add_row(name if first else "", column, *_cells(found, errors["unit"]))
    out.print(rows)
    for joint, found in episode["settling"].items():
        out.print(
            f"{joint} comes to rest {_ms(found['simulated_s'])} after its command, measured "
            f"{_ms(found['measured_s'])} ({found['steps']} steps)",
            markup=False,
        )


def _print_rest(out: Any, result: dict[str, Any]) -> None:
    for episode in result["episodes"]:
        if episode["broken"]:
            out.print(f"episode {episode['episode']}: the physics broke down", markup=False)
        if (found := episode["alignment"]) and found["told_apart"]:
            out.print(f"episode {episode['episode']}: {_clock(found)}", markup=False)
    for name, mean in result["rmse"].items():
        if mean["mean"] is not None and len(result["episodes"]) > 1:
            value = f"{show.number(mean['mean'])} {show.unit(mean['unit'])}".strip()
            text = f"{name}: {value} RMSE, mean over episodes"
            out.print(text, markup=False)
    files = [file for episode in result["episodes"] for file in episode.get("files", ())]
    if files:
        out.print(f"Written: {Path(files[0]).parent}, {len(files) + 1} files", markup=False)


def _clock(found: dict[str, Any]) -> str:
    """How the clocks seem to stand to each other, in a sentence."""
    word = "late" if found["offset_s"] > 0 else "early"
    text = (
        f"its readings come {_ms(abs(found['offset_s']))} (± {_ms(found['offset_std_s'])}) {word}"
    )
    if abs(found["drift"]) > 3.0 * found["drift_std"]:
        text += f" and fall back by {1e3 * found['drift']:.2g} ms in each second"
    return f"{text}, by their clock (then --align) or by a lag that the world lacks"


def _cells(errors: dict[str, Any], unit: str, numbers: tuple[str, ...] = _NUMBERS) -> list[str]:
    """The numbers asked for, each as text; a dash where there is none."""
    form = f"{{:.3g}} {show.unit(unit)}"
    texts = {
        "RMSE": (errors["rmse"], form.format),
        "MAE": (errors["mae"], form.format),
        "worst": (errors["worst"], form.format),
        "correlation": (errors["correlation"], "{:.3f}".format),
        "lag": (errors["lag_s"], _ms),
    }
    return ["–" if texts[n][0] is None else texts[n][1](texts[n][0]) for n in numbers]


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.0f} ms"
