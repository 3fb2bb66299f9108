"""Commands that arrive with noise are heard, and told from encoders that are noisy."""

from __future__ import annotations

import pytest

from tests.identify.planted import WORLD, recorded
from trueup.effects.actuation import CommandNoise
from trueup.identify.shaking import shaking_readings
from trueup.space import Uniform


def test_how_noisy_commands_are_is_found():
    found = shaking_readings(WORLD, [recorded({CommandNoise.name: 0.03}, seconds=20.0)], {})
    prior = found[CommandNoise.name]
    assert isinstance(prior, Uniform)
    low, high = prior.support(0.0, 1.0)
    assert low <= 0.03 <= high


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
