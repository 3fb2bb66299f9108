"""Noise completes what was identified, and no more than that."""

from __future__ import annotations

from tests.loop.found import estimate
from trueup.identify.heard import Heard, completed
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
