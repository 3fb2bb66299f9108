"""What the tests of robots share: realities of a few lines, and a way to play."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from trueup.hardware import Robot


def written(folder: Path, name: str = "mine", **parts) -> str:
    """The path of a reality file with these parts."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"trueup_reality": 1, "story": "A test.", **parts}))
    return str(file)


def played(robot: Robot, seeds, steps: int = 20) -> dict[str, np.ndarray]:
    """Observations (steps, n, size) of a motion that follows from each body's own seed and row."""
    robot.enable()
    robot.reset(seeds=np.asarray(seeds))
    hold, seen, now = robot.hold, [], robot.clock.now_s()
    for k in range(steps):
        robot.act(hold + 0.2 * np.sin(0.3 * k + np.arange(hold.shape[1])))
        now += robot.interface.period_s
        robot.clock.wait_until(now)
        seen.append(robot.observe())
    return {name: np.array([o[name] for o in seen]) for name in seen[0]}


def verdict(robot: Robot) -> dict[str, np.ndarray]:
    """What an onlooker says, who is there."""
    said = robot.verdict()
    assert said is not None
    return said
