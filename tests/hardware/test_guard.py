"""The safety envelope: what is clipped, what stops a robot, and that the reason is told."""

from __future__ import annotations

import os
import pickle
import pty
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from trueup.errors import TrueupError
from trueup.hardware import TABLETOP, Box, Guard, Limits, Stopped, Watchdog
from trueup.policies import Feature, Interface
from trueup.worlds import get
from trueup.worlds.interface import interface_of
from trueup.worlds.so101 import HOME
from trueup.worlds.tabletop import tcp_kinematics

PERIOD = 0.04
FACE = Interface(
    observations=(
        Feature(name="joint_position", size=2, unit="rad"),
        Feature(name="joint_force", size=2, unit="N·m"),
    ),
    commands=("elbow", "gripper"),
    unit=("rad", "rad"),
    low=(-1.0, 0.0),
    high=(1.0, 0.5),
    period_s=PERIOD,
    measured="joint_position",
)


def reading(position=(0.0, 0.2), force=(0.0, 0.0), n: int = 1) -> dict[str, np.ndarray]:
    return {
        "joint_position": np.tile(np.array(position, float), (n, 1)),
        "joint_force": np.tile(np.array(force, float), (n, 1)),
    }


def guarded(n: int = 1, **limits) -> Guard:
    guard = Guard(Limits.of(FACE, **limits), FACE)
    guard.begin(np.tile([0.0, 0.2], (n, 1)), 0.0)
    return guard


def test_what_is_allowed_passes_untouched():
    guard = guarded(speed=4.0)
    wanted = np.array([[0.1, 0.25]])
    np.testing.assert_array_equal(guard.passed(wanted, reading(), PERIOD), wanted)
    assert not guard.clipped.any()


def test_limits_clip_and_are_counted():
    guard = guarded(speed=100.0)
    np.testing.assert_allclose(guard.passed(np.array([[3.0, -1.0]]), reading(), PERIOD), [[1, 0]])
    np.testing.assert_array_equal(guard.clipped, [1, 1])


@pytest.mark.parametrize("pause_s", [0.0, PERIOD, 0.3])
def test_no_target_moves_faster_than_allowed_and_a_pause_earns_no_leap(pause_s):
    guard = guarded(speed=1.0)
    sent = guard.passed(np.array([[1.0, 0.2]]), reading(), pause_s)
    assert sent[0, 0] == pytest.approx(min(max(pause_s, PERIOD), 2 * PERIOD))


def test_steps_add_up_to_the_speed_limit():
    guard = guarded(speed=1.0)
    sent = [
        guard.passed(np.array([[9.0, 0.2]]), reading((0.1, 0.2)), PERIOD * (k + 1))
        for k in range(10)
    ]
    assert sent[-1][0, 0] == pytest.approx(10 * PERIOD)


def test_a_command_that_is_not_a_number_stops_it_and_names_the_joint():
    with pytest.raises(Stopped, match="command for 'gripper' is nan"):
        guarded().passed(np.array([[0.0, np.nan]]), reading(), PERIOD)


def test_a_reading_that_is_not_a_number_stops_it():
    with pytest.raises(Stopped, match="'joint_position' is not finite"):
        guarded().passed(np.zeros((1, 2)), reading(position=(np.nan, 0.0)), PERIOD)


def test_a_joint_that_pushes_too_long_is_stopped_and_a_gripper_may_push():
    guard = guarded(force=2.0)
    strong = reading(force=(2.5, 9.0))
    turns = 0
    with pytest.raises(Stopped, match=r"'elbow' has been pushing for 1\.\d s: it needs 2\.50"):
        for turns in range(1, 100):
            guard.passed(np.array([[0.0, 0.2]]), strong, PERIOD * turns)
    assert 1.0 < PERIOD * turns < 1.2


def test_a_push_that_ends_in_time_is_forgotten():
    guard = guarded(force=2.0)
    for k in range(200):
        force = (2.5, 0.0) if k % 20 else (0.0, 0.0)  # 0.76 s at a time
        passed = guard.passed(np.array([[0.0, 0.2]]), reading(force=force), PERIOD * (k + 1))
        assert np.isfinite(passed).all()  # and it was not stopped


