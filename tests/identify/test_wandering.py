"""Encoders that wander: a fit that compares what readings say beyond those before."""

from dataclasses import replace

import numpy as np
import pytest

from tests.identify.planted import WORLD, recorded
from trueup.identify import identify
from trueup.identify.wandering import unforeseen, wander_rate

DRIFT = "sensing/encoder/drift"
PERIOD_S, WANDER = 0.02, 0.008
ELBOW = ("actuation/elbow_flex/kp", "actuation/elbow_flex/damping")
TRUTH = {"actuation/elbow_flex/kp": 10.0, "actuation/elbow_flex/damping": 1.7}
SPACE = WORLD.catalogue.select(*ELBOW, "actuation/shoulder_pan/kp")


def walk(generator: np.random.Generator, readings: int) -> np.ndarray:
    steps = WANDER * np.sqrt(PERIOD_S) * generator.standard_normal((1, readings))
    return np.cumsum(steps, axis=1)


def test_a_constant_error_is_foretold_by_the_first_reading():
    assert np.abs(unforeseen(np.full((2, 50), 0.1), WANDER, PERIOD_S)).max() < 1e-15


def test_what_is_unforeseen_is_proportional():
    errors = np.random.default_rng(0).standard_normal((2, 200))
    both = unforeseen(errors, WANDER, PERIOD_S)
    alone = [unforeseen(row[None], WANDER, PERIOD_S)[0] for row in errors]
    assert np.allclose(both, alone)
    assert np.allclose(unforeseen(3.0 * errors, WANDER, PERIOD_S), 3.0 * both)


def test_what_is_unforeseen_of_a_walk_is_small_and_hangs_together_no_more():
    generator = np.random.default_rng(1)
    errors = walk(generator, 4000) + 0.003 * generator.standard_normal((1, 4000))
    left = unforeseen(errors, WANDER, PERIOD_S)[0, 1:]
    assert errors.std() > 5.0 * left.std()
    assert abs(np.corrcoef(left[1:], left[:-1])[0, 1]) < 0.05
    assert np.corrcoef(errors[0, 1:], errors[0, :-1])[0, 1] > 0.95


@pytest.fixture(scope="module")
def wandered():
    """Three recordings, at the beginning of each of which encoders are already elsewhere."""
    return [
        recorded({**TRUTH, "sensing/elbow_flex/bias": bias, DRIFT: WANDER}, seconds=10.0, seed=seed)
        for seed, bias in enumerate((0.02, 0.05, 0.07))
    ]


@pytest.mark.slow
def test_a_fit_is_not_misled_by_encoders_that_wander(wandered):
    def errors(wander: float) -> dict[str, float]:
        found = identify(WORLD, wandered, SPACE, wander=wander, check=False)
        return {name: abs(np.log(found.point[name] / TRUTH[name])) for name in ELBOW}

    minded, ignored = errors(WANDER), errors(0.0)
    assert max(minded.values()) < 0.05
    assert max(ignored.values()) > 3.0 * max(minded.values())


@pytest.mark.slow
def test_it_says_that_no_zero_can_be_told(wandered):
    found = identify(WORLD, wandered, SPACE, wander=WANDER, check=False)
    assert any("Encoders wander by 8.0 mrad in a second" in note for note in found.notes)


def test_encoders_that_stay_where_they_are_do_not_wander():
    still = recorded({}, seconds=8.0, moved_s=2.0)
    assert wander_rate([still]) == 0.0


@pytest.mark.parametrize("quantum", [0.0015, 0.0126])
@pytest.mark.parametrize("seed", range(3))
def test_encoders_are_heard_to_wander_at_rest(seed, quantum):
    """Coarse ones as well, and where one of six joints says little."""
    truth = {DRIFT: WANDER, "sensing/encoder/noise": 0.001}
    resting = recorded(truth, seconds=16.0, moved_s=2.0, seed=seed, quantum=quantum)
    assert wander_rate([resting]) == pytest.approx(WANDER, rel=0.4)


def test_joints_that_creep_under_their_load_are_no_encoders_that_wander():
    still = recorded({}, seconds=12.0, moved_s=2.0)
    joints = still["joint_position"]
    sunk = 2e-4 * joints.time_s[:, None] * np.array([0.0, 1.0, 1.0, 1.0, 0.0, 0.0])  # rad
    sinking = replace(joints, values=joints.values + sunk)
    assert wander_rate([replace(still, signals={**still.signals, "joint_position": sinking})]) == 0
