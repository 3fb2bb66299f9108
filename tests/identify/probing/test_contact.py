"""What touching shows is found again on a rehearsal robot, and what it does not show is said."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.loop.found import estimate
from trueup.episodes import Outcome
from trueup.errors import TrueupError
from trueup.hardware import open_robot
from trueup.identify.probing import identify_contact
from trueup.identify.probing.contact import STRANGE, _Setting
from trueup.identify.probing.open_minded import open_minded
from trueup.identify.probing.probes import followed, noise_of, probed, rested, signals_of
from trueup.record import Drag, Squeeze, Tilt, record
from trueup.space import JointNormal
from trueup.worlds import get

WORLD = get("so101/lift")
TRUTH = {
    "contact/object-table/sliding": 0.45,
    "object/cube/mass": 0.07,
    "actuation/gripper/force_limit": 1.2,
}
SEEN = {
    "sensing/encoder/noise": 0.0006,
    "sensing/current/noise": 0.03,
    "visual/tracker/noise": 0.001,
    "visual/tracker/angle_noise": 0.01,
}
SPACE = open_minded(WORLD.catalogue.select(*TRUTH))


@pytest.fixture(scope="module")
def episodes(tmp_path_factory):
    """A squeeze, a drag and a tilt, twice each."""
    file = tmp_path_factory.mktemp("robot") / "reality.json"
    values = {**TRUTH, **SEEN}
    file.write_text(json.dumps({"trueup_reality": 1, "story": "A heavy cube.", "values": values}))
    found = []
    with open_robot(f"rehearsal:{file}@so101/lift", cells=2, period_s=0.02, threads=1) as robot:
        for probe in (Squeeze(press_rad=0.3), Drag(), Tilt()):
            found += record(robot, probe, world=WORLD, seeds=np.arange(2)).episodes
    return found


@pytest.fixture(scope="module")
def by_kind(episodes):
    return {episode.labels["kind"]: episode for episode in episodes}


@pytest.mark.slow
def test_friction_mass_and_grip_force_are_found_again(episodes):
    estimate = identify_contact(WORLD, episodes, SPACE, threads=1)
    assert estimate.point["actuation/gripper/force_limit"] == pytest.approx(1.2, rel=0.01)
    assert estimate.point["object/cube/mass"] == pytest.approx(0.07, rel=0.05)
    assert estimate.point["contact/object-table/sliding"] == pytest.approx(0.45, rel=0.1)
    assert {finding.verdict for finding in estimate.findings} == {"pinned"}
    gripper = "joint_force/gripper"
    assert estimate.held.after[gripper] < 0.5 * estimate.held.before[gripper]


def test_a_larger_thing_is_told_by_where_the_fingers_meet_it(tmp_path):
    """Across the fingers and in height; how long it is the other way no finger felt."""
    size = {"object/cube/size_x": 0.03, "object/cube/size_y": 0.034, "object/cube/size_z": 0.031}
    file = tmp_path / "reality.json"
    reality = {"trueup_reality": 1, "story": "A larger cube.", "values": {**size, **SEEN}}
    file.write_text(json.dumps(reality))
    with open_robot(f"rehearsal:{file}@so101/lift", cells=2, period_s=0.02, threads=1) as robot:
        probes = (Squeeze(), Drag())
        found = [record(robot, p, world=WORLD, seeds=np.arange(2)).episodes for p in probes]
    episodes = [episode for some in found for episode in some]
    space = open_minded(WORLD.catalogue.select(*size))
    estimate = identify_contact(WORLD, episodes, space, threads=1)
    told = {finding.name[-1]: finding for finding in estimate.findings}
    for axis in "yz":
        truth = size[f"object/cube/size_{axis}"]
        assert told[axis].verdict == "pinned"
        assert told[axis].value == pytest.approx(truth, rel=0.03)
    assert told["x"].low < size["object/cube/size_x"] < told["x"].high
    assert estimate.made["arm_off"] < STRANGE


def test_what_no_probe_shows_is_said_with_the_probe_that_would(episodes):
    """A squeeze tells the grip; a cube that stands on a table does not slip out of it."""
    some = [e for e in episodes if e.labels["kind"] == "squeeze"]
    grip, finger = "actuation/gripper/force_limit", "contact/fingertip-object/sliding"
    space = open_minded(WORLD.catalogue.select(grip, finger))
    estimate = identify_contact(WORLD, some, space, threads=1)
    verdicts = {finding.name: finding.verdict for finding in estimate.findings}
    assert verdicts[grip] == "pinned"
    assert estimate.point[grip] == pytest.approx(1.2, rel=0.01)
    assert verdicts[finger] != "pinned"
    assert any("told by tilt" in sentence for sentence in estimate.unseen)


def test_a_probe_ends_where_a_replay_can_no_longer_follow(by_kind):
    tilt = by_kind["tilt"]
    slip = next(p for p in tilt.origin["phases"] if p["name"] == "loosen")["early_s"]
    assert slip is not None
    assert followed(tilt)["joint_position"].time_s[-1] == pytest.approx(slip + 0.1, abs=0.021)
    squeeze = next(p for p in by_kind["squeeze"].origin["phases"] if p["name"] == "squeeze")
    assert followed(by_kind["squeeze"]).duration_s <= squeeze["end_s"] + 1e-6


def test_a_replay_begins_at_the_mean_of_what_was_seen_at_rest(by_kind):
    seen = by_kind["drag"]["cube_position"]
    mean = rested(WORLD, by_kind["drag"])["true_cube_position"].values[0]
    rest = next(p for p in by_kind["drag"].origin["phases"] if p["name"] == "above")["end_s"]
    np.testing.assert_allclose(mean, seen.values[seen.time_s <= rest].mean(axis=0))
    generator = np.random.default_rng(0)
    drawn = [rested(WORLD, by_kind["drag"], generator)["true_cube_position"] for _ in range(200)]
    spread = np.std([channel.values[0] for channel in drawn], axis=0)
    expected = seen.values[seen.time_s <= rest].std(axis=0) / np.sqrt((seen.time_s <= rest).sum())
    np.testing.assert_allclose(spread, np.maximum(expected, 1e-4), rtol=0.2)


def test_noise_is_read_off_the_recordings(episodes):
    columns = ("joint_force/gripper", "joint_position/shoulder_pan", "cube_position/x")
    found = noise_of(episodes, columns)
    np.testing.assert_allclose(found, [0.03, 0.0006, 0.001], rtol=0.15)


def test_the_second_of_each_kind_judges(episodes):
    split = probed(WORLD, episodes)
    kinds = [[e.labels["kind"] for e in some] for some in (split.fitted, split.held)]
    assert kinds == [["squeeze", "drag", "tilt"]] * 2
    alone = probed(WORLD, split.fitted)
    assert [e.labels["kind"] for e in alone.held] == ["tilt"]
    assert "record each twice" in alone.notes[-1]


def test_currents_and_poses_are_compared_where_all_have_them(episodes):
    assert signals_of(WORLD, episodes) == (
        "joint_position",
        "joint_force",
        "cube_position",
        "cube_orientation",
    )
    blind = replace(episodes[0], signals={**episodes[0].signals})
    del blind.signals["joint_force"]  # type: ignore[attr-defined]
    assert "joint_force" not in signals_of(WORLD, [blind, *episodes[1:]])


def _still(episode):
    place = episode["cube_position"]
    values = np.tile(place.values[:1], (len(place), 1))
    return replace(
        episode, signals={**episode.signals, "cube_position": replace(place, values=values)}
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: replace(e, labels={"kind": "chirp"}), "no contact probe"),
        (lambda e: replace(e, outcome=Outcome.ABORTED, labels={**e.labels, "ended": "q"}), "cut"),
        (_still, "the hand missed"),
    ],
)
def test_a_probe_that_shows_nothing_is_left_out_with_a_reason(episodes, change, words):
    drag, *others = sorted(episodes, key=lambda e: e.labels["kind"])
    split = probed(WORLD, [change(drag), *others])
    assert any("Episode 0 was left out" in note and words in note for note in split.notes)
    assert len(split.fitted) + len(split.held) == len(episodes) - 1
    with pytest.raises(TrueupError, match="two probes at least"):
        probed(WORLD, [change(drag), change(drag)])


def test_a_world_without_things_is_refused(episodes):
    with pytest.raises(TrueupError, match="no contact that a probe could show"):
        identify_contact(get("so101/arm"), episodes)


def test_of_an_arm_counts_what_the_world_has():
    """A fit of the bare arm may add a surface under it, which a world with a table has not."""
    kp, surface = "actuation/elbow_flex/kp", "environment/surface/height"
    assert surface not in WORLD.catalogue
    known = estimate({kp: (11.0, 0.2)})
    belief = JointNormal((surface, kp), np.array([0.07, np.log(11.0)]), np.diag([1e-6, 4e-4]))
    setting = _Setting(world=WORLD, free=SPACE, arm=replace(known, belief=belief), options={})
    assert setting._arm(None) == {kp: 11.0}
    assert dict(setting._arm(np.random.default_rng(0)))[kp] == pytest.approx(11.0, rel=0.1)
