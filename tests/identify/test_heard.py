"""Noise completes what was identified, and no more than that."""

from __future__ import annotations

from tests.identify.planted import WORLD, recorded
from tests.loop.found import estimate
from trueup.identify.heard import Heard, as_usual, completed, heard
from trueup.space import Fixed, Uniform
from trueup.worlds import get

CATALOGUE = get("so101/lift").catalogue
SHIFT, NOISE, DROPOUT = (
    "visual/camera/shift_x",
    "visual/tracker/noise",
    "visual/tracker/dropout",
)


def priors(known, noise):
    found = completed(known, noise, CATALOGUE)
    assert found[len(found) - len(known) :] == tuple(known)  # the last belief counts
    return found[0].priors if isinstance(found[0], Heard) else {}


def test_noise_of_a_gap_that_was_identified_counts_where_it_surely_differs():
    known = [estimate({SHIFT: (0.01, 0.001)})]
    noise = {NOISE: Uniform(0.004, 0.005), DROPOUT: Uniform(0.0, 0.1)}
    assert priors(known, noise) == {NOISE: Uniform(0.004, 0.005)}
    assert priors(known, {DROPOUT: Fixed(0.2)}) == {DROPOUT: Fixed(0.2)}


def test_a_gap_of_which_only_noise_is_known_is_not_known():
    known = [estimate({"latency/action_delay": (0.05, 0.001)})]
    assert priors(known, {NOISE: Uniform(0.004, 0.005)}) == {}


def test_what_was_identified_is_not_heard_over():
    known = [estimate({"latency/action_delay": (0.05, 0.001)})]
    assert priors(known, {"latency/action_delay": Uniform(0.1, 0.12)}) == {}


def test_what_shakes_commands_counts_though_nothing_else_of_its_gap_is_known():
    known = [estimate({SHIFT: (0.01, 0.001)})]
    tremor = {"human/tremor_amplitude": Uniform(0.04, 0.05)}
    assert priors(known, tremor) == tremor


def test_only_what_is_known_to_be_little_is_as_usual():
    noise = {
        NOISE: Uniform(0.0, 1e-5),
        DROPOUT: Uniform(0.0, 0.3),
        "human/tremor_amplitude": Uniform(0.04, 0.05),
        "sensing/current/gain": Uniform(0.97, 1.03),
    }
    assert as_usual(noise, CATALOGUE) == (NOISE, "sensing/current/gain")


def test_recordings_of_a_hand_that_trembles_say_so_and_nothing_of_noise():
    task = get("so101/lift")
    shaken = recorded({"human/tremor_amplitude": 0.05, "human/tremor_frequency": 8.0})
    found = heard(task, WORLD, [shaken], None)
    assert {"human/tremor_frequency", "sensing/current/gain"} <= set(found)
    assert "actuation/command_noise" not in found
    steady = heard(task, WORLD, [recorded({})], None)
    assert "human/tremor_amplitude" in as_usual(steady, task.catalogue)
