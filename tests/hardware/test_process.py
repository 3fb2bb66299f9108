"""The process behind a rehearsal robot: how it is started, lost, left and found again."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.hardware.robots import written
from trueup.cli import main
from trueup.errors import TrueupError
from trueup.hardware import RobotLost, WallClock, open_robot
from trueup.hardware.rehearsal.door import reached
from trueup.hardware.rehearsal.wire import Line

TRUEUP = str(Path(sys.executable).with_name("trueup"))


def children(of: int | None = None) -> set[int]:
    """Living processes that were started by one: this one by default."""
    with subprocess.Popen(
        ["ps", "-eo", "pid=,ppid=,stat="], stdout=subprocess.PIPE, text=True
    ) as listing:
        rows = [line.split() for line in listing.communicate()[0].splitlines()]
    parent = os.getpid() if of is None else of
    found = {int(pid) for pid, above, state in rows if int(above) == parent and state[0] != "Z"}
    return found - {listing.pid}


def gone(pid: int, within_s: float = 10.0) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


class Rehearsing:
    """`trueup rehearse` at work."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [TRUEUP, "rehearse", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in range(3)]
        found = re.search(r"--robot (\S+)", "".join(lines))
        assert found, lines
        self.told, self.address = "".join(lines), found[1]

    def stop(self, sign: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        self.process.send_signal(sign)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


@pytest.fixture(scope="module")
def rehearsing():
    running = Rehearsing("benign", "--cells", "2", "--address", "tcp:127.0.0.1:0")
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, "")  # Ctrl-C is how it is meant to end


class TestOwnProcess:
    def test_a_killed_process_is_a_lost_robot_at_the_next_call(self) -> None:
        before = children()
        with open_robot("rehearsal:benign") as robot:
            robot.enable()
            (server,) = children() - before
            os.kill(server, signal.SIGKILL)
            time.sleep(0.2)
            with pytest.raises(RobotLost, match=r"no longer answers: .*Start it again"):
                robot.act(robot.hold)
            with pytest.raises(RobotLost):
                robot.observe()
        robot.disconnect()

    def test_a_robot_that_dies_while_time_passes_is_lost(self) -> None:
        before = children()
        robot = open_robot("rehearsal:benign", cells=64)
        robot.connect()
        (server,) = children() - before
        end = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -9 {server}"])
        with pytest.raises(RobotLost, match="no longer answers"):
            robot.clock.wait_until(10_000.0)
        end.wait()

    def test_a_closed_robot_leaves_no_process(self) -> None:
        before = children()
        with open_robot("rehearsal:benign"):
            (server,) = children() - before
        assert gone(server, 0.5)

    def test_a_killed_driver_takes_its_robot_along(self) -> None:
        program = (
            "import time; from trueup.hardware import open_robot\n"
            "robot = open_robot('rehearsal:benign', realtime=True); robot.connect()\n"
            "print('there', flush=True); time.sleep(60)"
        )
        driver = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
        )
        assert driver.stdout is not None and driver.stdout.readline() == "there\n"
        (server,) = children(driver.pid)
        driver.kill()
        driver.wait()
        assert gone(server)

    def test_a_wrong_reality_leaves_no_process(self, tmp_path) -> None:
        before = children()
        path = written(tmp_path, values={"object/cube/mas": 1.0})
        with pytest.raises(TrueupError, match=r"'object/cube/mas'.*object/cube/mass"):
            open_robot(f"rehearsal:{path}")
        assert children() == before


