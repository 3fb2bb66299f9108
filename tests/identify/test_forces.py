"""What a force sensor reads for a force is told by motions of an arm that is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.identify.planted import WORLD, recorded
from trueup.identify import identify
from trueup.identify.forces import force_readings
from trueup.space import Prior, Uniform

TRUTH = {
    "sensing/current/gain": 1.8,
    "sensing/current/offset": 0.2,
    "actuation/shoulder_lift/kp": 9.0,
}
SPACE = WORLD.catalogue.select("actuation/*/kp")


@pytest.fixture(scope="module")
def recording():
    return recorded(TRUTH)


@pytest.fixture(scope="module")
def arm(recording):
    return identify(WORLD, [recording], SPACE, check=False)


def ends(prior: Prior) -> tuple[float, float]:
    assert isinstance(prior, Uniform)
    return prior.support(-10.0, 10.0)


def test_gain_and_offset_are_found(recording, arm):
    found = force_readings(WORLD, [recording], arm)
    for name in ("sensing/current/gain", "sensing/current/offset"):
        low, high = ends(found[name])
        assert low <= TRUTH[name] <= high
        assert high - low < 0.3


def test_a_sensor_that_reads_right_is_said_to():
    plain = recorded({"actuation/shoulder_lift/kp": 9.0})
    found = force_readings(WORLD, [plain], identify(WORLD, [plain], SPACE, check=False))
    low, high = ends(found["sensing/current/gain"])
    assert low < 1.0 < high


def test_without_forces_nothing_is_said(recording, arm):
    signals = {n: c for n, c in recording.signals.items() if n != "joint_force"}
    assert force_readings(WORLD, [replace(recording, signals=signals)], arm) == {}
