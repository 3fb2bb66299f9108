"""Each section of a report adds up, and says what is unsure."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.diagnose.failed_trials import world
from tests.plan.reports import report
from tests.report.told import DAMPING, DELAY, MASS, controls, estimate, material
from trueup.diagnose import Rate
from trueup.plan import planned
from trueup.report import Difference, Material, Section, Tried, reported
from trueup.report.blocks import Curve, Kind, Table, Tone, Trace, Traces
from trueup.report.sections.gaps import waterfall


def table(section: Section, number: int = 0) -> Table:
    return [block for block in section.blocks if isinstance(block, Table)][number]


# The answer.


def test_the_answer_has_three_sentences():
    three = reported(material()).section("answer").data["sentences"]
    assert len(three) == 3
    assert "95 %" in three[0] and "40 % (20 of 50)" in three[0]
    assert "latency costs the most" in three[0]
    assert "62 s of recordings (3 motions) pinned 1 of 3 parameters and left 1 untold" in three[1]
    assert "54 of the 55 lost points came back." in three[2]


def test_a_rise_that_may_be_chance_is_called_so():
    before = report(latency=30, measured=(8, 20))
    few = Tried(simulated=before.simulated, measured=Rate(successes=10, trials=20))
    many = Tried(simulated=before.simulated, measured=Rate(successes=19, trials=20))
    none = Tried(simulated=before.simulated, measured=Rate(successes=7, trials=20))
    said = [
        reported(Material(before=before, after=a)).section("answer").data["sentences"][2]
        for a in (few, many, none)
    ]
    assert "cannot tell from chance" in said[0]
    assert "chance" not in said[1]
    assert "none of the 55 lost points came back" in said[2]


def test_where_nothing_was_lost_no_cause_is_named():
    said = reported(Material(before=report(measured=(48, 50)))).section("answer").markdown()
    assert "nothing worth a search was lost" in said


def test_an_estimate_that_was_not_given_is_not_said_to_be_missing_from_the_world():
    heard, alone = (
        reported(Material(before=report(latency=30, evidence=evidence)))
        .section("answer")
        .data["sentences"][1]
        for evidence in (("trials", "recordings"), ("trials",))
    )
    assert "rests on recordings" in heard and "was given no estimate" in heard
    assert "Nothing has been identified" in alone


def test_a_plan_from_the_first_look_is_not_told_as_what_is_next():
    look = report(latency=20, contact=20, evidence=("trials",))
    before = replace(report(latency=40), sentences=("a", "b", "Train again."))
    told = Material(before=before, look=look, protocol=planned(look, world=world()))
    made = reported(told)
    assert "before anything was recorded" in made.section("plan").markdown()
    assert made.section("answer").data["sentences"][2] == "Train again."
    fresh = reported(replace(told, protocol=planned(before, world=world())))
    assert "before anything was recorded" not in fresh.section("plan").markdown()
    assert fresh.section("answer").data["sentences"][2].startswith("Next: ")


def test_what_was_left_aside_is_told_where_recordings_are():
    told = replace(material(), identified="2 of 3 numbers differ; probes were left aside")
    assert "probes were left aside." in reported(told).section("recorded").markdown()


# The waterfall.


@given(
    points=st.lists(st.floats(-20, 40), min_size=3, max_size=3),
    measured=st.integers(0, 50),
)
def test_the_steps_lead_from_simulation_to_the_robot(points, measured):
    latency, contact, visual = points
    told = report(latency=latency, contact=contact, visual=visual, measured=(measured, 50))
    drawn = waterfall(told, caption="")
    bars = [next(m for m in row.marks if m.kind is Kind.BAR) for row in drawn.rows]
    level = 100 * told.simulated.share
    assert bars[0].high == level
    for bar in bars[1:-1]:
        assert bar.high == pytest.approx(level)
        level = bar.low
    assert level == pytest.approx(100 * told.measured.share)
    assert bars[-1].high == 100 * told.measured.share


def test_a_step_that_may_be_nothing_is_grey():
    drawn = waterfall(report(latency=31, contact=3, visual=-20), caption="")
    tones = {row.cells[0]: row.marks[0].tone for row in drawn.rows}
    assert tones["latency"] is Tone.LOST
    assert tones["contact"] is Tone.UNSURE
    assert tones["visual"] is Tone.WON


def test_a_step_of_nothing_has_no_sign():
    rows = waterfall(report(latency=31, visual=-0.01), caption="").rows
    assert {row.cells[0]: row.cells[1] for row in rows}["visual"] == "0.0"


# Parameters.


def test_parameters_stand_in_units_of_what_was_believed():
    drawn = table(reported(material()).section("parameters"))
    rows = {row.cells[0]: row for row in drawn.rows}
    assert [row.cells[-1] for row in drawn.rows] == ["pinned", "partly", "not told"]
    assert rows[DAMPING].marks[0].tone is Tone.UNSURE
    for found in estimate().findings:
        low, high = rows[found.name].marks[0].low, rows[found.name].marks[0].high
        assert (high - low) / 2 == pytest.approx(found.left)  # also where the scale is logarithmic
    assert rows[DELAY].cells[2] == "60 ms"
    assert rows[MASS].cells[2] == "50 g"


def test_two_estimates_say_what_they_cannot_tell_under_one_head():
    other = replace(estimate(), unseen=("The table's tilt was not told.",))
    made = reported(replace(material(), estimates=(estimate(), other)))
    told = made.section("parameters").markdown()
    assert told.count("What these data cannot tell") == 1
    assert "of the elbow cannot be told apart" in told and "tilt was not told" in told


def test_a_parameter_that_two_estimates_tell_of_has_one_row_and_the_last_counts():
    one = estimate()
    last = replace(
        one, findings=tuple(replace(f, value=2 * f.value, left=0.9) for f in one.findings)
    )
    made = reported(replace(material(), estimates=(one, last)))
    drawn = table(made.section("parameters"))
    assert sorted(row.cells[0] for row in drawn.rows) == sorted(f.name for f in one.findings)
    assert {row.cells[0]: row.cells[2] for row in drawn.rows}[DELAY] == "120 ms"
    assert "of 3 parameters" in made.section("answer").data["sentences"][1]


def test_what_arithmetic_leaves_of_zero_is_zero():
    one = estimate()
    nearly = replace(one.findings[0], value=-4.44e-16, before=-1e-17)
    told = replace(material(), estimates=(replace(one, findings=(nearly, *one.findings[1:])),))
    rows = {row.cells[0]: row for row in table(reported(told).section("parameters")).rows}
    assert rows[DELAY].cells[1:3] == ("0", "0 ms")


def test_departures_take_the_place_of_estimates():
    from tests.plan.reports import departure

    told = report(latency=30, departures=(departure(DELAY, left=0.25, away=0.5),))
    drawn = table(reported(Material(before=told)).section("parameters"))
    band, dot = drawn.rows[0].marks
    assert (band.high - band.low) / 2 == pytest.approx(0.25)
    assert dot.low == pytest.approx(0.5 / 1.645, rel=1e-3)


# Curves.


def decoded(path: str) -> list[np.ndarray]:
    """The stretches of a path: (k, 2) each."""
    found, at = [], np.zeros(2, int)
    for word, x, y in re.findall(r"([ml])(-?\d+) (-?\d+)", path):
        at = at + np.array([int(x), int(y)])
        if word == "m":
            found.append([])
        found[-1].append(at)
    return [np.array(stretch) for stretch in found]


def test_a_path_holds_the_curve_and_its_gaps():
    time_s = 0.02 * np.arange(500) + 3.0
    values = np.sin(time_s)
    values[200:210] = np.nan
    curve = Curve(name="measured", time_s=time_s, values=values)
    block = Traces(says="", traces=(Trace(name="j", unit="rad", curves=(curve,), says=""),))
    page = block.html()
    low, high = (float(*re.findall(rf'data-{n}="([^"]+)"', page)) for n in ("low", "high"))
    first, second = decoded(*re.findall(r'<path class="measured" d="([^"]+)"', page))
    assert (len(first), len(second)) == (200, 290)
    drawn = np.concatenate([first, second])
    there = np.isfinite(values)
    assert drawn[:, 0] == pytest.approx(1e3 * (time_s[there] - 3.0), abs=0.51)
    back = high - (high - low) * drawn[:, 1] / 10_000
    assert back == pytest.approx(values[there], abs=2e-4)


def test_a_simulation_that_runs_away_does_not_flatten_the_rest():
    time_s = np.arange(100) / 50
    real = Curve(name="measured", time_s=time_s, values=np.sin(time_s))
    away = Curve(name="simulated before", time_s=time_s, values=1e6 * time_s)
    page = Traces(
        says="", traces=(Trace(name="j", unit="rad", curves=(away, real), says=""),)
    ).html()
    assert float(*re.findall(r'data-high="([^"]+)"', page)) < 3.0


# Failures, latency, controls.


def test_every_failure_is_counted_in_its_phase():
    told = reported(material()).section("failures")
    found = told.data["before"]
    assert found["failed"] > 0, "the bumped camera must make trials fail"
    drawn = table(told)
    assert {row.cells[0]: int(row.cells[1]) for row in drawn.rows} == found["by_phase"]
    assert sum(row.marks[0].high for row in drawn.rows) == found["failed"]


def test_parts_of_the_latency_follow_each_other():
    drawn = table(reported(material()).section("latency"))
    bars = [row.marks[0] for row in drawn.rows]
    assert [bar.low for bar in bars[1:-1]] == pytest.approx([bar.high for bar in bars[:-2]])
    assert bars[-2].high == pytest.approx(bars[-1].high) == pytest.approx(56.0)


def test_a_method_that_does_not_beat_its_controls_is_told_so():
    told = material()
    assert "24 points less (paired" in table(reported(told).section("controls")).says
    better = replace(controls()[0], rate=Rate(successes=49, trials=50), steps=2000)
    says = table(reported(replace(told, controls=(better,))).section("controls")).says
    assert "the method earns nothing" in says
    assert "no fair comparison" in says
    maybe = replace(controls()[1], behind=Difference(points=24.0, low=-2.0, high=50.0))
    says = table(reported(replace(told, controls=(maybe,))).section("controls")).says
    assert "may be chance" in says
