"""Trials that begin alike share their luck: ten policies from twenty starts are not 200 trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueup.diagnose.prediction.outcomes import Outcomes


def worth_of_a_trial(policies: Sequence[Outcomes]) -> float:
    """What a trial counts for in judging the simulator, from 1 down to one by its companions.

    Where simulation is wrong about a start, it tends to be wrong for every policy that begins
    there. How much so is read from what simulation leaves unexplained of trials that share a start;
    the rest is Kish's design effect.
    """
    tried = [o for o in policies if len(o.beside) and o.starts is not None]
    if len(tried) < 2:
        return 1.0
    starts = np.concatenate([np.asarray(o.starts) for o in tried])
    _, group, sizes = np.unique(starts, return_inverse=True, return_counts=True)
    if sizes.max() < 2:
        return 1.0
    left = _unexplained(tried)
    sums = np.bincount(group, left)
    squares = np.bincount(group, left**2)
    pairs = (sizes * (sizes - 1)).sum()
    alike = float((sums**2 - squares).sum() / pairs) / max(float((left**2).mean()), 1e-9)
    companions = float((sizes**2).sum() / sizes.sum()) - 1.0
    return 1.0 / (1.0 + companions * float(np.clip(alike, 0.0, 1.0)))


def _unexplained(tried: Sequence[Outcomes]) -> np.ndarray:
    """What a straight line from what simulation says leaves of every trial."""
    said = np.concatenate([np.asarray(o.paired).mean(axis=0) for o in tried])
    done = np.concatenate([o.beside for o in tried]).astype(float)
    line = np.stack([np.ones_like(said), said], axis=1)
    return done - line @ np.linalg.lstsq(line, done, rcond=None)[0]
