"""Datasets at the door: what can be learned from, and the sentence for what cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.train.imitation.reaches import only, reaches, rewritten, with_channel, world
from trueup.episodes import Dataset, JointUnits, Outcome
from trueup.episodes.units import converted
from trueup.errors import TrueupError
from trueup.train.imitation import Portion
from trueup.train.imitation.demonstrations import offered, shown
from trueup.worlds import interface_of


def read(portion: Portion):
    return shown(portion, world(), offered([portion], world()))


def refused(folder, **options) -> str:
    with pytest.raises(TrueupError) as found:
        read(Portion(dataset=folder, **options))
    return f"{found.value.what} {found.value.fix}"


def test_it_reads_what_the_policy_would_see():
    found = read(Portion(dataset=reaches(), episodes=[4, 2]))
    assert found.episodes == (4, 2)
    episode = Dataset.open(reaches())[4]
    face = interface_of(world())
    wanted = np.concatenate([episode[f.name].values for f in face.observations], axis=1)
    np.testing.assert_array_equal(found.stretches[0].seen, wanted)
    np.testing.assert_array_equal(found.stretches[0].told, episode["command"].values)


@pytest.mark.parametrize("units", [JointUnits.DEGREES, JointUnits.NORMALIZED])
def test_other_units_are_converted(tmp_path, units):
    folder = rewritten(tmp_path / "d", lambda e: converted(e, units))
    plain, other = (
        read(Portion(dataset=reaches(), episodes=[1])),
        read(Portion(dataset=folder, episodes=[1])),
    )
    np.testing.assert_allclose(other.stretches[0].told, plain.stretches[0].told, atol=1e-5)
    np.testing.assert_allclose(other.stretches[0].joints, plain.stretches[0].joints, atol=1e-5)


def test_units_that_are_not_stated_are_asked_for(tmp_path):
    def unstated(episode):
        for name in ("command", "joint_position"):
            episode = with_channel(episode, name, unit="unstated")
        return episode

    folder = rewritten(tmp_path / "d", unstated)
    assert "does not say in which unit" in refused(folder)
    found = read(Portion(dataset=folder, episodes=[0], read_as=JointUnits.RAD))
    np.testing.assert_array_equal(
        found.stretches[0].told, read(Portion(dataset=reaches(), episodes=[0])).stretches[0].told
    )


def test_mixed_units_are_refused(tmp_path):
    folder = rewritten(tmp_path / "d", lambda e: with_channel(e, "command", unit="lerobot-degrees"))
    assert "mixes units: its commands are in lerobot-degrees, its joints in rad" in refused(folder)


def test_another_robot_is_refused(tmp_path):
    names = ("shoulder", "elbow", "wrist", "roll", "pitch", "hand")
    folder = rewritten(tmp_path / "d", lambda e: with_channel(e, "command", names=names))
    sentence = refused(folder)
    assert "another robot: its command has shoulder, elbow" in sentence
    assert "shoulder_pan" in sentence


def test_another_rate_is_refused(tmp_path):
    folder = rewritten(tmp_path / "d", lambda e: replace(e, period_s=1 / 30))
    sentence = refused(folder)
    assert "recorded at 30 Hz" in sentence
    assert "runs at 25 Hz" in sentence


def test_a_signal_in_another_unit_is_refused(tmp_path):
    folder = rewritten(tmp_path / "d", lambda e: with_channel(e, "tcp_position", unit="mm"))
    assert "'tcp_position' is 3 × mm, the world reads 3 × m" in refused(folder)


def test_joints_alone_will_do(tmp_path):
    folder = rewritten(tmp_path / "d", lambda e: only(e, "command", "joint_position"))
    portion = Portion(dataset=folder)
    features = offered([portion, Portion(dataset=reaches())], world())
    assert [feature.name for feature in features] == ["joint_position"]
    assert read(portion).stretches[0].seen.shape[1] == 6


def test_a_dataset_without_joints_is_refused(tmp_path):
    folder = rewritten(tmp_path / "d", lambda e: only(e, "command", "tcp_position"))
    assert "has no signal 'joint_position'" in refused(folder)


def test_failures_are_passed_over_and_counted(tmp_path):
    outcomes = iter([Outcome.FAILURE, Outcome.SUCCESS, None])
    folder = rewritten(tmp_path / "d", lambda e: replace(e, outcome=next(outcomes)))
    found = read(Portion(dataset=folder))
    assert found.episodes == (1, 2)
    assert found.passed_over == {"did not succeed": 1}


def test_what_consent_does_not_cover_is_never_read(tmp_path):
    folder = rewritten(tmp_path / "d", lambda e: e)
    found = read(Portion(dataset=folder, episodes=[0, 2], refused={2: "P07 withdrew"}))
    assert found.episodes == (0,)
    assert found.passed_over == {"P07 withdrew": 1}


def test_nothing_but_failures_is_refused(tmp_path):
    folder = rewritten(tmp_path / "d", lambda e: replace(e, outcome=Outcome.ABORTED))
    assert "None of the 3 episodes" in refused(folder)


def test_readings_that_are_no_numbers_are_passed_over(tmp_path):
    def broken(episode):
        values = episode["tcp_position"].values.copy()
        values[3] = np.nan if episode["command"].values[0, 0] > -9 else 0
        return with_channel(episode, "tcp_position", values=values)

    assert "3 × has readings that are not numbers" in refused(rewritten(tmp_path / "d", broken))


def test_what_is_missing_in_the_middle_is_not_learned(tmp_path):
    def gapped(episode):
        kept = np.r_[0:10, 20 : len(episode["command"])]
        parts = {
            name: replace(c, values=c.values[kept], time_s=c.time_s[kept])
            for name, c in episode.signals.items()
        }
        return replace(episode, signals=parts)

    found = read(Portion(dataset=rewritten(tmp_path / "d", gapped), episodes=[0]))
    whole = read(Portion(dataset=reaches(), episodes=[0])).stretches[0]
    assert [len(stretch) for stretch in found.stretches] == [10, len(whole) - 20]
    np.testing.assert_array_equal(found.stretches[1].told, whole.told[20:])


def test_a_folder_that_is_no_dataset_is_refused(tmp_path):
    assert "is not a dataset" in refused(tmp_path)
