"""The truth stays in the robot's process: nothing that comes over the line tells of it."""

from __future__ import annotations

import gc
import socket
import struct
import subprocess
import threading
import types

import numpy as np
import pytest

from tests.hardware.robots import played, written
from trueup.errors import TrueupError
from trueup.hardware import RobotLost, open_robot
from trueup.hardware.reality import read_reality
from trueup.hardware.rehearsal.cells import MujocoCells
from trueup.hardware.rehearsal.client import RehearsalRobot
from trueup.hardware.rehearsal.server import Server
from trueup.hardware.rehearsal.wire import Line
from trueup.worlds import get

SECRETS = {
    "actuation/elbow_flex/damping": 1.2345678901,
    "object/cube/mass": 0.0456789012,
    "sensing/wrist_flex/bias": 0.0123456789,
    "environment/table/height": -0.0098765432,
    "visual/tracker/noise": 0.0011223344,
    "visual/tracker/angle_noise": 0.0022334455,
}
STORY = "The quick brown fox moved the camera."
BEYOND = {"effect": "cable_drag", "joints": "elbow_flex", "tied_rad": 0.87654321, "pull": 0.765432}


class Overheard:
    """A robot in a thread of this process, behind a wire on which somebody listens."""

    def __init__(self, reality: str) -> None:
        truth = read_reality(reality)
        self.cells = MujocoCells(truth, get("so101/lift"), 2, threads=1)
        ours, theirs = socket.socketpair()
        inner, outer = socket.socketpair()
        self.heard = bytearray()
        server = Server(self.cells)
        self._threads = [
            threading.Thread(target=server.answer, args=(Line(theirs),), daemon=True),
            threading.Thread(target=self._pump, args=(ours, outer), daemon=True),
            threading.Thread(target=self._pump, args=(outer, ours, False), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self.robot = RehearsalRobot(Line(inner))

    def _pump(self, source: socket.socket, sink: socket.socket, keep: bool = True) -> None:
        while data := source.recv(1 << 16):
            if keep:
                self.heard += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A whole session, with all bytes that came from the robot, and the truth beside it."""
    folder = tmp_path_factory.mktemp("secret-place")
    path = written(folder, "hidden", story=STORY, values=SECRETS, beyond=[BEYOND])
    behind = Overheard(path)
    robot, truths = behind.robot, []
    with robot:
        robot.disable()
        played(robot, [11, 12], steps=15)
        robot.reset(rows=np.array([1]))
        robot.verdict()
        for _ in range(10):
            robot.clock.wait_until(robot.clock.now_s() + robot.interface.period_s)
            truths.append({k: v.copy() for k, v in behind.cells._worlds.privileged.items()})
        for call in (
            lambda: robot.act(np.full((2, 6), np.nan)),
            lambda: robot.reset(seeds=np.array([1])),
        ):
            with pytest.raises(TrueupError):
                call()
    return robot, bytes(behind.heard), path, truths


def test_no_word_of_the_truth_is_heard(session) -> None:
    _, heard, path, _ = session
    words = [STORY, "fox", "cable", "drag", "hidden", "secret-place", path, "point", "reality"]
    words += [*SECRETS, *(name.split("/")[-1] for name in SECRETS if "bias" in name)]
    words += ["damping", "mass", "privileged", "true_", "truth", "grip_force", "beyond", "reward"]
    assert [word for word in words if word.encode() in heard.replace(b"rehearsal", b"")] == []


def test_no_number_of_the_truth_is_heard(session) -> None:
    _, heard, _, _ = session
    numbers = [*SECRETS.values(), BEYOND["tied_rad"], BEYOND["pull"]]
    for number in numbers:
        assert struct.pack("<d", number) not in heard
        assert struct.pack("<f", number) not in heard
        assert str(number).encode() not in heard


def test_no_privileged_signal_is_heard(session) -> None:
    _, heard, _, truths = session
    for step in truths:
        for name, values in step.items():
            for row in values[np.any(values != 0, axis=1)]:
                assert row.tobytes() not in heard, name


def test_the_listener_would_have_heard(session) -> None:
    """What is allowed is there: the checks above look at the right bytes."""
    robot, heard, _, _ = session
    assert b"joint_position" in heard and b"cube_position" in heard
    assert robot.hold[0].tobytes() in heard


def test_the_client_holds_nothing_of_it(tmp_path) -> None:
    path = written(tmp_path, "hidden", story=STORY, values=SECRETS, beyond=[BEYOND])
    with open_robot(f"rehearsal:{path}@so101/lift") as robot:
        seen = _reachable(robot)
    texts = [text for text in seen if isinstance(text, str)]
    assert [text for text in texts if "hidden" in text or str(tmp_path) in text] == []
    numbers = [x for x in seen if isinstance(x, float)]
    assert not set(numbers) & set(SECRETS.values())
    assert "so101/lift" in texts  # the search finds what is there
    assert any(isinstance(thing, subprocess.Popen) for thing in seen)  # and the process


@pytest.mark.parametrize("kind", [ValueError, TrueupError])
def test_a_fault_inside_tells_nothing(tmp_path, kind) -> None:
    """Where the robot's own code fails, its driver learns that it failed, and no more."""
    path = written(tmp_path, "hidden", story=STORY, values=SECRETS)
    behind = Overheard(path)
    behind.robot.connect()

    def fails() -> None:
        raise kind(f"mass is {SECRETS['object/cube/mass']}")

    behind.cells.step = fails  # type: ignore[method-assign]
    with pytest.raises(RobotLost) as lost:
        behind.robot.clock.wait_until(1.0)
    assert "failed inside" in str(lost.value)
    assert "mass" not in str(lost.value) and b"mass" not in behind.heard


def _reachable(robot: object) -> list[object]:
    """Everything that attributes and closures lead to; modules and classes are everybody's."""
    found: list[object] = []
    queue, known = [robot], set()
    while queue:
        thing = queue.pop()
        if id(thing) in known or isinstance(thing, (type, types.ModuleType)):
            continue
        known.add(id(thing))
        found.append(thing)
        if isinstance(thing, types.FunctionType):  # not its globals
            queue += [cell.cell_contents for cell in thing.__closure__ or ()]
        elif not isinstance(thing, (str, bytes, float, int)):
            queue += gc.get_referents(thing)
    return found
