"""Laws of a keep-list, what it is stored as, and what it says to bad input."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.curate.reaches import reach, reaches
from tests.episodes.older import write_v21
from trueup.curate import KeepList, Settings, copy_kept, curate
from trueup.episodes import Channel, Dataset, Episode, Outcome, Video, Writer
from trueup.errors import TrueupError


def changed(episode: Episode, signal: str, values: np.ndarray) -> Episode:
    channel = replace(episode[signal], values=values)
    return replace(episode, signals={**episode.signals, signal: channel})


def spiked(episode: Episode) -> Episode:
    values = episode["command"].values.copy()
    values[20:24:2, 0] += 0.4
    return changed(episode, "command", values)


def lagging(episode: Episode, frames: int) -> Episode:
    values = np.roll(episode["command"].values, frames, axis=0)
    values[:frames] = 0.0
    return changed(episode, "command", values)


@pytest.fixture(scope="module")
def mixed() -> list[Episode]:
    sound = reaches(40)
    return [*sound[:20], spiked(sound[20]), *sound[21:], lagging(reach(99), 5)]


@pytest.fixture(scope="module")
def keep(mixed) -> KeepList:
    return curate(mixed)


def test_the_bad_ones_are_dropped_with_reasons_and_the_rest_is_kept(keep):
    assert sorted(v.episode for v in keep.dropped) == [20, 40]
    assert len(keep.kept) == 39
    assert keep.worst(2)[0].reasons and "command" in str(keep.verdicts[20].reasons)
    assert {reason.rule for reason in keep.verdicts[40].reasons} & {"lead", "shift"}


def test_weights_are_nothing_for_what_is_dropped_and_one_on_average_for_the_rest(keep):
    weights = keep.weights
    assert (weights >= 0).all() and (weights[[20, 40]] == 0).all()
    assert weights[keep.kept].mean() == pytest.approx(1.0)


def test_the_order_of_episodes_does_not_matter(mixed, keep):
    order = np.random.default_rng(0).permutation(len(mixed))
    again = curate([mixed[i] for i in order])
    assert np.allclose(again.badness, keep.badness[order])
    assert [v.keep for v in again.verdicts] == [keep.verdicts[i].keep for i in order]


def test_another_unit_of_the_whole_dataset_changes_no_verdict(mixed, keep):
    def degrees(episode: Episode) -> Episode:
        for name in ("command", "joint_position"):
            episode = changed(episode, name, np.rad2deg(episode[name].values))
        return episode

    again = curate([degrees(episode) for episode in mixed])
    assert np.allclose(again.badness, keep.badness, rtol=1e-4, atol=1e-6)


def test_one_episode_in_another_unit_is_told_as_that():
    sound = reaches(30)
    wrong = changed(sound[3], "joint_position", np.rad2deg(sound[3]["joint_position"].values))
    verdict = curate([*sound, wrong]).verdicts[-1]
    assert not verdict.keep and "degrees instead of radians" in verdict.why


def test_of_copies_the_first_stays():
    sound = reaches(30)
    keep = curate([*sound, sound[4]])
    assert keep.verdicts[4].keep and not keep.verdicts[30].keep
    assert "copy of episode 4" in keep.verdicts[30].why


def test_of_copies_the_sound_one_stays():
    sound = reaches(30)
    keep = curate([replace(sound[4], outcome=Outcome.FAILURE), *sound])
    assert not keep.verdicts[0].keep and keep.verdicts[5].keep


def test_failures_and_gaps_are_dropped_whatever_the_others_do():
    sound = reaches(20)
    values = sound[7]["current"].values.copy()
    values[11, 1] = np.nan
    sound[7] = changed(sound[7], "current", values)
    sound[3] = replace(sound[3], outcome=Outcome.FAILURE)
    keep = curate(sound)
    assert sorted(v.episode for v in keep.dropped) == [3, 7]
    assert keep.verdicts[3].why == "it is labelled failure"
    assert "current" in keep.verdicts[7].why and "elbow" in keep.verdicts[7].why


def test_lerobots_own_column_says_whether_it_succeeded():
    def judged(episode: Episode, reached: bool) -> Episode:
        time_s = episode["command"].time_s
        flag = Channel(
            values=np.full((len(time_s), 1), reached), time_s=time_s, unit="1", names=("success",)
        )
        return replace(episode, outcome=None, signals={**episode.signals, "next.success": flag})

    keep = curate([judged(e, i != 2) for i, e in enumerate(reaches(16))])
    assert [v.episode for v in keep.dropped] == [2]


def test_states_that_always_precede_actions_are_a_habit_to_know_of():
    keep = curate([lagging(e, 5) for e in reaches(20)])
    assert len(keep.kept) >= 18
    assert any("20 of 20 episodes have actions that follow the states" in n for n in keep.notes)


def test_a_rule_that_cannot_look_says_why(keep):
    blind = {rule.name: rule.blind for rule in keep.rules}
    assert blind["penetration"] == "the episodes do not say in which world they were recorded"
    assert "the ends of the joints are not known" in blind["limits"]
    assert blind["jerk"] == "" and blind["force"] == ""


def test_a_reference_says_what_is_out_of_distribution_and_moves_weights():
    strange = [
        changed(e, "joint_position", e["joint_position"].values + 9.0) for e in reaches(3, seed=3)
    ]
    made = [*reaches(30, seed=1, noise=4e-3), *reaches(30, seed=2), *strange]
    keep = curate(made, reaches(40, seed=9), Settings(ignore=("range", "ending")))
    for verdict in keep.verdicts[-3:]:
        assert "unlike" in {reason.rule for reason in verdict.reasons}
    assert keep.discriminator["sound"]
    assert keep.weights[30:60].mean() > 1.5 * keep.weights[:30].mean()
    assert keep.verdicts[0].giveaway == "joint_position"
    choosy = curate(made, reaches(40, seed=9), Settings(realness=0.3))
    assert len(choosy.kept) < len(keep.kept)
    assert "realness" in {rule.name for rule in choosy.rules}


def test_the_reference_may_set_the_thresholds():
    rough = reaches(20, seed=1, noise=2e-2)
    assert len(curate(rough).kept) >= 18
    keep = curate([*rough, *reaches(10, seed=2)], reaches(40, seed=9), Settings(by_reference=True))
    assert keep.kept.tolist() == list(range(20, 30))


def test_what_is_stored_is_what_was_said(keep, tmp_path):
    keep.save(tmp_path / "keep.json")
    assert KeepList.load(tmp_path / "keep.json") == keep
    stored = json.loads((tmp_path / "keep.json").read_text())
    assert stored["kept"] == keep.kept.tolist() and len(stored["weights"]) == len(keep)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(TrueupError, match="is not a keep-list"):
        KeepList.load(tmp_path / "other.json")


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "reference", "settings", "words"),
    [
        (lambda: [], None, {}, "has no episodes"),
        (lambda: reaches(1), None, {}, "has one episode, and nothing says what is ordinary"),
        (
            lambda: reaches(12, outcome=Outcome.FAILURE),
            None,
            {},
            "None of the 12 episodes of the episodes is a success",
        ),
        (
            lambda: reaches(12),
            lambda: reaches(12, names=("hip", "knee")),
            {},
            "is of another robot",
        ),
        (
            lambda: reaches(12),
            lambda: reaches(12, unit="unstated"),
            {},
            "in 'rad' in .* 'unstated'",
        ),
        (lambda: reaches(12), None, {"by_reference": True}, "no reference to take"),
        (lambda: reaches(12), None, {"realness": 0.5}, "Without a reference"),
        (lambda: reaches(12), None, {"ignore": ("jrek",)}, "no rule named 'jrek'.* 'jerk'"),
        (lambda: reaches(12), None, {"losses": 0.9}, "cannot be lost by chance"),
        (lambda: reaches(12), None, {"world": "so101/lift"}, "the world 'so101/lift' has"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_one_clear_sentence(made, reference, settings, words):
    with pytest.raises(TrueupError, match=words) as error:
        curate(made(), reference() if reference else None, Settings(**settings))
    assert error.value.fix


def test_few_episodes_are_judged_by_what_is_wrong_anywhere():
    few = [*reaches(3), reach(9, outcome=Outcome.ABORTED)]
    keep = curate(few)
    assert [v.episode for v in keep.dropped] == [3]
    blind = {rule.name: rule.blind for rule in keep.rules}
    assert "do not say what is ordinary" in blind["jerk"]


def test_other_rates_are_compared_at_the_slower_one():
    def slower(episode: Episode) -> Episode:
        signals = {
            n: replace(c, values=c.values[::2], time_s=c.time_s[::2])
            for n, c in episode.signals.items()
        }
        return replace(episode, signals=signals, period_s=0.08)

    keep = curate(reaches(40, seed=1), [slower(e) for e in reaches(40, seed=2)])
    assert any("they are compared at 12.5 Hz" in note for note in keep.notes)
    assert abs(keep.discriminator["auroc"] - 0.5) < 0.2


# Datasets ----------------------------------------------------------------------------------------


def filmed(seed: int) -> Episode:
    episode = reach(seed, frames=50)
    frames = np.full((10, 32, 32, 3), 20 * (seed % 10), np.uint8)
    return replace(episode, videos={"wrist": Video(time_s=0.2 * np.arange(10), frames=frames)})


@pytest.fixture
def dataset(tmp_path):
    with Writer(tmp_path / "set", robot_type="made") as writer:
        for episode in [*(filmed(i) for i in range(9)), spiked(filmed(9))]:
            writer.add(episode)
        writer.compact()
    return tmp_path / "set"


def test_what_is_kept_becomes_a_dataset_of_its_own(dataset, tmp_path):
    whole = Dataset.open(dataset)
    keep = curate(whole)
    assert keep.kept.tolist() == list(range(9))
    info = copy_kept(whole, keep, tmp_path / "copy")
    copy = Dataset.open(tmp_path / "copy")
    assert info.episodes == 9 and info.robot_type == "made"
    for k, i in enumerate(keep.kept):
        assert np.array_equal(copy[k]["command"].values, whole[int(i)]["command"].values)
    assert next(copy[8].videos["wrist"].pictures()).mean() == pytest.approx(160, abs=4)
    with pytest.raises(TrueupError, match="nothing is written over"):
        copy_kept(whole, keep, tmp_path / "copy")


def test_missing_videos_are_told_and_can_be_passed_over(dataset, tmp_path):
    for path in dataset.glob("videos/**/*.mp4"):
        path.unlink()
    whole = Dataset.open(dataset)
    with pytest.raises(TrueupError, match=r"The videos of all 10 episodes .* are missing"):
        curate(whole)
    keep = curate(whole, settings=Settings(ignore=("videos",)))
    assert len(keep.kept) == 9
    copy_kept(whole, keep, tmp_path / "copy")
    assert not Dataset.open(tmp_path / "copy")[0].videos


def test_an_episode_that_cannot_be_read_is_dropped_and_told(tmp_path):
    write_v21(tmp_path / "old", lengths=(30,) * 12)
    (tmp_path / "old/data/chunk-000/episode_000004.parquet").write_bytes(b"broken")
    keep = curate(Dataset.open(tmp_path / "old"))
    assert keep.verdicts[4].reasons[0].rule == "unreadable"
    assert "episode_000004.parquet" in keep.verdicts[4].why
    assert {rule.name: rule.blind for rule in keep.rules}["success"]


def facing(episode: Episode, angle: float) -> Episode:
    """The same with a direction in it, as cosine and sine, that ends somewhere else."""
    time_s = episode["command"].time_s
    turned = np.linspace(0.0, angle, len(time_s))
    values = np.stack([np.cos(turned), np.sin(turned)], axis=1)
    channel = Channel(values=values, time_s=time_s, unit="1", names=("cos", "sin"))
    return replace(episode, signals={**episode.signals, "facing": channel})


def test_the_parts_of_a_direction_are_not_judged_one_by_one():
    """An object that was gripped askew ends turned, which is odd in every cosine, and no fault."""
    angles = np.random.default_rng(0).normal(0.0, 0.05, 40)
    angles[[7, 31]] = 2.5, -3.0
    made = [facing(e, a) for e, a in zip(reaches(40), angles, strict=True)]
    assert not named(curate(made), "facing")
    scaled = [changed(e, "facing", 2.0 * e["facing"].values) for e in made]
    assert named(curate(scaled), "facing") >= {7, 31}  # numbers like any other


def named(keep: KeepList, signal: str) -> set[int]:
    """Episodes that are dropped for something in one signal."""
    return {v.episode for v in keep.verdicts for reason in v.reasons if signal in reason.where}
