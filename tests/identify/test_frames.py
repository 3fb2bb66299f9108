"""Frames that come late by chance are found, and worlds have them as they were found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.identify.probing.test_hand_eye import carried
from tests.loop.found import estimate
from trueup.effects import Values
from trueup.effects.effect import Draws
from trueup.identify.frames import (
    LATENESS,
    PERIOD,
    Frames,
    drawn_late,
    in_step,
    lateness_of,
    not_missed,
    seen_late,
    with_lateness,
)
from trueup.identify.probing import identify_hand_eye
from trueup.identify.probing.agreement import LATE
from trueup.loop import trued_up
from trueup.simulate import CpuWorlds
from trueup.space import Points, Uniform
from trueup.worlds import Compiled, get

LIFT = get("so101/lift")


def late(*, varies: float = 0.1, accounted: float = 0.25, delay: float = 0.2):
    """Frames early and late by so much, of which missed ones make a share."""
    known = estimate({LATE: (delay, 0.004)})
    return replace(known, varies={LATE: varies}, accounted={LATE: accounted})


def test_what_missed_frames_leave_is_how_late_others_are():
    frames = lateness_of(late())
    assert frames is not None
    assert frames.most_s == pytest.approx(np.sqrt(12.0 * 0.75) * 0.1)
    assert frames.period_s == pytest.approx(np.sqrt(3.0 * 0.25) * 0.1)


def test_frames_that_are_in_step_or_only_missed_are_not_late():
    for known in (estimate({LATE: (0.1, 0.01)}), late(accounted=0.9)):
        assert lateness_of(known) is None
        assert in_step(known) is known
        assert seen_late([known]) is None


def test_the_delay_that_all_frames_have_is_less_than_the_mean_of_all():
    known = late(delay=0.25)
    frames = lateness_of(known)
    assert frames is not None
    told = in_step(known)
    assert told.point[LATE] == pytest.approx(0.25 - 0.5 * (frames.most_s + frames.period_s))
    assert told.varies == {}
    assert in_step(late(delay=0.05)).point[LATE] == 0.0


def test_frames_that_are_seldom_and_late_are_not_missed_as_well():
    noise = {"visual/tracker/dropout": Uniform(0.6, 0.7), "visual/tracker/noise": Uniform(0, 0.01)}
    assert set(not_missed(noise, [late()])) == {"visual/tracker/noise"}
    assert not_missed(noise, []) == noise


def played(values: dict[str, float], steps: int = 40) -> np.ndarray:
    """(steps,) what is seen of a thing that goes on by 1 from turn to turn."""
    world = with_lateness(LIFT)
    effect = world.effects()[-1]
    seen = effect.observation(world.model, 0.05)
    assert seen is not None
    p = Values.at(Points([LATENESS, PERIOD], np.array([[values[LATENESS], values[PERIOD]]])))
    x = np.zeros((1, 7))
    memory, found, generator = seen.start(x, p), [], np.random.default_rng(0)
    for k in range(steps):
        draws = Draws(normal=np.zeros((1, 0)), uniform=generator.random((1, 1)))
        shown, memory = seen.apply(x + k, p, memory, draws)
        found.append(float(shown[0, 0]))
    return np.array(found)


def test_without_lateness_everything_is_seen_at_once():
    assert played({LATENESS: 0.0, PERIOD: 0.0}).tolist() == list(range(40))


def test_frames_stand_still_in_between_and_are_late_by_no_more_than_they_may():
    assert played({LATENESS: 0.0, PERIOD: 0.2})[:9].tolist() == [0, 0, 0, 0, 4, 4, 4, 4, 8]
    age = np.arange(40) - played({LATENESS: 0.3, PERIOD: 0.0})
    assert age.min() == 0.0 and age.max() == 6.0


def test_at_nominal_a_world_is_the_same_to_the_last_bit():
    rows = []
    for world in (LIFT, with_lateness(LIFT)):
        space = world.catalogue.select("visual/*").pinned()
        worlds = CpuWorlds(Compiled(world, space), 2)
        worlds.reset(space.points(space.nominal(), 2), seeds=np.arange(2))
        for _ in range(5):
            worlds.step(worlds.hold + 0.1)
        rows.append(worlds.observation["cube_position"])
    assert np.array_equal(*rows)


def test_worlds_are_drawn_around_what_was_seen():
    space = drawn_late(LIFT, LIFT.space, Frames(most_s=0.4, period_s=0.1))
    drawn = space.sample(np.random.default_rng(0), 500)
    for name, value in ((LATENESS, 0.4), (PERIOD, 0.1)):
        ends = drawn.column(name).min(), drawn.column(name).max()
        assert ends == pytest.approx((0.5 * value, 1.5 * value), rel=0.05)


def test_a_trued_up_space_has_them_and_its_world_plays_it():
    found = trued_up(LIFT, None, [late()])
    assert {LATENESS, PERIOD} <= set(found.space.names)
    assert "Frames come every" in found.sentences[-1]
    worlds = CpuWorlds(Compiled(with_lateness(LIFT), found.space), 2)
    worlds.reset(found.space.sample(np.random.default_rng(0), 2), seeds=np.arange(2))
    worlds.step(worlds.hold)
    assert LATENESS not in trued_up(LIFT, None, [estimate({LATE: (0.1, 0.01)})]).space


def test_a_world_that_tracks_nothing_stays_as_it_is():
    arm = get("so101/arm")
    assert with_lateness(arm) is arm


@pytest.mark.slow
def test_a_camera_whose_frames_are_late_is_heard_about_as_late(tmp_path):
    hidden = {"effect": "late_frames", "frame_s": 0.1, "chance": 0.4, "late_s": 0.4}
    found = identify_hand_eye(LIFT, carried(tmp_path, {}, cells=4, beyond=[hidden]))
    frames = seen_late([found])
    assert frames is not None
    assert 0.3 < frames.most_s < 1.0  # as wide as chance makes them: 0.68 s, if evenly late
    assert 0.03 < frames.period_s < 0.3
