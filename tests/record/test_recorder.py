"""Recording on a rehearsal robot: what is kept, whatever ends it. All of it is sim-to-sim."""

from __future__ import annotations

import os
import pty
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.record.arm import PERIOD_S, body, situation, world
from trueup.episodes import Dataset, Episode, Outcome, Writer
from trueup.errors import TrueupError
from trueup.hardware import Box, Guard, Limits, Robot, RobotLost, open_robot
from trueup.record import (
    Ask,
    Chirp,
    Control,
    Holds,
    Keyboard,
    NotWritten,
    Progress,
    Recording,
    Squeeze,
    Unsafe,
    record,
)
from trueup.worlds.kinematics import ForwardKinematics

NEARBY = (0.0, -0.6, 0.0, 1.2, 1.5, 0.6)
"""Not far from where the arm stands, so that it gets there soon."""
CHIRP = Chirp(
    center_rad=NEARBY, duration_s=4.0, amplitude_rad=(0.3, 0.3, 0.3, 0.3, 0.4, 0.2), high_hz=2.0
)
HOLDS = Holds(center_rad=NEARBY, duration_s=4.0, poses=2, amplitude_rad=(0.2,))
SEEDS = np.arange(3)


@pytest.fixture(scope="module")
def robot() -> Iterator[Robot]:
    with open_robot("rehearsal:benign@so101/lift", cells=3, threads=1) as robot:
        yield robot


class After(Control):
    """An operator who asks for something from a moment on, in seconds of the robot's time."""

    def __init__(self, robot: Robot, *asks: tuple[float, Ask]) -> None:
        self._robot, self._asks = robot, asks
        self._begin = robot.clock.now_s()
        self.told: list[str] = []

    def asked(self) -> Ask:
        since = self._robot.clock.now_s() - self._begin
        return next((ask for time_s, ask in reversed(self._asks) if since >= time_s), Ask.RUN)

    def let_go(self, reason: str) -> None:
        self.told.append(reason)


def at_home(robot: Robot) -> bool:
    """Whether every arm is about where its episodes begin, the reality's sag allowed for."""
    measured = robot.observe()["joint_position"]
    return bool(np.abs(measured - body().ready).max() < 0.15)


@pytest.fixture(scope="module")
def recording(robot) -> Recording:
    return record(robot, [CHIRP, HOLDS], world=world(), seeds=SEEDS, labels={"place": "bench"})


class TestWhatIsRecorded:
    def test_every_cell_of_every_motion_is_an_episode(self, recording, robot):
        episodes = recording.episodes
        assert [e.task for e in episodes] == ["chirp"] * 3 + ["holds"] * 3
        assert [e.origin["cell"] for e in episodes] == [0, 1, 2, 0, 1, 2]
        assert all(e.outcome is None and e.labels["place"] == "bench" for e in episodes)
        assert recording.ended == ""

    def test_every_signal_is_there_with_units_and_names(self, recording, robot):
        for episode in recording.episodes:
            for feature in robot.interface.observations:
                channel = episode[feature.name]
                assert channel.unit == feature.unit
                assert channel.values.shape[1] == feature.size
                assert channel.names == robot.columns[feature.name]
            assert episode["command"].names == body().joints
            assert episode["command"].unit == "rad"

    def test_commands_are_the_plan(self, recording):
        for episode in recording.episodes[:3]:
            plan = recording.plans[0]
            cell = episode.origin["cell"]
            np.testing.assert_allclose(episode["command"].values, plan.path[:, cell], atol=1e-9)

    def test_times_are_those_of_the_robot(self, recording):
        for episode in recording.episodes:
            times = episode["command"].time_s
            assert times[0] == pytest.approx(0.0, abs=1e-9)
            np.testing.assert_allclose(np.diff(times), PERIOD_S, atol=1e-9)
            # what the last command led to is there too
            assert len(episode["joint_position"]) == len(times) + 1

    def test_the_joints_follow_their_commands(self, recording):
        for episode in recording.episodes:
            asked = episode["command"].values[:, :5]
            done = episode["joint_position"].values[1:, :5]
            assert np.abs(asked - done).max() < 0.25
            assert np.corrcoef(asked[:, 1], done[:, 1])[0, 1] > 0.9

    def test_it_says_where_it_comes_from(self, recording, robot):
        origin = recording.episodes[0].origin
        assert origin["robot"] == robot.name
        assert origin["real"] is False
        assert origin["result"] == "sim-to-sim"
        assert origin["motion"] == CHIRP.to_json()
        assert [p["name"] for p in origin["phases"]] == ["to the start", "chirp"]
        begins = [p["begin_s"] for p in origin["phases"]]
        assert begins == sorted(begins)

    def test_the_arm_ends_where_it_was(self, recording, robot):
        np.testing.assert_allclose(
            recording.plans[-1].path[-1], recording.plans[0].path[0], atol=0.005
        )

    def test_same_seeds_same_recording(self, recording, robot):
        again = record(robot, [CHIRP, HOLDS], world=world(), seeds=SEEDS)
        for one, other in zip(recording.episodes, again.episodes, strict=True):
            assert np.array_equal(one["joint_position"].values, other["joint_position"].values)


