"""What cannot be replayed is refused in a sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.replay.recordings import simulated_episode
from tests.worlds.pendulum import Pendulum
from trueup.episodes import Channel, Episode
from trueup.errors import TrueupError
from trueup.replay import Replayer, replayed
from trueup.worlds import get

ARM = get("so101/arm")


def swung() -> Episode:
    """A pendulum that is told to hang."""
    time_s = 0.02 * np.arange(20)
    zero = np.zeros((20, 1))
    return Episode(
        signals={
            "command": Channel(values=zero, time_s=time_s, unit="rad", names=("swing",)),
            "position": Channel(values=zero + 0.1, time_s=time_s, unit="rad", names=("swing",)),
        },
        period_s=0.02,
    )


@pytest.fixture(scope="module")
def episode():
    return simulated_episode(seconds=0.4)


def changed(episode, name, **changes):
    return replace(episode, signals={**episode.signals, name: replace(episode[name], **changes)})


def refused(episodes, words, world=ARM, **options):
    with pytest.raises(TrueupError, match=words) as told:
        replayed(world, episodes, **options)
    assert told.value.fix


def test_no_episodes():
    refused([], "no episode to replay")


def test_no_commands(episode):
    rest = {n: c for n, c in episode.signals.items() if n != "command"}
    refused([episode, replace(episode, signals=rest)], "Episode 1 has no commands")


def test_a_command_that_is_not_a_number(episode):
    values = episode["command"].values.copy()
    values[4, 2] = np.nan
    refused(
        [changed(episode, "command", values=values)], "Command 4 of episode 0 is nan.*elbow_flex"
    )


def test_commands_of_another_robot(episode):
    names = ("a", "b", "c", "d", "e", "f")
    refused(
        [changed(episode, "command", names=names)], "'command'.*columns a, b.*'so101/arm'.*shoulder"
    )


def test_joints_of_another_robot(episode):
    names = ("a", "b", "c", "d", "e", "f")
    refused([changed(episode, "joint_position", names=names)], "'joint_position'.*columns a, b")


def test_degrees(episode):
    refused([changed(episode, "joint_position", unit="deg")], "in 'deg'.*in 'rad'")


def test_nothing_that_the_world_knows(episode):
    only = {"command": episode["command"], "temperature": episode["joint_position"]}
    refused([replace(episode, signals=only)], "signals command, temperature, none of which")


def test_no_joint_positions(episode):
    only = {"command": episode["command"], "joint_force": episode["joint_force"]}
    refused([replace(episode, signals=only)], "does not say where the joints were")


def test_a_signal_that_nobody_recorded(episode):
    refused(
        [episode],
        "no signal to compare in episode 0 named 'joint_positon'",
        signals=["joint_positon"],
    )


def test_episodes_of_different_rates(episode):
    refused([episode, replace(episode, period_s=0.02)], "every 20 ms and every 40 ms")


@pytest.mark.parametrize("window_s", [0.0, -1.0, float("nan"), float("inf")])
def test_windows_that_are_none(episode, window_s):
    refused([episode], "A window of", window_s=window_s)


def test_a_world_without_the_parameter(episode):
    with pytest.raises(TrueupError, match="no parameter named 'environment/table/height'"):
        Replayer(ARM, [episode], get("so101/lift").space)


def test_a_world_of_ones_own():
    replay = replayed(Pendulum(), [swung()])
    assert replay.signals == ("position",)
    assert np.abs(replay.residual("position")[0, -1]) > 0.05
