"""A report says the same three times, adds up, and hides nothing that is absent or unsure."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import escape, unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.reports import pair, report
from tests.report.told import controls, material
from trueup.diagnose import Rate
from trueup.errors import TrueupError
from trueup.report import SECTIONS, Material, Report, Section, Tried, reported
from trueup.report.blocks import Prose, Row, Table
from trueup.report.blocks.marks import Scale, upto

KEYS = [
    "answer",
    "gaps",
    "recorded",
    "parameters",
    "joints",
    "failures",
    "latency",
    "plan",
    "controls",
    "provenance",
]


# The whole.


def test_every_question_is_asked_in_order_in_all_three_forms():
    made = reported(material())
    assert [section.key for section in made.sections] == KEYS
    assert re.findall(r'<section id="(\w+)"', made.html()) == KEYS
    assert [section["key"] for section in made.to_json()["sections"]] == KEYS
    titles = [section.title for section in made.sections]
    assert re.findall(r"^## (.*)$", made.markdown(), re.MULTILINE) == titles


def test_every_cell_and_sentence_is_in_all_three_forms():
    made = reported(material())
    page, text = unescape(re.sub(r"<[^>]+>", "", made.html())), made.markdown().replace("\\", "")
    kept = json.dumps(made.to_json(), ensure_ascii=False)
    for section in made.sections:
        for block in section.blocks:
            told = block.to_json()
            cells = [cell for row in told.get("rows", ()) for cell in row["cells"]]
            for word in [*cells, *told.get("items", ()), told.get("says", told.get("text", ""))]:
                plain = word.replace("`", "")
                assert plain in page
                assert plain in text.replace("`", "")
                assert json.dumps(word, ensure_ascii=False)[1:-1] in kept


def test_what_is_absent_is_said_to_be_absent():
    made = reported(Material(before=report(latency=30)))
    assert [section.key for section in made.sections] == KEYS
    said = {section.key: section.markdown() for section in made.sections}
    assert "nothing was recorded besides" in said["recorded"]
    assert "No parameter was identified" in said["parameters"]
    assert "No recording was replayed" in said["joints"]
    assert "No controls were trained" in said["controls"]
    assert "No trials were made since" in said["gaps"]
    assert "not timed" in said["latency"]


@pytest.mark.parametrize("real", [False, True])
def test_a_banner_says_sim_to_sim_unless_a_robot_was_real(real):
    made = reported(Material(before=report(latency=30, real=real)))
    assert ("rehearsal: sim-to-sim" in made.html()) is not real
    assert ("rehearsal: sim-to-sim" in made.markdown()) is not real
    assert made.to_json()["label"] == ("real" if real else "sim-to-sim")
    assert ("rehearsal robot" in made.section("answer").markdown()) is not real


def test_files_are_whole_and_films_lie_beside(tmp_path):
    made = reported(material())
    page = made.save(tmp_path / "report")
    assert page.read_text(encoding="utf-8") == made.html()
    assert json.loads((tmp_path / "report" / "report.json").read_text()) == made.to_json()
    assert sorted(path.name for path in page.parent.iterdir()) == [
        "report.html",
        "report.json",
        "report.md",
    ]


def test_numbers_that_are_none_become_null():
    made = Report(
        title="t",
        rehearsal=True,
        sections=(Section(key="a", title="A", blocks=(), data={"x": np.nan}),),
    )
    assert made.to_json()["sections"][0]["data"] == {"x": None}


def test_two_sections_of_one_name_are_refused():
    twice = (Section(key="a", title="A", blocks=()),) * 2
    with pytest.raises(TrueupError, match="two sections called 'a'"):
        Report(title="t", sections=twice, rehearsal=False)


@pytest.mark.parametrize("made", SECTIONS)
def test_text_from_files_stays_text(made):
    evil = "</p><script>alert(1)</script>|`x`"
    before = replace(
        report(latency=30, interactions=(pair("contact", "latency", 8),)),
        world=evil,
        policy=evil,
        notes=(evil,),
        sentences=(evil,) * 3,
    )
    told = Material(
        before=before,
        stopped=evil,
        controls=(replace(controls()[0], what=evil),),
        after=Tried(simulated=before.simulated, measured=before.measured),
        unfilmed=evil,
        provenance={evil: evil, "commands": [evil]},
    )
    section = made(told)
    assert "<script>" not in section.html()
    assert escape("<script>") in Prose(text=evil).html()


def test_things_of_two_worlds_are_not_told_together():
    with pytest.raises(TrueupError, match="so101/push on a rehearsal robot"):
        Material(before=report(), after=replace(report(), world="so101/push"))
    with pytest.raises(TrueupError, match="do not belong together"):
        Material(before=report(), look=report(real=True))


# Blocks.


@given(st.floats(1e-3, 1e6))
def test_a_scale_holds_its_largest_number(largest):
    scale = upto(largest, "ms")
    assert scale.high >= largest * (1 - 1e-9)
    assert 2 <= len(scale.ticks) <= 6
    assert scale.share(scale.ticks[-1][0]) == pytest.approx(100.0)


def test_a_table_needs_a_cell_for_each_column():
    made = Table(caption="c", says="s", columns=("a", "b"), rows=(Row(cells=("1",)),))
    with pytest.raises(ValueError, match="zip"):
        made.html()


def test_what_lies_beyond_a_scale_stands_at_its_end():
    scale = Scale(low=0.0, high=10.0)
    assert (scale.share(-5.0), scale.share(5.0), scale.share(50.0)) == (0.0, 50.0, 100.0)


# What is broken or missing.


def test_a_replay_that_broke_down_has_no_number():
    before, after = material().overlays or ((), ())
    broken = [replace(panel, simulated=np.full_like(panel.simulated, np.nan)) for panel in before]
    made = reported(replace(material(), overlays=(broken, after)))
    assert "no number, as the physics broke down, before" in made.section("joints").markdown()
    assert "nan" not in made.section("joints").html()
    made = reported(replace(material(), overlays=([], [])))
    assert "No recording was replayed" in made.section("joints").markdown()


def test_a_report_needs_trials():
    none = Tried(simulated=report().simulated, measured=Rate(successes=0, trials=0))
    with pytest.raises(TrueupError, match="`after` rests on no trials"):
        Material(before=report(), after=none)


def test_labels_alone_are_told_in_words():
    told = Material(before=report(latency=30), failures={"sentences": ["Greased fingers fail."]})
    assert "Greased fingers fail." in reported(told).section("failures").markdown()