def test_it_is_written_as_it_comes(robot, tmp_path):
    with Writer(tmp_path / "data") as writer:
        recording = record(robot, CHIRP, world=world(), seeds=SEEDS, writer=writer)
    stored = list(Dataset.open(tmp_path / "data"))
    assert len(stored) == 3
    for one, other in zip(recording.episodes, stored, strict=True):
        for name, channel in one.signals.items():
            assert np.array_equal(channel.time_s, other[name].time_s)
        assert other.labels["motion"] == "chirp"


class TestTheOperator:
    def test_a_pause_holds_and_goes_on(self, robot):
        seen: list[Progress] = []
        control = After(robot, (3.0, Ask.PAUSE), (6.0, Ask.RUN))
        recording = record(
            robot, CHIRP, world=world(), seeds=SEEDS, control=control, on_progress=seen.append
        )
        episode = recording.episodes[0]
        assert episode.outcome is None
        assert episode.duration_s == pytest.approx(recording.plans[0].duration_s + 3.0, abs=0.5)
        rows = episode["command"]
        still = (rows.time_s > 3.5) & (rows.time_s < 5.9)
        assert np.ptp(rows.values[still], axis=0).max() == 0.0
        assert any(progress.paused for progress in seen)
        assert seen[-1].time_s == pytest.approx(seen[-1].duration_s, abs=PERIOD_S)

    def test_an_abort_is_a_valid_recording_and_the_arm_goes_back(self, robot, tmp_path):
        control = After(robot, (3.0, Ask.ABORT))
        with Writer(tmp_path / "data") as writer:
            recording = record(
                robot,
                [CHIRP, HOLDS],
                world=world(),
                seeds=SEEDS,
                control=control,
                writer=writer,
            )
        assert recording.ended == "the operator ended it"
        assert len(recording.episodes) == 3  # the second motion was not begun
        for episode in Dataset.open(tmp_path / "data"):
            assert episode.outcome is Outcome.ABORTED
            assert episode.labels["ended"] == "the operator ended it"
            assert episode.duration_s == pytest.approx(3.3, abs=0.2)
        assert control.told == []
        assert at_home(robot)

    def test_a_stop_holds_at_once_and_goes_nowhere(self, robot):
        control = After(robot, (3.0, Ask.STOP))
        recording = record(robot, CHIRP, world=world(), seeds=SEEDS, control=control)
        assert recording.ended == "the operator stopped it"
        assert {e.outcome for e in recording.episodes} == {Outcome.ABORTED}
        assert len(control.told) == 1
        assert not at_home(robot)

    @pytest.mark.parametrize(
        ("typed", "ended"), [("q", "ended it"), (" ", "stopped it"), ("pp", "")], ids=repr
    )
    def test_keys_of_a_terminal(self, robot, monkeypatch, typed, ended):
        ours, theirs = pty.openpty()
        with os.fdopen(theirs, "r", buffering=1, closefd=True) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            press = _after(robot, 2.5, lambda: os.write(ours, typed[:1].encode()))
            again = _after(robot, 3.5, lambda: os.write(ours, typed[1:].encode()))
            with Keyboard(lambda sentence: os.write(ours, b"\n")) as keys:
                recording = record(
                    robot,
                    CHIRP,
                    world=world(),
                    seeds=SEEDS,
                    control=keys,
                    on_progress=_both(press, again),
                )
        os.close(ours)
        assert ended in recording.ended
        assert (recording.episodes[0].outcome is None) == (typed == "pp")
        paused = typed == "pp"
        late = recording.episodes[0].duration_s - recording.plans[0].duration_s
        assert (late > 0.9) == paused

    @pytest.mark.parametrize(("times", "ended"), [(1, "ended it"), (2, "stopped it")])
    def test_ctrl_c(self, robot, times, ended):
        before = signal.getsignal(signal.SIGINT)
        interrupts = [
            _after(robot, 2.5, lambda: os.kill(os.getpid(), signal.SIGINT)) for _ in range(times)
        ]
        with Keyboard(print) as keys:
            recording = record(
                robot,
                CHIRP,
                world=world(),
                seeds=SEEDS,
                control=keys,
                on_progress=_both(*interrupts),
            )
        assert ended in recording.ended
        assert len(recording.episodes) == 3
        assert signal.getsignal(signal.SIGINT) is before


