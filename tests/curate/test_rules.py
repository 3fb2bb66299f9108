"""Faults planted into grasps in randomized worlds: each is found, by the rule that should."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from benchmarks.curate_made import FAULTS, Planted, demonstrations, planted
from trueup.curate import KeepList, curate
from trueup.curate.discriminator.logistic import auroc

# What each fault must be told as; any of these will do.
TOLD = {
    "frozen": {"frozen", "stuck"},
    "shifted": {"shift", "lead"},
    "jerky": {"jerk", "burst", "jump"},
    "truncated": {"ending", "truncation"},
    "failed": {"ending"},
    "degrees": {"units"},
    "slammed": {"limits"},
    "teleported": {"jump", "surprise"},
    "duplicated": {"duplicates"},
}


@cache
def clean() -> list:
    return demonstrations(60, seed=7)


@cache
def judged() -> tuple[Planted, KeepList]:
    made = planted(clean(), seed=1, kinds=tuple(TOLD))
    return made, curate(made.episodes)


@pytest.mark.parametrize("kind", TOLD)
def test_a_planted_fault_is_found_and_named(kind):
    made, keep = judged()
    for i in np.flatnonzero([fault == kind for fault in made.faults]):
        verdict = keep.verdicts[i]
        assert not verdict.keep, (kind, verdict.nearest)
        assert TOLD[kind] & {reason.rule for reason in verdict.reasons}, verdict.reasons


def test_sound_episodes_stay_and_rank_before_faulty_ones():
    made, keep = judged()
    dropped = np.array([not v.keep for v in keep.verdicts])
    assert (dropped & ~made.faulty).sum() <= 3
    assert auroc(keep.badness[made.faulty], keep.badness[~made.faulty]) >= 0.95


def test_a_sound_dataset_is_kept():
    keep = curate(clean())
    assert len(keep.dropped) <= 0.05 * len(keep)


def test_every_fault_of_the_benchmark_has_its_rule_here():
    # a burst of noise may be weaker than what some of the worlds do by themselves
    assert set(TOLD) | {"noisy"} == set(FAULTS)


def test_a_world_sees_what_was_never_done():
    """With the cube as it truly was, a success that is none is told by the task itself."""
    exact = demonstrations(16, seed=3, select=("contact",))
    rng = np.random.default_rng(0)
    keep = curate([*exact, *(FAULTS["truncated"](e, rng) for e in exact[:2])])
    assert [v.keep for v in keep.verdicts[-2:]] == [False, False]
    for verdict in keep.verdicts[-2:]:
        assert "verdict" in {reason.rule for reason in verdict.reasons}
    told = {rule.name: rule.dropped for rule in keep.rules}
    assert told["verdict"] == 2
