"""Coverage: planted worlds inside, at the edge and outside, one parameter and many at once."""

import json

import numpy as np
import pytest

from tests.randomize.spaces import failing_beyond, name, space_of, trained
from trueup.errors import TrueupError
from trueup.randomize import Automatic, Coverage, MaximumEntropy, coverage
from trueup.space import (
    Fixed,
    JointNormal,
    JointSamples,
    Normal,
    Parameter,
    Point,
    Points,
    Samples,
    Space,
    Uniform,
)

MANY = space_of(128, one_sided=30)
TIED = 0.01 * np.array([[1.0, 0.95], [0.95, 1.0]])
DELAY = "latency/action_delay"
LATE = Space(
    (
        Parameter(name=DELAY, unit="s", nominal=0.0, low=0.0, high=0.15, prior=Uniform(0.0, 0.05)),
        *space_of(3),
    )
)


def row(answer: Coverage, parameter: str):
    (found,) = [row for row in answer.rows if row.name == parameter]
    return found


@pytest.mark.parametrize(
    ("delay", "verdict"),
    [(0.0, "inside"), (0.02, "inside"), (0.05, "edge"), (0.0501, "outside"), (0.3, "outside")],
)
def test_one_parameter_decides(delay, verdict):
    answer = coverage(LATE, Point({DELAY: delay}))
    assert answer.verdict == verdict
    found = row(answer, DELAY)
    assert found.verdict == verdict
    assert found.quantile == pytest.approx(min(delay / 0.05, 1.0), abs=1e-3)
    assert (found.trained_low, found.trained_high) == (0.0, 0.05)
    assert all(other.verdict == "inside" for other in answer.rows if other.name != DELAY)


def test_the_words_name_what_is_outside_and_by_how_much():
    assert str(coverage(LATE, Point({DELAY: 0.08}))) == (
        "Outside the trained distribution. Inside: 3 of 4 parameters. "
        "Outside: latency/action_delay 0.08 s (trained 0 – 0.05 s)."
    )
    assert str(coverage(LATE, LATE.nominal())) == (
        "Inside the trained distribution. Inside: 4 of 4 parameters. "
        "All together: 100 % of trained worlds are as far out in as many."
    )
    many = coverage(MANY, Point({name(i): 0.9 for i in range(8)}))
    assert "; and 3 more." in str(many)


@pytest.mark.parametrize(
    "space",
    [
        MANY,
        MANY.narrowed({p.name: Normal(0.1, 0.1) for p in MANY}),
        MANY.narrowed({p.name: Samples((0.0, 0.1, 0.2)) for p in MANY}),
        MANY.narrowed(JointNormal((name(0), name(1)), np.zeros(2), TIED)),
    ],
    ids=["uniform", "normal", "samples", "joint"],
)
def test_worlds_of_the_training_are_inside(space):
    points = space.sample(np.random.default_rng(7), 30)
    verdicts = [coverage(space, point).verdict for point in points]
    assert verdicts.count("inside") >= 28  # 1 % of chance each, twice
    assert "outside" not in verdicts
    assert coverage(space, space).verdict == "inside"
    assert coverage(space, points).verdict == "inside"


def test_far_out_in_many_parameters_at_once_is_outside_though_none_alone_is():
    def verdict(k: int) -> str:
        answer = coverage(MANY, Point({name(i): 0.47 for i in range(k)}))  # quantile 0.97
        assert all(row.verdict == "inside" for row in answer.rows)
        return answer.verdict

    assert verdict(3) == "inside"
    assert verdict(30) == "outside"


def test_a_combination_that_a_joint_rules_out_is_outside():
    pair = (name(0), name(1))
    space = space_of(10).narrowed(JointNormal(pair, np.zeros(2), TIED))
    assert coverage(space, Point({name(0): 0.12, name(1): 0.12})).verdict == "inside"
    against = coverage(space, Point({name(0): 0.12, name(1): -0.12}))
    assert against.verdict == "outside"
    assert all(row.verdict == "inside" for row in against.rows)
    assert "fewer than 1 of 1,000" in str(against)
    rows = np.random.default_rng(0).multivariate_normal(np.zeros(2), TIED, 300)
    sampled = space_of(10).narrowed(JointSamples(pair, rows))
    assert coverage(sampled, Point({name(0): 0.12, name(1): -0.12})).verdict == "outside"


