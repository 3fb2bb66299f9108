"""A robot identified from recordings alone, as a diagnosis does it that has no run folder."""

from __future__ import annotations

import json

import pytest

from trueup.cli.entry import main
from trueup.episodes import Dataset
from trueup.errors import TrueupError
from trueup.loop.identified import Identification, Identified
from trueup.worlds import get

LIFT, ARM = get("so101/lift"), get("so101/arm")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A robot whose commands act late, and whose encoders are read late."""
    folder = tmp_path_factory.mktemp("late")
    values = {"latency/action_delay": 0.11, "latency/encoder_delay": 0.05}
    reality = {"trueup_reality": 1, "story": "Late.", "values": values}
    (folder / "late.json").write_text(json.dumps(reality))
    robot = ["record", "--robot", f"rehearsal:{folder / 'late.json'}@so101/lift"]
    motions = ["--motion", "prbs", "triangle", "carry"]
    assert main([*robot, *motions, "--out", str(folder / "recorded")]) == 0
    return list(Dataset.open(folder / "recorded"))


def identification() -> Identification:
    return Identification(world=LIFT, bare=ARM, fitted=("latency/action_delay",), check=False)


def test_commands_later_than_any_bus_are_no_persons_where_encoders_are_late(recorded, tmp_path):
    """Free motion tells the sum of both delays; things that are held tell the one, so the other."""
    found = identification().of(recorded, ())
    assert found.arm is not None and found.hand_eye is not None
    assert found.arm.point["latency/action_delay"] == pytest.approx(0.11, abs=0.01)
    assert found.arm.point["latency/encoder_delay"] == pytest.approx(0.05, abs=0.01)
    assert found.hand_eye.fitted.after["cube_position"] < 0.001

    found.save(tmp_path)
    again = Identified.load(tmp_path)
    assert [one.belief.names for one in again.estimates] == [
        one.belief.names for one in found.estimates
    ]
    Identified(hand_eye=found.hand_eye).save(tmp_path)
    assert Identified.load(tmp_path).arm is None


def test_without_free_motion_it_says_what_to_record(recorded):
    carried = [episode for episode in recorded if "carry" in str(episode.origin)]
    assert carried
    with pytest.raises(TrueupError, match="no recording of free motion"):
        identification().of(carried, ())
