"""What curation is worth to a policy: trained on what is kept, and on what is truly sound.

Eight kinds of faults are planted into 30 % of generated demonstrations, and nothing tells the tool
which there are. What a robot computes from its readings is computed again from the faulty ones, as
it would be. Three policies learn, each from as many seeds: from what curation keeps, from the
episodes in which nothing was planted, and from everything. Each plays the same episodes in worlds
drawn from the default space. Every demonstration, curation and training is kept in --out.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.curate_made import planted
from benchmarks.measure import Effort, Measure, Target
from trueup.curate import KeepList, curate
from trueup.episodes import Dataset, Episode
from trueup.evaluate import evaluate, piloted, trials
from trueup.files import whole, whole_folder
from trueup.generate import Order, Shelf, generate, scripted
from trueup.policies import Policy
from trueup.train.imitation import Cloning, Portion, clone
from trueup.worlds import World, get

_KINDS = (
    "frozen", "shifted", "jerky", "truncated", "failed", "degrees", "slammed", "teleported",
)  # fmt: skip
_WORLD, _SHARE = "so101/lift", 0.3
_DEMONSTRATIONS, _PLAYED, _STEPS, _SEEDS = 1500, 2000, 4000, (0, 1)


def measure(effort: Effort) -> list[Measure]:
    world = get(_WORLD)
    few = 10 if effort.quick else 1
    folder = effort.out / ("curate-policy-quick" if effort.quick else "curate-policy")
    faults = _made(world, folder, _DEMONSTRATIONS // few)
    keep = _curated(folder)
    kept = np.array([verdict.keep for verdict in keep.verdicts])
    bad = np.array([bool(fault) for fault in faults])
    sets = {
        "sound": np.flatnonzero(~bad),
        "kept": np.flatnonzero(kept),
        "all": np.arange(len(bad)),
    }
    seeds = effort.seeds or (_SEEDS[:1] if effort.quick else _SEEDS)
    found = {
        name: np.mean([_success(world, folder, name, rows, seed, few) for seed in seeds], axis=0)
        for name, rows in sets.items()
    }
    missed = sorted({faults[i] for i in np.flatnonzero(kept & bad)})
    return [
        Measure(
            what="success of a policy from what curation keeps, of one from what is sound",
            value=100.0 * found["kept"].mean() / found["sound"].mean(),
            unit="%",
            spread=_ratio_interval(found["kept"], found["sound"]),
            target=Target(side="≥", value=99.0),
            note=f"{found['kept'].mean():.1%} against {found['sound'].mean():.1%}, and "
            f"{found['all'].mean():.1%} from all {len(bad)}; {len(_KINDS)} kinds of faults in "
            f"{bad.mean():.0%}, {len(seeds)} seeds, sim-to-sim",
            details={name: float(shares.mean()) for name, shares in found.items()},
        ),
        Measure(
            what="faulty episodes among those kept",
            value=100.0 * float(bad[kept].mean()),
            unit="%",
            note=f"{(kept & ~bad).sum()} of {(~bad).sum()} sound ones kept; of the faulty, "
            f"{(kept & bad).sum()} of {bad.sum()}" + (f" ({', '.join(missed)})" if missed else ""),
        ),
    ]


def _made(world: World, folder: Path, episodes: int) -> list[str]:
    """Store demonstrations with faults in them; what was planted in each."""
    order = Order(world=world, source=(scripted(world),), space=world.space, episodes=episodes)
    told = folder / "planted.json"
    if not told.is_file():
        generate(order, folder / "sound")
        clean = list(Dataset.open(folder / "sound"))
        made = planted(clean, share=_SHARE, kinds=_KINDS, seed=1)
        with whole_folder(folder / "planted") as partial, Shelf(partial) as shelf:
            shelf.add([_consistent(episode, world) for episode in made.episodes])
        with whole(told) as partial:
            partial.write_text(json.dumps(made.faults))
    return json.loads(told.read_text())


def _consistent(episode: Episode, world: World) -> Episode:
    """What a robot computes from its readings, computed again from these."""
    read = {s.sensors: s.name for s in world.observations if s.function is None}
    known: dict[str, Any] = {}
    signals = dict(episode.signals)
    for signal in world.observations:
        values = episode[read[signal.sensors]].values.astype(float)
        if signal.function is not None:
            values = np.asarray(signal.function(world, values, known))
            channel = replace(signals[signal.name], values=values.astype(np.float32))
            signals[signal.name] = channel
        known[signal.name] = values
    return replace(episode, signals=signals)


def _curated(folder: Path) -> KeepList:
    stored = folder / "keep.json"
    if not stored.is_file():
        curate(Dataset.open(folder / "planted")).save(stored)
    return KeepList.load(stored)


def _success(
    world: World, folder: Path, name: str, rows: np.ndarray, seed: int, few: int
) -> np.ndarray:
    """(episodes,) whether a policy from these demonstrations succeeds, each at its own point."""
    run = folder / f"{name}-{seed}"
    stored = run / "success.json"
    if not stored.is_file():
        portion = Portion(dataset=folder / "planted", episodes=rows.tolist())
        settings = Cloning(seed=seed, steps=_STEPS // few, confirm_episodes=0)
        clone(world, [portion], settings, run, threads=1)
        points, seeds = trials(world.space, _PLAYED // few, 99)
        played = evaluate(world, piloted(Policy.load(run / "policy")), points, seeds, threads=1)
        with whole(stored) as partial:
            partial.write_text(json.dumps(played.success.astype(int).tolist()))
    return np.array(json.loads(stored.read_text()), float)


def _ratio_interval(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """The middle 80 % of the ratio of two means, drawn again by episode; both played the same."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(above), (2000, len(above)))
    ratios = 100.0 * above[rows].mean(axis=1) / below[rows].mean(axis=1)
    low, high = np.quantile(ratios, (0.1, 0.9))
    return float(low), float(high)
