"""What a deployment and its preflight say, for people."""

from __future__ import annotations

from typing import Any

from trueup.cli import show
from trueup.deploy import Preflight

_PARTS = (
    ("observe", "reading the robot"),
    ("infer", "from readings to commands"),
    ("act", "sending them"),
)


def print_preflight(found: Preflight) -> None:
    """What was checked, and what is wrong."""
    out = show.console()
    verdict = "[bold green]passed[/]" if found.passed else "[bold red]refused[/]"
    out.print(f"Preflight of {found.robot} {verdict}, {found.motion_s:.0f} s of its time.")
    for what in found.checked:
        out.print(f"  checked  {what}", markup=False)
    for what in found.skipped:
        out.print(f"  skipped  {what}", markup=False)
    for finding in found.findings:
        out.print(f"  wrong    {finding}", markup=False)


def print_result(result: dict[str, Any]) -> None:
    """How often it worked, and where the time goes."""
    out = show.console()
    show.print_facts(dict(_facts(result)))
    if result["latency_budget"] is not None:
        out.print()
        out.print("[bold]Latency budget[/bold]  from the begin of a turn until a joint moves, ms")
        out.print(_budget(result["latency_budget"]))
    for trial, reason in list(result["stopped"].items())[:5]:
        out.print(f"Trial {trial} was stopped: {reason}", markup=False)
    out.print()
    out.print(f"Written: {', '.join(result['files'])}", markup=False, soft_wrap=True)


def _facts(result: dict[str, Any]) -> list[tuple[str, str]]:
    found = [("policy", result["policy"]), ("robot", result["robot"])]
    if result["shadow"]:
        found.append(("trials", f"{result['trials']} as a shadow: nothing was sent"))
    else:
        share = show.percent(result["success"], result["trials"])
        found.append(("success", f"{share} of {result['trials']} trials, {result['label']}"))
    if result["resumed"]:
        found.append(("resumed", f"{result['resumed']} trials were done before"))
    if "simulated" in result:
        beside = result["simulated"]
        low, high = (100 * x for x in beside["interval_95"])
        found.append(
            (
                "simulated",
                f"{100 * beside['success_share']:.1f} % in the nominal world from the same starts; "
                f"the robot differs by {100 * beside['difference']:+.1f} points "
                f"({low:+.1f} to {high:+.1f})",
            )
        )
    return found


def _budget(budget: dict[str, Any]) -> Any:
    rows = show.table(
        "part", "mean", "p95", "p99", "worst", "", right=("mean", "p95", "p99", "worst")
    )
    for part, words in _PARTS:
        spread = budget[part]
        numbers = (f"{1e3 * spread[q]:.2f}" for q in ("mean", "p95", "p99", "worst"))
        rows.add_row(part, *numbers, words)
    settle = budget["settle"]
    if settle is not None:
        doubt = f"± {2e3 * settle['std_s']:.1f}; until a joint moves, with the age of readings"
        rows.add_row("settle", f"{1e3 * settle['delay_s']:.2f}", "", "", "", doubt)
        rows.add_row("total", f"{1e3 * budget['total_s']:.2f}", "", "", "", "")
    period = budget["period"]
    rows.add_row(
        "period",
        f"{1e3 * period['mean']:.2f}",
        f"{1e3 * period['p95']:.2f}",
        f"{1e3 * period['p99']:.2f}",
        f"{1e3 * period['worst']:.2f}",
        f"{100 * budget['misses']:.2f} % of {budget['turns']} turns began over 5 ms late",
    )
    return rows
