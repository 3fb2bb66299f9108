"""Realities drawn at random, diagnosed: is the right gap named, and do the intervals hold?

Truth is known: Shapley values computed with the hidden values. The policy was trained in the
nominal world, so that every gap may cost it something. Realities that were played are kept and not
played again, so this can be interrupted. All of it is sim-to-sim.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.learning import source_mark, trained
from benchmarks.measure import Effort, Measure, Target
from benchmarks.outside import KINDS
from benchmarks.realities import Drawn, bent, strange, tried
from trueup.diagnose import UNEXPLAINED, Bank, Rate, Size, built
from trueup.diagnose.doubt import Doubt
from trueup.diagnose.familiarity import Familiarity, outside
from trueup.diagnose.inference import Reader
from trueup.diagnose.planted import GAPS
from trueup.diagnose.shapley import Attribution, Cost
from trueup.diagnose.signature import signature
from trueup.diagnose.splitting import Split, split
from trueup.evaluate import piloted
from trueup.files import whole
from trueup.hardware.reality import reality_from
from trueup.policies import Policy
from trueup.randomize import FromPrior
from trueup.space import Space
from trueup.streams import seeds_from
from trueup.train import Settings
from trueup.worlds import get

WORLD = "so101/lift"
TRIALS = 20
_EACH, _PAIRS, _STRANGE = 15, 64, 5  # realities of each gap, of two, of each kind outside
_KNOWN = ("actuation", "latency", "sensing")
_LEAST = 0.2
COSTLY = {
    "so101/lift": ("visual", "sensing", "human", "actuation"),
    "so101/push": ("contact", "object", "visual", "sensing", "human", "actuation"),
}
"""Gaps that cost the starting policy of a world its success; draws of each other found none."""
_FELT = (
    "cable_drag",
    "friction_law",
    "gear_ripple",
    "thermal_fade",
    "bus_hiccups",
    "wobbly_mount",
)
"""Causes outside the space that recordings of free motion show, as identification flags them."""

Row = dict[str, Any]


def measure(effort: Effort) -> list[Measure]:
    world = get(WORLD)
    policy = Policy.load(_policy(effort))
    began = perf_counter()
    bank = _bank(policy, effort)
    made_s = perf_counter() - began
    each, pairs, odd = (3, 8, 1) if effort.quick else (_EACH, _PAIRS, _STRANGE)
    jobs = [*jobs_of(each, pairs, odd)]
    rows = [row for job in jobs if (row := played(world, policy, bank.nominal, job, effort.out))]
    return judged(bank, rows, made_s)


def _policy(effort: Effort) -> Path:
    """A policy's folder; one that was trained without randomization where none is given."""
    if effort.policy != "script":
        return Path(effort.policy)
    settings = Settings(seed=0, steps=int(effort.steps or 1_500_000), target=0.97)
    record = trained(effort.out / "diagnose", WORLD, _nominal, settings)
    return Path(record.policy)


def _nominal(space: Space) -> FromPrior:
    return FromPrior(space.pinned())


def _bank(policy: Policy, effort: Effort) -> Bank:
    files = sorted((effort.out / "diagnose").glob("bank*.npz"))
    if files:
        return joined([Bank.load(file) for file in files])
    world = get(WORLD)
    size = Size(screened=20, kept=8, pairs=20, triples=0, nominal=100) if effort.quick else Size()
    bank = built(
        world,
        piloted(policy),
        world.catalogue,
        np.random.default_rng(0),
        size=size,
        on_progress=lambda line: print(line, file=sys.stderr, flush=True),
    )
    (effort.out / "diagnose").mkdir(parents=True, exist_ok=True)
    bank.save(effort.out / "diagnose" / "bank.npz")
    return bank


def joined(banks: Sequence[Bank]) -> Bank:
    """Banks of one policy as one."""
    arrays = ("bent", "gaps", "alone", "shares", "noise", "success")
    counts = [bank.nominal_trials for bank in banks]
    nominal = float(np.average([bank.nominal for bank in banks], weights=counts))
    return replace(
        banks[0],
        signatures={
            k: np.concatenate([bank.signatures[k] for bank in banks]) for k in banks[0].signatures
        },
        nominal=nominal,
        nominal_trials=sum(counts),
        **{name: np.concatenate([getattr(bank, name) for bank in banks]) for name in arrays},
    )


