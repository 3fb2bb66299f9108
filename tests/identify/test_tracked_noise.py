"""The noise of a tracked pose is heard while a robot moves beside the thing. Sim-to-sim."""

import numpy as np
import pytest

from trueup.episodes import Channel, Episode, Take
from trueup.identify.noise import noise_model
from trueup.identify.readings.tracked import TrackedNoise, tracked_noise
from trueup.simulate import CpuWorlds
from trueup.space import Fixed, Uniform
from trueup.worlds import Compiled, get

WORLD = get("so101/lift")
TRUTH = {
    "visual/tracker/noise": 0.006,
    "visual/tracker/angle_noise": 0.08,
    "visual/tracker/dropout": 0.3,
}
UNITS = {"joint_position": "rad", "cube_position": "m", "cube_orientation": "1"}


def waved(truth: dict[str, float], *, seconds: float = 20.0) -> Episode:
    """The arm turns to and fro above the table; the cube lies where it lies."""
    space = WORLD.catalogue.select(*(truth or TRUTH))
    worlds = CpuWorlds(Compiled(WORLD, space), 1)
    worlds.reset(space.point(truth or dict.fromkeys(TRUTH, 0.0)), seeds=3)
    take = Take(WORLD.control_period_s, origin={"real": False, "world": WORLD.name})
    take.declare("command", "rad", WORLD.commands)
    for name, unit in UNITS.items():
        width = worlds.observation[name].shape[1]
        names = WORLD.commands if name == "joint_position" else tuple(map(str, range(width)))
        take.declare(name, unit, names)
    home = worlds.hold[0]
    for _ in range(round(seconds / WORLD.control_period_s)):
        now = float(worlds.time_s[0])
        for name in UNITS:
            take.add(name, now, worlds.observation[name][0])
        command = home + np.array([0.3, -0.1, 0.0, 0.1, 0.2, 0.0]) * np.sin(2.0 * now)
        take.add("command", now, command)
        worlds.step(command[None])
    return take.episode()


def heard(signals, period_s: float) -> TrackedNoise:
    found = tracked_noise([Episode(signals=signals, period_s=period_s)])
    assert found is not None
    return found


@pytest.fixture(scope="module")
def seen() -> Episode:
    return waved(TRUTH)


def test_what_was_planted_is_found_again_with_an_interval_that_holds_it(seen):
    found = noise_model([seen], signals=["joint_position"])
    assert found.tracked is not None and found.tracked.thing == "cube"
    for name, truth in TRUTH.items():
        prior = found.priors[name]
        assert isinstance(prior, Uniform)
        low, high = prior.support(0.0, 1.0)
        assert low <= truth <= high, name
        assert high - low < 0.3 * truth, name
    assert WORLD.catalogue.narrowed(found.within(WORLD.catalogue))
    assert found.to_json()["tracked"]["thing"] == "cube"


def test_a_tracker_without_noise_is_said_to_have_none_and_its_gaps_are_not_told():
    episode = waved({})
    found = heard(episode.signals, episode.period_s)
    assert not found.noise.seen and found.noise.high <= 1e-5
    assert "visual/tracker/dropout" not in found.priors


def test_being_carried_for_a_while_does_not_pass_for_noise(seen):
    place = seen["cube_position"]
    fresh = np.append(True, (np.diff(place.values, axis=0) != 0.0).any(axis=1))
    frame = np.maximum.accumulate(np.where(fresh, np.arange(len(place)), 0))
    way = 0.002 * np.clip(frame - 0.7 * len(place), 0, None)
    signals = {**seen.signals, "cube_position": moved(place, way)}
    plain, carried = (heard(some, seen.period_s) for some in (seen.signals, signals))
    assert carried.noise.value == pytest.approx(plain.noise.value, rel=0.1)


def test_frames_that_come_again_with_the_joints_are_not_the_trackers(seen):
    """A whole packet was the last one again."""
    rows = np.arange(len(seen["command"])) // 2 * 2
    signals = {
        name: Channel(values=c.values[rows], time_s=c.time_s, unit=c.unit, names=c.names)
        for name, c in seen.signals.items()
    }
    told = heard(signals, seen.period_s)
    assert told.dropout.value < 0.2  # every second frame is the last one; of fresh packets, 9 %


def test_a_tracker_that_is_worse_than_a_space_allows_is_as_bad_as_that_allows(seen):
    place = seen["cube_position"]
    values = place.values + 9.0 * (place.values - place.values.mean(axis=0))
    worse = Channel(values=values, time_s=place.time_s, unit=place.unit, names=place.names)
    episode = Episode(signals={**seen.signals, "cube_position": worse}, period_s=seen.period_s)
    found = noise_model([episode], signals=["joint_position"]).within(WORLD.catalogue)
    assert found["visual/tracker/noise"] == Fixed(WORLD.catalogue["visual/tracker/noise"].high)


def test_recordings_without_a_tracked_thing_say_nothing_of_it(seen):
    signals = {name: c for name, c in seen.signals.items() if name != "cube_orientation"}
    assert tracked_noise([Episode(signals=signals, period_s=seen.period_s)]) is None


def test_too_few_frames_are_said_to_be_too_few(seen):
    signals = {
        name: Channel(values=c.values[:30], time_s=c.time_s[:30], unit=c.unit, names=c.names)
        for name, c in seen.signals.items()
    }
    found = heard(signals, seen.period_s)
    assert "Only" in found.noise.sentence and found.priors == {}


def test_a_thing_that_was_never_seen_tells_nothing(seen):
    turn = seen["cube_orientation"]
    blind = Channel(
        values=np.zeros_like(turn.values), time_s=turn.time_s, unit=turn.unit, names=turn.names
    )
    found = heard({**seen.signals, "cube_orientation": blind}, seen.period_s)
    assert found.priors == {}


def moved(channel: Channel, way: np.ndarray) -> Channel:
    values = channel.values + np.outer(way, [1.0, 0.0, 0.0])
    return Channel(values=values, time_s=channel.time_s, unit=channel.unit, names=channel.names)
