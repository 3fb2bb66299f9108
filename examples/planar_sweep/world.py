"""A robot of your own: a two-link arm that sweeps a part off its bench into a chute.

The page docs/your-own-robot.md walks through this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import mujoco
import numpy as np
from array_api_compat import array_namespace

from trueup.effects import Array, Box, Effect, Tracker, actuation, latency, sensing, surface
from trueup.worlds import Readings, Scene, Signal, World

MODEL = Path(__file__).with_name("arm.xml")
LINKS_M = (0.25, 0.20)
JOINTS = ("shoulder", "elbow")


class PlanarSweep(World):
    """Sweep a part sideways until it is over the chute."""

    name = "planar/sweep"
    summary = "A two-link arm sweeps a part into the chute beside it."
    observations = (
        Signal(name="joint_position", unit="rad", sensors=tuple(f"{j}_position" for j in JOINTS)),
        Signal(name="joint_velocity", unit="rad/s", sensors=tuple(f"{j}_velocity" for j in JOINTS)),
        Signal(name="part_position", unit="m", sensors=("part_position",)),
    )
    privileged = (
        Signal(name="true_part_position", unit="m", sensors=("truth/part_position",)),
        Signal(name="true_tip_position", unit="m", sensors=("truth/tip_position",)),
    )
    control_period_s = 0.02
    episode_s = 2.0
    hold_s = 0.1
    chute_y = 0.2  # m; beyond this line the part is in the chute

    def spec(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_file(str(MODEL))

    def effects(self) -> tuple[Effect, ...]:
        return (
            *latency(),
            *actuation(),
            *sensing(),
            *surface("part"),
            Box(body="part"),
            Tracker(position="part_position", camera=(0.75, -0.45, 0.6)),
        )

    def start(self, scene: Scene) -> Mapping[str, np.ndarray]:
        """The arm drawn back to its right; the part in front of it, turned anyhow."""
        u = scene.streams.uniform(4)
        radius, angle = 0.36 + 0.06 * u[:, 0], 0.6 * (u[:, 1] - 0.5)
        half_turn = 0.5 * np.pi * u[:, 2]
        half_height = scene.number("geom", "part", "geom_size")[:, 2]
        zero = np.zeros(scene.n)
        part = [
            radius * np.cos(angle),
            radius * np.sin(angle),
            half_height + 0.0005,
            np.cos(half_turn),
            zero,
            zero,
            np.sin(half_turn),
        ]
        return {
            "shoulder": -1.3 + 0.1 * u[:, 3:],
            "elbow": np.full((scene.n, 1), 0.8),
            "part": np.stack(part, axis=-1),
        }

    def reward(self, s: Readings, action: Array) -> Array:
        xp = array_namespace(action)
        part, tip = s["truth/part_position"], s["truth/tip_position"]
        near = 1.0 - xp.tanh(5.0 * ((part - tip)[:, :2] ** 2).sum(-1) ** 0.5)
        swept = xp.clip((part[:, 1] + self.chute_y) / (2.0 * self.chute_y), 0.0, 1.0)
        return 0.2 * near + swept

    def success(self, s: Readings) -> Array:
        return s["truth/part_position"][:, 1] > self.chute_y

    def failure(self, s: Readings) -> Array:
        """The part slid out of reach, or off to the wrong side."""
        part = s["truth/part_position"]
        return (part[:, 0] ** 2 + part[:, 1] ** 2 > 0.55**2) | (part[:, 1] < -0.25)


class Sweep:
    """A controller: bend the elbow to the part's distance, then swing the shoulder through.

    It sees the first observation only, and so shows what each gap costs a blind plan.
    """

    def __init__(self, world: World, observation: dict[str, np.ndarray]) -> None:
        self._start = observation["joint_position"]
        self._period_s = world.control_period_s
        near, far = LINKS_M
        part = observation["part_position"]
        radius = np.clip(np.hypot(part[:, 0], part[:, 1]), 0.1, 0.44)
        elbow = np.arccos((radius**2 - near**2 - far**2) / (2.0 * near * far))
        lead = np.arctan2(far * np.sin(elbow), near + far * np.cos(elbow))  # tip ahead of shoulder
        self._bent = np.stack([self._start[:, 0], elbow], axis=-1)
        self._swung = np.stack([0.8 - lead, elbow], axis=-1)

    def __call__(self, k: int, observation: dict[str, np.ndarray]) -> np.ndarray:
        t = (k + 1) * self._period_s
        bend, swing = np.clip(t / 0.4, 0.0, 1.0), np.clip((t - 0.4) / 1.0, 0.0, 1.0)
        pose = self._start + bend * (self._bent - self._start)
        return pose + swing * (self._swung - self._bent)
