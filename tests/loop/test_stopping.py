"""When a run stops by itself: decided from stored artefacts, each reason planted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.deploy.robots import still
from tests.loop.found import estimate, report
from tests.loop.turns import REACH, TINY, job
from trueup.diagnose import GapReport, Share
from trueup.evaluate import evaluate, piloted, trials
from trueup.loop import Job, Why, stop_after
from trueup.plan import planned
from trueup.space import Space
from trueup.worlds import get


def stored(folder: Path, *, before: int = 0, after: int = 0, trials: int = 20) -> Job:
    """A run folder with trials in it."""
    for name, won in (("before", before), ("after", after)):
        path = folder / "run" / name
        path.mkdir(parents=True)
        found = {"success": won, "trials": trials}
        (path / "result.json").write_text(json.dumps(found))
    return job(folder, replace(TINY, target=0.9))


def diagnosed(job: Job, found: GapReport) -> Job:
    found.save(job.path("diagnose/gaps.json"))
    estimate({"latency/action_delay": (0.0, 0.001)}).save(job.path("identify/estimate.json"))
    return job


@pytest.mark.parametrize(("won", "stops"), [(17, False), (18, True), (20, True)])
def test_the_target(tmp_path, won, stops):
    found = stop_after("before", stored(tmp_path, before=won))
    assert (found is not None) == stops
    if found:
        assert found.why is Why.TARGET and f"{won} of 20" in found.words and "90 %" in found.words


def test_a_turn_always_ends_with_a_reason(tmp_path):
    open_ = stop_after("after", stored(tmp_path / "a", after=12))
    reached = stop_after("after", stored(tmp_path / "b", after=19))
    assert open_ and open_.why is Why.OPEN and "12 of 20" in open_.words
    assert reached and reached.why is Why.TARGET


def test_a_turn_that_did_not_help_is_not_built_upon(tmp_path):
    worse = stop_after("after", stored(tmp_path / "a", before=12, after=11))
    better = stop_after("after", stored(tmp_path / "b", before=11, after=12))
    assert worse and "no better" in worse.words and "(12 of 20)" in worse.words
    assert "Begin the next turn" not in worse.words
    assert better and "Begin the next turn with this policy" in better.words


def test_trials_that_go_better_than_the_simulator_promises_may_be_luck(tmp_path):
    lucky = stored(tmp_path, after=19)
    world = get(REACH)
    points, seeds = trials(Space(()), 10, 0)
    evaluate(world, piloted(still()), points, seeds).save(lucky.path("retrain/evaluation.npz"))
    stop = stop_after("after", lucky)
    assert stop and stop.why is Why.TARGET and "may be luck" in stop.words


def test_nothing_is_worth_its_cost(tmp_path):
    small = job(tmp_path)
    found = report(latency=3)
    found.save(small.path("look/gaps.json"))
    planned(found, worth=50.0).save(small.path("plan/protocol.json"))
    stop = stop_after("plan", small)
    assert stop and stop.why is Why.WORTHLESS and "3 points" in stop.words
    planned(report(latency=40)).save(small.path("plan/protocol.json"))
    assert stop_after("plan", small) is None


def test_a_policy_that_is_as_bad_in_simulation_needs_no_better_simulator(tmp_path):
    small = job(tmp_path)
    found = report()
    found.save(small.path("look/gaps.json"))
    planned(found).save(small.path("plan/protocol.json"))
    stop = stop_after("plan", small)
    assert stop and stop.why is Why.WORTHLESS and "a better policy is needed" in stop.words


def test_a_cause_outside_the_simulator(tmp_path):
    stop = stop_after("diagnose", diagnosed(job(tmp_path), report(unexplained=40, visual=1)))
    assert stop and stop.why is Why.OUTSIDE and "40 of 41 lost points" in stop.words


def test_numbers_that_may_stand_for_an_outside_cause_are_tried_first(tmp_path):
    """A mount that wobbles looks like zeros that are off, and a policy for those may do."""
    found = diagnosed(stored(tmp_path), report(unexplained=40, latency=1))
    estimate({"latency/action_delay": (0.05, 0.001)}).save(found.path("identify/estimate.json"))
    assert stop_after("diagnose", found) is None


@pytest.mark.parametrize(
    "found",
    [
        report(unexplained=30, latency=10),  # part of it can be won back
        report(latency=40),
        replace(
            report(unexplained=40),
            unexplained=Share(gap="unexplained", points=40.0, low=5.0, high=60.0),
        ),  # nobody is sure
    ],
)
def test_not_outside(tmp_path, found):
    assert stop_after("diagnose", diagnosed(job(tmp_path), found)) is None


def test_other_stages_give_no_reason(tmp_path):
    assert stop_after("record", job(tmp_path)) is None