def _after(robot: Robot, time_s: float, act: Callable[[], object]) -> Callable[[Progress], None]:
    """Do something once, that long after now."""
    begin, done = robot.clock.now_s(), []

    def turn(progress: Progress) -> None:
        if not done and robot.clock.now_s() - begin > time_s:
            done.append(act())

    return turn


def _both(*turns: Callable[[Progress], None]) -> Callable[[Progress], None]:
    def turn(progress: Progress) -> None:
        for each in turns:
            each(progress)

    return turn


class TestSafety:
    def test_a_real_robot_does_not_move_unless_told(self, robot, monkeypatch):
        monkeypatch.setattr(robot, "real", True, raising=False)
        before = robot.clock.now_s()
        with pytest.raises(TrueupError, match="--arm"):
            record(robot, CHIRP, world=world())
        assert robot.clock.now_s() == before
        monkeypatch.setattr(robot, "real", False)

    def test_an_unsafe_motion_is_refused_before_torque_is_on(self, robot):
        robot.reset(SEEDS)
        before = robot.clock.now_s()
        with pytest.raises(Unsafe):
            record(robot, [HOLDS, CHIRP.scaled(6.0)], world=world())
        assert robot.clock.now_s() == before
        with pytest.raises(TrueupError, match="torque is off"):
            robot.act(robot.hold)

    def test_the_guard_stops_a_joint_that_does_not_follow(self, robot):
        limits = Limits.of(robot.interface)
        tight = replace(limits, error=(0.12, *limits.error[1:]), patience_s=0.05)
        motion = replace(CHIRP, joints=("shoulder_pan",), amplitude_rad=(0.4,), corner_hz=0.9)
        guard = Guard(tight, robot.interface)
        recording = record(robot, motion, world=world(), seeds=SEEDS, guard=guard)
        assert recording.ended
        for episode in recording.episodes:
            assert episode.outcome is Outcome.ABORTED
            assert "'shoulder_pan' has been pushing" in episode.labels["ended"]

    def test_the_guard_stops_one_cell_and_the_others_go_on(self, robot):
        """Each hand goes to its own cube; one cube stands outside of where hands may be."""
        robot.reset(SEEDS)
        y = robot.observe()["cube_position"][:, 1]
        outermost, next_one = int(y.argmax()), float(np.sort(y)[-2])
        middle = 0.5 * (float(y.max()) + next_one)
        box = Box(low=(-1.0, -1.0, -1.0), high=(1.0, middle, 1.0))
        hand = ForwardKinematics(world().model, "tcp", body().joints)
        guard = Guard(Limits.of(robot.interface, box=box), robot.interface, place=hand)
        recording = record(robot, Squeeze(), world=world(), seeds=SEEDS, guard=guard)
        outcomes = [episode.outcome for episode in recording.episodes]
        assert outcomes[outermost] is Outcome.ABORTED
        assert outcomes.count(None) == 2
        stopped = recording.episodes[outermost]
        assert "The hand is at y" in stopped.labels["ended"]
        whole = recording.episodes[outermost - 1]
        assert stopped.duration_s < 0.5 * whole.duration_s

    def test_a_probe_that_sees_nothing_is_refused(self, robot):
        with pytest.raises(TrueupError, match="nobody sees it"):
            Squeeze().planned(situation())


