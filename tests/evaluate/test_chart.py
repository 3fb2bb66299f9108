"""Pictures of slices: whole files that need nothing else."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from PIL import Image

from tests.evaluate.planted import DELAY, SPACE, planted
from tests.evaluate.test_slicing import late
from trueup.evaluate import save_chart, save_drawing, slices

BLUE = (31, 111, 235)


def figure(html: str) -> tuple[list[dict], dict]:
    """Traces and layout, as the page gives them to plotly."""
    decoder, text = json.JSONDecoder(), html[html.index("Plotly.newPlot(") :]
    traces, end = decoder.raw_decode(text, text.index("["))
    layout, _ = decoder.raw_decode(text, text.index("{", end))
    return traces, layout


def test_the_page_shows_the_bins_and_needs_no_network(tmp_path):
    done = planted(late, 500)
    found = slices(done, SPACE)
    save_chart(found, done, tmp_path / "slices.html")
    html = (tmp_path / "slices.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", html)
    traces, layout = figure(html)
    assert [trace["y"] for trace in traces] == [[b.share for b in found[0].bins]]
    assert "latency/delay, ms" in layout["xaxis"]["title"]["text"]
    assert "sim-to-sim" in layout["title"]["text"]
    assert len(layout["shapes"]) == 2  # all episodes: share and interval


def test_the_drawing_has_a_marker_for_each_bin(tmp_path):
    done = planted(late, 500)
    found = slices(done, SPACE)
    save_drawing(found, done, tmp_path / "slices.png")
    pixels = np.asarray(Image.open(tmp_path / "slices.png"))
    blue = (pixels == BLUE).all(axis=-1)
    columns = np.flatnonzero(blue.any(axis=0))
    heights = [np.flatnonzero(blue[:, x]).mean() for x in (columns[3], columns[-3])]
    assert heights[0] < heights[1]  # success falls, so later markers are lower
    assert found[0].name == DELAY.name


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_without_a_claim_nothing_is_blue(share, tmp_path):
    done = planted(lambda points: np.array(share), 200, seed=5)
    for found in (slices(done, SPACE), []):
        save_drawing(found, done, tmp_path / "slices.png")
        save_chart(found, done, tmp_path / "slices.html")
        pixels = np.asarray(Image.open(tmp_path / "slices.png"))
        assert not (pixels == BLUE).all(axis=-1).any()
        _, layout = figure((tmp_path / "slices.html").read_text(encoding="utf-8"))
        assert ("no parameter explains" in layout["title"]["text"]) == (share < 1.0)