# Realities ----------------------------------------------------------------------------------------


def jobs_of(each: int, pairs: int, odd: int) -> Iterator[tuple[str, int]]:
    """What is to be drawn: kinds of reality and their numbers."""
    for number in range(each):
        yield from ((gap, number) for gap in GAPS)
    yield from (("two", number) for number in range(pairs))
    for number in range(odd):
        yield from ((kind, number) for kind in KINDS)


def played(world, policy: Policy, nominal: float, job: tuple[str, int], out: Path) -> Row | None:
    """A reality and its trials; read where it was played before. None where none costs enough."""
    kind, number = job
    file = out / "diagnose" / "realities" / f"{kind}-{number:03d}.json"
    if file.exists():
        return json.loads(file.read_text(encoding="utf-8")) or None
    generator = np.random.default_rng([661_000, *kind.encode(), number])
    drawn = _drawn(world, policy, nominal, kind, generator)
    row = {} if drawn is None else _row(world, policy, kind, drawn, generator)
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole(file) as partial:
        partial.write_text(json.dumps(row) + "\n", encoding="utf-8")
    print(f"{kind} {number}: {'none' if drawn is None else 'done'}", file=sys.stderr, flush=True)
    return row or None


def _drawn(world, policy: Policy, nominal: float, kind: str, generator) -> Drawn | None:
    if kind in KINDS:
        return strange(world, policy, kind, generator, simulated=nominal, least=_LEAST)
    if kind in GAPS:
        return bent(world, policy, (kind,), generator, least=_LEAST)
    for _ in range(5):
        pair = tuple(generator.choice(COSTLY[world.name], 2, replace=False).tolist())
        if found := bent(world, policy, pair, generator, least=_LEAST, tries=10):
            return found
    return None


def _row(world, policy: Policy, kind: str, drawn: Drawn, generator) -> Row:
    traces = tried(world, policy, reality_from(drawn.file), seeds_from(generator, TRIALS))
    return {
        "source": source_mark(),
        "kind": kind,
        "file": dict(drawn.file),
        "gaps": list(drawn.gaps),
        "simulated": drawn.simulated,
        "measured": drawn.measured,
        "shares": dict(drawn.shares),
        "successes": int(traces.success.sum()),
        "signature": signature(traces).values.tolist(),
        "alone": dict(drawn.alone),
    }


# Judging ------------------------------------------------------------------------------------------


def judged(bank: Bank, rows: Sequence[Row], made_s: float) -> list[Measure]:
    """Lines of the table."""
    familiar = Familiarity(bank.signatures[TRIALS])
    found: list[Measure] = []
    for known, words in (((), "from trials alone"), (_KNOWN, "with what recordings may tell")):
        told = [name for name in bank.parameters if name.split("/")[0] in known]
        reader = Reader(bank, TRIALS, told)
        splits = [_split(bank, reader, familiar, row, known) for row in rows]
        found += _lines(bank, rows, splits, words, 80.0 if not known else 95.0)
    found.append(
        Measure(
            what="simulated trials for one policy, once",
            value=made_s,
            unit="s",
            target=Target(side="≤", value=300.0),
            note=f"{len(bank):,} bent worlds; 0 where they were read",
        )
    )
    return found


def _split(bank: Bank, reader: Reader, familiar: Familiarity, row: Row, known) -> Split:
    simulated = Rate(
        successes=round(bank.nominal * bank.nominal_trials), trials=bank.nominal_trials
    )
    measured = Rate(successes=row["successes"], trials=TRIALS)
    values = np.array(row["signature"])
    alone = {gap: row["alone"].get(gap, 0.0) for gap in known}
    loss = simulated.share - measured.share
    answer = reader.read(values, max(loss, 0.05), alone)
    felt = bool(known) and row["kind"] in _FELT
    doubts = (Doubt(what="Unmodelled.", gaps=(), explained=1.0),) if felt else ()
    strange_ = outside(familiar.p_value(values), doubted=felt, odds=answer.odds)
    found = _told(row, known) if known else None
    generator = np.random.default_rng(0)
    return split(answer, found, simulated, measured, strange_, generator, doubts=doubts)