def test_the_tail_of_a_normal_is_outside_though_the_bounds_reach_further():
    space = space_of(5).narrowed({name(0): Normal(0.0, 0.1)})
    assert coverage(space, Point({name(0): 0.2})).verdict == "inside"
    assert coverage(space, Point({name(0): 0.6})).verdict == "outside"


@pytest.mark.parametrize(
    ("mean", "verdict"), [(0.02, "inside"), (0.046, "edge"), (0.055, "outside"), (0.1, "outside")]
)
def test_a_posterior_is_judged_by_its_mass(mean, verdict):
    posterior = LATE.narrowed({DELAY: Normal(mean, 0.004)})
    answer = coverage(LATE, posterior)
    assert answer.verdict == verdict
    found = row(answer, DELAY)
    assert found.verdict == verdict
    assert (found.low, found.high) == pytest.approx(
        (mean - 1.96 * 0.004, mean + 1.96 * 0.004), abs=8e-4
    )
    share = np.mean(np.random.default_rng(0).normal(mean, 0.004, 100_000) <= 0.05)
    assert found.inside == pytest.approx(share, abs=0.04)
    assert answer.together == pytest.approx(share, abs=0.04)


def test_what_training_did_not_vary_counts_as_held_at_nominal():
    part, catalogue = MANY.select(name(0), name(1)), MANY
    same = coverage(part, Point({name(5): 0.0}), catalogue=catalogue)
    assert same.verdict == "inside"
    off = coverage(part, Point({name(5): 0.01}), catalogue=catalogue)
    assert off.verdict == "outside"
    assert row(off, name(5)).reason == "training left it at its nominal 0"
    unknown = coverage(part, Point({name(5): 0.0}))
    assert row(unknown, name(5)).reason == "training did not vary it"
    posterior = MANY.select(name(0), name(5)).narrowed({name(5): Normal(0.2, 0.01)})
    assert row(coverage(part, posterior), name(5)).verdict == "outside"


def test_what_training_held_is_inside_at_that_value_only():
    space = space_of(3).narrowed({name(1): Fixed(0.3)})
    assert coverage(space, Point({name(1): 0.3})).verdict == "inside"
    answer = coverage(space, space_of(3).nominal())
    assert answer.verdict == "outside"
    assert row(answer, name(1)).reason == "training held it at 0.3"


def test_a_space_of_nothing_covers_the_nominal_world():
    assert coverage(Space(()), Point({})).verdict == "inside"
    assert coverage(Space(()), Point({DELAY: 0.01}), catalogue=LATE).verdict == "outside"


def test_the_bound_of_a_parameter_is_no_edge():
    whole = Space(tuple(Parameter(name=p.name, unit="1", nominal=0.0, low=-1.0, high=1.0)
                        for p in space_of(5)))  # fmt: skip
    assert coverage(whole, Point({name(0): 1.0})).verdict == "inside"
    assert coverage(space_of(5), Point({name(0): 0.5})).verdict == "edge"


@pytest.mark.parametrize("kind", [Automatic, MaximumEntropy])
def test_a_curriculum_covers_what_it_reached(kind):
    generator = np.random.default_rng(0)
    plan = kind(space_of(12))
    far, near = Point({name(3): 0.45}), Point({name(3): 0.02})
    assert coverage(plan.distribution(), far).verdict == "outside"
    trained(plan, failing_beyond({8: 0.1}, generator), generator, episodes=10_000)
    stored = Space.from_json(json.loads(json.dumps(plan.distribution().to_json())))
    assert coverage(stored, far).verdict == "inside"
    assert coverage(stored, near).verdict == "inside"
    beyond = coverage(stored, Point({name(8): 0.45}))
    assert beyond.verdict != "inside"
    assert row(beyond, name(8)).verdict != "inside"


def test_the_answer_is_json_and_repeats():
    answer = coverage(MANY, MANY.sample(np.random.default_rng(0), 3))
    assert json.loads(json.dumps(answer.to_json(), allow_nan=False))["count"] == 3
    assert answer == coverage(MANY, MANY.sample(np.random.default_rng(0), 3))


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (Point({name(0): float("nan")}), "is not a finite number"),
        (Points((name(0),), np.zeros((0, 1))), "There are no points"),
    ],
)
def test_what_lies_nowhere_is_refused(of, words):
    with pytest.raises(TrueupError, match=words):
        coverage(space_of(2), of)
