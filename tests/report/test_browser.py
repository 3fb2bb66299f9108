"""The page in a real browser: drawn, quiet, within its width, readable, and asking for nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.browser import MISSING, Browser, chromium, found
from tests.diagnose.failed_trials import world
from tests.report.told import episodes, material
from trueup.report import SECTIONS, Block, Material, Report, Section, films_of, reported

pytestmark = pytest.mark.skipif(found() is None, reason=MISSING)

WIDTHS = (360, 768, 1280)

# Text that is too faint for its ground, by WCAG: 4.5 to 1.
FAINT = """
(() => {
  const number = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = number(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    const words = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!words || ["SCRIPT", "STYLE"].includes(e.tagName)) continue;
    const style = getComputedStyle(e), svg = e.namespaceURI.endsWith("svg");
    const a = light(number(svg ? style.fill : style.color)), b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(`${e.tagName} ${e.className} ${ratio.toFixed(2)}`);
  }
  return bad;
})()
"""

# What a screen reader would stumble over.
STUMBLES = """
(() => {
  const bad = [];
  const all = (q) => [...document.querySelectorAll(q)];
  for (const tag of ["header", "nav", "main", "footer", "h1"])
    if (all(tag).length !== 1) bad.push(`${all(tag).length} of ${tag}`);
  let last = 0;
  for (const h of all("h1, h2, h3, h4")) {
    const level = Number(h.tagName[1]);
    if (level > last + 1) bad.push(`${h.textContent} skips a level`);
    last = level;
  }
  for (const t of all("table"))
    if (!t.caption?.textContent.trim()) bad.push("a table without a caption");
  for (const e of all("svg:not([aria-hidden]), video, [role=group], nav, pre"))
    if (!e.getAttribute("aria-label")) bad.push(`${e.tagName} without a name`);
  for (const a of all("nav a"))
    if (!document.querySelector(a.hash)) bad.push(`${a.hash} leads nowhere`);
  const ids = all("[id]").map((e) => e.id);
  if (new Set(ids).size !== ids.length) bad.push("an id twice");
  if (!document.documentElement.lang) bad.push("no language");
  return bad;
})()
"""

# Strips without a mark, and drawings without a size.
UNDRAWN = """
[...document.querySelectorAll("svg")].filter((svg) => {
  const box = svg.getBoundingClientRect();
  return box.width < 40 || box.height < 10 || !svg.querySelector("rect, circle, line, path, text");
}).length
"""


DRAWN = """[".strip rect", ".strip circle", ".strip .whisker", ".strip .tick", ".plot path"]
.map((q) => document.querySelectorAll(q).length)"""


def meant(made: Report) -> list[int]:
    """How many bars, dots, whiskers (a line and two ends), ticks and curves a page should have."""
    blocks = [block.to_json() for section in made.sections for block in section.blocks]
    marks = [mark for b in blocks for row in b.get("rows", ()) for mark in row["marks"]]
    wide = Counter(mark["kind"] for mark in marks if mark["low"] != mark["high"])
    every = Counter(mark["kind"] for mark in marks)
    curves = sum(len(trace["curves"]) for b in blocks for trace in b.get("traces", ()))
    bars = wide["bar"] + wide["band"]
    return [bars, every["dot"], 3 * wide["whisker"], every["tick"], curves]


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    return reported(material()).save(tmp_path_factory.mktemp("report"))


def asked_elsewhere(browser: Browser, page: Path) -> list[str]:
    return [url for url in browser.requests if not url.startswith(("data:", page.as_uri()))]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_drawn_quietly_within_its_width(browser, page, width, dark):
    browser.open(page, width=width, dark=dark)
    assert browser.troubles == []
    assert asked_elsewhere(browser, page) == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    heights = browser.evaluate("[...document.querySelectorAll('section')].map(s => s.offsetHeight)")
    assert len(heights) == len(SECTIONS) and min(heights) > 60
    assert browser.evaluate(UNDRAWN) == 0
    assert browser.evaluate(DRAWN) == meant(reported(material()))
    assert browser.evaluate(FAINT) == []


def test_the_ground_follows_the_scheme(browser, page):
    grounds = []
    for dark in (False, True):
        browser.open(page, dark=dark)
        grounds.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(255, 255, 255)", "rgb(20, 23, 28)"]


def test_a_screen_reader_finds_its_way(browser, page):
    browser.open(page)
    assert browser.evaluate(STUMBLES) == []


def test_the_barest_report_is_sound_too(browser, tmp_path):
    bare = reported(Material(before=replace(material().before, failures=None, notes=())))
    browser.open(bare.save(tmp_path), width=360)
    assert browser.troubles == []
    assert browser.evaluate(STUMBLES) == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360


def test_it_can_be_printed(browser, page):
    browser.open(page)
    assert browser.printed().startswith(b"%PDF")


# Zoom: one stretch of time for all joints.

VIEWS = (
    "[...document.querySelectorAll('.plot svg')].map(s => s.getAttribute('viewBox')"
    ".split(' ').map(Number))"
)


def stretch(browser: Browser) -> tuple[float, float]:
    """The begin and the width, in ms, that all panels show."""
    views = browser.evaluate(VIEWS)
    assert len({(view[0], view[2]) for view in views}) == 1, "panels show different stretches"
    return views[0][0], views[0][2]


def test_keys_zoom_all_joints(browser, page):
    browser.open(page)
    _, whole = stretch(browser)
    browser.evaluate("document.querySelector('.plot').focus()")
    browser.press("+")
    begin, width = stretch(browser)
    assert width == pytest.approx(whole / 2) and begin == pytest.approx(whole / 4)
    browser.press("ArrowRight")
    assert stretch(browser)[0] == pytest.approx(begin + 0.25 * width)
    browser.press("-")
    browser.press("0")
    assert stretch(browser) == (0, whole)
    assert browser.troubles == []


def test_buttons_zoom_and_say_where(browser, page):
    browser.open(page)
    _, whole = stretch(browser)
    browser.evaluate("document.querySelector('[data-zoom=in]').click()")
    assert stretch(browser)[1] == pytest.approx(whole / 2)
    assert " s" in browser.evaluate("document.querySelector('.zoom output').textContent")
    browser.evaluate("document.querySelector('[data-zoom=all]').click()")
    assert stretch(browser) == (0, whole)


def test_dragging_shows_that_stretch_and_its_heights(browser, page):
    browser.open(page)
    browser.evaluate("document.querySelector('.plot').scrollIntoView({behavior: 'instant'})")
    box = browser.evaluate(
        "(b => [b.x, b.y, b.width, b.height])"
        "(document.querySelector('.plot').getBoundingClientRect())"
    )
    (before, *_), (_, whole) = browser.evaluate(VIEWS), stretch(browser)
    x, y = box[0], box[1] + box[3] / 2
    browser.drag((x + 0.2 * box[2], y), (x + 0.3 * box[2], y))
    begin, width = stretch(browser)
    assert begin == pytest.approx(0.2 * whole, rel=0.02)
    assert width == pytest.approx(0.1 * whole, rel=0.02)
    assert browser.evaluate(VIEWS)[0][3] < before[3], "a short stretch needs less height"


# Films.


@pytest.mark.gl
def test_films_play_and_lie_beside_the_text(browser, tmp_path):
    films, why = films_of(world(), episodes(), most=1)
    assert (len(films), why) == (1, "")
    made = reported(replace(material(), films=films))
    page = made.save(tmp_path)
    assert (tmp_path / f"{films[0].name}.webm").read_bytes() == films[0].webm
    assert f"({films[0].name}.webm)" in made.markdown()
    assert "rehearsal robot" in films[0].says
    browser.open(page)
    size = browser.evaluate(
        "new Promise((done) => { const v = document.querySelector('video');"
        "const tell = () => done([v.videoWidth, v.videoHeight, v.duration]);"
        "v.readyState ? tell() : (v.onloadedmetadata = tell);"
        "v.onerror = () => done([0, 0, 0]); })"
    )
    assert size[:2] == [644, 240]
    assert size[2] == pytest.approx(films[0].seconds, abs=0.3)
    assert browser.troubles == []


# The checks themselves, on a page that is wrong.


@dataclass(frozen=True, kw_only=True)
class Raw(Block):
    """HTML as it is."""

    text: str

    def html(self) -> str:
        return self.text

    def markdown(self) -> str:
        return ""

    def to_json(self) -> dict[str, Any]:
        return {}


WRONG = (
    '<img src="http://example.org/x.png">'
    "<script>window.ran = 1</script>"
    "<h4>skips</h4><table><tr><td>x</td></tr></table>"
    '<svg width="3" height="3"></svg><div class="wide">x</div>'
)


def test_a_page_that_is_wrong_is_found_out(browser, tmp_path):
    section = Section(key="a", title="A", blocks=(Raw(text=WRONG),))
    made = Report(title="t", sections=(section,), rehearsal=False)
    browser.open(made.save(tmp_path))
    assert any("Content Security Policy" in trouble for trouble in browser.troubles)
    assert browser.evaluate("window.ran === undefined"), "a script that is not ours ran"
    stumbles = browser.evaluate(STUMBLES)
    assert any("skips a level" in s for s in stumbles)
    assert "a table without a caption" in stumbles
    assert browser.evaluate(UNDRAWN) == 1
    browser.evaluate("document.querySelector('.wide').style.width = '3000px'")
    assert browser.evaluate("document.documentElement.scrollWidth") > 1280
    browser.evaluate("document.querySelector('.wide').style.color = '#ccc'")
    assert any("wide" in bad for bad in browser.evaluate(FAINT))