def _told(row: Row, known: Sequence[str]) -> Attribution:
    """What recordings would tell of the known gaps if they were identified without error.

    Of causes outside the space they tell nothing by any parameter.
    """
    own = [gap for gap in known if gap in row["gaps"]]
    shares = {gap: Cost(value=0.0, spread=0.01) for gap in known}
    for gap in own:
        value = row["shares"][gap] if len(own) == len(row["gaps"]) else row["alone"][gap]
        shares[gap] = Cost(value=value, spread=0.03)
    return Attribution(
        gaps=tuple(known),
        nominal=np.zeros(1),
        identified=np.zeros(1),
        shares=shares,
        alone=shares,
        pairs={},
    )


def _lines(
    bank: Bank, rows: Sequence[Row], splits: Sequence[Split], words: str, first: float
) -> list[Measure]:
    one = [(r, s) for r, s in zip(rows, splits, strict=True) if len(r["gaps"]) == 1]
    two = [(r, s) for r, s in zip(rows, splits, strict=True) if len(r["gaps"]) == 2]
    odd = [(r, s) for r, s in zip(rows, splits, strict=True) if not r["gaps"]]
    right = [_ranked(s)[0] == r["gaps"][0] for r, s in one]
    by_gap = {
        g: [ok for ok, (r, _) in zip(right, one, strict=True) if r["kind"] == g] for g in GAPS
    }
    pairs = [set(_ranked(s)[:2]) == set(r["gaps"]) for r, s in two]
    inside = [ok for r, s in (*one, *two) for ok in _covered(r, s, GAPS)]
    bent = [ok for r, s in (*one, *two) for ok in _covered(r, s, r["gaps"])]
    error = [abs(_points(s, g) - 100 * r["shares"].get(g, 0.0)) for r, s in one + two for g in GAPS]
    blamed = [_ranked(s)[0] == UNEXPLAINED for _, s in odd]
    false = [_ranked(s)[0] == UNEXPLAINED for _, s in (*one, *two)]
    each = ", ".join(f"{g} {sum(x)} of {len(x)}" for g, x in by_gap.items() if x)
    lines = (
        ("cause ranked first, one gap", right, "≥", first, each),
        ("exact pair found, two gaps", pairs, "≥", 85.0, f"{len(pairs)} realities"),
        (
            "true share of a bent gap inside its 90 % interval",
            bent,
            "≥",
            85.0,
            f"{len(bent)} of them",
        ),
        ("true share of any gap inside it", inside, "≥", 85.0, f"{len(inside)} of them"),
        ("unexplained ranked first, cause outside", blamed, "≥", 85.0, _kinds(odd, blamed)),
        ("unexplained ranked first, cause inside", false, "≤", 10.0, f"{len(false)} realities"),
    )
    found = [
        Measure(
            what=f"{what}, {words}",
            value=100.0 * float(np.mean(values)) if values else None,
            unit="%",
            target=Target(side=side, value=target),  # type: ignore[arg-type]
            note=note,
        )
        for what, values, side, target, note in lines
    ]
    return [*found, Measure.of(f"error of a share, {words}", error, unit="points")]


def _ranked(parts: Split) -> list[str]:
    every = (*parts.shares, parts.unexplained)
    return [share.gap for share in sorted(every, key=lambda share: -share.points)]


def _points(parts: Split, gap: str) -> float:
    return next(share.points for share in parts.shares if share.gap == gap)


def _covered(row: Row, parts: Split, gaps: Sequence[str]) -> list[bool]:
    """Of these gaps; others than the bent ones cost nothing, and most intervals hold that."""
    true = {gap: 100 * row["shares"].get(gap, 0.0) for gap in gaps}
    return [s.low - 0.5 <= true[s.gap] <= s.high + 0.5 for s in parts.shares if s.gap in true]


def _kinds(odd: Sequence[tuple[Row, Split]], blamed: Sequence[bool]) -> str:
    found: dict[str, list[bool]] = {}
    for (row, _), ok in zip(odd, blamed, strict=True):
        found.setdefault(row["kind"], []).append(ok)
    return ", ".join(f"{kind} {sum(ok)} of {len(ok)}" for kind, ok in found.items())
