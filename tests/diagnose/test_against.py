"""What recordings say against the reading of trials, and what the reading says beside them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.diagnose.test_core import SHIFT, SMALL, SPACE, WEAK, WORLD, begin, played
from trueup.diagnose import built
from trueup.diagnose.familiarity import outside
from trueup.diagnose.inference import Answer, Reader
from trueup.diagnose.signature import signature

TOLD = SPACE.select("actuation/*").names


@pytest.fixture(scope="module")
def reader() -> Reader:
    made = built(WORLD, begin, SPACE, np.random.default_rng(0), size=SMALL, policy="script")
    return Reader(made, 10, TOLD)


def read(reader: Reader, point: dict[str, float], *, identified: float) -> Answer:
    """Trials of a bent world, where recordings say that actuation costs so much of its loss."""
    traces = played(point)
    loss = 1.0 - float(traces.success.mean())
    return reader.read(signature(traces).values, loss, {"actuation": identified * loss})


def test_a_cause_that_recordings_clear_and_none_replaces_speaks_for_one_outside(reader):
    cleared = read(reader, WEAK, identified=0.0)
    told = read(reader, WEAK, identified=1.0)
    other = read(reader, SHIFT, identified=0.0)
    assert cleared.odds > 1.9 > 1.0 > told.odds
    assert other.odds < 1.0  # nothing was said against a camera
    assert outside(0.4, odds=cleared.odds) > 1.5 * outside(0.4, odds=told.odds)


def test_another_cause_is_likely_where_trials_blame_what_recordings_do_not_tell(reader):
    assert read(reader, SHIFT, identified=0.0).elsewhere > 0.9
    assert read(reader, WEAK, identified=1.0).elsewhere < 0.6


def test_without_recordings_nothing_speaks_against_the_reading():
    made = built(WORLD, begin, SPACE, np.random.default_rng(0), size=SMALL, policy="script")
    assert Reader(made, 10).read(signature(played(WEAK)).values, 0.5, {}).odds == 1.0


def test_marks_like_any_other_hardly_speak_against_a_cause_outside():
    """An oil film makes a thing slip as a smooth one does."""
    assert outside(1.0) == outside(0.5) > 0.05 > outside(1.0, odds=0.5)
