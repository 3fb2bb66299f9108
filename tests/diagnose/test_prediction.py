"""`trueup predict`, from policies and trials to words, as its user types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.robots import REACH, reality
from tests.evaluate.pilots import constant
from trueup.cli.entry import main
from trueup.diagnose.prediction import Candidate, predict
from trueup.diagnose.prediction.simulation import Robots, outcomes
from trueup.diagnose.prediction.trials import Trials
from trueup.errors import TrueupError
from trueup.evaluate import evaluate
from trueup.simulate import Worlds
from trueup.space import Point, Space
from trueup.worlds import get
from trueup.worlds.scripted import ScriptedLift

FEW = ["--draws", "3", "--starts", "4", "--threads", "1"]


@pytest.fixture(scope="module")
def policies(tmp_path_factory) -> list[str]:
    """Two that are still, at places of their own: now and then that is where they should be."""
    folder = tmp_path_factory.mktemp("policies")
    return [constant(get(REACH), a).save(folder / f"p{i}").name for i, a in enumerate((0.0, 0.1))]


@pytest.fixture(scope="module")
def tried(policies, tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("tried")
    robot = reality(folder, latency__action_delay=0.05)
    for i, policy in enumerate(policies):
        words = ["deploy", policy, "--robot", robot, "--trials", "6", "--skip-check", "--json"]
        assert main([*words, "--out", str(folder / str(i))]) == 0
    return [str(folder / str(i)) for i in range(2)]


def answer(capsys, *words: str) -> dict:
    capsys.readouterr()
    assert main(["predict", *words, *FEW, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_trials_of_the_policy_and_of_others_are_used(policies, tried, capsys, tmp_path):
    out = tmp_path / "prediction.json"
    result = answer(capsys, policies[0], "--trials", *tried, "--out", str(out))
    (p,) = result["policies"]
    assert p["trials"]["trials"] == p["trials"]["paired"] == 6
    assert result["calibration"]["trials"] == 6  # of the other policy, found where it was
    assert result["label"] == "sim-to-sim"
    low, high = p["interval_90"]
    assert 0.0 <= low <= p["predicted"] <= high <= 1.0
    assert len(result["sentences"]) == 3
    assert result == json.loads(out.read_text())


def test_it_speaks_in_words_first(policies, tried, capsys):
    capsys.readouterr()
    assert main(["predict", *policies, "--trials", *tried, *FEW, "--width", "0.02"]) == 0
    told = capsys.readouterr().out
    flat = " ".join(told.split())
    assert flat.startswith("Of 2 policies expect most of")
    assert "more trials in all, instead of" in flat
    assert told.index("Of 2 policies") < told.index("still needed")
    assert "sim-to-sim: no real robot took part" in told
    assert "were never measured" in told


def test_without_any_trial_it_says_what_that_means(policies, capsys):
    result = answer(capsys, policies[0], "--no-rest")
    assert "No policy was tried on this robot" in result["sentences"][1]
    assert result["made"]["draws"] == 1  # nothing is open: one world, all the starts
    assert result["policies"][0]["simulated"]["trials"] == 12


def test_trials_whose_policy_is_gone_are_not_used_and_that_is_said(policies, tried, capsys):
    moved = Path(policies[1]).with_name("moved")
    Path(policies[1]).rename(moved)
    try:
        result = answer(capsys, policies[0], "--trials", *tried)
    finally:
        moved.rename(policies[1])
    assert result["calibration"]["trials"] == 0
    assert any("not here to be simulated" in note for note in result["notes"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--width", "0.7"], "half width 0.7 cannot be asked for"),
        (["--draws", "0"], "--draws is 0"),
        (["--seed", "-1"], "--seed is -1"),
        (["--trials", "nowhere"], "nowhere"),
        (["--estimate", "nowhere.json"], "nowhere.json could not be read"),
        (["--gaps", "nowhere.json"], "nowhere.json could not be read"),
        (["--world", "so101/lift"], "does not fit"),
        (["--out", "result.txt"], "does not end in .json"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(policies, capsys, words, sentence):
    assert main(["predict", policies[0], *words]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_policy_that_is_given_twice_is_refused(policies, capsys):
    assert main(["predict", policies[0], policies[0]]) == 2
    assert "is given twice" in capsys.readouterr().err


def test_simulated_episodes_begin_as_their_trials_did():
    """Trials played at the very point that is believed are repeated to the last one."""
    world, seeds = get("so101/lift"), np.arange(16, dtype=np.uint64)
    point = Point({"actuation/shoulder_pan/zero_offset": 0.04, "latency/action_delay": 0.1})

    def script(worlds: Worlds) -> ScriptedLift:
        return ScriptedLift(world, worlds.observation)

    real = evaluate(world, script, point, seeds, threads=1).success
    assert 0 < real.sum() < len(real)
    trials = Trials(policy="p", mark="p", success=real, seeds=seeds, repeatable=True, real=False)
    space = world.catalogue.select(*point).pinned(dict(point))
    robots = Robots.drawn(space, 2, 3, seed=0)
    candidate = Candidate(name="p", begin=script, mark="p")
    played = outcomes(world, candidate, robots, [trials], threads=1)
    assert played.paired is not None
    np.testing.assert_array_equal(played.paired[0], real)
    assert played.fresh.shape == (1, 6)


def test_nobody_to_predict_is_refused():
    with pytest.raises(TrueupError, match="no policy to predict"):
        predict(get(REACH), [], Space(()))
