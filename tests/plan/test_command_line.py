"""`trueup plan` and `trueup record --protocol`, as typed. All of it is sim-to-sim."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.plan.reports import departure, report
from trueup.cli import main
from trueup.episodes import Dataset
from trueup.plan import Kind, Protocol
from trueup.space import Space


@pytest.fixture
def gaps(tmp_path) -> str:
    report(object=28, latency=12, visual=10).save(tmp_path / "gaps.json")
    return str(tmp_path / "gaps.json")


def said(capsys, *words: str, code: int = 0) -> str:
    assert main(list(words)) == code
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return out + err


def test_words_come_first_then_the_table(capsys, gaps, tmp_path):
    text = said(capsys, "plan", gaps, "--out", str(tmp_path / "protocol.json"))
    lines = text.splitlines()
    assert lines[0].startswith("Of 55 lost points")
    assert lines[1].startswith("Begin with item 1")
    assert "80 % power" in lines[2]
    assert lines[2].endswith("sim-to-sim: no real robot took part.")
    assert text.index("a minute") > text.index(lines[2])
    protocol = Protocol.load(tmp_path / "protocol.json")
    assert json.loads(said(capsys, "plan", gaps, "--json")) == json.loads(
        json.dumps(protocol.to_json())
    )


def test_bad_input_is_one_sentence(capsys, gaps, tmp_path):
    assert "not a gap report" in said(capsys, "plan", _file(tmp_path, "{}"), code=2)
    assert "could not be read" in said(capsys, "plan", str(tmp_path / "none.json"), code=2)
    text = said(capsys, "plan", gaps, "--out", gaps, code=2)
    assert "would overwrite" in text
    text = said(
        capsys, "record", "--item", "1", "--out", "x", "--robot", "rehearsal:benign", code=2
    )
    assert "there is no --protocol" in text


@pytest.mark.parametrize("worth", ["nan", "-5", "inf"])
def test_what_is_worth_while_is_a_number_of_points(capsys, gaps, worth):
    assert f"begins at {worth} points" in said(capsys, "plan", gaps, "--worth", worth, code=2)


def test_a_diagnosis_of_another_world_is_refused_with_both_named(capsys, gaps):
    for words in (("plan", gaps, "--world", "so101/push"), ("plan", "outlook", "so101/push")):
        more = ("--gaps", gaps) if "outlook" in words else ()
        text = said(capsys, *words, *more, code=2)
        assert "is a diagnosis in so101/lift, not in so101/push" in text


def test_the_command_to_copy_is_for_an_item_that_a_robot_can_carry_out(capsys, tmp_path):
    odd = tmp_path / "my [arm] 1"
    odd.mkdir()
    told = (departure("latency/action_delay", left=0.05, away=3.0),)
    report(latency=50, departures=told).save(odd / "gaps.json")
    out = odd / "protocol.json"
    text = said(capsys, "plan", str(odd / "gaps.json"), "--out", str(out))
    protocol = Protocol.load(out)
    assert protocol.items[0].kind is Kind.TRAIN
    item = protocol.first_recording
    if item is not None:
        line = next(line for line in text.splitlines() if line.startswith("Carry item"))
        words = shlex.split(line.partition(": ")[2])
        assert words[:6] == ["trueup", "record", "--protocol", str(out), "--item", str(item.number)]
    told_how = said(capsys, "record", "--protocol", str(out), "--item", "1")
    assert "trueup narrow so101/lift" in told_how and "--space space.json" in told_how


def test_without_items_there_is_no_command_to_copy(capsys, tmp_path):
    report(measured=(48, 50)).save(tmp_path / "gaps.json")
    words = ("plan", str(tmp_path / "gaps.json"), "--out", str(tmp_path / "protocol.json"))
    assert "--item" not in said(capsys, *words)


def test_an_outlook_says_where_it_comes_from(capsys, gaps):
    assert "field experience, not measured here" in said(capsys, "plan", "outlook", "so101/lift")
    found = json.loads(said(capsys, "plan", "outlook", "--people", "--gaps", gaps, "--json"))
    assert found["source"] == "measured"
    assert found["nature"]["people"]


def test_an_item_by_hand_is_told_and_its_result_entered(capsys, gaps, tmp_path):
    file = str(tmp_path / "protocol.json")
    said(capsys, "plan", gaps, "--out", file)
    items = Protocol.load(file).items
    number = next(str(item.number) for item in items if item.name == "weigh-and-measure")
    text = said(capsys, "record", "--protocol", file, "--item", number)
    assert "done by hand" in text
    assert "kitchen scale" in text
    assert f"trueup plan enter {file} --item {number}" in text
    out, mass = str(tmp_path / "space.json"), "object/cube/mass=0.034+-0.001"
    enter = ("plan", "enter", file, "--item", number, "--out", out, "--measured")
    said(capsys, *enter, mass)
    assert "object/cube/mass" in Space.load(out)
    text = said(capsys, *enter, "latency/action_delay=0.03+-0.01", code=2)
    assert "is not about 'latency/action_delay'" in text
    text = said(capsys, *enter, mass, "object/cube/mass=0.05+-0.001", code=2)
    assert "object/cube/mass is measured twice" in text


def test_an_item_is_carried_out_by_the_robot(capsys, gaps, tmp_path):
    file, data = str(tmp_path / "protocol.json"), tmp_path / "data"
    said(capsys, "plan", gaps, "--out", file)
    protocol = Protocol.load(file)
    item = next(item for item in protocol.items if item.name == "excite-for-delay")
    words = ["record", "--protocol", file, "--item", str(item.number)]
    robot = ["--robot", "rehearsal:benign@so101/lift", "--out", str(data), "--duration", "1"]
    assert "--item is missing" in said(capsys, *words[:3], *robot, code=2)
    assert "both say what to do" in said(capsys, *words, *robot, "--motion", "chirp", code=2)
    result = json.loads(said(capsys, *words, *robot, "--json"))
    (recorded,) = result["recordings"]
    assert recorded["label"] == "sim-to-sim"
    episodes = list(Dataset.open(data))
    assert [e.labels["motion"] for e in episodes] == list(item.work.motions * item.work.repeats)
    assert {e.labels["item"] for e in episodes} == {"excite-for-delay"}
    assert {e.labels["protocol"] for e in episodes} == {protocol.report_sha256[:12]}


def test_every_condition_of_an_item_is_recorded_and_labelled(capsys, tmp_path):
    report(visual=54).save(tmp_path / "gaps.json")
    file, data = str(tmp_path / "protocol.json"), tmp_path / "data"
    said(capsys, "plan", str(tmp_path / "gaps.json"), "--worth", "0.5", "--out", file)
    protocol = Protocol.load(file)
    item = next(item for item in protocol.items if item.name == "light-over-the-day")
    words = ["record", "--protocol", file, "--item", str(item.number)]
    words += ["--robot", "rehearsal:benign@so101/lift", "--out", str(data)]
    assert "has no condition 99" in said(capsys, *words, "--condition", "99", code=2)
    text = said(capsys, *words, "--condition", "2")
    assert "Condition 2 of" in text
    (episode,) = Dataset.open(data)
    assert {k: episode.labels[k] for k in item.work.conditions[1]} == item.work.conditions[1]


def _file(folder: Path, text: str) -> str:
    (folder / "file.json").write_text(text)
    return str(folder / "file.json")
