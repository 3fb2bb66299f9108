"""Recording in a run: what the guard stops is left out, and the rest is recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.loop.turns import JOINTS, REACH, TINY, job, without_plan
from tests.plan.reports import report
from trueup.episodes import Dataset, Outcome
from trueup.errors import TrueupError
from trueup.loop import Job
from trueup.loop.stages import recording
from trueup.plan import planned
from trueup.worlds import get


def crooked(folder: Path, motions: tuple[str, ...], said: list[str]) -> Job:
    """A run with an arm put together a tooth off, whose elbow rubs when it is pushed."""
    values = {f"actuation/{joint}/zero_offset": -0.2566 for joint in JOINTS}
    values["actuation/elbow_flex/load_friction"] = 0.747
    reality = {"trueup_reality": 1, "story": "Crooked.", "world": REACH, "values": values}
    (folder / "crooked.json").write_text(json.dumps(reality))
    robot = f"rehearsal:{folder / 'crooked.json'}@{REACH}"
    settings = replace(TINY, robot=robot, motions=motions, seconds=90.0)
    made = job(folder, settings, say=said.append)
    without_plan(made)
    return made


@pytest.mark.parametrize(("points", "more"), [(12, "2 more items"), (54, "1 more item")])
def test_the_plan_counts_its_items(tmp_path, points, more):
    made = job(tmp_path)
    report(world=REACH, latency=points).save(made.path("look/gaps.json"))
    assert recording.plan(made).endswith(f", and {more}")


@pytest.mark.parametrize(
    ("blamed", "wanted"),
    [
        (report(world="so101/push", contact=40), ("standard", "probes", "stops", "carry")),
        (report(world="so101/push", visual=40), ("standard", "carry", "stops")),
        (
            report(world="so101/push", sensing=40),
            ("standard", "stops", "carry", "holds", "triangle"),
        ),
    ],
)
def test_where_the_plan_begins_with_probes_there_is_time_for_them(blamed, wanted):
    """What the loop records by itself left time for one probe, and contact needs two."""
    protocol = planned(blamed, world=get("so101/push"))
    assert recording.asked(protocol, ("standard", "stops", "carry")) == wanted


def test_a_motion_that_the_guard_stops_is_left_out(tmp_path):
    said: list[str] = []
    made = crooked(tmp_path, ("triangle", "prbs"), said)
    assert recording.record(made).endswith("1 of them cut short")
    assert any("'triangle' was left out: 'elbow_flex' has been pushing" in line for line in said)
    data = Dataset.open(made.path(recording.DATA))
    outcomes = {data.about(i).origin["motion"]["kind"]: data.about(i).outcome for i in range(2)}
    assert outcomes["triangle"] is Outcome.ABORTED
    assert outcomes["prbs"] is None


def test_where_it_stops_all_of_them_nothing_was_recorded(tmp_path):
    made = crooked(tmp_path, ("triangle",), [])
    with pytest.raises(TrueupError, match="ended early: 'elbow_flex' has been pushing"):
        recording.record(made)
    assert not made.path(recording.DATA).exists()


def misled(folder: Path, values: dict[str, float], said: list[str]) -> Job:
    """A run that carries a cube twice, beside a camera that sees it elsewhere."""
    reality = {"trueup_reality": 1, "story": "High.", "world": "so101/lift", "values": values}
    (folder / "high.json").write_text(json.dumps(reality))
    robot = f"rehearsal:{folder / 'high.json'}@so101/lift"
    settings = replace(TINY, world="so101/lift", robot=robot, motions=("carry",), seconds=90.0)
    made = job(folder, settings, say=said.append)
    without_plan(made)
    return made


def test_a_thing_that_stands_out_of_reach_is_put_elsewhere(tmp_path):
    """A camera that sees everything 14 mm too high puts what stands far out beyond reach."""
    said: list[str] = []
    made = misled(tmp_path, {f"visual/tracker/bias_{axis}": 0.01353 for axis in "xyz"}, said)
    recording.record(made)
    data = Dataset.open(made.path(recording.DATA))
    kinds = [data.about(i).labels["kind"] for i in range(len(data))]
    left_out = sum("was left out" in line for line in said)
    assert kinds.count("carry") + left_out == 2  # as many as there are, or a sentence
    assert "carry" in kinds


def test_a_thing_that_was_missed_is_taken_where_the_table_has_it(tmp_path):
    """Seen 27 mm too high, it is grasped above its top."""
    said: list[str] = []
    made = misled(tmp_path, {"visual/tracker/bias_z": 0.027}, said)
    recording.record(made)
    assert sum("did not get hold of the cube" in line for line in said) == 1
    data = Dataset.open(made.path(recording.DATA))
    by_table = [data.about(i).origin["motion"].get("by_table", False) for i in range(len(data))]
    assert by_table == [False, True]
    heights = [episode["cube_position"].values[:, 2] for episode in data]
    raised = [float(height.max() - height[0]) for height in heights]
    assert raised[0] < 0.015 < 0.05 < raised[1]
