"""Episodes that can be told apart by their numbers, and made again from their index alone."""

from __future__ import annotations

import numpy as np

from trueup.episodes import Channel, Episode, Outcome, Video

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
PERIOD_S = 0.02
_OUTCOMES = (None, Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABORTED)


def recording(index: int, *, frames: int = 40, cameras: int = 0, pictures: int = 24) -> Episode:
    """Joints and commands with jittered times 50 times a second, currents on a clock of their own,
    and cameras 30 times a second whose picture k is of one grey."""
    rng = np.random.default_rng(index)
    time_s = 1000.0 * index + PERIOD_S * np.arange(frames) + rng.uniform(0, 1e-3, frames)
    slow = 1000.0 * index + 0.05 * np.arange(max(frames // 3, 1)) + 1e-4
    return Episode(
        signals={
            "joint_position": channel(rng.normal(size=(frames, 6)), time_s, "rad"),
            "command": channel(rng.normal(size=(frames, 6)), time_s + 0.004, "rad"),
            "current": channel(rng.normal(size=(len(slow), 6)).astype(np.float32), slow, "A"),
            "button": channel(rng.integers(0, 2, (frames, 1)), time_s, "1", ("pressed",)),
        },
        period_s=PERIOD_S,
        task=f"put the cube on plate {index % 3}",
        outcome=_OUTCOMES[index % 4],
        labels={"lighting": "dim" if index % 2 else "bright", "person": "Zoë"},
        origin={"seed": index, "noise": 0.1 + 1e-16 * index, "nested": {"real": True}},
        videos={f"camera{c}": video(index, c, pictures) for c in range(cameras)},
    )


def channel(values: np.ndarray, time_s: np.ndarray, unit: str, names=JOINTS) -> Channel:
    return Channel(values=values, time_s=time_s, unit=unit, names=names)


def video(index: int, camera: int, pictures: int, size: tuple[int, int] = (48, 64)) -> Video:
    grey = greys(index, camera, pictures)
    frames = np.broadcast_to(grey[:, None, None, None], (pictures, *size, 3)).astype(np.uint8)
    return Video(time_s=1000.0 * index + np.arange(pictures) / 30, frames=frames)


def greys(index: int, camera: int, pictures: int) -> np.ndarray:
    return (40 + 7 * np.arange(pictures) + 29 * index + 61 * camera) % 200


def same(a: Episode, b: Episode) -> None:
    """Everything but the pixels, to the last bit."""
    assert a.signals.keys() == b.signals.keys()
    for name in a.signals:
        one, other = a[name], b[name]
        assert (one.unit, one.names) == (other.unit, other.names)
        assert one.values.dtype == other.values.dtype, name
        np.testing.assert_array_equal(one.values, other.values, err_msg=name)
        np.testing.assert_array_equal(one.time_s, other.time_s, err_msg=name)
    assert (a.task, a.outcome, a.period_s) == (b.task, b.outcome, b.period_s)
    assert (dict(a.labels), dict(a.origin)) == (dict(b.labels), dict(b.origin))
    assert a.videos.keys() == b.videos.keys()
    for name in a.videos:
        np.testing.assert_array_equal(a.videos[name].time_s, b.videos[name].time_s)


def shown(video: Video) -> np.ndarray:
    """(k,) the mean grey of each picture."""
    return np.array([picture.mean() for picture in video.pictures()])
