"""Beliefs about several numbers together: nothing lost, correlations kept, bounds respected."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from trueup.errors import TrueupError, UnknownName
from trueup.space import Joint, JointNormal, JointSamples, Parameter, Points, Space

DELAY = Parameter(name="latency/delay", unit="s", nominal=0.0, low=-4.0, high=4.0)
MASS = Parameter(name="object/mass", unit="kg", nominal=1.0, low=1e-3, high=1e3, scale="log")
SIZE = Parameter(name="object/size", unit="m", nominal=0.5, low=0.0, high=1.0)
ALL = (DELAY, MASS, SIZE)
NAMES = tuple(p.name for p in ALL)
PAIR = NAMES[:2]

MEAN = np.array([0.3, np.log(2.0), 0.5])
STD = np.array([0.2, 0.3, 0.05])
CORRELATION = np.array([[1.0, 0.8, -0.5], [0.8, 1.0, -0.2], [-0.5, -0.2, 1.0]])
NORMAL = JointNormal(NAMES, MEAN, CORRELATION * np.outer(STD, STD))

finite = st.floats(allow_nan=False, allow_infinity=False)


def samples(names, rows) -> JointSamples:
    return JointSamples(tuple(names), np.array(rows, float))


def normal(names, mean, covariance) -> JointNormal:
    return JointNormal(tuple(names), np.array(mean, float), np.array(covariance, float))


def believing(joint: Joint) -> Space:
    return Space(ALL, (joint,))


def scaled(points: Points) -> np.ndarray:
    """Columns in scale coordinates: logarithms where the scale is log."""
    columns = [points.column(n) for n in NAMES]
    return np.stack([columns[0], np.log(columns[1]), columns[2]], axis=-1)


def cube(n: int, k: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, k))


# Samples ----------------------------------------------------------------------------------------


def test_rows_come_back_exactly_and_equally_often():
    rows = np.array([[0.1 + 0.2, 1 / 3, 0.5], [0.1, 7.0, 0.25], [-1.0, 1e-3, 1.0]])
    u = np.stack([(np.arange(300) + 0.5) / 300] * 3, axis=-1)
    drawn = believing(JointSamples(NAMES, rows)).from_uniform(u)
    assert np.array_equal(drawn.values, np.repeat(rows, 100, axis=0))


def test_correlations_of_samples_survive():
    rows = np.random.default_rng(1).multivariate_normal(
        MEAN, CORRELATION * np.outer(STD, STD), 5000
    )
    rows[:, 1] = np.exp(rows[:, 1])
    drawn = believing(JointSamples(NAMES, rows)).sample(np.random.default_rng(2), 5000)
    assert np.isin(drawn.column("latency/delay"), rows[:, 0]).all()
    assert np.corrcoef(scaled(drawn).T) == pytest.approx(CORRELATION, abs=0.05)


def test_the_mass_of_a_row_is_its_share():
    joint = samples(PAIR, [[0.0, 1.0], [0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    x = np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 2.0]])
    assert np.exp(joint.log_density(x, ALL[:2])) == pytest.approx([0.5, 0.25, 0.0])


def test_a_marginal_of_samples_keeps_the_chosen_columns():
    rows = cube(10) + 0.1
    part = JointSamples(NAMES, rows).marginal(("object/size", "latency/delay"))
    assert part.names == ("object/size", "latency/delay")
    assert np.array_equal(part.rows, rows[:, [2, 0]])


def test_rows_of_another_width_are_refused_not_reshaped():
    by_column = np.array([[0.0, 0.1, 0.2], [1.0, 2.0, 3.0]])  # (k, m) instead of (m, k)
    for rows in (by_column, np.ones((3, 4)), np.ones((3, 1))):
        with pytest.raises(TrueupError, match="2"):
            JointSamples(PAIR, rows)


# Normal -----------------------------------------------------------------------------------------


def test_a_normal_has_its_moments_in_scale_coordinates():
    x = scaled(believing(NORMAL).sample(np.random.default_rng(0), 20_000))
    assert x.mean(axis=0) == pytest.approx(MEAN, abs=0.01)
    assert x.std(axis=0) == pytest.approx(STD, rel=0.03)
    assert np.corrcoef(x.T) == pytest.approx(CORRELATION, abs=0.02)
    for column, mean, std in zip(x.T, MEAN, STD, strict=True):
        assert stats.kstest(column, stats.norm(mean, std).cdf).pvalue > 1e-3


def test_the_order_of_a_joint_need_not_be_the_order_of_the_space():
    turned = NORMAL.marginal(NAMES[::-1])
    x = scaled(believing(turned).sample(np.random.default_rng(0), 20_000))
    assert x.mean(axis=0) == pytest.approx(MEAN, abs=0.01)
    assert np.corrcoef(x.T) == pytest.approx(CORRELATION, abs=0.02)


def test_density_agrees_with_scipy_per_unit_of_value():
    space = believing(NORMAL)
    points = space.sample(np.random.default_rng(0), 50)
    reference = stats.multivariate_normal(NORMAL.mean, cov=NORMAL.covariance)  # type: ignore[arg-type]
    expected = reference.logpdf(scaled(points)) - np.log(points.column("object/mass"))
    assert space.log_density(points) == pytest.approx(expected, abs=1e-9)


def test_density_integrates_to_one_over_a_log_axis():
    space = Space((MASS,), (normal(["object/mass"], [0.0], [[0.25]]),))
    x = np.geomspace(1e-3, 1e3, 20_001)
    density = np.exp(space.log_density(Points(space.names, x[:, None])))
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=1e-4)


def test_density_is_none_outside_the_bounds():
    outside = np.tile([0.3, 2.0, 0.5], (4, 1))
    outside[[0, 1, 2, 3], [0, 0, 1, 2]] = [4.1, -4.1, 2e3, -0.01]
    density = believing(NORMAL).log_density(Points(NAMES, outside))
    assert density.tolist() == [-np.inf] * 4


def test_truncation_stays_inside_without_piling_up():
    wide = normal(NAMES, [3.5, np.log(900.0), 0.1], np.diag([4.0, 4.0, 1.0]))
    points = believing(wide).sample(np.random.default_rng(0), 5000)
    for parameter in ALL:
        column = points.column(parameter.name)
        assert column.min() >= parameter.low and column.max() <= parameter.high
        assert np.mean((column == parameter.low) | (column == parameter.high)) < 0.01
    x = points.column("latency/delay")
    expected = stats.truncnorm((-4 - 3.5) / 2, (4 - 3.5) / 2, loc=3.5, scale=2)
    assert stats.kstest(x, expected.cdf).pvalue > 1e-3


def test_each_number_is_cut_given_those_before_it():
    joint = normal(["latency/delay", "object/size"], [0.0, 0.5], [[1.0, 0.6], [0.6, 1.0]])
    points = Space((DELAY, SIZE), (joint,)).sample(np.random.default_rng(0), 5000)
    delay, size = points.values.T
    assert np.mean((size == SIZE.low) | (size == SIZE.high)) < 0.01
    mean, std = 0.5 + 0.6 * delay, 0.8
    given_delay = stats.truncnorm((0 - mean) / std, (1 - mean) / std, loc=mean, scale=std)
    assert stats.kstest(given_delay.cdf(size), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("rho", [0.99, 0.999, 0.99999])
def test_a_ridge_cut_by_a_bound_never_jumps_to_the_other_side(rho):
    high = Parameter(name="object/b", unit="1", nominal=0.0, low=-5.0, high=0.5)
    joint = normal(["latency/delay", "object/b"], [0, 0], [[1, rho], [rho, 1]])
    points = Space((DELAY, high), (joint,)).sample(np.random.default_rng(0), 2000)
    a, b = points.values.T
    # b follows a as far as it may: b = min(a, 0.5) but for the width of the ridge
    assert np.abs(b - np.minimum(a, 0.5)).max() < 6 * np.sqrt(1 - rho**2)


def test_a_normal_that_the_bounds_cut_away_is_refused():
    with pytest.raises(TrueupError, match="latency/delay"):
        believing(normal(PAIR, [500.0, 0.0], np.eye(2)))


def test_a_marginal_of_a_normal_is_its_blocks():
    part = NORMAL.marginal(("object/size", "latency/delay"))
    assert part.names == ("object/size", "latency/delay")
    assert np.array_equal(part.mean, MEAN[[2, 0]])
    assert np.array_equal(part.covariance, NORMAL.covariance[np.ix_([2, 0], [2, 0])])


def test_drawing_then_dropping_agrees_with_dropping_then_drawing():
    whole = believing(NORMAL).sample(np.random.default_rng(0), 5000)
    part = believing(NORMAL).select("object").sample(np.random.default_rng(1), 5000)
    for name in part.names:
        result: Any = stats.ks_2samp(whole.column(name), part.column(name))
        assert result.pvalue > 1e-3
    together = [np.corrcoef(np.log(p.column(NAMES[1])), p.column(NAMES[2])) for p in (whole, part)]
    assert together[0] == pytest.approx(together[1], abs=0.05)


def test_planned_uniform_numbers_work_for_a_joint_too():
    u = stats.qmc.Sobol(3, rng=0).random(1024)
    x = scaled(believing(NORMAL).from_uniform(u))
    assert x.mean(axis=0) == pytest.approx(MEAN, abs=0.002)  # far closer than random draws
    assert np.corrcoef(x.T) == pytest.approx(CORRELATION, abs=0.01)


# Storage ----------------------------------------------------------------------------------------


def through_text(joint: Joint) -> Joint:
    return Joint.from_json(json.loads(json.dumps(joint.to_json())))


@given(arrays(float, st.tuples(st.integers(1, 4), st.just(2)), elements=finite))
def test_json_returns_samples_bit_for_bit(rows):
    joint = JointSamples(PAIR, rows)
    back = through_text(joint)
    assert isinstance(back, JointSamples)
    assert back == joint
    assert back.rows.tobytes() == rows.tobytes()


@given(arrays(float, 2, elements=finite), arrays(float, (2, 2), elements=finite))
def test_json_returns_a_normal_bit_for_bit(mean, covariance):
    joint = JointNormal(PAIR, mean, covariance)
    back = through_text(joint)
    assert isinstance(back, JointNormal)
    assert back == joint
    assert back.mean.tobytes() == mean.tobytes()
    assert back.covariance.tobytes() == covariance.tobytes()


@pytest.mark.parametrize(
    "joint",
    [
        JointSamples(list(PAIR), [[0.0, 1.0]]),  # type: ignore[arg-type]
        JointNormal(list(PAIR), [0.0, 1.0], np.eye(2)),  # type: ignore[arg-type]
    ],
    ids=["samples", "normal"],
)
def test_names_given_as_a_list_are_stored_too(joint):
    assert through_text(joint) == joint


def test_joints_are_equal_by_value():
    some = samples(PAIR, [[0.0, 1.0]])
    assert some == samples(PAIR, [[0.0, 1.0]])
    assert some not in (samples(PAIR, [[0.0, 2.0]]), samples(NAMES[1:], [[0.0, 1.0]]), NORMAL)
    assert normal(NAMES, MEAN, NORMAL.covariance) == NORMAL
    different = [
        normal(NAMES, MEAN + 1, NORMAL.covariance),
        normal(NAMES, MEAN, 2 * NORMAL.covariance),
        normal(NAMES[::-1], MEAN, NORMAL.covariance),
    ]
    assert NORMAL not in different


# What cannot be ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "covariance",
    [
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 0.5], [0.4, 1.0]],
        [[1.0, 0.0], [0.0, 0.0]],
        [[-1.0, 0.0], [0.0, 1.0]],
        [[np.nan, 0.0], [0.0, 1.0]],
        [[np.inf, 0.0], [0.0, 1.0]],
    ],
)
def test_a_covariance_is_symmetric_positive_and_finite(covariance):
    with pytest.raises(TrueupError) as caught:
        believing(normal(PAIR, [0.0, 0.0], covariance))
    assert "covariance that is not symmetric" in str(caught.value)
    assert "Leave unidentified parameters out" in str(caught.value)


def test_a_mean_is_finite():
    with pytest.raises(TrueupError, match="not finite"):
        believing(normal(PAIR, [np.nan, 0.0], np.eye(2)))


@pytest.mark.parametrize(
    ("mean", "covariance"), [([0.0] * 3, np.eye(2)), ([0.0] * 2, np.eye(3)), ([0.0], np.eye(2))]
)
def test_a_normal_of_the_wrong_size_is_a_sentence(mean, covariance):
    with pytest.raises(TrueupError, match="2"):
        normal(PAIR, mean, covariance)


def test_a_normal_of_the_wrong_size_in_a_file_is_a_sentence():
    data = {**NORMAL.to_json(), "mean": [0.0]}
    with pytest.raises(TrueupError, match="A JointNormal could not be read"):
        Joint.from_json(data)


def test_samples_need_a_row():
    with pytest.raises(TrueupError, match=r"'latency/delay', 'object/mass'\] have no rows"):
        believing(JointSamples(PAIR, np.empty((0, 2))))


@pytest.mark.parametrize(("value", "words"), [(4.5, "= 4.5 s is out of"), (np.nan, "not a number")])
def test_samples_stay_inside_the_bounds(value, words):
    with pytest.raises(TrueupError, match=words) as caught:
        believing(samples(PAIR, [[0.0, 1.0], [value, 1.0]]))
    assert "'latency/delay'" in str(caught.value) and "[-4, 4] s" in str(caught.value)


def test_an_unknown_kind_offers_the_nearest():
    with pytest.raises(UnknownName, match=r"joint prior named 'JointSample'.*'JointSamples'"):
        Joint.from_json({"kind": "JointSample"})


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "JointSamples", "names": list(PAIR)},
        {"kind": "JointSamples", "names": list(PAIR), "rows": [[1.0, 2.0], [3.0]]},
        {"kind": "JointSamples", "names": list(PAIR), "rows": {}},
        {"kind": "JointSamples", "names": None, "rows": []},
        {"kind": "JointNormal", "names": list(PAIR), "mean": ["a", "b"], "covariance": []},
        None,
        "JointSamples",
    ],
    ids=json.dumps,
)
def test_a_joint_that_cannot_be_read_is_a_sentence(data):
    with pytest.raises(TrueupError, match=r"could not be read|no kind of joint"):
        Joint.from_json(data)
