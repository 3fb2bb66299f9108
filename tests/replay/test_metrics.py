"""Numbers of a comparison, against arithmetic on signals that are easy to reckon with."""

from __future__ import annotations

import json

import numpy as np
import pytest

from trueup.episodes import Channel
from trueup.replay import Track, errors_of, settling_of


def track(simulated, measured, *, period_s=0.02, names=("elbow",), unit="rad"):
    simulated, measured = (
        np.asarray(x, float).reshape(-1, len(names)) for x in (simulated, measured)
    )
    time_s = period_s * np.arange(len(measured))
    return Track(
        time_s=time_s,
        measured=measured,
        simulated=simulated[None],
        age_s=time_s,
        unit=unit,
        names=names,
    )


def test_errors_are_simulated_minus_measured():
    found = errors_of(track([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 3.0, 7.0])).columns["elbow"]
    assert found.mean == -0.5
    assert found.mae == 1.0
    assert found.rmse == pytest.approx(np.sqrt(10 / 4))
    assert found.worst == 3.0
    assert found.readings == 4


def test_overall_is_over_all_columns():
    found = errors_of(track([[1, 0], [2, 0]], [[0, 0], [0, 0]], names=("a", "b")))
    assert found.columns["a"].rmse == pytest.approx(np.sqrt(2.5))
    assert found.columns["b"].rmse == 0.0
    assert found.overall.rmse == pytest.approx(np.sqrt(1.25))


def test_a_constant_offset_keeps_the_correlation():
    wave = np.sin(0.1 * np.arange(200))
    found = errors_of(track(wave, wave + 0.3)).overall
    assert found.correlation == pytest.approx(1.0)
    assert found.lag_s == pytest.approx(0.0, abs=1e-9)
    assert found.mean == pytest.approx(-0.3)
    assert errors_of(track(wave, -wave)).overall.correlation == pytest.approx(-1.0)


def test_a_joint_at_rest_has_neither_correlation_nor_lag():
    ticks = 0.0015 * (np.arange(200) % 2)
    found = errors_of(track(np.zeros(200), ticks)).overall
    assert found.correlation is None
    assert found.lag_s is None


def test_missing_readings_and_broken_worlds():
    found = errors_of(track([1.0, np.nan, 3.0], [1.0, 2.0, np.nan])).overall
    assert found.readings == 1
    nothing = errors_of(track([np.nan], [1.0])).overall
    assert nothing.rmse is None
    assert nothing.readings == 0


def test_json_is_json():
    text = json.dumps(errors_of(track([np.nan], [1.0])).to_json(), allow_nan=False)
    assert json.loads(text)["overall"]["rmse"] is None


# Settling ---------------------------------------------------------------------------------------


def stepped(tau_s, *, size=0.4, rest=0.0):
    """A first-order answer to a step at 1 s that is held for 3 s."""
    t = 0.02 * np.arange(200)
    return np.where(t < 1.0, 0.0, (size + rest) * (1.0 - np.exp(-(t - 1.0) / tau_s)))


def commands(values, name="elbow"):
    time_s = 0.02 * np.arange(len(values))
    return Channel(values=np.reshape(values, (-1, 1)), time_s=time_s, unit="rad", names=(name,))


def test_settling_is_the_time_into_the_band():
    told = np.where(0.02 * np.arange(200) < 1.0, 0.0, 0.4)
    found = settling_of(commands(told), track(stepped(0.1), stepped(0.2)))["elbow"]
    assert found.steps == 1
    assert found.simulated_s == pytest.approx(0.1 * np.log(20), abs=0.021)  # into 5 %
    assert found.measured_s == pytest.approx(0.2 * np.log(20), abs=0.021)
    assert found.rest_error == pytest.approx(0.0, abs=1e-3)


def test_a_joint_that_rests_short_of_its_command_settles_where_it_rests():
    told = np.where(0.02 * np.arange(200) < 1.0, 0.0, 0.4)
    found = settling_of(commands(told), track(stepped(0.1), stepped(0.1, rest=-0.05)))["elbow"]
    assert found.measured_s == pytest.approx(0.1 * np.log(20), abs=0.03)
    assert found.rest_error == pytest.approx(0.05, abs=1e-3)


def test_a_ramp_ends_in_a_rest_too():
    told = np.clip(0.4 * (0.02 * np.arange(200) - 0.5) / 0.5, 0.0, 0.4)
    assert settling_of(commands(told), track(stepped(0.1), stepped(0.1)))["elbow"].steps == 1


@pytest.mark.parametrize(
    "told",
    [np.zeros(200), np.sin(0.1 * np.arange(200)), np.where(np.arange(200) < 190, 0.0, 0.4)],
    ids=["at rest", "always moving", "no rest after it"],
)
def test_without_steps_nothing_is_said(told):
    assert settling_of(commands(told), track(stepped(0.1), stepped(0.1))) == {}


def test_a_joint_that_was_not_commanded_is_left_out():
    told = np.where(0.02 * np.arange(200) < 1.0, 0.0, 0.4)
    assert settling_of(commands(told, "wrist"), track(stepped(0.1), stepped(0.1))) == {}
