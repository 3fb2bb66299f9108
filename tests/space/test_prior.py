"""A prior draws what it says, where it may, and comes back from a file as it went."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from trueup.errors import TrueupError, UnknownName
from trueup.space import (
    Fixed,
    LogNormal,
    LogUniform,
    Mixture,
    Normal,
    Parameter,
    Prior,
    Samples,
    Uniform,
    normal,
)


def truncnorm(mean, std, low, high) -> Any:
    return stats.truncnorm((low - mean) / std, (high - mean) / std, loc=mean, scale=std)


@dataclass
class ExpOf:
    """scipy has no truncated log-normal: the exponential of a truncated normal."""

    log: Any

    def ppf(self, u):
        return np.exp(self.log.ppf(u))

    def cdf(self, x):
        return self.log.cdf(np.log(x))

    def logpdf(self, x):
        return self.log.logpdf(np.log(x)) - np.log(x)


LN2 = math.log(2)

# prior, bounds, the same distribution from scipy
CONTINUOUS = {
    "uniform over the bounds": (Uniform(), -2.0, 3.0, stats.uniform(-2, 5)),
    "uniform inside": (Uniform(0.1, 0.3), -2.0, 3.0, stats.uniform(0.1, 0.2)),
    "uniform cut": (Uniform(-9.0, 1.0), -2.0, 3.0, stats.uniform(-2, 3)),
    "uniform, one side": (Uniform(high=0.0), -2.0, 3.0, stats.uniform(-2, 2)),
    "log uniform": (LogUniform(), 0.01, 10.0, stats.loguniform(0.01, 10)),
    "log uniform cut": (LogUniform(1e-9, 0.5), 0.01, 10.0, stats.loguniform(0.01, 0.5)),
    "log uniform over 0": (LogUniform(low=0.1), 0.0, 1.0, stats.loguniform(0.1, 1.0)),
    "normal inside": (Normal(0.5, 0.01), -2.0, 3.0, truncnorm(0.5, 0.01, -2, 3)),
    "normal cut": (Normal(0.5, 4.0), -2.0, 3.0, truncnorm(0.5, 4.0, -2, 3)),
    "normal, lower tail": (Normal(6.0, 1.0), -2.0, 1.0, truncnorm(6, 1, -2, 1)),
    "normal, upper tail": (Normal(-4.0, 1.0), 1.0, 9.0, truncnorm(-4, 1, 1, 9)),
    "log normal": (
        LogNormal(1.0, 2.0),
        0.3,
        50.0,
        ExpOf(truncnorm(0, LN2, math.log(0.3), math.log(50))),
    ),
    "log normal over 0": (
        LogNormal(0.5, 2.0),
        0.0,
        0.9,
        ExpOf(truncnorm(math.log(0.5), LN2, -np.inf, math.log(0.9))),
    ),
}
continuous = pytest.mark.parametrize(
    ("prior", "low", "high", "expected"), CONTINUOUS.values(), ids=CONTINUOUS
)

EVERY_KIND = (
    *((prior, low, high) for prior, low, high, _ in CONTINUOUS.values()),
    (Fixed(0.25), 0.0, 1.0),
    (Samples((0.2, 0.3, 0.3)), 0.0, 1.0),
    (Mixture((3.0, 1.0), (Uniform(0.1, 0.2), Normal(0.9, 0.2))), 0.0, 1.0),
    (Mixture((0.5, 0.5), (Fixed(0.5), Mixture((1.0,), (Samples((0.4,)),)))), 0.0, 1.0),
    (Mixture((0.1, 0.2, 0.7), (Normal(0.0, 1.0),) * 3), -99.0, 99.0),
)
every_kind = pytest.mark.parametrize(
    ("prior", "low", "high"), EVERY_KIND, ids=lambda v: str(v) if isinstance(v, Prior) else ""
)


@continuous
def test_quantiles_agree_with_scipy(prior, low, high, expected):
    u = np.concatenate([[1e-9, 1e-5], np.linspace(0.001, 0.999, 499), [1 - 1e-5]])
    assert prior.quantile(u, low, high) == pytest.approx(expected.ppf(u), rel=1e-8, abs=1e-10)


@continuous
def test_densities_agree_with_scipy(prior, low, high, expected):
    x = expected.ppf(np.linspace(0.01, 0.99, 99))
    assert prior.log_density(x, low, high) == pytest.approx(expected.logpdf(x), abs=1e-8)


@continuous
def test_random_draws_follow_the_distribution(prior, low, high, expected):
    x = prior.quantile(np.random.default_rng(3).random(3000), low, high)
    assert stats.kstest(x, expected.cdf).pvalue > 1e-3


@continuous
def test_density_is_one_in_all_and_none_outside(prior, low, high, expected):
    x = np.linspace(expected.ppf(1e-6), expected.ppf(1 - 1e-6), 200_001)
    density = np.exp(prior.log_density(x, low, high))
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=1e-4)
    outside = np.array([low - 1.0, np.nextafter(low, -9e9), np.nextafter(high, 9e9), high + 1.0])
    assert np.all(prior.log_density(outside, low, high) == -np.inf)


@continuous
def test_quantiles_rise(prior, low, high, expected):
    x = prior.quantile(np.linspace(0, 1, 1001), low, high)
    assert np.all(np.diff(x) >= 0)


def test_every_kind_is_covered_here():
    assert {type(prior).__name__ for prior, *_ in EVERY_KIND} == set(Prior.kinds)


@every_kind
@given(u=st.floats(0, 1))
@example(u=0.0)
@example(u=np.nextafter(1.0, 0.0))
@example(u=1.0)
def test_draws_stay_within_bounds(prior, low, high, u):
    assert low <= prior.quantile(np.array([u]), low, high)[0] <= high


@every_kind
def test_quantiles_and_densities_keep_the_shape_they_are_given(prior, low, high):
    for shape in [(), (4,), (2, 3), (0,)]:
        assert np.shape(prior.quantile(np.full(shape, 0.5), low, high)) == shape
        assert np.shape(prior.log_density(np.full(shape, 0.5), low, high)) == shape


# Storage ----------------------------------------------------------------------------------------

finite = st.floats(allow_nan=False, allow_infinity=False)
maybe = st.none() | finite
plain_priors = st.one_of(
    st.builds(Fixed, finite),
    st.builds(Uniform, maybe, maybe),
    st.builds(LogUniform, maybe, maybe),
    st.builds(Normal, finite, finite),
    st.builds(LogNormal, finite, finite),
    st.builds(Samples, st.lists(finite, min_size=1, max_size=5).map(tuple)),
)
any_prior = st.recursive(
    plain_priors,
    lambda parts: st.lists(st.tuples(finite, parts), min_size=1, max_size=3).map(
        lambda rows: Mixture(tuple(w for w, _ in rows), tuple(p for _, p in rows))
    ),
    max_leaves=4,
)


def through_text(prior: Prior) -> Prior:
    return Prior.from_json(json.loads(json.dumps(prior.to_json())))


@given(any_prior)
def test_json_returns_every_prior_bit_for_bit(prior):
    back = through_text(prior)
    assert back == prior
    assert repr(back) == repr(prior)  # also tells -0.0 from 0.0


@pytest.mark.parametrize("value", [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, 1 / 3])
def test_awkward_floats_survive_text(value):
    back = through_text(Samples((value, value)))
    assert isinstance(back, Samples)
    assert [x.hex() for x in back.values] == [value.hex()] * 2


@pytest.mark.parametrize(
    "prior",
    [
        Samples([0.1, 0.2]),  # type: ignore[arg-type]
        Samples(np.array([0.1, 0.2])),  # type: ignore[arg-type]
        Mixture([1.0], [Uniform()]),  # type: ignore[arg-type]
    ],
    ids=["samples list", "samples array", "mixture list"],
)
def test_values_given_as_a_list_or_array_are_stored_too(prior):
    assert through_text(prior) == prior


def test_kinds_with_the_same_numbers_are_not_equal():
    assert Uniform(1.0, 2.0) != LogUniform(1.0, 2.0)
    assert Normal(1.0, 2.0) != LogNormal(1.0, 2.0)
    assert Uniform() == Uniform() and hash(Uniform()) == hash(Uniform())


# Mixtures and samples ---------------------------------------------------------------------------


def test_a_mixture_draws_its_parts_in_proportion():
    mixture = Mixture((3.0, 1.0, 6.0), (Uniform(0.0, 0.1), Fixed(0.5), Uniform(0.9, 1.0)))
    x = mixture.quantile(np.random.default_rng(0).random(20_000), 0.0, 1.0)
    shares = [(x <= 0.1).mean(), (x == 0.5).mean(), (x >= 0.9).mean()]
    assert shares == pytest.approx([0.3, 0.1, 0.6], abs=0.015)
    assert stats.kstest(x[x <= 0.1], stats.uniform(0, 0.1).cdf).pvalue > 1e-3


def test_the_density_of_a_mixture_is_the_weighted_sum():
    mixture = Mixture((1.0, 3.0), (Normal(0.2, 0.1), Uniform(0.5, 1.0)))
    x = np.linspace(-0.1, 1.1, 50)
    inside = (x >= 0.5) & (x <= 1.0)
    expected = 0.25 * truncnorm(0.2, 0.1, 0, 1).pdf(x) + 0.75 * np.where(inside, 2.0, 0.0)
    assert np.exp(mixture.log_density(x, 0.0, 1.0)) == pytest.approx(expected, abs=1e-12)


def test_overlapping_parts_mix_their_distributions():
    mixture = Mixture((0.3, 0.7), (Normal(0.4, 0.1), Normal(0.6, 0.2)))
    parts = truncnorm(0.4, 0.1, 0, 1), truncnorm(0.6, 0.2, 0, 1)
    x = mixture.quantile(np.random.default_rng(5).random(4000), 0.0, 1.0)
    cdf = lambda v: 0.3 * parts[0].cdf(v) + 0.7 * parts[1].cdf(v)  # noqa: E731
    assert stats.kstest(x, cdf).pvalue > 1e-3


def test_a_mixture_may_have_a_hundred_parts():
    centres = np.linspace(0, 0.99, 100)
    mixture = Mixture((1.0,) * 100, tuple(Fixed(float(c)) for c in centres))
    assert np.array_equal(mixture.quantile(centres + 0.005, 0.0, 1.0), centres)


def test_samples_come_back_exactly_and_equally_often():
    values = (0.1, 0.1 + 0.2, 1 / 3, 0.1)
    x = Samples(values).quantile((np.arange(4000) + 0.5) / 4000, 0.0, 1.0)
    assert np.array_equal(x, np.repeat(values, 1000))
    mass = Samples(values).log_density(np.array([0.1, 1 / 3, 0.2]), 0.0, 1.0)
    assert mass == pytest.approx([math.log(0.5), math.log(0.25), -math.inf])


def test_a_fixed_prior_knows_one_value():
    fixed = Fixed(0.25)
    assert np.array_equal(fixed.quantile(np.linspace(0, 1, 5), 0.0, 1.0), np.full(5, 0.25))
    assert fixed.log_density(np.array([0.25, 0.3]), 0.0, 1.0).tolist() == [0.0, -math.inf]


def test_the_normal_quantile_is_exact_far_into_the_tails():
    p = np.concatenate([10.0 ** np.arange(-300, 0), np.linspace(0.01, 0.99, 99)])
    assert normal.standard_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-13, abs=1e-14)
    assert normal.standard_quantile([0.0, 1.0]).tolist() == [-np.inf, np.inf]


# What makes no sense ----------------------------------------------------------------------------

NONSENSE = [
    (Normal(0.5, 0.0), "standard deviation is not above 0"),
    (Normal(0.5, -1.0), "standard deviation is not above 0"),
    (Normal(math.nan, 1.0), "mean is nan"),
    (Normal(0.5, math.inf), "std is inf"),
    (Normal(99.0, 0.1), "the bounds [0.0, 1.0] cut all of it away"),
    (LogNormal(0.0, 2.0), "median must be above 0 and factor above 1"),
    (LogNormal(0.5, 1.0), "median must be above 0 and factor above 1"),
    (LogNormal(1e9, 1.1), "the bounds [0.0, 1.0] cut all of it away"),
    (LogUniform(), "a logarithm needs a lower bound above 0"),
    (LogUniform(-1.0, 0.5), "a logarithm needs a lower bound above 0"),
    (Uniform(2.0, 3.0), "does not meet the bounds [0.0, 1.0]"),
    (Uniform(0.6, 0.4), "does not meet the bounds"),
    (Uniform(low=math.nan), "low is nan"),
    (Fixed(1.5), "outside the bounds [0.0, 1.0]"),
    (Fixed(math.nan), "value is nan"),
    (Samples(()), "at least one value"),
    (Samples((0.5, math.nan)), "all finite"),
    (Samples((0.5, 1.1)), "some values lie outside [0.0, 1.0]"),
    (Mixture((1.0,), (Uniform(), Uniform())), "one weight for each prior"),
    (Mixture((), ()), "one weight for each prior"),
    (Mixture((1.0, 0.0), (Uniform(), Uniform())), "weights must be above 0"),
    (Mixture((1.0, math.nan), (Uniform(), Uniform())), "weights must be above 0"),
    (Mixture((1.0, 1.0), (Uniform(), Normal(0.5, -1.0))), "standard deviation is not above 0"),
]


@pytest.mark.parametrize(("prior", "why"), NONSENSE, ids=lambda v: v if isinstance(v, str) else "")
def test_nonsense_is_refused_with_its_reason(prior, why):
    with pytest.raises(TrueupError) as caught:
        Parameter(name="object/mass", unit="kg", nominal=0.5, low=0.0, high=1.0, prior=prior)
    message = str(caught.value)
    assert why in message
    assert "'object/mass' makes no sense" in message
    assert "leave some probability inside the bounds" in message


def test_an_unknown_kind_offers_the_nearest():
    with pytest.raises(UnknownName, match=r"no kind of prior named 'Unifrom'.*'Uniform'"):
        Prior.from_json({"kind": "Unifrom"})


@pytest.mark.parametrize("data", [{"kind": "Normal", "mean": 0.0}, {"kind": "Normal", "sd": 1}])
def test_wrong_fields_are_named_beside_the_right_ones(data):
    with pytest.raises(TrueupError) as caught:
        Prior.from_json(data)
    assert "A Normal prior could not be read" in str(caught.value)
    assert "It takes: mean, std." in str(caught.value)
