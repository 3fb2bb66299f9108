"""What an evaluation says, for people and for programs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from trueup.cli import show
from trueup.evaluate import Evaluation, Slice
from trueup.files import whole

FILES = (
    "evaluation.npz",
    "result.json",
    "failures.csv",
    "slices.html",
    "slices.png",
    "against.npz",
)
_ENDS = (("failure", "failed"), ("timeout", "ran out of time"), ("diverged", "diverged"))
_SHOWN = 3  # failures to watch
_SENTENCES = 8


def counted(evaluation: Evaluation, rows: np.ndarray) -> dict[str, Any]:
    """How often, how well and how quickly; `rows` are the episodes' numbers among all."""
    times = evaluation.time_s[evaluation.success]
    return {
        "episodes": len(evaluation),
        "success": evaluation.successes,
        "success_share": evaluation.success_share,
        "success_interval_95": list(evaluation.interval()),
        **{end: int(getattr(evaluation, end).sum()) for end, _ in _ENDS},
        "return_mean": float(evaluation.return_.mean()),
        "return_std": float(evaluation.return_.std()),
        "time_to_success_s": {
            name: float(np.quantile(times, share)) if len(times) else None
            for name, share in (("median", 0.5), ("p95", 0.95))
        },
        "divergences": [
            {"episode": int(rows[d.world]), "time_s": d.time_s, "reason": d.reason}
            for d in evaluation.divergences
        ],
    }


def sliced(s: Slice) -> dict[str, Any]:
    """A slice for programs."""
    return {
        "name": s.name,
        "unit": s.unit,
        "parameters": s.parameters,
        "claimed": s.claimed,
        "p_value": s.p_value,
        "p_trend": s.p_trend,
        "p_bins": s.p_bins,
        "bins": [
            {"low": b.low, "high": b.high, "episodes": b.n, "successes": b.successes}
            for b in s.bins
        ],
    }


def write_failures(path: Path, evaluation: Evaluation, rows: np.ndarray) -> None:
    """Every failure with its seed and point, as a table."""
    failed = np.flatnonzero(~evaluation.success)
    with whole(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["episode", "end", "seed", "return", *evaluation.points.names])
        for k in failed:
            start = [rows[k], evaluation.end(int(k)), evaluation.seeds[k], evaluation.return_[k]]
            table.writerow([*start, *evaluation.points.values[k].tolist()])


def print_result(result: dict[str, Any]) -> None:
    """The result for people."""
    out = show.console()
    out.print(_table(result))
    if "coverage" in result:
        out.print()
        out.print("[bold]Trained for this?[/bold]")
        out.print(f"  {result['coverage']['words']}", markup=False)
    _print_where(out, result)
    _print_failures(out, result)
    if "against" in result:
        out.print()
        out.print(result["against"]["words"], markup=False)
    if "files" in result:
        out.print()
        out.print(f"Written: {', '.join(result['files'])}", markup=False, soft_wrap=True)


def _table(result: dict[str, Any]) -> Any:
    rows = show.table("what", "value", keep=("what",))
    rows.show_header = False
    speed, time = result["speed"], result["time_to_success_s"]
    ended = [f"{result[end]:,} {word}" for end, word in _ENDS if result[end]]
    when = (
        f"{show.number(time['median'])} s in the median, 95 % within {show.number(time['p95'])} s"
        if time["median"] is not None
        else "never"
    )
    for name, text in (
        ("policy", result["policy"]),
        ("world", f"{result['world']}, {result['which']}"),
        ("success", f"{show.percent(result['success'], result['episodes'])}, sim-to-sim"),
        ("the rest", ", ".join(ended) or "none"),
        ("return", f"{show.number(result['return_mean'])} ± {show.number(result['return_std'])}"),
        ("done after", when),
        (
            "speed",
            f"{show.number(speed['episodes_per_s'])} episodes/s, "
            f"{show.number(speed['control_steps_per_s'])} control steps/s, "
            f"{show.number(speed['times_real_time'])} × real time "
            f"({show.number(speed['run_s'])} s)",
        ),
        ("memory", f"{show.number(result['peak_memory_mib'])} MiB at most"),
    ):
        rows.add_row(f"[bold]{name}[/bold]", text)
    return rows


def _print_where(out: Any, result: dict[str, Any]) -> None:
    if not result["where"]:
        return
    out.print()
    out.print("[bold]Where it fails[/bold]  success by parameter; no claim that it is the cause")
    for sentence in result["where"][:_SENTENCES]:
        out.print(f"  {sentence}", markup=False)
    if (more := len(result["where"]) - _SENTENCES) > 0:
        out.print(f"  … and {more} more; --json lists them all.")


def _print_failures(out: Any, result: dict[str, Any]) -> None:
    failures = result["failures"]
    if not failures or result["episodes"] == 1:
        return
    out.print()
    out.print("[bold]Watch a failure[/bold]  each command plays exactly that episode again")
    words = dict(_ENDS)
    for failure in failures[:_SHOWN]:
        out.print(
            f"  episode {failure['episode']} {words[failure['end']]}: {failure['replay']}",
            markup=False,
            soft_wrap=True,  # a command to copy is not broken into lines
        )
    if (more := len(failures) - _SHOWN) > 0:
        out.print(f"  … and {more:,} more; --json and --out list them all.")