def test_a_joint_that_stays_behind_is_stopped_where_no_force_is_read():
    bare = Interface(**{**vars(FACE), "observations": FACE.observations[:1]})
    guard = Guard(Limits.of(bare, error=0.3), bare)
    guard.begin(np.array([[0.4, 0.2]]), 0.0)
    assert "force" not in guard.watched
    with pytest.raises(Stopped, match=r"it is 0\.40 from its target"):
        for k in range(100):
            seen = {"joint_position": np.array([[0.0, 0.2]])}
            guard.passed(np.array([[0.4, 0.2]]), seen, PERIOD * (k + 1))


def test_one_body_of_many_stops_and_the_others_go_on():
    guard = guarded(n=3)
    commands = np.array([[0.1, 0.2], [np.inf, 0.2], [0.1, 0.2]])
    allowed, stopped = guard.judged(commands, reading(n=3), PERIOD)
    assert list(stopped) == [1]
    np.testing.assert_allclose(allowed, [[0.1, 0.2], [0.0, 0.2], [0.1, 0.2]])
    with pytest.raises(Stopped) as caught:
        guard.passed(commands, reading(n=3), 2 * PERIOD)
    assert caught.value.row == 1


def test_a_loop_that_stood_still_is_stopped():
    guard = guarded(stall_s=0.5)
    with pytest.raises(Stopped, match=r"No command came for 0\.60 s"):
        guard.passed(np.zeros((1, 2)), reading(), 0.6)


def test_the_stop_key_holds_from_any_thread():
    guard = guarded()
    thread = threading.Thread(target=guard.stop)
    thread.start()
    thread.join()
    with pytest.raises(Stopped, match="operator") as caught:
        guard.passed(np.zeros((1, 2)), reading(), PERIOD)
    assert caught.value.asked


def test_the_hand_stays_out_of_the_table():
    world = get("so101/reach")
    face = interface_of(world)
    place = tcp_kinematics(world)
    guard = Guard(Limits.of(face, box=TABLETOP), face, place=place)
    seen = {f.name: np.zeros((1, f.size)) for f in face.observations}
    home = np.array([HOME])
    guard.begin(home, 0.0)
    guard.passed(home, seen | {"joint_position": home}, PERIOD)
    low = home + np.array([[0.0, 1.3, 0.0, -0.6, 0.0, 0.0]])
    depth = place(low)[0, 2]
    assert depth < TABLETOP.low[2]
    with pytest.raises(Stopped, match=rf"The hand is at z = {depth:.3f} m"):
        guard.passed(home, seen | {"joint_position": low}, 2 * PERIOD)


def test_a_box_needs_to_know_where_the_hand_is():
    box = Box(low=(0, 0, 0), high=(1, 1, 1))
    with pytest.raises(TrueupError, match="nothing says where the hand is"):
        Guard(Limits.of(FACE, box=box), FACE)


def test_misuse_is_told():
    guard = Guard(Limits.of(FACE), FACE)
    with pytest.raises(TrueupError, match="before its episode began"):
        guard.passed(np.zeros((1, 2)), reading(), 0.0)
    guard.begin(np.zeros((1, 2)), 0.0)
    with pytest.raises(TrueupError, match=r"shape \(1, 3\)"):
        guard.passed(np.zeros((1, 3)), reading(), 0.0)


def test_a_reason_survives_a_process_boundary():
    again = pickle.loads(pickle.dumps(Stopped("The hand left.", row=2)))
    assert (again.reason, again.row) == ("The hand left.", 2)


def test_a_watchdog_breaks_into_a_turn_that_hangs():
    before = signal.getsignal(signal.SIGALRM)
    with Watchdog(0.05) as dog, pytest.raises(Stopped, match="in 'infer'"):
        dog.feed("infer")
        time.sleep(30.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_watchdog_that_is_fed_or_rests_is_silent():
    with Watchdog(0.2) as dog:
        for _ in range(5):
            dog.feed("act")
            time.sleep(0.06)
        dog.rest()
        time.sleep(0.25)


_LISTENER = """
import sys, time
from trueup.hardware import Keys, WallClock
with Keys() as keys:
    print("ready", flush=True)
    print(keys.chosen("yn", WallClock()), keys.chosen("q", WallClock()), flush=True)
"""


def test_keys_come_without_enter():
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", _LISTENER], stdin=theirs, stdout=subprocess.PIPE, text=True
    ) as process:
        os.close(theirs)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.write(ours, b"xYq")
        assert process.stdout.readline() == "y q\n"
    os.close(ours)
