"""Which trials are used, and what is believed of the robot."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueup.diagnose import Departure, GapReport, Rate, Share
from trueup.diagnose.prediction import believed, trials_in
from trueup.episodes import Channel, Episode, Outcome, Writer
from trueup.errors import TrueupError
from trueup.space import JointNormal
from trueup.worlds import get

WORLD = "so101/reach"


def episode(trial: int, outcome: Outcome | None = Outcome.SUCCESS, **origin: Any) -> Episode:
    named = {"world": WORLD, "policy": "runs/a", "policy_sha256": "a", "robot": "arm"}
    time_s = np.arange(3) * 0.04
    channel = Channel(values=np.zeros((3, 1)), time_s=time_s, unit="rad", names=("joint",))
    return Episode(
        signals={"joint_position": channel},
        period_s=0.04,
        outcome=outcome,
        origin={**named, "trial": trial, "seed": 100 + trial, "real": False, **origin},
    )


def written(folder: Path, *episodes: Episode) -> Path:
    with Writer(folder) as writer:
        for one in episodes:
            writer.add(one)
    return folder


def test_trials_are_told_apart_by_their_network_and_keep_their_starts(tmp_path):
    rows = [episode(0), episode(1, Outcome.FAILURE), episode(0, policy_sha256="b")]
    a, b = trials_in([written(tmp_path / "data", *rows)], WORLD)
    assert (a.mark, len(a), a.successes, a.seeds.tolist()) == ("a", 2, 1, [100, 101])
    assert (b.mark, len(b)) == ("b", 1)
    assert a.repeatable
    assert not a.real


def test_a_real_robot_cannot_repeat_a_start(tmp_path):
    (trials,) = trials_in([written(tmp_path / "data", episode(0, real=True))], WORLD)
    assert trials.real
    assert not trials.repeatable


def test_what_is_no_trial_is_left_out_and_said(tmp_path):
    rows = [episode(0), episode(1, Outcome.ABORTED), episode(2, None, mode="shadow")]
    (trials,) = trials_in([written(tmp_path / "data", *rows)], WORLD)
    assert len(trials) == 1
    assert any("1 episodes" in note and "a shadow" in note for note in trials.notes)
    assert any("aborted or never judged" in note for note in trials.notes)


def test_a_dataset_that_is_given_twice_counts_once(tmp_path):
    data = written(tmp_path / "out" / "episodes", episode(0), episode(1))
    (trials,) = trials_in([data, tmp_path / "out", data], WORLD)  # the folder of --out will do
    assert len(trials) == 2
    more = written(tmp_path / "more", episode(2))
    (trials,) = trials_in([data, more], WORLD)
    assert len(trials) == 3


def test_a_trial_of_another_world_is_refused(tmp_path):
    data = written(tmp_path / "data", episode(0), episode(1, world="so101/lift"))
    with pytest.raises(TrueupError, match=r"Episode 1 of .* is a trial in the world 'so101/lift'"):
        trials_in([data], WORLD)


def test_a_dataset_without_trials_is_refused(tmp_path):
    data = written(tmp_path / "data", episode(0, Outcome.ABORTED))
    with pytest.raises(TrueupError, match="no trial that came to its end"):
        trials_in([data], WORLD)


# What the robot may be ------------------------------------------------------------------------


@dataclass(frozen=True)
class Learned:
    joints: tuple[JointNormal, ...]
    world: str = "so101/arm"
    priors: dict = field(default_factory=dict)


def normal(*names: str, mean: float, std: float) -> JointNormal:
    return JointNormal(names, np.full(len(names), mean), std**2 * np.eye(len(names)))


def report(*departures: Departure, world: str = WORLD) -> GapReport:
    nothing = Share(gap="unexplained", points=0.0, low=0.0, high=0.0)
    return GapReport(
        world=world,
        policy="p",
        real=False,
        evidence=("trials",),
        simulated=Rate(successes=9, trials=10),
        measured=Rate(successes=5, trials=10),
        shares=(),
        unexplained=nothing,
        departures=departures,
    )


def departure(name: str, value: float, low: float, high: float) -> Departure:
    return Departure(name=name, unit="1", nominal=0.0, value=value, low=low, high=high, left=0.2)


def test_what_was_learned_is_narrow_and_the_rest_as_wide_as_before():
    world = get(WORLD)
    estimate = Learned((normal("latency/action_delay", "nowhere/else", mean=0.06, std=0.001),))
    belief = believed(world, [estimate])
    assert belief.learned == ("latency/action_delay",)
    assert any("nowhere/else" in note for note in belief.notes)
    points = belief.space.sample(np.random.default_rng(0), 400)
    assert np.abs(points.column("latency/action_delay") - 0.06).max() < 0.006
    offsets = points.column("actuation/shoulder_pan/zero_offset")
    assert np.ptp(offsets) > 0.02
    assert len(belief.guessed) == len(world.space.free) - 1


def test_without_the_rest_only_what_was_learned_is_open():
    estimate = Learned((normal("latency/action_delay", mean=0.06, std=0.001),))
    belief = believed(get(WORLD), [estimate], rest=False)
    assert belief.space.names == ("latency/action_delay",)
    assert belief.guessed == ()


def test_departures_of_a_gap_report_count_where_no_estimate_says_more():
    world = get(WORLD)
    found = report(
        departure("latency/action_delay", 0.08, 0.07, 0.09),
        departure("actuation/elbow_flex/kp", 8.0, 7.0, 9.0),
    )
    estimate = Learned((normal("latency/action_delay", mean=0.02, std=0.001),))
    points = believed(world, [estimate], found).space.sample(np.random.default_rng(0), 2000)
    assert np.median(points.column("latency/action_delay")) == pytest.approx(0.02, abs=0.001)
    kp = points.column("actuation/elbow_flex/kp")
    assert np.quantile(kp, (0.05, 0.5, 0.95)) == pytest.approx([7.05, 8.0, 9.07], abs=0.15)


def test_evidence_of_another_robot_or_world_is_refused():
    world = get(WORLD)
    with pytest.raises(TrueupError, match="none of its parameters is known"):
        believed(world, [Learned((normal("nowhere/else", mean=0.0, std=1.0),))])
    with pytest.raises(TrueupError, match="gap report is of the world 'so101/lift'"):
        believed(world, report=report(world="so101/lift"))
