"""What luck had in a demonstration is left out; what is dropped is gone back for by another one."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.generate import Source, scripted
from trueup.generate.motion.cutting import _steadied
from trueup.generate.motion.events import Events, events_of
from trueup.generate.motion.hand import Pose, jaw_middle
from trueup.generate.motion.performer import Performer
from trueup.generate.motion.repertoire import Mistake, Repertoire
from trueup.generate.motion.track import Track
from trueup.streams import Streams
from trueup.worlds import get

ROWS, CLOSE, HELD = 30, 12, 20
EVENTS = Events(ready=0, close=CLOSE, held=HELD)
JAW, BESIDE = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])


def swinging() -> Pose:
    """A hand that comes down, and swings to the side while it closes."""
    place = np.zeros((ROWS, 3))
    place[:, 0] = 0.03 * np.cos(0.7 * np.arange(ROWS))
    place[:, 2] = np.linspace(0.1, 0.0, ROWS)
    return Pose(place=place, jaw=np.tile(JAW, (ROWS, 1)), down=np.tile([0.0, 0.0, -1.0], (ROWS, 1)))


def test_a_hand_closes_where_it_will_hold():
    pose = swinging()
    thing = pose.place[HELD]
    steady = _steadied(pose, thing, EVENTS, None).place
    np.testing.assert_allclose(steady[CLOSE : HELD + 1] @ BESIDE, pose.place[HELD] @ BESIDE)
    np.testing.assert_array_equal(steady[HELD:], pose.place[HELD:])
    np.testing.assert_allclose(steady[:, 2], pose.place[:, 2])
    before = np.diff(steady[: CLOSE + 1], axis=0)
    np.testing.assert_allclose(before, np.diff(pose.place[: CLOSE + 1], axis=0), atol=1e-12)


def test_a_thing_comes_nearer_to_the_middle_of_the_open_jaw():
    pose, middle = swinging(), 0.012
    thing = pose.place[HELD]
    steady = _steadied(pose, thing, EVENTS, middle).place
    off = (thing - steady[CLOSE]) @ JAW - middle
    was = (thing - pose.place[CLOSE]) @ JAW - middle
    assert abs(off) < 0.6 * abs(was)
    np.testing.assert_array_equal(steady[HELD:], pose.place[HELD:])


def test_the_middle_of_a_jaw_moves_as_it_opens():
    world = get("so101/lift")
    shut, wide = (jaw_middle(world, np.array([0, -1, 1, 0.5, 0, g])) for g in (-0.1, 0.6))
    assert shut is not None and wide is not None and wide > shut + 0.01


def test_what_was_closed_on_before_is_no_part_of_the_way_there():
    jaw = np.concatenate([np.full(10, 0.5), np.full(8, -0.1), np.full(12, 0.5), np.full(10, 0.0)])
    jaw = np.convolve(np.pad(jaw, 2, mode="edge"), np.ones(5) / 5, mode="valid")
    q = np.zeros((len(jaw), 6))
    q[:, 5] = jaw
    told = Track(q=q, told=q, place=None, quat=None, target=None)
    events = events_of(told, 5, "x", releases=False)
    assert 17 <= events.ready <= 20 < events.close < events.held


def sources(world) -> tuple[Source, Source]:
    first = scripted(world)
    return first, Source(name="other", legs=first.legs, reach=0.3)


def test_what_one_source_drops_the_other_one_goes_back_for():
    world = get("so101/lift")
    repertoire = Repertoire(sources(world), world.control_period_s)
    ranked = np.array([[0, 1], [1, 0]])
    plans = repertoire.plans(ranked, np.full(2, Mistake.NONE), Streams([1, 2]))
    main = len(sources(world)[0].legs)
    per_source = len(repertoire.library.legs) // 2
    for row, (first, second) in enumerate(ranked):
        whose = plans.legs[row] // per_source
        assert (whose[:main] == first).all()
        assert whose[plans.retry[row, 0]] == second and whose[plans.retry[row, 1]] == first
        names = [repertoire.library.legs[i].name for i in plans.legs[row] if i >= 0]
        assert names == ["reach", "grasp", "carry", *(2 * ["back", "reach", "grasp", "carry"])]


def test_a_hand_that_is_late_hurries_and_no_other_does():
    world = get("so101/lift")
    repertoire = Repertoire(sources(world), world.control_period_s)
    performer = Performer(world, repertoire.library, 2, most=repertoire.most)
    plans = repertoire.plans(np.zeros((2, 2), int), np.full(2, Mistake.NONE), Streams([1, 2]))
    plans.speed[:] = 1.0
    hold = np.tile(world.model.key(0).ctrl if world.model.nkey else np.zeros(6), (2, 1))
    performer.begin(np.arange(2), plans, hold, np.zeros(2, bool))
    steps = sum(len(leg) for leg in sources(world)[0].legs)
    assert performer._after[0, 0] + len(repertoire.library.legs[0]) == steps
    performer._left[:] = [steps + 5, 0.8 * steps]
    on_time, late = performer._pace(plans.legs[:, 0])
    assert on_time == 1.0 and late == pytest.approx(1.25)
    performer._left[:] = 1.0
    assert performer._pace(plans.legs[:, 0]).max() == 1.5
