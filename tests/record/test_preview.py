"""The picture of a plan: it shows every joint, and the limits that are near."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tests.record.arm import CENTRE, body, envelope, situation
from trueup.errors import TrueupError
from trueup.record import Chirp, Holds, get, save_preview

LIMIT, LINE = (207, 34, 46), (31, 111, 235)


def plans(*motions):
    return envelope().series(motions, situation())


def pixels(file) -> np.ndarray:
    return np.asarray(Image.open(file).convert("RGB"))


def has(image: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    return (image == colour).all(axis=2)


def test_every_joint_has_its_line(tmp_path):
    save_preview(plans(*get("standard").motions), body(), tmp_path / "plan.png")
    image = pixels(tmp_path / "plan.png")
    rows = np.array_split(has(image, LINE)[64:-40], body().size)
    # each crosses the picture from side to side, and none is a straight line
    for row in rows:
        across = row.any(axis=0)
        assert across.sum() > 700
        assert row.any(axis=1).sum() > 20


def test_a_limit_is_drawn_where_it_is_near_and_only_there(tmp_path):
    far = plans(Chirp(center_rad=CENTRE, amplitude_rad=(0.1,), joints=("shoulder_pan",)))[0]
    middle = far.path[140:-140]  # without the way from the ready pose, whose wrist is near a limit
    save_preview([replace(far, path=middle)], body(), tmp_path / "far.png")
    assert not has(pixels(tmp_path / "far.png"), LIMIT).any()
    save_preview([far], body(), tmp_path / "near.png")
    assert has(pixels(tmp_path / "near.png"), LIMIT).sum() > 500


def test_a_page_opens_anywhere(tmp_path):
    save_preview(plans(Holds(center_rad=CENTRE, poses=2)), body(), tmp_path / "plan.html")
    text = (tmp_path / "plan.html").read_text()
    for joint in body().joints:
        assert joint in text
    assert "nothing has moved" in text
    assert not re.search(r"<script[^>]+src=", text)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(TrueupError, match=r"neither \.png nor \.html"):
        save_preview(plans(Holds(center_rad=CENTRE, poses=2)), body(), tmp_path / "plan.pdf")
    assert list(tmp_path.iterdir()) == []
