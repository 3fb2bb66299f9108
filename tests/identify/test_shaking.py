"""Commands that arrive with noise are heard, and told from encoders that are noisy."""

from __future__ import annotations

import pytest

from tests.identify.planted import WORLD, recorded
from trueup.effects.actuation import CommandNoise
from trueup.identify.shaking import shaking_readings
from trueup.space import Uniform


@pytest.mark.parametrize(
    ("size", "encoders"),
    [(0.03, 0.0), (0.0045, 0.0005)],
    ids=["much", "little, and all that is left"],
)
def test_how_noisy_commands_are_is_found(size, encoders):
    truth = {CommandNoise.name: size, "sensing/encoder/noise": encoders}
    prior = shaking_readings(WORLD, [recorded(truth, seconds=20.0)], {})[CommandNoise.name]
    assert isinstance(prior, Uniform)
    low, high = prior.support(0.0, 1.0)
    assert low <= size <= high


def test_little_noise_beside_something_else_is_not_told():
    truth = {CommandNoise.name: 0.0045, "actuation/shoulder_lift/kp": 10.0}
    assert shaking_readings(WORLD, [recorded(truth, seconds=20.0)], {}) == {}


@pytest.mark.parametrize(
    "truth",
    [
        {},
        {"sensing/encoder/noise": 0.01},
        {"sensing/speed/noise": 0.2, "sensing/encoder/noise": 0.01},
        {"actuation/elbow_flex/kp": 8.0, "actuation/shoulder_lift/frictionloss": 0.5},
    ],
    ids=["nothing", "encoders", "encoders and speeds", "soft servos"],
)
def test_what_is_no_noise_of_commands_is_not_called_so(truth):
    arm = {name: value for name, value in truth.items() if name.startswith("actuation/")}
    assert shaking_readings(WORLD, [recorded(truth)], arm) == {}
