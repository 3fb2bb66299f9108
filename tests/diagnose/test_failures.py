"""Phases and events: planted failures are told as what they are, from what a robot records."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.failure_truth import Trial
from tests.diagnose import failed_trials as bent
from tests.diagnose.failed_trials import changed, cut, failed, trials, world
from trueup.cli import main
from trueup.diagnose.failures import Event, FailureAnalysis, Handling, Phase, analysed
from trueup.diagnose.failures.tracking import losses, noise
from trueup.episodes import Channel, Episode, Outcome, Writer
from trueup.errors import TrueupError

TICK = 2 * np.pi / 4096


@pytest.fixture(scope="module")
def good() -> list[Trial]:
    return trials(n=6)


@pytest.fixture(scope="module")
def oily() -> list[Trial]:
    return trials(bent.OILY)


@pytest.fixture(scope="module")
def shifted() -> list[Trial]:
    return trials(bent.SHIFTED)


def told(found: list[Trial] | list[Episode], task: str = bent.LIFT) -> FailureAnalysis:
    return analysed(world(task), [t.episode if isinstance(t, Trial) else t for t in found])


def events(found: FailureAnalysis) -> list[str]:
    return [str(e.event) for e in found.failures]


def test_a_good_grasp_has_three_phases_and_no_event(good):
    found = told(good)
    assert found.handling is Handling.GRASP
    for e in found.episodes:
        assert [s.phase for s in e.spans] == [Phase.APPROACH, Phase.CONTACT, Phase.TRANSPORT]
        assert (e.event, e.time_s, e.evidence, e.events) == (None, None, "", ())
        astride, lifted = e.spans[1].start_s, e.spans[2].start_s
        assert 1.2 < astride < 2.0 < lifted < 2.5  # the script closes from 1.5 to 2.0 s
    assert "No trial failed" in found.sentences[1]


def test_a_slippery_object_slips(oily):
    assert Counter(t.truth for t in oily)["slip"] >= 7  # or the test plants nothing
    found = told(oily)
    for trial, e in zip(oily, found.episodes, strict=True):
        if trial.truth == "slip":
            assert e.event is Event.SLIP
            assert e.time_s is not None and 2.0 < e.time_s < 3.2
            assert "nothing told the jaw to open" in e.evidence
    assert "Most often by slip" in found.sentences[1]


def test_a_camera_that_is_off_makes_misses(shifted):
    assert Counter(t.truth for t in shifted)["miss"] >= 7
    found = told(shifted)
    missed = [e for t, e in zip(shifted, found.episodes, strict=True) if t.truth == "miss"]
    assert {e.event for e in missed} == {Event.MISS}
    assert {e.phase for e in missed} == {Phase.CONTACT}
    assert all("shut on nothing" in e.evidence and " mm" in e.evidence for e in missed)


def test_a_hand_that_presses_on_the_table_collides():
    pressing = [cut(t.episode, 1.9) for t in trials(bent.SEEN_TOO_LOW, 4)]
    found = told(pressing)
    assert events(found).count("collision") >= 3
    pushed = [e.evidence for e in found.failures if e.event is Event.COLLISION]
    assert all("of its force, while the hand was at the object or the table" in e for e in pushed)


def test_an_object_that_is_swept_away_is_a_collision():
    played = trials(n=8, begin=bent.sweeping)
    found = told(played)
    for trial, e in zip(played, found.episodes, strict=True):
        cube = trial.episode["cube_position"].values
        moved = 1000 * np.linalg.norm(cube - cube[0], axis=1).max()
        if moved > 30:
            assert e.event is Event.COLLISION
            assert "before anything held it" in e.evidence
        elif moved < 5:
            assert e.event is Event.TIMEOUT
    assert events(found).count("collision") >= 2


def test_a_guard_that_stopped_it_is_quoted(good):
    reason = "'wrist_flex' has been pushing for 1.0 s: it needs 3.35, and 2.80 is the limit."
    pressing = [cut(t.episode, 1.7) for t in trials(bent.SEEN_TOO_LOW, 1)]
    for episode in (*pressing, cut(good[0].episode, 1.0)):
        found = told([replace(episode, labels={"stopped": reason})])
        (e,) = found.episodes
        assert e.event is Event.COLLISION
        assert any(reason in h.evidence for h in e.events)
        assert found.labels is None  # why it was stopped follows from how it went


def test_letting_go_is_a_release_and_told_with_its_distance():
    found = told(trials(n=4, task=bent.PLACE, begin=bent.dropping), bent.PLACE)
    dropped = [e for e in found.failures if e.phase is Phase.RELEASE]
    assert len(dropped) >= 3
    for e in dropped:
        assert e.event is Event.MISS
        assert e.time_s == pytest.approx(3.0, abs=0.2)
        assert "mm from its target" in e.evidence
        phases = [s.phase for s in e.spans]
        assert phases.index(Phase.TRANSPORT) < phases.index(Phase.RELEASE)


def test_pushing_has_no_release():
    found = told(trials(n=8, task=bent.PUSH, begin=bent.sweeping), bent.PUSH)
    assert found.handling is Handling.PUSH
    phases = {e.episode: {s.phase for s in e.spans} for e in found.episodes}
    assert sum(Phase.TRANSPORT in some for some in phases.values()) >= 2
    assert not any(Phase.RELEASE in some for some in phases.values())
    assert all("mm from its target" in e.evidence for e in found.failures)


def test_reaching_is_approach_alone_and_tells_how_far_it_got():
    played = trials(n=3, task=bent.REACH, begin=bent.still)
    found = told(played, bent.REACH)
    assert found.handling is Handling.REACH
    for trial, e in zip(played, found.episodes, strict=True):
        signals = trial.episode.signals
        off = signals["tcp_position"].values[-1] - signals["target_position"].values[-1]
        assert (e.event, e.phase) == (Event.TIMEOUT, Phase.APPROACH)
        assert f"{1000 * np.linalg.norm(off):.0f} mm from its target" in e.evidence


def test_a_hand_that_believes_it_arrived_missed():
    (trial,) = trials(n=1, task=bent.REACH, begin=bent.still)
    hand = trial.episode["tcp_position"].values[-1]
    there = changed(trial.episode, "target_position", lambda v: np.tile(hand, (len(v), 1)))
    (e,) = told([there], bent.REACH).episodes
    assert e.event is Event.MISS
    assert "disagree" in e.evidence


def test_too_little_time_is_a_timeout_wherever_it_was(good):
    early = told([cut(t.episode, 1.0) for t in good])
    late = told([cut(t.episode, 2.6) for t in good])
    assert {(e.event, e.phase) for e in early.failures} == {(Event.TIMEOUT, Phase.APPROACH)}
    assert {(e.event, e.phase) for e in late.failures} == {(Event.TIMEOUT, Phase.TRANSPORT)}
    assert all("the object was in the hand" in e.evidence for e in late.failures)


def test_a_joint_that_ignores_its_command_stalls(good):
    def stuck(values: np.ndarray) -> np.ndarray:
        values[:, 1] = values[0, 1]
        return values

    found = told([failed(changed(t.episode, "joint_position", stuck)) for t in good])
    assert set(events(found)) == {"stall"}
    assert all("'shoulder_lift' stood still" in e.evidence for e in found.failures)


@pytest.mark.parametrize("kind", ["missing", "frozen"])
def test_an_object_that_is_not_seen_is_a_tracking_loss(good, kind):
    generator = np.random.default_rng(0)

    def blind(values: np.ndarray) -> np.ndarray:
        values += generator.normal(0.0, 0.002, values.shape)
        values[15:60] = np.nan if kind == "missing" else values[15]
        return values

    episodes = [cut(changed(t.episode, "cube_position", blind), 2.4) for t in good]
    found = told(episodes)
    assert set(events(found)) == {"tracking loss"}
    word = "was not seen" if kind == "missing" else "stood still in the record"
    assert all(word in e.evidence and e.time_s == pytest.approx(0.6) for e in found.failures)


def test_a_leap_with_no_hand_near_is_a_tracking_loss():
    place = np.tile([0.2, 0.0, 0.01], (40, 1))
    place[20:, 0] += 0.1
    hand = np.tile([0.0, 0.0, 0.3], (40, 1))
    (loss,) = losses(place, 0.04 * np.arange(40), hand)
    assert (loss.kind, loss.start_s) == ("leap", pytest.approx(0.76))
    assert "leapt 100 mm" in str(loss)
    assert losses(place[:20], 0.04 * np.arange(20), hand[:20]) == ()


def test_noise_is_measured_whatever_the_motion():
    generator = np.random.default_rng(1)
    smooth = np.stack([0.3 * np.sin(np.linspace(0, 3, 400))] * 3, axis=1)
    for sigma in (0.001, 0.004):
        assert noise(smooth + generator.normal(0, sigma, smooth.shape)) == pytest.approx(
            sigma, rel=0.15
        )


def rough(episode: Episode, seed: int) -> Episode:
    """As a cheap robot would record it: encoders in ticks, a jittery tracker that loses frames."""
    generator = np.random.default_rng(seed)

    def ticks(values: np.ndarray) -> np.ndarray:
        return np.round((values + generator.normal(0, 0.5 * TICK, values.shape)) / TICK) * TICK

    def jitter(values: np.ndarray) -> np.ndarray:
        values += generator.normal(0, 0.0015, values.shape)
        values[generator.random(len(values)) < 0.1] = np.nan
        return values

    return changed(changed(episode, "joint_position", ticks), "cube_position", jitter)


def test_noise_ticks_and_lost_frames_change_little(oily, shifted):
    for found in (oily, shifted):
        clean = told(found)
        coarse = told([rough(t.episode, i) for i, t in enumerate(found)])
        same = [a.event == b.event for a, b in zip(clean.episodes, coarse.episodes, strict=True)]
        assert np.mean(same) >= 0.75


def test_only_what_a_robot_has_is_needed(oily):
    """Without loads, velocities and derived signals the events stay the same."""
    kept = ("joint_position", "command", "cube_position")
    bare = [replace(t.episode, signals={n: t.episode[n] for n in kept}) for t in oily]
    assert events(told(bare)) == events(told(oily))


def test_the_jaw_alone_tells_slips_from_misses(oily, shifted, good):
    """Where no object is tracked, as on most real arms."""
    kept = ("joint_position", "command")
    for found in (oily, shifted):
        bare = [replace(t.episode, signals={n: t.episode[n] for n in kept}) for t in found]
        same = [str(e.event) == t.truth for t, e in zip(found, told(bare).episodes, strict=True)]
        assert np.mean(same) >= 0.75
    bare = [replace(t.episode, signals={n: t.episode[n] for n in kept}) for t in good]
    assert {tuple(s.phase for s in e.spans) for e in told(bare).episodes} == {
        (Phase.APPROACH, Phase.CONTACT, Phase.TRANSPORT)
    }


def test_an_object_that_was_never_seen_is_a_tracking_loss(good):
    blind = [failed(changed(t.episode, "cube_position", lambda v: v * np.nan)) for t in good]
    found = told(blind)
    assert set(events(found)) == {"tracking loss"}
    assert all("was not seen for" in e.evidence for e in found.failures)


@pytest.mark.parametrize("readings", [3, 4, 7])
def test_an_episode_of_a_few_readings_is_a_timeout(good, readings):
    found = told([cut(t.episode, readings * t.episode.period_s) for t in good])
    assert set(events(found)) == {"timeout"}


def test_phases_follow_each_other_without_gaps(oily, shifted):
    for e in told([*oily, *shifted]).episodes:
        assert e.spans[0].start_s == 0.0
        assert all(a.end_s == b.start_s and a.phase != b.phase for a, b in pairwise(e.spans))
        assert all(s.start_s < s.end_s for s in e.spans)


def test_the_clock_may_begin_anywhere(oily):
    def later(episode: Episode) -> Episode:
        signals = {
            name: Channel(values=c.values, time_s=c.time_s + 1e4, unit=c.unit, names=c.names)
            for name, c in episode.signals.items()
        }
        return replace(episode, signals=signals)

    first, second = told(oily), told([later(t.episode) for t in oily])
    assert events(first) == events(second)
    assert [e.time_s for e in first.failures] == pytest.approx([e.time_s for e in second.failures])


def test_counts_add_up_and_are_plain_json(oily, shifted):
    episodes = [*(t.episode for t in oily), *(t.episode for t in shifted)]
    labelled = [
        replace(e, labels={"lot": "oily" if i < 8 else "dry"}) for i, e in enumerate(episodes)
    ]
    labelled.append(replace(labelled[0], outcome=Outcome.SUCCESS))
    found = told(labelled)
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert sum(data["by_phase"].values()) == sum(data["by_event"].values()) == data["failed"]
    assert sum(sum(row.values()) for row in data["by_event_and_phase"].values()) == data["failed"]
    assert data["label"] == "sim-to-sim" and "sim-to-sim" in data["sentences"][0]
    assert data["episodes"][0]["spans"][0]["phase"] == "approach"
    assert data["labels"]["trials"] == len(labelled)
    assert data["by_label_and_event"]["lot"]["oily"]["slip"] >= 7
    assert sum(data["by_label_and_event"]["lot"]["dry"].values()) == len(shifted)


def test_what_was_not_judged_is_left_out_and_said(oily):
    first, second, *rest = (t.episode for t in oily)
    aborted = replace(first, outcome=Outcome.ABORTED)
    shadow = replace(second, outcome=None, origin={**second.origin, "mode": "shadow"})
    found = told([aborted, shadow, *rest])
    assert [e.episode for e in found.episodes] == list(range(2, 8))
    assert found.notes == ("2 episodes were left out: aborted, a shadow, or not judged.",)
    with pytest.raises(TrueupError, match="None of these 1 episodes is a trial that was judged"):
        told([aborted])


def test_another_robot_is_refused_in_a_sentence(good):
    episode = good[0].episode
    other = replace(
        episode,
        signals={
            **episode.signals,
            "command": replace(episode["command"], names=tuple("abcdef")),
        },
    )
    with pytest.raises(
        TrueupError, match=r"Episode 0 has 'command' of a, b, .* the world 'so101/lift'"
    ):
        told([other])
    blind = replace(episode, signals={"cube_position": episode["cube_position"]})
    with pytest.raises(TrueupError, match="Episode 0 has no 'joint_position'"):
        told([blind])


def test_the_command_reads_a_dataset_of_trials(oily, good, tmp_path, capsys):
    folder, out = tmp_path / "trials" / "episodes", tmp_path / "out"
    with Writer(folder) as writer:
        for kind, some in (("oily", oily), ("dry", good)):
            for trial in some:
                writer.add(replace(trial.episode, labels={"fingers": kind}))
    assert main(["failures", str(tmp_path / "trials"), "--out", str(out)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "sim-to-sim" in text and "Most often by slip" in text
    assert "where fingers is oily" in text and "never where it is dry (0 of 6)" in text
    assert (out / "failures.png").read_bytes().startswith(b"\x89PNG")
    assert main(["failures", str(folder), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads((out / "failures.json").read_text())
    assert data["by_event"]["slip"] == data["failed"] == len(oily)


def test_the_command_asks_for_a_world_where_trials_name_none(good, tmp_path, capsys):
    with Writer(tmp_path / "trials") as writer:
        writer.add(replace(good[0].episode, origin={}))
    assert main(["failures", str(tmp_path / "trials")]) == 2
    assert "do not name one world; they name none. Give --world." in capsys.readouterr().err
    assert main(["failures", str(tmp_path / "trials"), "--world", bent.LIFT]) == 0
