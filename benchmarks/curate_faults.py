"""Planted faults: how many a keep-list finds, what it drops by mistake, what its ranking is worth.

The faults lie in grasps of randomized worlds, and nothing tells the tool which there are. At equal
lengths means that every episode, good or bad, has the same number of frames: those cut short are
of a slower hand.
"""

from __future__ import annotations

import numpy as np

from benchmarks.curate_made import FAULTS, Planted, cut, demonstrations, planted
from benchmarks.measure import Effort, Measure, Target
from trueup.curate import KeepList, curate
from trueup.curate.comparison import Comparison
from trueup.curate.discriminator.discriminator import Discrimination
from trueup.curate.discriminator.logistic import auroc
from trueup.episodes import Episode

_QUICKEST, _SLOWEST = (1.25,), (0.8,)
_OTHERS = tuple(kind for kind in FAULTS if kind != "truncated")


def measure(effort: Effort) -> list[Measure]:
    n = 80 if effort.quick else 400
    clean = demonstrations(n, seed=11)
    made = planted(clean, seed=12)
    keep = curate(made.episodes)
    return [
        _ranked(n),
        *_found(made, keep),
        _lost(clean),
        *_told_apart(demonstrations(n, seed=14)),
    ]


def _ranked(n: int) -> Measure:
    """How often a faulty episode ranks below a sound one, where length says nothing."""
    made = planted(demonstrations(n, seed=13, paces=_QUICKEST), seed=13, kinds=_OTHERS)
    frames = len(made.episodes[0]["command"])
    late = demonstrations(max(3, n // 33), seed=13, paces=_SLOWEST)
    made = Planted(
        episodes=[*made.episodes, *(cut(episode, frames) for episode in late)],
        faults=[*made.faults, *("truncated" for _ in late)],
    )
    length = np.array([len(e["command"]) for e in made.episodes], float)
    keep, bad = curate(made.episodes), made.faulty
    by_length = auroc(length[bad], length[~bad])
    return Measure(
        what="AUROC of the quality score, 30 % faults of ten kinds, all episodes equally long",
        value=auroc(keep.badness[bad], keep.badness[~bad]),
        target=Target(side="≥", value=0.95),
        note=f"by length alone {by_length:.2f}; {len(made.episodes)} episodes, sim-to-sim",
    )


def _found(made: Planted, keep: KeepList) -> list[Measure]:
    dropped, bad = np.array([not v.keep for v in keep.verdicts]), made.faulty
    by_kind = {
        kind: float(dropped[[fault == kind for fault in made.faults]].mean()) for kind in FAULTS
    }
    worst = min(by_kind, key=lambda kind: by_kind[kind])
    return [
        Measure(
            what="planted faults of ten kinds that are dropped",
            value=100.0 * float(dropped[bad].mean()),
            unit="%",
            note=f"fewest of {worst}: {100 * by_kind[worst]:.0f} %",
            details={"by kind": by_kind},
        ),
        Measure(
            what="dropped episodes that are faulty",
            value=100.0 * float(bad[dropped].mean()),
            unit="%",
            note=f"{dropped.sum()} of {len(dropped)} dropped",
        ),
    ]


def _lost(clean: list[Episode]) -> Measure:
    keep = curate(clean)
    return Measure(
        what="sound episodes dropped where all are sound",
        value=100.0 * len(keep.dropped) / len(keep),
        unit="%",
        target=Target(side="≤", value=5.0),
        note="at most 2 % by chance is what was asked for",
    )


def _told_apart(clean: list[Episode]) -> list[Measure]:
    """The discriminator on two halves of one set, and with one signal of one half changed."""
    made, real = clean[::2], clean[1::2]
    rng = np.random.default_rng(0)
    same = _discriminated(made, real)
    other = _discriminated([FAULTS["duplicated"](episode, rng) for episode in made], real)
    named = np.mean([giveaway == "joint_position" for giveaway in other.giveaways])
    chance = max(abs(found.control - 0.5) for found in (same, other))
    return [
        Measure(
            what="discriminator with shuffled labels: distance from one half",
            value=chance,
            target=Target(side="≤", value=0.05),
            note=f"± {same.control_spread:.2f} from shuffle to shuffle",
        ),
        Measure(
            what="discriminator on two halves of one set (0.5 is chance)",
            value=same.auroc,
        ),
        Measure(
            what="discriminator, one signal with 0.1 mrad of noise",
            value=other.auroc,
            note=f"best single signal {next(iter(other.by_signal))}; named for "
            f"{100 * named:.0f} % of episodes",
            details={"by signal": other.by_signal},
        ),
    ]


def _discriminated(made: list[Episode], real: list[Episode]) -> Discrimination:
    comparison = Comparison.of(made, real)
    for episode in made:
        comparison.see(episode)
    found = comparison.discrimination(0)
    assert found is not None
    return found
