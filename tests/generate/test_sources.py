"""Recorded episodes as sources: what is found in them, and what is said where nothing is."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from trueup.episodes import Dataset, JointUnits, Outcome, Writer
from trueup.episodes.consent import Consent, Purpose, Register, covered
from trueup.episodes.units import converted
from trueup.errors import TrueupError
from trueup.generate import Order, generate, recorded, scripted, tried
from trueup.generate.motion.hand import Hand
from trueup.space import Space
from trueup.worlds import get

NOMINAL = Space(())


@pytest.fixture(scope="module")
def lift():
    return get("so101/lift")


@pytest.fixture(scope="module")
def demonstrations(lift, tmp_path_factory):
    """Three lifts of the script, as a robot would have recorded them."""
    folder = tmp_path_factory.mktemp("recorded") / "set"
    order = Order(world=lift, source=(scripted(lift),), space=NOMINAL, episodes=3, mistakes=0.0)
    generate(order, folder)
    return folder


def rewritten(folder, out, change):
    with Writer(out) as writer:
        for i, episode in enumerate(Dataset.open(folder)):
            writer.add(change(episode, i))
    return out


def test_a_demonstration_is_cut_where_the_hand_closes(lift, demonstrations):
    found = recorded(demonstrations, lift)
    assert [[leg.name for leg in s.legs] for s in found.sources] == [
        ["reach", "grasp", "carry"]
    ] * 3
    episode = Dataset.open(demonstrations)[0]
    source = found.sources[0]
    cube = episode["cube_position"].values[0]
    assert source.reach == pytest.approx(np.hypot(cube[0] - 0.0388, cube[1]), abs=0.01)
    assert np.linalg.norm(source.legs[0].place[-1]) < 0.012
    jaw = episode["joint_position"].values[:, 5]
    closed = len(source.legs[0]) + len(source.legs[1])
    assert jaw[closed] < 0.2 < jaw[len(source.legs[0])]


def test_recorded_demonstrations_are_carried_to_other_objects(lift, demonstrations, tmp_path):
    sources = tried(recorded(demonstrations, lift, episodes=[0, 1]).sources, lift, NOMINAL)
    assert all(source.works > 0.8 for source in sources)
    order = Order(world=lift, source=sources, space=NOMINAL, episodes=24, mistakes=0.0, seed=9)
    made = generate(order, tmp_path / "set")
    assert made.share > 0.85
    cubes = np.array([e["cube_position"].values[0] for e in Dataset.open(tmp_path / "set")])
    assert np.ptp(cubes[:, 1]) > 0.15


def test_objects_that_were_not_recorded_are_told_or_inferred(lift, demonstrations, tmp_path):
    kept = ("joint_position", "command")
    blind = rewritten(
        demonstrations,
        tmp_path / "blind",
        lambda e, i: replace(e, signals={name: e.signals[name] for name in kept}),
    )
    with pytest.raises(TrueupError, match=r"where the cube was.*--infer-objects"):
        recorded(blind, lift)
    seen, inferred = recorded(demonstrations, lift), recorded(blind, lift, infer=True)
    for one, other in zip(seen.sources, inferred.sources, strict=True):
        assert other.reach == pytest.approx(one.reach, abs=0.01)


def test_degrees_are_read_where_that_is_said(lift, demonstrations, tmp_path):
    def unstated(episode, i):
        told = converted(episode, JointUnits.DEGREES)
        signals = {
            name: replace(channel, unit="unstated")
            if name in ("command", "joint_position")
            else channel
            for name, channel in told.signals.items()
        }
        return replace(told, signals=signals)

    folder = rewritten(demonstrations, tmp_path / "degrees", unstated)
    with pytest.raises(TrueupError, match="does not say in which unit"):
        recorded(folder, lift)
    found = recorded(folder, lift, read_as=JointUnits.DEGREES)
    known = recorded(demonstrations, lift)
    assert np.allclose(found.sources[0].legs[0].place, known.sources[0].legs[0].place, atol=1e-4)


def test_episodes_of_another_robot_are_refused(lift, demonstrations, tmp_path):
    def other(episode, i):
        signals = dict(episode.signals)
        for name in ("command", "joint_position"):
            signals[name] = replace(signals[name], names=tuple(f"motor_{c}" for c in range(6)))
        return replace(episode, signals=signals)

    folder = rewritten(demonstrations, tmp_path / "other", other)
    with pytest.raises(TrueupError, match="of another robot: its command has motor_0"):
        recorded(folder, lift)


def test_units_that_are_mixed_are_refused(lift, demonstrations, tmp_path):
    def mixed(episode, i):
        signals = dict(episode.signals)
        signals["command"] = replace(signals["command"], unit="lerobot-degrees")
        return replace(episode, signals=signals)

    folder = rewritten(demonstrations, tmp_path / "mixed", mixed)
    with pytest.raises(TrueupError, match="mixes units"):
        recorded(folder, lift)


def test_failures_are_no_sources(lift, demonstrations, tmp_path):
    def failed(last):
        return lambda e, i: replace(e, outcome=Outcome.SUCCESS if i < last else Outcome.FAILURE)

    some = rewritten(demonstrations, tmp_path / "some", failed(1))
    found = recorded(some, lift)
    assert (len(found.sources), found.passed_over) == (1, {"did not succeed": 2})
    none = rewritten(demonstrations, tmp_path / "none", failed(0))
    with pytest.raises(TrueupError, match=r"None of the 3 episodes .* succeeded"):
        recorded(none, lift)


def test_a_hand_that_never_closes_takes_hold_of_nothing(lift, demonstrations, tmp_path):
    def open_handed(episode, i):
        signals = dict(episode.signals)
        for name in ("command", "joint_position"):
            values = signals[name].values.copy()
            values[:, 5] = 0.5
            signals[name] = replace(signals[name], values=values)
        return replace(episode, signals=signals)

    folder = rewritten(demonstrations, tmp_path / "open", open_handed)
    with pytest.raises(TrueupError, match="takes hold of nothing"):
        recorded(folder, lift)


def test_demonstrations_that_work_nowhere_else_are_told(lift, demonstrations):
    source = recorded(demonstrations, lift, episodes=[0]).sources[0]
    beside = replace(source.legs[0], place=source.legs[0].place + np.array([0.0, 0.2, 0.2]))
    astray = replace(source, legs=(beside, *source.legs[1:]))
    with pytest.raises(TrueupError, match="None of the 1 sources worked"):
        tried([astray], lift, NOMINAL)


def test_the_hand_of_a_recording_is_where_the_encoders_say(lift, demonstrations):
    episode = Dataset.open(demonstrations)[0]
    pose = Hand(lift).pose(episode["joint_position"].values.astype(float))
    assert np.allclose(pose.place, episode["tcp_position"].values, atol=1e-5)


def test_what_consent_does_not_cover_is_no_source_and_who_is_in_it_stays_known(
    lift, demonstrations, tmp_path
):
    people = ("P07", "P08", "")

    def labelled(episode, i):
        return replace(episode, labels={"participant": people[i]} if people[i] else {})

    folder = rewritten(demonstrations, tmp_path / "people", labelled)
    agreed = Consent(scope=(Purpose.RECORDING, Purpose.TRAINING), given=date(2026, 1, 1))
    register = Register.open(tmp_path, missing=True).with_consent("P07", agreed)
    allowed = covered(Dataset.open(folder), register, Purpose.TRAINING)
    found = recorded(folder, lift, allowed=allowed)
    assert [source.people for source in found.sources] == [("P07",), ()]
    assert found.passed_over == {"P08 is not in the register": 1}
    order = Order(world=lift, source=found.sources[:1], space=NOMINAL, episodes=2, mistakes=0.0)
    generate(order, tmp_path / "carried")
    assert {e.labels["participant"] for e in Dataset.open(tmp_path / "carried")} == {"P07"}
