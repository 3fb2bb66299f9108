"""Zeros from stops: a planted zero of the jaw comes back. All of it is sim-to-sim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.record.arm import reality, world
from trueup.episodes import Episode, Outcome
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.hardware import open_robot
from trueup.identify.probing import identify_stops
from trueup.identify.probing.probes import moves_freely
from trueup.record import Stops, get, record

ZERO = "actuation/gripper/zero_offset"


def led(folder, values: dict[str, float], cells: int = 1) -> list[Episode]:
    """The motion `stops` of robots with some hidden values."""
    with open_robot(reality(folder, "planted", values), cells=cells, threads=1) as robot:
        recording = record(robot, Stops(), world=world(), seeds=np.arange(cells))
    assert recording.ended == ""
    return list(recording.episodes)


@pytest.mark.parametrize("zero", [-0.24, -0.06, 0.06, 0.3])
@pytest.mark.parametrize(
    "beside",
    [
        {},
        {
            "actuation/gripper/frictionloss": 0.3,
            "sensing/encoder/noise": 0.01,
            "sensing/gripper/bias": 0.05,
            "latency/action_delay": 0.1,
        },
    ],
    ids=["alone", "beside friction, noise, a bias and a delay"],
)
def test_a_jaw_whose_zero_is_off_is_found(tmp_path, zero, beside):
    (found,) = identify_stops(world(), led(tmp_path, {ZERO: zero, **beside})).findings
    assert found.name == ZERO and found.differs
    assert abs(found.value - zero) < 0.012
    assert found.low < zero < found.high


def test_a_jaw_that_meets_nothing_has_its_zero_about_where_it_is_drawn(tmp_path):
    estimate = identify_stops(world(), led(tmp_path, {ZERO: 0.008}))
    (found,) = estimate.findings
    assert not found.differs and found.verdict == "partly"
    assert found.low < 0.008 < found.high
    assert identify_stops(world(), [*led(tmp_path, {}, cells=2)]).made["recordings"] == 2


def test_of_recordings_without_it_the_command_that_makes_one_is_said(tmp_path):
    (episode,) = led(tmp_path, {})
    cut = replace(episode, outcome=Outcome.ABORTED)
    for episodes in ([], [cut], [replace(episode, labels={"kind": "chirp"})]):
        with pytest.raises(TrueupError, match="lead no joint to its stops") as refused:
            identify_stops(world(), episodes)
        assert "trueup record --motion stops" in str(refused.value)


def test_something_between_the_fingers_is_no_zero(tmp_path):
    (episode,) = led(tmp_path, {ZERO: -0.1})
    held = altered(episode, lambda jaw, time_s: np.maximum(jaw, 0.2))
    with pytest.raises(TrueupError, match=r"stops before both ends .* nearer to each other"):
        identify_stops(world(), [held])


def test_a_jaw_that_does_not_come_to_rest_tells_nothing(tmp_path):
    (episode,) = led(tmp_path, {})
    creeping = altered(episode, lambda jaw, time_s: jaw + 0.3 * time_s)
    with pytest.raises(TrueupError, match="'gripper' does not come to rest halfway down"):
        identify_stops(world(), [creeping])


def test_a_recording_without_readings_of_the_jaw_is_refused(tmp_path):
    (episode,) = led(tmp_path, {})
    blind = altered(episode, lambda jaw, time_s: np.nan * jaw)
    with pytest.raises(TrueupError, match="has 0 readings halfway down"):
        identify_stops(world(), [blind])
    with pytest.raises(TrueupError, match="has no joint_position of it"):
        identify_stops(world(), [without(episode, JOINTS)])


def test_no_fit_of_free_motion_is_given_it(tmp_path):
    (episode,) = led(tmp_path, {})
    assert not moves_freely(episode)
    assert get("stops").motions == (Stops(),)


def altered(episode: Episode, change) -> Episode:
    """The same with other readings of the jaw."""
    channel = episode[JOINTS]
    values = np.array(channel.values, float)
    jaw = channel.names.index("gripper")
    values[:, jaw] = change(values[:, jaw], channel.time_s)
    return replace(episode, signals={**episode.signals, JOINTS: replace(channel, values=values)})


def without(episode: Episode, signal: str) -> Episode:
    return replace(episode, signals={n: c for n, c in episode.signals.items() if n != signal})
