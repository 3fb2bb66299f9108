"""Pictures of a replay: files that open, with what they should show in them."""

from __future__ import annotations

from dataclasses import replace

import av
import numpy as np
import pytest
from PIL import Image

from tests.replay.recordings import simulated_episode
from trueup.episodes import Video
from trueup.errors import TrueupError
from trueup.replay import (
    panels_of,
    replayed,
    save_chart,
    save_drawing,
    save_side_by_side,
)
from trueup.replay.pictures.panels import SIMULATED
from trueup.worlds import get

ARM = get("so101/arm")


@pytest.fixture(scope="module")
def episode():
    return simulated_episode(values={"actuation/elbow_flex/kp": 9.0}, seconds=1.0)


@pytest.fixture(scope="module")
def tracks(episode):
    return replayed(ARM, [episode]).tracks[0]


def test_a_panel_for_each_column(episode, tracks):
    panels = panels_of(episode, tracks)
    assert [panel.title.split()[0] for panel in panels] == list(episode["command"].names)
    assert all("RMSE" in panel.title and len(panel.told) for panel in panels)
    everything = panels_of(episode, tracks, list(tracks))
    assert len(everything) == 18
    assert not len(everything[-1].told)  # a force has no command beside it


def test_the_drawing_shows_the_simulation_over_the_record(episode, tracks, tmp_path):
    panels = panels_of(episode, tracks)
    save_drawing(panels, tmp_path / "both.png", title="both")
    save_drawing(
        [replace(p, simulated=np.full_like(p.simulated, np.nan)) for p in panels],
        tmp_path / "record.png",
        title="the record alone",
    )
    blue = tuple(int(SIMULATED[i : i + 2], 16) for i in (1, 3, 5))
    counts = [
        int((np.array(Image.open(tmp_path / name))[100:] == blue).all(axis=2).sum())
        for name in ("both.png", "record.png")
    ]
    assert counts[0] > 2000
    assert counts[1] == 0


def test_the_chart_is_one_file_with_all_curves(episode, tracks, tmp_path):
    save_chart(panels_of(episode, tracks), tmp_path / "replay.html", title="the arm over 0")
    text = (tmp_path / "replay.html").read_text()
    assert "plotly" in text
    assert "the arm over 0" in text
    assert text.count('"legendgroup":"simulated"') == 6
    assert 'src="http' not in text


@pytest.mark.parametrize("size", [1, 3])
def test_few_columns_will_do(episode, tracks, tmp_path, size):
    panels = panels_of(episode, tracks)[:size]
    save_drawing(panels, tmp_path / "few.png", title="few")
    save_chart(panels, tmp_path / "few.html", title="few")
    assert Image.open(tmp_path / "few.png").width > 1000


def filmed(episode, camera, **changes):
    video = Video(
        time_s=0.1 * np.arange(10), frames=np.full((10, 63, 80, 3), 200, np.uint8), **changes
    )
    return replace(episode, videos={camera: video})


@pytest.mark.gl
@pytest.mark.parametrize("camera", ["front", "somewhere"])
def test_recorded_and_simulated_side_by_side(episode, tmp_path, camera):
    file = tmp_path / "both.mp4"
    assert save_side_by_side(ARM, filmed(episode, camera), file, camera=camera) == 10
    with av.open(str(file)) as container:
        frames = np.stack([f.to_ndarray(format="rgb24") for f in container.decode(video=0)])
    assert frames.shape == (10, 62, 164, 3)
    left, right = frames[:, :, :80], frames[:, :, 84:]
    assert np.abs(left.astype(int) - 200).max() < 12
    assert right.std() > 20
    assert np.abs(right[0].astype(int) - right[-1]).max() > 60  # the arm moved


def test_an_unknown_camera_is_named(episode, tmp_path):
    with pytest.raises(TrueupError, match=r"no camera in this episode named 'wrist'.*front"):
        save_side_by_side(ARM, filmed(episode, "front"), tmp_path / "x.mp4", camera="wrist")
