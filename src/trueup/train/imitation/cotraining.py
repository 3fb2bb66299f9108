"""A few demonstrations from the robot beside many from simulation: how often to draw from which."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.files import whole
from trueup.policies import Contract, Policy
from trueup.space import Space
from trueup.train.imitation.cloning import learned, prepared, shaped
from trueup.train.imitation.demonstrations import Shown, shown
from trueup.train.imitation.lessons import Lessons
from trueup.train.imitation.result import Cloned, Progress
from trueup.train.imitation.settings import Cloning, Portion
from trueup.train.imitation.work import CHECKPOINT
from trueup.train.look import Success, success_of
from trueup.worlds import World

WEIGHTS = (0.2, 0.5, 0.8)
"""Shares of what is learned that may come from the robot."""

CHOICE = "weights.json"
_FOLDS = 2
_SHORT = 0.5  # of the steps, with which a weight is tried
_GROUP = 4096  # frames that are asked about together


@dataclass(frozen=True, kw_only=True)
class Cotrained:
    """A policy that was trained on both, and what became of what it knew.

    Attributes:
        cloned: The training that was kept.
        weight: The share of what it learned that came from the robot.
        errors: Mean error on held-out episodes of the robot, by weight.
        before: Success in the simulated world of the policy it began from; none where it began from
            nothing, or nothing was played.
        after: Success there now; none where nothing was played.
    """

    cloned: Cloned
    weight: float
    errors: dict[float, float]
    before: Success | None
    after: Success | None


def cotrain(
    world: World,
    real: Portion,
    synthetic: Portion,
    settings: Cloning,
    folder: Path | str,
    *,
    start: Policy | None = None,
    weights: Sequence[float] = WEIGHTS,
    resume: bool = False,
    threads: int = 0,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Cotrained:
    """Train on the robot's demonstrations and simulated ones together.

    The weight is the one that does best on episodes of the robot that were not learned from: each
    is tried with half the steps, with a part of the robot's episodes held out, part by part. The
    policy is then trained with all of them. Success in the simulated world is measured before and
    after, so that what is forgotten shows.

    Args:
        world: The world.
        real: Demonstrations from the robot; at least two.
        synthetic: Demonstrations from simulation.
        settings: How to learn.
        folder: The run folder.
        start: A policy from simulation to begin from.
        weights: Shares to try; one alone is taken as it is.
        resume: Go on with what is in the folder.
        threads: CPU threads of the physics; 0 takes all.
        on_progress: Called after each look of each training.
    """
    folder, settings = Path(folder), shaped(settings, start)
    if not resume and (folder / CHOICE).exists():
        raise TrueupError(
            f"{folder} already holds a training.",
            fix="Go on with it (--resume), or choose another folder (--out).",
        )
    contract, found = prepared(world, [real, synthetic], settings, start)

    def trained(parts: Sequence[Shown], how: Cloning, where: Path, again: bool) -> Cloned:
        return learned(
            world,
            parts,
            contract,
            how,
            where,
            start=start,
            resume=again,
            threads=threads,
            on_progress=on_progress,
        )

    errors = _errors(found, settings, contract, folder, weights, trained)
    weight = min(errors, key=lambda w: errors[w]) if errors else float(weights[0])
    again = resume and (folder / CHECKPOINT).exists()
    cloned = trained(_mixed(found[0], found[1], weight), settings, folder, again)
    before = _known(start, world, settings, threads)
    after = cloned.success.get("nominal")  # the same episodes
    return Cotrained(cloned=cloned, weight=weight, errors=errors, before=before, after=after)


def imitation_error(policy: Policy, world: World, portion: Portion) -> float:
    """Mean absolute error of a policy's answers to demonstrations, as a share of a servo's lead."""
    found = shown(portion, world, policy.contract.interface.observations)
    return _error(policy, Lessons([found.stretches], [None], policy.contract))


def _error(policy: Policy, lessons: Lessons) -> float:
    total = counted = 0.0
    for rows in np.array_split(np.arange(len(lessons)), -(-len(lessons) // _GROUP)):
        batch = lessons.batch(rows)
        answers = policy.network(batch.inputs).reshape(batch.answers.shape)
        off = np.abs(answers - batch.answers).mean(axis=2)
        share = lessons.share[rows, None] * batch.counts
        total += float((off * share).sum())
        counted += float(share.sum())
    return total / counted


def _errors(
    found: Sequence[Shown],
    settings: Cloning,
    contract: Contract,
    folder: Path,
    weights: Sequence[float],
    trained: Callable[[Sequence[Shown], Cloning, Path, bool], Cloned],
) -> dict[float, float]:
    """Mean error on held-out episodes of the robot, by weight; what is done is not done again."""
    if len(weights) == 1:
        return {}
    real, synthetic = found
    folds = _folds(real)
    known = _read(folder / CHOICE)
    short = replace(settings, steps=max(1, round(_SHORT * settings.steps)), confirm_episodes=0)
    for weight in weights:
        for k, out in enumerate(folds):
            name, kept = f"{weight:g}/{k}", [i for i in real.episodes if i not in out]
            if name in known:
                continue
            where = folder / "weights" / name
            shutil.rmtree(where, ignore_errors=True)  # one that was cut short
            parts = _mixed(real.some(kept, None), synthetic, weight)
            judges = Lessons([real.of(out.tolist())], [None], contract)
            known[name] = _error(trained(parts, short, where, False).policy, judges)
            _write(folder / CHOICE, known)
    return {w: float(np.mean([known[f"{w:g}/{k}"] for k in range(len(folds))])) for w in weights}


def _folds(real: Shown) -> list[np.ndarray]:
    """The robot's episodes in parts, each to be held out once."""
    episodes = np.array(real.episodes)
    if len(episodes) < 2:
        raise TrueupError(
            f"{real.portion.dataset} has one demonstration, and none is left to choose a weight "
            "by.",
            fix="Record more, or give the weight.",
        )
    return np.array_split(episodes, min(_FOLDS, len(episodes)))


def _mixed(real: Shown, synthetic: Shown, weight: float) -> list[Shown]:
    return [
        replace(part, portion=replace(part.portion, weight=share))
        for part, share in ((real, weight), (synthetic, 1.0 - weight))
    ]


def _known(policy: Policy | None, world: World, settings: Cloning, threads: int) -> Success | None:
    """Success in the simulated world, on the same episodes before and after."""
    if policy is None or not settings.confirm_episodes:
        return None
    seed = [settings.seed, 0, 1]
    return success_of(policy, world, Space(()), settings.confirm_episodes, seed, threads=threads)


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _write(path: Path, known: dict[str, Any]) -> None:
    with whole(path) as partial:
        partial.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
