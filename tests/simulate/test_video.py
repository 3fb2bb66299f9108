"""Videos that play: right size, right length, right speed, or no file at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pytest

from trueup.errors import TrueupError
from trueup.simulate import save_video


def frames(n: int, height: int = 48, width: int = 64) -> Iterator[np.ndarray]:
    """Ever brighter."""
    for k in range(n):
        yield np.full((height, width, 3), 20 + 200 * k // n, np.uint8)


def decoded(path: Path) -> tuple[list[np.ndarray], float, float]:
    """Frames, frames per second, and seconds of a video."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
        assert stream.average_rate is not None
        assert container.duration is not None
        return pictures, float(stream.average_rate), container.duration / 1e6


def test_every_frame_is_there_in_order(tmp_path):
    path = tmp_path / "new" / "run.mp4"
    assert save_video(frames(25), path, fps=25) == 25
    pictures, fps, seconds = decoded(path)
    assert len(pictures) == 25
    assert pictures[0].shape == (48, 64, 3)
    brightness = [picture.mean() for picture in pictures]
    assert brightness == sorted(brightness)
    np.testing.assert_allclose(brightness[::6], [20, 68, 116, 164, 212], atol=4)
    assert fps == pytest.approx(25)
    assert seconds == pytest.approx(1.0, abs=0.05)
    assert [file.name for file in path.parent.iterdir()] == ["run.mp4"]


@pytest.mark.parametrize("fps", [12.5, 33.333, 50, 1 / 3])
def test_plays_in_real_time(tmp_path, fps):
    path = tmp_path / "run.mp4"
    save_video(frames(30), path, fps=fps)
    pictures, _, seconds = decoded(path)
    assert len(pictures) == 30
    assert seconds == pytest.approx(30 / fps, rel=0.01)


@pytest.mark.parametrize(("height", "width"), [(47, 63), (48, 63), (3, 2)])
def test_odd_sizes_lose_a_line_not_the_video(tmp_path, height, width):
    path = tmp_path / "run.mp4"
    save_video(frames(3, height, width), path, fps=25)
    pictures, _, _ = decoded(path)
    assert pictures[0].shape == (height - height % 2, width - width % 2, 3)


def test_a_failure_in_the_middle_leaves_no_file(tmp_path):
    def broken() -> Iterator[np.ndarray]:
        yield from frames(5)
        raise RuntimeError("the renderer died")

    with pytest.raises(RuntimeError, match="the renderer died"):
        save_video(broken(), tmp_path / "run.mp4", fps=25)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_video(tmp_path):
    path = tmp_path / "run.mp4"
    save_video(frames(5), path, fps=25)
    before = path.read_bytes()

    def broken() -> Iterator[np.ndarray]:
        yield from frames(2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_video(broken(), path, fps=25)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.mp4"]


def test_no_frames_are_no_video(tmp_path):
    with pytest.raises(TrueupError, match=r"run\.mp4 would have no frames"):
        save_video(iter(()), tmp_path / "run.mp4", fps=25)
    assert list(tmp_path.iterdir()) == []
