"""How far readings may lie from a fit is told by the fit's own predictions, not by a number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.identify.planted import QUANTUM, WORLD, recorded
from trueup.identify import checked
from trueup.identify.check import checked_inside
from trueup.identify.expected import Sensor, allowed, excess_of, sensor_of
from trueup.identify.problem import Problem
from trueup.space import Point

TIME = np.arange(500) * 0.02
SWING = 0.3 * np.sin(2 * np.pi * 0.7 * TIME)


@pytest.mark.parametrize("quantum", [0.0, QUANTUM])
@pytest.mark.parametrize("white", [2e-4, 2e-3])
def test_a_sensor_is_found_again_from_its_own_readings(quantum: float, white: float) -> None:
    planted = Sensor(noise=float(np.hypot(white, quantum / np.sqrt(12.0))), quantum=quantum)
    read = planted.read(SWING, np.random.default_rng(0))
    found = sensor_of(SWING - read, read)
    assert found.floor == pytest.approx(planted.floor, rel=0.1)
    assert found.quantum == pytest.approx(quantum, rel=1e-3)


def test_readings_of_the_fit_itself_are_allowed_and_a_wrong_fit_is_not() -> None:
    sensor = Sensor(noise=1e-3, quantum=0.0)
    limit = allowed(SWING, np.zeros((0, len(SWING))), sensor, np.random.default_rng(0))
    generator = np.random.default_rng(1)
    sizes = []
    for _ in range(200):
        read = sensor.read(SWING, generator)
        sizes.append(excess_of(SWING - read, 0.0))
    assert max(sizes) < limit < 1.25
    off = sensor.read(1.003 * SWING, generator)  # by a tenth of a degree at most
    assert excess_of(SWING - off, 0.0) > limit


def test_a_sensor_without_any_error_allows_what_counts_as_exact() -> None:
    """A millionth of a radian is left by rounding alone, and is no sign of a wrong model."""
    exact = Sensor(noise=0.0, quantum=0.0)
    limit = allowed(SWING, np.zeros((0, len(SWING))), exact, np.random.default_rng(0))
    rounding = np.random.default_rng(1).standard_normal(len(SWING))
    assert excess_of(1e-7 * rounding, 0.0) < limit
    assert excess_of(1e-6 * np.sin(np.linspace(0.0, 9.0, len(SWING))) * 3.0, 0.0) > limit


def test_what_a_fit_does_not_know_is_allowed_for() -> None:
    """Draws of an uncertain gain widen what is allowed, by as much as they differ."""
    sensor = Sensor(noise=1e-3, quantum=0.0)
    gains = 1.0 + 0.01 * np.random.default_rng(2).standard_normal(32)
    sure = allowed(SWING, np.zeros((0, len(SWING))), sensor, np.random.default_rng(0))
    unsure = allowed(SWING, gains[:, None] * SWING, sensor, np.random.default_rng(0))
    assert unsure > 3.0 * sure


def test_an_uncertain_fit_is_not_called_wrong_and_a_certain_one_is() -> None:
    """The elbow's gain is off by 5 %, and known to 5 % or to a thousandth."""
    episodes = [recorded({"actuation/elbow_flex/kp": 13.65}, seconds=5.0)]
    space = WORLD.catalogue.select("actuation/elbow_flex/kp")
    point = Point({"actuation/elbow_flex/kp": 13.0})
    width = np.log(space.parameters[0].high / space.parameters[0].low)
    verdicts = [
        checked(
            WORLD, episodes, point, covariance=np.array([[(share / width) ** 2]]), threads=1
        ).inside
        for share in (0.05, 0.001)
    ]
    assert verdicts == [True, False]


def test_a_fault_that_struck_only_what_was_fitted_is_seen_there() -> None:
    """Readings that stand still for a fifth of a second, twice in five seconds."""
    space = WORLD.catalogue.select("actuation/elbow_flex/kp")
    good = recorded({}, seconds=5.0)
    channel = good["joint_position"]
    values = np.array(channel.values)
    for first in (50, 90):
        values[first : first + 5] = values[first]
    bad = replace(good, signals={**good.signals, "joint_position": replace(channel, values=values)})
    u = space.encode(space.nominal())[0]
    checks = [checked_inside(Problem(WORLD, [e], space, threads=1), u) for e in (good, bad)]
    assert [check.inside for check in checks] == [True, False]
    assert checks[0].joined(checks[1]).outside == checks[1].outside
    assert checks[1].joined(checks[0]).excess == checks[1].excess
