"""Episodes as a recorder has them: joints at 50 Hz, cameras at 30 Hz, the same for each index."""

from __future__ import annotations

import numpy as np

from trueup.episodes import Channel, Episode, Outcome, Video

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
PERIOD_S = 0.02
PICTURES_HZ = 30
SIDE = 224


def made(index: int, seconds: float, *, cameras: int = 0) -> Episode:
    """A smooth motion with sensor noise, commands 4 ms after each reading, true jittered times."""
    rng = np.random.default_rng(index)
    k = round(seconds / PERIOD_S)
    time_s = PERIOD_S * np.arange(k) + rng.uniform(0, 5e-4, k)
    phase = time_s[:, None] * rng.uniform(0.5, 2.0, 6) + rng.uniform(0, 6, 6)
    joints = np.sin(phase) + rng.normal(0, 1e-3, (k, 6))

    def channel(values: np.ndarray, unit: str, late_s: float = 0.0) -> Channel:
        return Channel(values=values, time_s=time_s + late_s, unit=unit, names=JOINTS)

    return Episode(
        signals={
            "command": channel(np.sin(phase + 0.05), "rad", 0.004),
            "joint_position": channel(joints, "rad"),
            "joint_velocity": channel(np.cos(phase), "rad/s"),
            "current": channel(rng.gamma(2.0, 0.05, (k, 6)), "A"),
        },
        period_s=PERIOD_S,
        task="put the cube on the plate",
        outcome=Outcome.SUCCESS if index % 2 else Outcome.FAILURE,
        labels={"lighting": "bright"},
        origin={"robot": "made up", "real": False, "seed": index},
        videos={f"camera{c}": _video(rng, seconds) for c in range(cameras)},
    )


def _video(rng: np.random.Generator, seconds: float) -> Video:
    """A block that moves over a graded table, with the grain of a small sensor."""
    k = round(seconds * PICTURES_HZ)
    down, across = np.meshgrid(*[np.linspace(40, 200, SIDE)] * 2, indexing="ij")
    table = np.stack([down, (down + across) / 2, across], axis=-1)
    frames = np.empty((k, SIDE, SIDE, 3), np.uint8)
    for i in range(k):
        grain = rng.integers(-4, 5, (SIDE, SIDE, 1), np.int8)
        picture = table + grain
        x = int(60 + 50 * np.sin(i / 9))
        picture[80:120, x : x + 40] = (200, 40, 40) + grain[80:120, x : x + 40]
        frames[i] = np.clip(picture, 0, 255)
    return Video(time_s=np.arange(k) / PICTURES_HZ, frames=frames)
