"""The report of a run: what it shows of the recordings."""

from __future__ import annotations

from dataclasses import replace

from tests.loop.turns import TINY, job, without_plan
from trueup.episodes import Dataset
from trueup.identify.probing.probes import moves_freely
from trueup.loop.estimates import DATA
from trueup.loop.stages import recording
from trueup.loop.telling import shown_motion

LIFT = "so101/lift"


def test_a_motion_that_touches_nothing_is_shown_over_the_simulator_of_the_bare_arm(tmp_path):
    """The cube that is carried about stands on a table that the bare arm has not."""
    robot = f"rehearsal:benign@{LIFT}"
    wanted = replace(TINY, world=LIFT, robot=robot, motions=("triangle", "carry"), seconds=80.0)
    made = job(tmp_path, wanted)
    without_plan(made)
    recording.record(made)
    data = Dataset.open(made.path(DATA))
    shown = shown_motion(data)
    assert shown is not None and moves_freely(shown)
    assert shown.labels["motion"] == "triangle" and data[len(data) - 1].labels["motion"] == "carry"
