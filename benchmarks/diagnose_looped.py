"""The diagnoses of the row `loop` beside the truth: nothing was given to them, all was recorded.

Every robot of that row is bent in two gaps, by an effect outside the space, or in both ways, and
was diagnosed twice: from trials alone, and once more with what was recorded and identified. Truth
are Shapley values of the hidden bends, over episodes that the run did not see; an effect outside
the space and the other engine are players too, and theirs is the unexplained share. Truth is kept
and not played again. All of it is sim-to-sim.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loop_closed import ORDER, won
from benchmarks.measure import Effort, Measure, Target
from trueup.diagnose import UNEXPLAINED, GapReport
from trueup.diagnose.planted import GAPS
from trueup.files import whole
from trueup.policies import Policy
from trueup.streams import seeds_from

_EPISODES = 500
_TELLS = 0.25  # of the loss: a gap that costs less is not asked for
_DEPTHS = (("look", "from trials alone"), ("diagnose", "with what was recorded"))

Shares = Mapping[str, float]
Row = dict[str, Any]


def measure(effort: Effort) -> list[Measure]:
    out = effort.out / "loop"
    wanted = 3 if effort.quick else len(ORDER)
    done = sorted((out / "rows").glob("*.json"))[:wanted]
    return measures([row(out, path.stem) for path in done])


def row(out: Path, name: str) -> Row:
    """A robot's truth and its two reports."""
    kept, run = out / "truth" / f"{name}.json", out / "runs" / name
    if not kept.exists():
        file = json.loads((out / "realities" / f"{name}.json").read_text(encoding="utf-8"))
        found = truth(Policy.load(run / "train" / "policy"), file)
        with whole(kept) as partial:
            partial.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    reports = {depth: GapReport.load(run / depth / "gaps.json") for depth, _ in _DEPTHS}
    return {"name": name, "true": json.loads(kept.read_text(encoding="utf-8")), **reports}


def truth(policy: Policy, file: Mapping[str, Any]) -> dict[str, float]:
    """What each gap, and what is outside of them, truly costs, in points."""
    players = list(dict.fromkeys(name.split("/")[0] for name in file["values"]))
    if file["beyond"] or "engine" in file:
        players.append(UNEXPLAINED)
    seeds = seeds_from(np.random.default_rng(77), _EPISODES)
    worth = {
        coalition: won(policy, _with(file, coalition), seeds)
        for size in range(len(players) + 1)
        for coalition in combinations(players, size)
    }
    return {player: 100.0 * _shapley(players, worth, player) for player in players}


def _with(file: Mapping[str, Any], players: Sequence[str]) -> dict[str, Any]:
    """A reality of some of its bends."""
    values = {name: v for name, v in file["values"].items() if name.split("/")[0] in players}
    if UNEXPLAINED in players:
        return {**file, "values": values}
    return {**{k: v for k, v in file.items() if k != "engine"}, "values": values, "beyond": []}


def _shapley(players: list[str], worth: Mapping[tuple[str, ...], float], player: str) -> float:
    """What a player costs, on average over the orders in which all of them may come."""

    def costs(order: tuple[str, ...]) -> float:
        before = set(order[: order.index(player)])
        without = tuple(p for p in players if p in before)
        joined = tuple(p for p in players if p in before or p == player)
        return worth[without] - worth[joined]

    return float(np.mean([costs(order) for order in permutations(players)]))


# Judging ------------------------------------------------------------------------------------------


def measures(rows: Sequence[Row]) -> list[Measure]:
    """Lines of the table."""
    return [line for depth, words in _DEPTHS for line in _lines(rows, depth, words)]


def _lines(rows: Sequence[Row], depth: str, words: str) -> list[Measure]:
    told = [(row["true"], row[depth]) for row in rows]
    first = [report.ranked[0].gap == _costliest(true) for true, report in told]
    parts = [(_telling(true), report) for true, report in told]
    pairs = [
        {share.gap for share in report.ranked[:2]} == set(gaps)
        for gaps, report in parts
        if len(gaps) == 2
    ]
    every = [
        (true.get(gap, 0.0), report.share(gap))
        for true, report in told
        for gap in (*GAPS, UNEXPLAINED)
    ]
    bent = [(value, share) for value, share in every if value]
    outside = [
        report.ranked[0].gap == UNEXPLAINED
        for true, report in told
        if _costliest(true) == UNEXPLAINED
    ]
    inside = [
        report.ranked[0].gap == UNEXPLAINED for true, report in told if UNEXPLAINED not in true
    ]
    errors = [abs(value - share.points) for value, share in every]
    missed = [row["name"] for row, ok in zip(rows, first, strict=True) if not ok]
    return [
        _share(f"costliest cause ranked first, {words}", first, "≥", None, ", ".join(missed)),
        _share(f"both causes ranked before all others, {words}", pairs, "≥", 85.0),
        _share(f"share of what was bent inside its interval, {words}", _held(bent), "≥", 85.0),
        _share(f"share of anything inside its interval, {words}", _held(every), "≥", 85.0),
        _share(f"unexplained ranked first where it costs most, {words}", outside, "≥", 85.0),
        _share(f"unexplained ranked first where nothing is outside, {words}", inside, "≤", 10.0),
        Measure.of(f"error of a share, {words}", errors, unit="points"),
    ]


def _costliest(true: Shares) -> str:
    return max(true, key=lambda gap: true[gap])


def _telling(true: Shares) -> list[str]:
    """What costs a good part of the loss."""
    return [gap for gap, points in true.items() if points >= _TELLS * sum(true.values())]


def _held(pairs: Sequence[tuple[float, Any]]) -> list[bool]:
    return [share.low - 0.5 <= value <= share.high + 0.5 for value, share in pairs]


def _share(what: str, values: Sequence[bool], side: Any, target: float | None, note: str = ""):
    told = f"{sum(values)} of {len(values)}, sim-to-sim"
    return Measure(
        what=what,
        value=100.0 * float(np.mean(values)) if values else None,
        unit="%",
        target=None if target is None else Target(side=side, value=target),
        note=f"{told}; missed: {note}" if note else told,
    )
