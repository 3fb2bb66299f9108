"""What recordings tell of a gap is what they identified of it, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.diagnose.planted import GAPS
from trueup.diagnose.telling import share_told, told_of

NAMES = (
    "sensing/elbow_flex/bias",
    "sensing/current/gain",
    "actuation/elbow_flex/kp",
    "actuation/supply_voltage",
    "actuation/command_noise",
    "actuation/elbow_flex/zero_offset",
    "latency/action_delay",
    "latency/encoder_delay",
    "latency/drop_probability",
)
SENSING, ACTUATION, LATENCY = (GAPS.index(g) for g in ("sensing", "actuation", "latency"))


def bent(*names: str) -> np.ndarray:
    return np.array([[name in names for name in NAMES]])


def test_an_encoder_that_was_calibrated_says_nothing_of_a_current_that_reads_wrong():
    told = share_told(NAMES, bent("sensing/current/gain"), ["sensing/elbow_flex/bias"])
    assert told[0, SENSING] == 0.0
    told = share_told(NAMES, bent("sensing/elbow_flex/bias"), ["sensing/elbow_flex/bias"])
    assert told[0, SENSING] == 1.0


def test_of_two_families_one_is_half():
    both = bent("sensing/current/gain", "sensing/elbow_flex/bias")
    assert share_told(NAMES, both, ["sensing/elbow_flex/bias"])[0, SENSING] == 0.5


@pytest.mark.parametrize(
    ("identified", "shows", "hidden"),
    [
        ("actuation/elbow_flex/kp", "actuation/supply_voltage", "actuation/command_noise"),
        ("actuation/elbow_flex/kp", "actuation/supply_voltage", "actuation/elbow_flex/zero_offset"),
        ("latency/action_delay", "latency/encoder_delay", "latency/drop_probability"),
    ],
)
def test_a_fit_stands_for_what_looks_like_it(identified, shows, hidden):
    told = dict(zip(NAMES, told_of(NAMES, [identified]), strict=True))
    assert told[identified] and told[shows] and not told[hidden]


def test_of_a_gap_that_is_not_bent_nothing_is_untold():
    told = share_told(NAMES, bent("sensing/current/gain"), [])
    assert told[0, ACTUATION] == told[0, LATENCY] == 1.0 and told[0, SENSING] == 0.0
