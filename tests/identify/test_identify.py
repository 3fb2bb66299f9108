"""Planted parameters are found again, and what cannot be known is said."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.identify.planted import WORLD, recorded
from trueup.episodes import Channel
from trueup.errors import TrueupError
from trueup.identify import Estimate, identify
from trueup.identify.problem import Problem

TRUTH = {
    "actuation/elbow_flex/kp": 10.4,
    "actuation/elbow_flex/damping": 1.4,
    "actuation/wrist_roll/frictionloss": 0.31,
    "latency/action_delay": 0.031,
}
SPACE = WORLD.catalogue.select(*TRUTH)


@pytest.fixture(scope="module")
def estimate() -> Estimate:
    return identify(WORLD, [recorded(TRUTH)], SPACE)


def test_planted_parameters_are_found_again(estimate):
    for name, value in TRUTH.items():
        assert estimate.point[name] == pytest.approx(value, rel=0.02), name
    assert all(finding.verdict == "pinned" for finding in estimate.findings)


def test_a_joint_that_was_never_read_is_not_told_and_breaks_nothing():
    """A jaw that is held at its stop: its readings are left out, and it is the last column."""
    episode = recorded(TRUTH)
    positions = episode["joint_position"]
    values = positions.values.copy()
    values[:, positions.names.index("gripper")] = 0.2
    stuck = {**episode.signals, "joint_position": replace(positions, values=values)}
    space = WORLD.catalogue.select(*TRUTH, "actuation/gripper/kp")
    found = identify(WORLD, [replace(episode, signals=stuck)], space, check=False)
    assert "gripper was told to move" in found.notes[0]
    assert found.point["latency/action_delay"] == pytest.approx(0.031, rel=0.05)
    verdict = {finding.name: finding.verdict for finding in found.findings}
    assert verdict["actuation/gripper/kp"] == "not told"


def test_what_was_kept_out_of_the_fit_is_explained_too(estimate):
    for name, before in estimate.held.before.items():
        if "elbow" in name:
            assert estimate.held.after[name] < 0.1 * before
    assert estimate.noise["joint_position/elbow_flex"] == pytest.approx(4.4e-4, rel=0.3)


def test_the_space_becomes_as_narrow_as_the_estimate(estimate):
    narrowed = SPACE.narrowed(estimate)
    drawn = narrowed.sample(np.random.default_rng(0), 200)
    for name, value in TRUTH.items():
        assert drawn.column(name).mean() == pytest.approx(value, rel=0.03)
        assert drawn.column(name).std() < 0.05 * value


def test_an_estimate_survives_storage(estimate, tmp_path):
    estimate.save(tmp_path / "estimate.json")
    again = Estimate.load(tmp_path / "estimate.json")
    assert again.belief == estimate.belief
    assert again.to_json() == json.loads(json.dumps(estimate.to_json()))


def test_a_parameter_that_nothing_excites_is_said_not_to_be_told():
    """Pan turns about the vertical: gravity does not load it, so its zero leaves no trace."""
    space = WORLD.catalogue.select("actuation/shoulder_pan/zero_offset", "actuation/elbow_flex/kp")
    found = identify(WORLD, [recorded({"actuation/elbow_flex/kp": 11.0})], space)
    verdicts = {finding.name: finding.verdict for finding in found.findings}
    assert verdicts["actuation/shoulder_pan/zero_offset"] == "not told"
    assert verdicts["actuation/elbow_flex/kp"] == "pinned"
    assert any("shoulder_pan/zero_offset" in sentence for sentence in found.unseen)


def test_moving_parameters_together_gives_nearly_the_same_slopes():
    space = WORLD.catalogue.select("actuation/*/kp", "actuation/*/damping")
    problem = Problem(WORLD, [recorded({}, seconds=4.0)], space)
    u = space.encode(space.nominal())[0]
    _, alone = problem.jacobian(u)
    _, together = problem.jacobian(u)
    assert problem._groups is not None
    assert len(problem._groups) < len(space)
    assert np.abs(alone - together).max() < 0.1 * np.abs(alone).max()


def _with(episode, **channels):
    return replace(episode, signals={**episode.signals, **channels})


def test_recordings_that_cannot_be_right_are_left_out_with_a_reason():
    good = recorded({}, seconds=4.0)
    command, joints = good["command"], good["joint_position"]
    degrees = _with(good, joint_position=replace(joints, values=np.degrees(joints.values)))
    still = _with(good, command=replace(command, values=np.zeros_like(command.values)))
    frozen = _with(good, joint_position=replace(joints, values=0 * joints.values))
    space = WORLD.catalogue.select("actuation/elbow_flex/kp")
    for bad, words in ((degrees, "degrees"), (still, "do not change"), (frozen, "frozen")):
        with pytest.raises(TrueupError, match=words):
            identify(WORLD, [bad], space)
        assert any(words in note for note in identify(WORLD, [good, bad, good], space).notes)


def test_an_episode_without_commands_is_refused():
    channel = Channel(values=np.zeros((100, 1)), time_s=np.arange(100.0), unit="rad", names=("a",))
    episode = replace(recorded({}, seconds=4.0), signals={"joint_position": channel})
    with pytest.raises(TrueupError, match="no command"):
        identify(WORLD, [episode], WORLD.catalogue.select("actuation/elbow_flex/kp"))


def test_a_damaged_estimate_is_a_sentence(tmp_path):
    file = tmp_path / "estimate.json"
    for text, words in (("{", "not JSON"), ("{}", "not an estimate")):
        file.write_text(text)
        with pytest.raises(TrueupError, match=words):
            Estimate.load(file)
