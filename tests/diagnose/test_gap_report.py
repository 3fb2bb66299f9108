"""A gap report: what it adds up to, and what comes back from its file."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from trueup.diagnose import UNEXPLAINED, Departure, GapReport, Interaction, Rate, Share
from trueup.diagnose.words import sentences
from trueup.errors import TrueupError

DELAY = Departure(
    name="latency/action_delay", unit="s", nominal=0.0, value=0.06, low=0.05, high=0.07, left=0.1
)


def report(**changed) -> GapReport:
    of = {
        "world": "so101/lift",
        "policy": "lift",
        "real": False,
        "evidence": ("trials",),
        "simulated": Rate(successes=98, trials=100),
        "measured": Rate(successes=8, trials=20),
        "shares": (
            Share(gap="visual", points=45.0, low=20.0, high=60.0),
            Share(gap="latency", points=8.0, low=-2.0, high=15.0),
        ),
        "unexplained": Share(gap=UNEXPLAINED, points=5.0, low=-10.0, high=20.0),
    }
    return GapReport(**{**of, **changed})


def test_it_comes_back_from_its_file_as_it_was(tmp_path):
    whole = report(
        interactions=(Interaction(gaps=("visual", "latency"), points=9.0, low=2.0, high=16.0),),
        departures=(DELAY,),
        sentences=("One.",),
        failures={"episodes": []},
        notes=("A note.",),
        made={"seed": 0},
    )
    whole.save(tmp_path / "gaps.json")
    assert GapReport.load(tmp_path / "gaps.json") == whole


def test_shares_and_rest_are_the_loss():
    made = report()
    assert sum(share.points for share in made.ranked) == pytest.approx(made.loss)
    assert [share.gap for share in made.ranked] == ["visual", "latency", UNEXPLAINED]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", "not a gap report"),
        (json.dumps({**report().to_json(), "version": 9}), "version 9"),
        (json.dumps({**report().to_json(), "shares": [{"gap": "visual"}]}), "damaged"),
    ],
)
def test_what_is_no_report_is_refused_in_words(tmp_path, content, said):
    file = tmp_path / "gaps.json"
    file.write_text(content)
    with pytest.raises(TrueupError, match=said):
        GapReport.load(file)


def test_no_file_is_refused_in_words(tmp_path):
    with pytest.raises(TrueupError, match=r"trueup diagnose"):
        GapReport.load(tmp_path / "none.json")


def test_what_recordings_told_is_trained_with_and_not_recorded_again():
    told = replace(DELAY, name="visual/tracker/delay")
    assert "calibrate" in sentences(report())[2]
    assert "trueup narrow" in sentences(report(departures=(told,)))[2]
    assert not any("may stand for" in line for line in sentences(report(), doubted=True))
    doubted = sentences(report(departures=(told,)), doubted=True)
    assert "visual may stand for that" in doubted[3]


def test_what_fitted_numbers_stand_for_is_trained_with_once():
    rest = Share(gap=UNEXPLAINED, points=50.0, low=30.0, high=60.0)
    shares = (Share(gap="visual", points=8.0, low=0.0, high=20.0),)
    told = report(shares=shares, unexplained=rest, departures=(DELAY,))
    words = sentences(told, doubted=True)
    assert "may do in its place" in words[2] and "trueup narrow" in words[2]
    assert "may do in its place" not in " ".join(sentences(told))


def test_the_first_sentences_name_loss_cause_and_what_to_do():
    lost, cause, then, *rest = sentences(report())
    assert "98 %" in lost and "40 %" in lost and "58 points are lost" in lost
    assert "sim-to-sim" in lost
    assert "visual" in cause and "45" in cause and "20 to 60" in cause
    assert "camera" in then
    assert "weakest" in rest[-1]


def test_where_the_cause_is_outside_no_randomization_is_promised():
    shares = (Share(gap="visual", points=8.0, low=0.0, high=20.0),)
    rest = Share(gap=UNEXPLAINED, points=50.0, low=30.0, high=60.0)
    words = " ".join(sentences(report(shares=shares, unexplained=rest)))
    assert "no effect of the simulator explains" in words
    assert "No randomization helps" in words


@pytest.mark.parametrize(
    ("rest", "said"), [(50.0, "Most of it, 50"), (23.0, "The largest part, 23")]
)
def test_most_of_a_loss_is_more_than_half_of_it(rest, said):
    shares = tuple(
        Share(gap=gap, points=0.5 * (58.0 - rest), low=0.0, high=20.0)
        for gap in ("visual", "actuation")
    )
    unexplained = Share(gap=UNEXPLAINED, points=rest, low=10.0, high=55.0)
    assert said in sentences(report(shares=shares, unexplained=unexplained))[1]


def test_a_robot_that_does_better_has_nothing_to_explain():
    better = report(
        simulated=Rate(successes=50, trials=100), measured=Rate(successes=19, trials=20)
    )
    words = " ".join(sentences(better))
    assert "gained" in words and "no loss to explain" in words


def test_gaps_that_hurt_only_together_are_said_to():
    pair = Interaction(gaps=("visual", "latency"), points=12.0, low=4.0, high=20.0)
    assert any("interact" in line for line in sentences(report(interactions=(pair,))))
    unsure = Interaction(gaps=("visual", "latency"), points=3.0, low=-4.0, high=9.0)
    assert not any("interact" in line for line in sentences(report(interactions=(unsure,))))
