"""How large the page of a long run is, and how soon a browser shows it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.browser import MISSING, chromium, found
from benchmarks.measure import Effort, Measure, Target
from trueup.diagnose import UNEXPLAINED, Departure, GapReport, Rate, Share
from trueup.replay import Panel
from trueup.report import Material, reported
from trueup.report.blocks import Film
from trueup.report.filming import encoded
from trueup.space import Gap

_JOINTS, _READINGS = 12, 6000  # two arms, two minutes at 50 Hz
_PARAMETERS, _FILMS, _FRAMES = 120, 6, 100
_SHOWN = "Promise.all([document.fonts.ready, new Promise(requestAnimationFrame)]).then(() => 1)"


def measure(effort: Effort) -> list[Measure]:
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        page = reported(_material(generator)).save(Path(name) / "report")
        size = page.stat().st_size / 2**20
        what = f"a report of {_JOINTS} joints, {_PARAMETERS} parameters and {_FILMS} films"
        rows = [
            Measure(
                what=f"{what}: its page", value=size, unit="MiB", target=Target(side="<", value=15)
            )
        ]
        if found() is None:
            return [*rows, Measure(what="the same, opened", value=None, note=MISSING)]
        seconds = _opened(page, Path(name), effort.turns(10))
        target = Target(side="<", value=2.0)
        return [*rows, Measure.of("the same, opened in Chromium", seconds, unit="s", target=target)]


def _opened(page: Path, folder: Path, turns: int) -> np.ndarray:
    seconds = []
    with chromium(folder) as browser:
        for turn in range(turns):
            begin = time.perf_counter()
            browser.open(page, width=(360, 768, 1280)[turn % 3])
            browser.evaluate(_SHOWN)
            seconds.append(time.perf_counter() - begin)
            assert browser.troubles == [], browser.troubles
    return np.array(seconds)


def _material(generator: np.random.Generator) -> Material:
    shares = [Share(gap=str(gap), points=6.0, low=2.0, high=9.0) for gap in Gap]
    before = GapReport(
        world="so101/lift",
        policy="lift",
        real=False,
        evidence=("trials", "recordings", "probes"),
        simulated=Rate(successes=980, trials=1000),
        measured=Rate(successes=20, trials=50),
        shares=tuple(shares),
        unexplained=Share(gap=UNEXPLAINED, points=10.0, low=1.0, high=14.0),
        departures=tuple(_departure(k, generator) for k in range(_PARAMETERS)),
    )
    return Material(
        before=before,
        overlays=(
            [_panel(k, 0.05, generator) for k in range(_JOINTS)],
            [_panel(k, 0.002, generator) for k in range(_JOINTS)],
        ),
        films=tuple(_film(k, generator) for k in range(_FILMS)),
    )


def _departure(k: int, generator: np.random.Generator) -> Departure:
    value, left = generator.normal(), generator.uniform(0.01, 1.0)
    return Departure(
        name=f"actuation/joint_{k}/damping",
        unit="1",
        nominal=0.0,
        value=value,
        low=value - left,
        high=value + left,
        left=left,
    )


def _panel(k: int, off: float, generator: np.random.Generator) -> Panel:
    time_s = 0.02 * np.arange(_READINGS)
    measured = np.sin((0.3 + 0.1 * k) * time_s) + 0.002 * generator.normal(size=_READINGS)
    return Panel(
        title=f"joint_{k}",
        unit="rad",
        time_s=time_s,
        measured=measured,
        simulated=measured + off * generator.normal(size=_READINGS),
        told_s=time_s,
        told=np.sin((0.3 + 0.1 * k) * time_s),
    )


def _film(k: int, generator: np.random.Generator) -> Film:
    """Eight seconds that hardly compress: a picture of noise that moves."""
    return Film(name=f"film-{k}", webm=encoded(_frames(generator)), says=f"Film {k}.", seconds=8.0)


def _frames(generator: np.random.Generator) -> Iterator[np.ndarray]:
    picture = generator.integers(0, 256, (30, 80, 3), np.uint8).repeat(8, 0).repeat(8, 1)
    return (np.roll(picture, 3 * k, axis=1) for k in range(_FRAMES))
