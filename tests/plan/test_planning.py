"""From gap reports to protocols: what is planted is what is planned for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tests.identify.test_design import doubting
from tests.plan.reports import departure, pair, report
from trueup.diagnose import GapReport, Rate
from trueup.errors import TrueupError
from trueup.identify.check import Check
from trueup.plan import Costs, Kind, Protocol, planned
from trueup.plan.protocol import sha256_of
from trueup.plan.words import beyond_simulation, sentences
from trueup.worlds import World, get


@cache
def world(name: str = "so101/lift") -> World:
    return get(name)


def plan(found: GapReport, **options) -> Protocol:
    return planned(found, world=world(), **options)


@pytest.mark.parametrize(
    "gap",
    ["contact", "visual", "sensing", "object", "environment", "human", "actuation", "latency"],
)
def test_a_single_gap_is_what_the_first_item_is_against(gap):
    points: dict[str, Any] = {gap: 54.0}
    protocol = plan(report(**points))
    first = protocol.items[0]
    assert first.gap == gap
    assert 0 < first.recovery.low < first.recovery.points < first.recovery.high < 54.0
    assert gap in protocol.sentences[0]


def test_items_are_ranked_by_points_a_minute_and_in_order_never_gives_more_than_was_lost():
    protocol = plan(report(contact=20, visual=15, latency=10))
    rates = [item.per_minute or 0.0 for item in protocol.items]
    assert rates == sorted(rates, reverse=True)
    assert [item.number for item in protocol.items] == list(range(1, len(rates) + 1))
    assert 0 < sum(item.recovery.in_order for item in protocol.items) < protocol.loss


def test_what_is_known_already_needs_no_recording():
    known = (departure("latency/action_delay", left=0.05, away=2.0),)
    protocol = plan(report(latency=50, departures=known))
    assert protocol.items[0].kind is Kind.TRAIN
    assert protocol.items[0].minutes == 0.0
    assert "train again" in protocol.sentences[1]
    open_ = (departure("latency/action_delay", left=0.9, away=0.5),)
    protocol = plan(report(latency=50, departures=open_))
    recording = protocol.first_recording
    assert recording is not None
    assert recording.name == "excite-for-delay"
    assert "latency/action_delay" in recording.work.parameters


def test_more_doubt_makes_a_recording_worth_more():
    def worth(left: float) -> float:
        rows = (departure("contact/fingertip-object/sliding", left=left, away=1.0),)
        protocol = plan(report(contact=50, departures=rows), worth=0.0)
        return max(i.recovery.points for i in protocol.items if i.kind is Kind.PROBES)

    assert worth(0.95) > worth(0.6) > worth(0.3)


def test_one_of_an_interacting_pair_alone_gives_back_less_and_the_words_say_so():
    def best(points: float) -> tuple[float, str]:
        pairs = (pair("contact", "latency", points),) if points else ()
        items = plan(report(contact=27, latency=27, interactions=pairs)).items
        item = next(i for i in items if i.gap == "contact")
        return item.recovery.points, item.why

    assert best(-20)[0] < best(0)[0] < best(20)[0]
    assert "lost to latency alone too" in best(-20)[1]
    assert "lost only together with latency" in best(20)[1]
    assert "latency" not in best(0)[1]


def test_two_gaps_that_each_suffice_to_fail_are_planned_for_though_neither_gives_anything_alone():
    each = (pair("contact", "latency", -54, half=1.0),)
    items = plan(report(contact=27, latency=27, interactions=each)).items
    assert {item.gap for item in items[:2]} == {"contact", "latency"}
    assert items[0].recovery.points < 1.0
    assert items[1].recovery.in_order > 5.0


def test_when_the_cause_is_not_in_the_simulator_it_says_so_and_what_then():
    failures = {"by_phase": {"approach": 2, "contact": 0, "transport": 9, "release": 0}}
    found = report(contact=5, failures=failures)
    protocol = plan(found)
    assert beyond_simulation(found)
    assert "No randomization can help" in protocol.sentences[0]
    assert "cause is not in the simulator" in protocol.sentences[0]
    last = protocol.sentences[-1]
    assert "transport phase" in last
    assert "cables that drag" in last
    assert "residual" in last
    assert protocol.items[0].kind is Kind.RESIDUAL
    assert not beyond_simulation(report(contact=50))
    assert not any("No randomization" in s for s in plan(report(contact=50)).sentences)


def test_a_check_that_fails_is_said():
    found = report(actuation=50)
    outside, inside = (Check(excess={"elbow_flex": times}) for times in (3.0, 1.0))
    assert "reality lies outside" in " ".join(sentences(found, (), outside))
    assert "reality lies outside" not in " ".join(sentences(found, (), inside))


def test_with_an_estimate_motions_are_designed_for_it(tmp_path):
    file = tmp_path / "estimate.json"
    doubting("actuation/elbow_flex/kp").save(file)
    found = plan(report(actuation=50), estimate=file)
    designed = next(item for item in found.items if item.name == "excite-all-joints")
    assert designed.work.design == str(file)
    assert plan(report(actuation=50)).items[0].work.design == ""


def test_no_trials_are_refused():
    found = replace(report(contact=50), measured=Rate(successes=0, trials=0))
    with pytest.raises(TrueupError, match="counts no real trials"):
        plan(found)


def test_a_loss_that_is_not_told_from_none_asks_for_trials_first():
    protocol = plan(report(measured=(9, 10), contact=5))
    assert "is not told from none" in protocol.sentences[0]
    assert "trials would show it" in protocol.sentences[0]


def test_nothing_lost_plans_nothing():
    protocol = plan(report(measured=(49, 50)))
    assert protocol.items == ()
    assert protocol.stop == ()
    assert "Nothing was lost" in protocol.sentences[0]


def test_few_trials_and_weak_evidence_are_said():
    protocol = plan(report(measured=(1, 4), contact=70, evidence=("trials",)))
    assert any("4 trials are fewer than 5" in note for note in protocol.notes)
    assert any("weakest evidence" in note for note in protocol.notes)


def test_a_rehearsal_is_labelled_and_a_real_robot_is_not():
    assert "sim-to-sim" in " ".join(plan(report(contact=50)).sentences)
    assert "sim-to-sim" not in " ".join(plan(report(contact=50, real=True)).sentences)


def test_probes_are_not_planned_where_there_is_nothing_to_touch():
    protocol = planned(report(contact=50, world="so101/arm"), world=world("so101/arm"))
    assert all(item.kind is not Kind.PROBES for item in protocol.items)


def test_costs_decide_the_order(tmp_path):
    found = report(visual=50)
    usual = plan(found).items[0]
    assert usual.name == "carry-in-view"
    assert usual.work.motions == ("standard", "carry") and usual.robot_minutes < 5
    file = tmp_path / "costs.json"
    file.write_text(
        '{"demonstration_minutes": 0.001, "condition_minutes": 0, "start_minutes": 0.1}'
    )
    cheap = plan(found, costs=Costs.load(file))
    assert cheap.items[0].work.demonstrations == 200
    for text, words in (("[]", "holds no costs"), ('{"minutes": 1}', "no cost"), ("{", "read")):
        file.write_text(text)
        with pytest.raises(TrueupError, match=words):
            Costs.load(file)
    file.write_text('{"reset_s": -1}')
    with pytest.raises(TrueupError, match="'reset_s'"):
        Costs.load(file)


def test_a_protocol_comes_back_from_its_file_and_names_its_report(tmp_path):
    found = report(contact=30, environment=20)
    protocol = plan(found)
    protocol.save(tmp_path / "protocol.json")
    again = Protocol.load(tmp_path / "protocol.json")
    assert again.to_json() == protocol.to_json()
    assert again.report_sha256 == sha256_of(found.to_json())
    assert again.report_sha256 != plan(report(contact=31, environment=20)).report_sha256
    with pytest.raises(TrueupError, match="no item 99: it has items 1 to"):
        again.item(99)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("{}", "is not a protocol"),
        ('{"format": "trueup/protocol", "version": 9}', "has version 9"),
        ('{"format": "trueup/protocol", "version": 1}', "is damaged"),
    ],
)
def test_a_bad_file_is_told_in_a_sentence(tmp_path, text, words):
    file = tmp_path / "protocol.json"
    file.write_text(text)
    with pytest.raises(TrueupError, match=words):
        Protocol.load(file)
    with pytest.raises(TrueupError, match="could not be read"):
        Protocol.load(tmp_path / "none.json")


def test_conditions_of_the_environment_are_a_covering_array():
    crowded = (departure("environment/clutter/count", left=0.9, away=1.0),)
    items = plan(report(environment=54, departures=crowded), worth=0.0).items
    matrix = next(item for item in items if item.name == "conditions-matrix")
    assert 9 <= len(matrix.work.conditions) < 18
    assert set(matrix.work.conditions[0]) == {"clutter", "light", "occlusion"}


def test_a_loss_that_is_not_told_has_no_cause_outside_the_simulator():
    few = report(simulated=677, measured=(2, 3))  # a loss of one point, nothing of it explained
    text = " ".join(plan(few).sentences)
    assert "A loss of 1 point in 3 trials" in text
    assert "No randomization can help" not in text and "residual" not in text


def test_training_alone_is_not_followed_by_training_again():
    told = (departure("latency/action_delay", left=0.02, away=3.0),)
    protocol = plan(report(latency=54, departures=told))
    assert protocol.items[0].kind is Kind.TRAIN
    assert "Then train again" not in " ".join(protocol.sentences)
