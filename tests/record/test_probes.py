"""Probes on rehearsal robots: planted facts show in what they record. All of it is sim-to-sim."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.record.arm import reality, situation, world
from trueup.errors import TrueupError
from trueup.hardware import open_robot
from trueup.record import (
    Drag,
    Drop,
    Envelope,
    Margins,
    Motion,
    Probe,
    Push,
    Squeeze,
    Tilt,
    record,
)

PROBES = [Squeeze, Drag, Push, Tilt, Drop]
SEEDS = np.arange(4)
each_probe = pytest.mark.parametrize("kind", PROBES, ids=lambda kind: kind.kind)


def cube(x: float, y: float, turn: float = 0.0) -> np.ndarray:
    return np.array([x, y, 0.0125, np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)])


@pytest.fixture
def found(tmp_path):
    """What a probe finds in four cells of a planted truth, (4,) by name."""

    def probed(probe: Probe, values: dict[str, float], of: str = "so101/lift"):
        address = reality(tmp_path, "planted", values, of)
        with open_robot(address, cells=len(SEEDS), threads=1) as robot:
            recording = record(robot, probe, world=world(of), seeds=SEEDS)
        assert recording.ended == ""
        answers = [probe.found(episode) for episode in recording.episodes]
        names = set().union(*answers)
        return {name: np.array([a.get(name, np.nan) for a in answers]) for name in names}

    return probed


@each_probe
def test_a_probe_is_safe_wherever_a_cube_may_stand(kind):
    envelope = Envelope(world())
    rng = np.random.default_rng(1)
    for _ in range(6):
        r, a = rng.uniform(0.15, 0.22), rng.uniform(-0.6, 0.6)
        pose = cube(0.0388 + r * np.cos(a), r * np.sin(a), rng.uniform(-0.7, 0.7))
        seen = situation(cube=pose)
        assert envelope.findings(kind().planned(seen), seen) == []


@each_probe
def test_a_probe_is_data(kind):
    probe = kind(object="cube", name="mine")
    assert Motion.from_json(json.loads(json.dumps(probe.to_json()))) == probe
    smaller = probe.scaled(0.5)
    assert smaller != probe
    assert type(smaller) is kind


@each_probe
def test_a_cube_out_of_reach_is_said(kind):
    with pytest.raises(TrueupError, match="The hand cannot reach"):
        kind().planned(situation(cube=cube(0.6, 0.0)))


def test_fingers_follow_a_cube_to_a_lower_table_but_not_far():
    envelope = Envelope(world())
    for lower, fits in ((0.010, True), (0.030, False)):
        pose = cube(0.2, 0.05)
        pose[2] -= lower
        seen = situation(cube=pose)
        found = envelope.findings(Squeeze().planned(seen), seen)
        assert (found == []) == fits
    assert {finding.kind for finding in found} == {"clearance"}


@each_probe
def test_the_hand_touches_nothing_but_the_cube(kind):
    """With a margin that no finger can keep, the cube is left out and the table is not."""
    seen = situation(cube=cube(0.2, 0.05))
    plan = kind().planned(seen)
    assert plan.touched == "cube"
    strict = Envelope(world(), margins=Margins(fingers_m=0.015, thing_m=0.05))
    who = {finding.who for finding in strict.findings(plan, seen)}
    assert all("cube" not in pair for pair in who)
    assert any("table" in pair for pair in who)


def test_a_squeeze_finds_the_force_limit_of_the_gripper(found):
    for limit in (0.9, 1.4):
        torque = found(Squeeze(), {"actuation/gripper/force_limit": limit})["grip_torque_n_m"]
        np.testing.assert_allclose(-torque, limit, rtol=0.02)


@pytest.mark.slow
def test_a_squeeze_on_a_wider_cube_ends_wider(found):
    narrow, wide = (
        found(Squeeze(), {"object/cube/size_x": size, "object/cube/size_y": size})["grip_angle_rad"]
        for size in (0.022, 0.029)
    )
    assert (wide > narrow + 0.05).all()


def test_a_cube_on_a_rough_table_is_left_behind(found):
    """Fingertips drag the cube where their friction beats the table's."""
    smooth, rough = (
        found(Drag(), {"contact/object-table/sliding": table})["dragged_m"] for table in (0.25, 1.3)
    )
    assert (smooth > 0.04).all()
    assert (rough < 0.75 * smooth).all()


@pytest.mark.slow
def test_a_pushed_cube_slides_on_where_the_table_is_smooth(found):
    quick = Push(push_s=0.45)
    smooth, rough = (
        found(quick, {"contact/object-table/sliding": table})["pushed_m"] for table in (0.2, 1.3)
    )
    assert (smooth > rough + 0.003).all()


@pytest.mark.slow
def test_slippery_fingers_lose_a_heavy_cube_at_a_firmer_grip(found):
    """The torque that opens the gripper when the cube slips: the less, the firmer it still was."""
    smooth, rough = (
        found(Tilt(), {"contact/fingertip-object/sliding": tips, "object/cube/mass": 0.15})
        for tips in (0.31, 0.9)
    )
    assert (smooth["slip_torque_n_m"] < rough["slip_torque_n_m"] - 0.03).all()


@pytest.mark.slow
def test_a_dropped_cube_falls_as_far_as_it_was_raised(found):
    low, high = (found(Drop(height_m=height), {})["fell_m"] for height in (0.04, 0.08))
    np.testing.assert_allclose(high - low, 0.04, atol=0.012)


@pytest.mark.slow
def test_probes_work_where_the_cube_is_to_be_pushed(found):
    assert (found(Push(), {}, "so101/push")["pushed_m"] > 0.03).all()
    assert (found(Drag(), {}, "so101/push")["dragged_m"] > 0.01).all()


BAD = [
    (lambda: Squeeze(press_rad=5.0), "a press of 5.0 rad"),
    (lambda: Drag(distance_m=-1.0), "-1.0 m to drag"),
    (lambda: Push(push_s=0.0), "0.0 s to push"),
    (lambda: Tilt(angle_rad=0.0), "a tilt of 0.0 rad"),
    (lambda: Drop(height_m=2.0), "a height of 2.0 m"),
]


@pytest.mark.parametrize(("make", "words"), BAD, ids=[words for _, words in BAD])
def test_numbers_that_make_no_sense_are_refused(make, words):
    with pytest.raises(TrueupError) as error:
        make()
    assert words in str(error.value)