class TestFaults:
    def test_a_robot_that_vanishes_leaves_its_recording(self, tmp_path):
        before = _servers()
        with open_robot("rehearsal:benign@so101/lift", threads=1) as robot:
            (server,) = _servers() - before
            kill = _after(robot, 3.0, lambda: os.kill(server, signal.SIGKILL))
            with Writer(tmp_path / "data") as writer, pytest.raises(RobotLost) as lost:
                record(robot, CHIRP, world=world(), writer=writer, on_progress=kill)
        assert "s of 'chirp' were recorded before, and are kept" in str(lost.value)
        (episode,) = Dataset.open(tmp_path / "data")
        assert episode.outcome is Outcome.ABORTED
        assert "no longer answers" in episode.labels["ended"]
        assert episode.duration_s == pytest.approx(3.0, abs=0.2)

    def test_a_fault_of_any_kind_leaves_its_recording(self, robot, tmp_path):
        def fail() -> None:
            raise IndexError("a driver that stumbles")

        with Writer(tmp_path / "data") as writer, pytest.raises(IndexError):
            record(
                robot,
                CHIRP,
                world=world(),
                seeds=SEEDS,
                writer=writer,
                on_progress=_after(robot, 3.0, fail),
            )
        episodes = list(Dataset.open(tmp_path / "data"))
        assert [e.labels["ended"] for e in episodes] == ["a driver that stumbles"] * 3
        with pytest.raises(TrueupError, match="torque is off"):
            robot.act(robot.hold)

    def test_what_cannot_be_written_is_kept_elsewhere(self, robot, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        (tmp_path / "temporary").mkdir()
        small = 20_000
        with Writer(tmp_path / "data") as writer:
            writer.add(_short(robot))

            def limit(progress: Progress) -> None:
                hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
                resource.setrlimit(resource.RLIMIT_FSIZE, (small, hard))

            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            try:
                with pytest.raises(NotWritten) as error:
                    record(
                        robot,
                        CHIRP,
                        world=world(),
                        seeds=SEEDS,
                        writer=writer,
                        on_progress=limit,
                    )
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert len(error.value.episodes) == 3  # in memory, where no disk takes them
        assert error.value.folder is None
        assert len(Dataset.open(tmp_path / "data")) == 1  # what was there is still there
        assert at_home(robot)  # and the arm was put away

    def test_another_folder_takes_what_the_dataset_refuses(self, robot, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        other = _short(robot)
        names = ("a", "b", "c", "d", "e", "f")
        command = replace(other["command"], names=names)
        with Writer(tmp_path / "data") as writer:
            writer.add(replace(other, signals={**other.signals, "command": command}))
            with pytest.raises(NotWritten) as error:
                record(robot, CHIRP, world=world(), seeds=SEEDS, writer=writer)
        folder = error.value.folder
        assert folder is not None and str(folder) in str(error.value)
        assert len(Dataset.open(folder)) == 3

    def test_nothing_to_do_is_said(self, robot):
        with pytest.raises(TrueupError, match="There is no motion"):
            record(robot, [], world=world())


def _short(robot: Robot) -> Episode:
    motion = replace(HOLDS, duration_s=2.0, poses=1)
    return record(robot, motion, world=world(), seeds=SEEDS).episodes[0]


def _servers() -> set[int]:
    """Processes of ours that rehearsal robots live in."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
            line = (process / "cmdline").read_text()
        except OSError:  # it has ended meanwhile
            continue
        if parent == os.getpid() and "rehearsal.server" in line:
            found.add(int(process.name))
    return found