class TestRehearse:
    def test_it_prints_how_to_connect(self, rehearsing) -> None:
        assert "2 bodies, 25 Hz, on a simulated clock. Sim-to-sim." in rehearsing.told
        assert "so101/lift" in rehearsing.told
        assert rehearsing.address.startswith("tcp:127.0.0.1:")

    def test_one_after_the_other_may_drive_it(self, rehearsing) -> None:
        for _ in range(2):
            with open_robot(rehearsing.address) as robot:
                assert robot.n == 2
                robot.reset(seeds=np.array([4, 5]))
                robot.enable()
                robot.act(robot.hold + 0.1)
                robot.clock.wait_until(robot.clock.now_s() + 0.2)
        with open_robot(rehearsing.address) as robot, pytest.raises(TrueupError, match="torque"):
            robot.act(np.zeros((2, 6)))  # who comes next finds the torque off

    def test_a_second_driver_is_turned_away(self, rehearsing) -> None:
        with open_robot(rehearsing.address) as robot:
            with pytest.raises(TrueupError, match="Somebody else is driving"):
                open_robot(rehearsing.address)
            robot.observe()

    @pytest.mark.parametrize(
        "noise", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00" * 64, b"tru1" + b"\xff" * 12]
    )
    def test_noise_is_refused_in_a_sentence_and_harms_nobody(self, rehearsing, noise) -> None:
        host, port = rehearsing.address.removeprefix("tcp:").split(":")
        with socket.create_connection((host, int(port))) as stranger:
            stranger.sendall(noise)
            assert b"is not a message of a rehearsal robot" in stranger.recv(4096)
        with open_robot(rehearsing.address) as robot:
            robot.observe()

    @pytest.mark.parametrize(
        ("sent", "words"),
        [
            ({"do": "hello", "protocol": 99}, "speaks version 1 of the protocol, not 99"),
            ({"do": "reveal"}, "cannot 'reveal'"),
            ({"do": "pass", "ticks": -1}, "by -1 ticks"),
            ({"do": "pass", "ticks": "many"}, "by 'many' ticks"),
            ({"do": "act"}, "commands are missing"),
        ],
    )
    def test_what_it_cannot_do_is_a_sentence(self, rehearsing, sent, words: str) -> None:
        line = Line(reached(rehearsing.address))
        line.send(sent)
        assert words in line.receive(5.0).words["error"]
        line.close()

    def test_questions_that_come_together_are_answered_in_order(self, rehearsing) -> None:
        line = Line(reached(rehearsing.address))
        for number in range(3):
            line.send({"do": "observe", "question": number})
        assert [line.receive(5.0).words["question"] for _ in range(3)] == [0, 1, 2]
        line.close()

    def test_a_place_that_is_taken_is_a_sentence(self, rehearsing) -> None:
        done = subprocess.run(
            [TRUEUP, "rehearse", "benign", "--address", rehearsing.address],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        assert "something else is listening there" in done.stderr
        assert "Traceback" not in done.stderr

    def test_a_socket_file_is_made_and_removed(self, tmp_path) -> None:
        path = tmp_path / "robot"
        left = socket.socket(socket.AF_UNIX)  # what a robot that was killed leaves behind
        left.bind(str(path))
        left.close()
        running = Rehearsing("benign", "--realtime", "--address", f"unix:{path}")
        with open_robot(f"unix:{path}") as robot:
            assert isinstance(robot.clock, WallClock)
            robot.observe()
        assert running.stop(signal.SIGTERM) == (0, "")
        assert not path.exists()


def test_without_a_name_the_realities_are_listed(capsys) -> None:
    assert main(["rehearse"]) == 0
    listed = capsys.readouterr().out
    assert listed.index("benign") < listed.index("garage")
    assert main(["rehearse", "--json"]) == 0
    assert {tuple(row) for row in json.loads(capsys.readouterr().out)} == {("name", "story")}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["benig"], "Did you mean 'benign'"),
        (["benign", "--world", "so101/fly"], "no world named 'so101/fly'"),
        (["benign", "--cells", "0"], "0 cells"),
        (["benign", "--rate", "30"], "whole number of physics steps"),
        (["benign", "--rate", "0"], "--rate is 0"),
        (["benign", "--address", "serial:x"], "no place to wait at"),
        (["benign", "--address", "tcp:127.0.0.1:99999"], "not HOST:PORT"),
    ],
)
def test_a_wrong_choice_is_a_sentence(words, told, capsys) -> None:
    assert main(["rehearse", *words]) == 2
    errors = capsys.readouterr().err
    assert told in errors and "Traceback" not in errors
