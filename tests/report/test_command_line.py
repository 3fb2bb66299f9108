"""`trueup report`, as typed, on files that other verbs write. All of it is sim-to-sim."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.plan.reports import report
from tests.report.told import BUDGET, episodes, estimate
from trueup.cli import main
from trueup.diagnose import Rate
from trueup.episodes import Writer
from trueup.errors import TrueupError
from trueup.plan import planned
from trueup.report import Recorded, Tried, read_after, read_latency
from trueup.space import JointNormal
from trueup.worlds import get

RESULT = {"world": "so101/lift", "label": "sim-to-sim", "success": 18, "trials": 20}

OTHER = JointNormal(("actuation/knee/kp",), np.array([1.0]), np.eye(1))


@pytest.fixture
def folder(tmp_path) -> Path:
    """What a first turn of the loop leaves behind."""
    told = report(latency=40, contact=10)
    told.save(tmp_path / "gaps.json")
    planned(told, world=get("so101/lift")).save(tmp_path / "protocol.json")
    estimate().save(tmp_path / "estimate.json")
    for name in ("trials/episodes", "recordings"):
        with Writer(tmp_path / name) as writer:
            for episode in episodes():
                origin = {**episode.origin, "world": "so101/lift"}
                writer.add(replace(episode, origin=origin, labels={"motion": "grasp"}))
    (tmp_path / "trials" / "result.json").write_text(
        json.dumps({**RESULT, "latency_budget": BUDGET})
    )
    return tmp_path


def said(capsys, *words: str, code: int = 0) -> str:
    assert main(["report", *words]) == code
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return out + err


def words(folder: Path, **more: str) -> list[str]:
    told = {"gaps": "gaps.json", "out": "report", "films": "0", "threads": "1", **more}
    files = ("gaps", "out", "after", "estimate", "protocol", "recordings", "trials")
    return [
        word
        for name, value in told.items()
        for word in (f"--{name}", str(folder / value) if name in files else value)
    ]


EVERYTHING = {
    "after": "trials/result.json",
    "estimate": "estimate.json",
    "protocol": "protocol.json",
    "recordings": "recordings",
    "trials": "trials",
    "title": "One arm",
}


def test_everything_that_is_given_is_told(capsys, folder):
    text = said(capsys, *words(folder, **EVERYTHING))
    assert "latency costs the most" in text and "sim-to-sim" in text
    assert "Traceback" not in text
    kept = json.loads((folder / "report" / "report.json").read_text())
    assert kept["title"] == "One arm"
    sections = {section["key"]: section for section in kept["sections"]}
    assert sections["latency"]["data"]["budget"] == BUDGET
    assert sections["failures"]["data"]["before"]["trials"] == len(episodes())
    assert sections["recorded"]["data"]["recordings"]["motions"] == {"grasp": len(episodes())}
    assert sections["joints"]["blocks"][0]["kind"] == "traces"
    assert sections["plan"]["data"]["protocol"]["items"]
    (line,) = sections["provenance"]["data"]["commands"]
    assert line.startswith("trueup report --gaps") and "--title 'One arm'" in line


def test_a_gap_report_alone_will_do(capsys, folder):
    found = json.loads(said(capsys, *words(folder), "--json"))
    assert found["label"] == "sim-to-sim"
    assert len(found["answer"]) == 3
    assert all(Path(path).is_file() for path in found["files"])


def test_without_graphics_there_is_a_report_without_films(folder):
    command = [str(Path(sys.executable).with_name("trueup")), "report"]
    told = words(folder, trials="trials", films="1")
    done = subprocess.run(
        [*command, *told],
        env={**os.environ, "MUJOCO_GL": "disable"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    text = (folder / "report" / "report.md").read_text(encoding="utf-8")
    assert "There are no films. Pictures cannot be drawn" in text
    assert "by phase" in text or "in each phase" in text


def test_bad_input_is_one_sentence(capsys, folder):
    (folder / "list.json").write_text("[]")
    (folder / "empty.json").write_text("{}")
    other = {**RESULT, "world": "so101/push"}
    (folder / "other.json").write_text(json.dumps(other))
    for name, words_of_it in {
        "list.json": "holds no JSON object",
        "empty.json": "neither a gap report nor the result of trials",
        "other.json": "is of so101/push",
        "none.json": "could not be read",
    }.items():
        assert words_of_it in said(capsys, *words(folder, after=name), code=2)
    assert "is not a gap report" in said(capsys, *words(folder, gaps="empty.json"), code=2)
    assert "no dataset at" in said(capsys, *words(folder, trials="nowhere"), code=2)
    blocked = folder / "blocked"
    blocked.write_text("a file")
    assert "a file in its way" in said(capsys, *words(folder, out="blocked"), code=2)
    assert blocked.read_text() == "a file"


def test_things_of_two_worlds_are_refused_with_both_named(capsys, folder):
    with Writer(folder / "pushed") as writer:
        for episode in episodes():
            writer.add(replace(episode, origin={**episode.origin, "world": "so101/push"}))
    for text in (
        said(capsys, *words(folder, trials="pushed"), code=2),
        said(capsys, *words(folder, world="so101/push"), code=2),
    ):
        assert "is of so101/push, and the gap report is of so101/lift" in text
    replace(estimate(), world="other/arm", belief=OTHER).save(folder / "other.json")
    text = said(capsys, *words(folder, estimate="other.json"), code=2)
    assert "is of other/arm" in text and "so101/lift" in text
    assert "--films is -1" in said(capsys, *words(folder, films="-1"), code=2)
    assert not (folder / "report").exists()


def test_what_is_read_is_not_written_over(capsys, folder):
    report(latency=40).save(folder / "report.json")
    text = said(capsys, "--gaps", str(folder / "report.json"), "--out", str(folder), code=2)
    assert "would overwrite" in text


def test_results_of_trials_are_read(folder):
    before = report(latency=40)
    path = folder / "trials" / "result.json"
    after = read_after(path, before)
    assert after == Tried(simulated=before.simulated, measured=Rate(successes=18, trials=20))
    path.write_text(json.dumps({**RESULT, "simulated": {"success_share": 0.95}}))
    assert read_after(path, before).simulated == Rate(successes=19, trials=20)
    again = replace(before, policy="another")
    again.save(folder / "after.json")
    assert read_after(folder / "after.json", before) == again


def test_a_budget_is_found_beside_the_trials(folder):
    assert read_latency(folder / "trials") == BUDGET
    assert read_latency(folder / "trials" / "episodes") == BUDGET
    assert read_latency(folder / "recordings") is None
    (folder / "trials" / "result.json").write_text("{")
    with pytest.raises(TrueupError, match="is not JSON"):
        read_latency(folder / "trials")


def test_recordings_are_counted_without_reading_them(folder):
    from trueup.episodes import Dataset

    found = Recorded.of(Dataset.open(folder / "recordings"))
    assert found.episodes == len(episodes())
    lengths = [len(e["joint_position"]) * e.period_s for e in episodes()]
    assert found.seconds == pytest.approx(sum(lengths), rel=0.02)
