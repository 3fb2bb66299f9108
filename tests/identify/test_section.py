"""The report of an identification: whole, honest about its origin, and alone."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.identify.planted import WORLD, recorded
from trueup.identify import Estimate, identify, save_section
from trueup.replay import panels_of, replayed
from trueup.space import Point

VOID = {"meta"}


class Nesting(HTMLParser):
    """Raises where a tag is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@cache
def estimated() -> tuple[Estimate, dict]:
    episodes = [recorded({"actuation/elbow_flex/kp": 16.0}, seconds=3.0, seed=s) for s in range(2)]
    space = WORLD.catalogue.select("actuation/elbow_flex/kp")
    estimate = identify(WORLD, episodes, space, threads=1)
    panels = {}
    for name, point in (("before", Point({})), ("after", estimate.point)):
        replay = replayed(WORLD, episodes[-1:], point, threads=1)
        panels[name] = panels_of(episodes[-1], replay.tracks[0], ["joint_position"])
    return estimate, panels


@pytest.mark.parametrize("real", [True, False])
def test_the_page_is_whole_and_says_where_it_comes_from(tmp_path: Path, real: bool) -> None:
    estimate, panels = estimated()
    save_section(estimate, panels, tmp_path / "report.html", real=real)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Nesting()
    page.feed(text)
    assert not page.open
    assert page.seen.count("figure") == len(WORLD.commands)
    assert ("sim-to-sim" in text) is not real
    assert "actuation/elbow_flex/kp" in text and "kept out of the fit" in text
    assert not re.search(r"https?://|<script|<link|url\(", text)
    assert text.count('role="img"') == text.count("aria-label=")
