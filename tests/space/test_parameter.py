"""A parameter maps its bounds to [0, 1] and back, and says clearly what it cannot be."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trueup.errors import TrueupError, UnknownName
from trueup.space import Fixed, Gap, LogUniform, Parameter, Samples, Uniform, ValueOutOfBounds


def parameter(low=0.0, high=1.0, *, scale: Any = "linear", **more) -> Parameter:
    more = {"nominal": low, "name": "object/x", "unit": "kg", **more}
    return Parameter(low=low, high=high, scale=scale, **more)


@st.composite
def parameters(draw) -> Parameter:
    scale = draw(st.sampled_from(["linear", "log"]))
    number = st.floats(1e-6, 1e6) if scale == "log" else st.floats(-1e6, 1e6)
    low, high = sorted([draw(number), draw(number)])
    return parameter(low, high, scale=scale)


fractions = st.floats(0, 1)

# Bounds where the plain formulas miss the upper end by one rounding.
ROUNDING = [
    parameter(0.05, 0.21),
    parameter(0.01, 0.47, scale="log"),
    parameter(0.3865094100533769, 0.5857854389851462, scale="log"),
    parameter(8.06979574771132, 8.110076062190888, scale="log"),
]


@given(parameters(), fractions)
def test_decode_undoes_encode(p, fraction):
    x = min(max(p.low + fraction * (p.high - p.low), p.low), p.high)
    size = max(abs(p.low), abs(p.high))
    assert p.decode(p.encode(x)) == pytest.approx(x, rel=1e-12, abs=1e-14 * size)


@given(parameters(), fractions)
def test_encode_undoes_decode(p, u):
    width = p.high - p.low
    if width > 1e-6 * max(abs(p.low), abs(p.high)):  # narrower, and values run out of digits
        assert p.encode(p.decode(u)) == pytest.approx(u, abs=1e-8)


@given(parameters(), fractions)
def test_encode_stays_in_the_unit_interval(p, fraction):
    x = min(max(p.low + fraction * (p.high - p.low), p.low), p.high)
    assert np.all((p.encode([p.low, x, p.high]) >= 0) & (p.encode([p.low, x, p.high]) <= 1))


@given(parameters())
@example(ROUNDING[0])
@example(ROUNDING[1])
@example(ROUNDING[2])
@example(ROUNDING[3])
def test_bounds_are_exact_both_ways(p):
    ends = np.array([p.low, p.high])
    if p.low < p.high:
        assert p.encode(ends).tolist() == [0.0, 1.0]
        assert p.decode([0.0, 1.0]).tolist() == ends.tolist()
    assert p.decode(p.encode(ends)).tolist() == ends.tolist()


@given(parameters(), st.floats(-1, 2))
def test_decode_never_leaves_the_bounds(p, u):
    assert p.low <= p.decode(u) <= p.high


def test_a_log_scale_puts_the_geometric_mean_in_the_middle():
    p = parameter(0.01, 100.0, scale="log")
    assert p.encode([0.01, 0.1, 1.0, 10.0, 100.0]) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert parameter(0.0, 100.0).encode([1.0, 50.0]) == pytest.approx([0.01, 0.5])


def test_a_parameter_of_no_width_has_one_value():
    p = parameter(2.0, 2.0)
    assert p.encode([2.0, 2.0]).tolist() == [0.5, 0.5]
    assert p.decode([0.0, 0.5, 1.0]).tolist() == [2.0, 2.0, 2.0]
    assert p.quantile([0.0, 0.9]).tolist() == [2.0, 2.0]


def test_encode_keeps_the_shape():
    for scale in ("linear", "log"):
        p = parameter(1.0, 2.0, scale=scale)
        for shape in [(), (3,), (2, 3), (0,)]:
            assert p.encode(np.full(shape, 1.5)).shape == shape
            assert p.decode(np.full(shape, 0.5)).shape == shape


def test_the_default_prior_is_even_in_the_scale():
    assert parameter().prior == Uniform()
    assert parameter(1.0, 2.0, scale="log").prior == LogUniform()
    assert parameter(1.0, 100.0, scale="log").quantile(0.5) == pytest.approx(10.0)


def test_the_gap_is_the_first_part_of_the_name():
    for gap in Gap:
        assert parameter(name=f"{gap}/x").gap is gap
        assert gap.question.endswith("?")
    assert len(set(Gap)) == 8


def test_fixed_tells_whether_the_prior_holds_one_value():
    assert parameter(prior=Fixed(0.5)).fixed
    assert not parameter().fixed


def test_numbers_become_floats_and_the_declaration_is_frozen():
    p = parameter(0, 1, nominal=np.float32(0.5))
    assert [type(v) for v in (p.nominal, p.low, p.high)] == [float] * 3
    with pytest.raises(AttributeError):
        p.nominal = 1.0  # type: ignore[misc]


@given(parameters(), fractions, st.text())
def test_json_returns_an_equal_parameter(p, fraction, source):
    p = Parameter(
        name="contact/pad-1.5/mu_s",
        unit="N·m/rad",
        nominal=float(p.decode(fraction)),
        low=p.low,
        high=p.high,
        scale=p.scale,
        prior=Samples((p.low, p.high)),
        source=source,
    )
    back = Parameter.from_json(json.loads(json.dumps(p.to_json())))
    assert back == p
    assert repr(back) == repr(p)


# What cannot be ---------------------------------------------------------------------------------


def refusal(**fields) -> str:
    with pytest.raises(TrueupError) as caught:
        parameter(**fields)
    return str(caught.value)


def test_an_unknown_gap_offers_the_nearest():
    message = refusal(name="actuatoin/elbow/kp")
    assert "no gap (the first part of parameter 'actuatoin/elbow/kp') named 'actuatoin'" in message
    assert "Did you mean 'actuation'" in message


@pytest.mark.parametrize(
    "name", ["object", "object/", "object//x", "object/a b", "object/x/", "object/ü"]
)
def test_a_name_has_its_form(name):
    message = refusal(name=name)
    assert repr(name) in message and "gap/subject/quantity" in message


@pytest.mark.parametrize("field", ["nominal", "low", "high"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_bounds_and_nominal_are_finite(field, value):
    message = refusal(**{"low": 0.0, "high": 1.0, "nominal": 0.5, field: value})
    assert "'object/x' has a bound or nominal that is not finite" in message
    assert str(value) in message


@pytest.mark.parametrize("nominal", [-0.1, 1.1])
def test_the_nominal_value_lies_inside(nominal):
    message = refusal(nominal=nominal)
    assert f"has its nominal {nominal} outside its bounds [0.0, 1.0]" in message
    assert "Widen the bounds" in message


def test_bounds_are_in_order():
    assert "outside its bounds [2.0, 1.0]" in refusal(low=2.0, high=1.0)


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_a_log_scale_needs_positive_bounds(low):
    message = refusal(low=low, scale="log", prior=Uniform())
    assert f"on a log scale but its lower bound is {low}" in message
    assert "use the linear scale" in message


def test_an_unknown_scale_offers_the_nearest():
    with pytest.raises(UnknownName, match=r"scale \(of 'object/x'\).*Did you mean 'log'"):
        parameter(1.0, 2.0, scale="logs")


def test_a_value_out_of_bounds_is_told_with_unit_bounds_and_source():
    p = parameter(0.01, 0.15, source="kitchen scales")
    with pytest.raises(ValueOutOfBounds) as caught:
        p.check_values([0.1, 0.2, 0.3])
    assert str(caught.value) == (
        "'object/x' = 0.2 kg is out of its bounds [0.01, 0.15] kg. "
        "Choose a value inside them (kitchen scales)."
    )
    assert caught.value.parameter is p and caught.value.value == 0.2


def test_a_value_that_is_not_a_number_is_called_so():
    with pytest.raises(ValueOutOfBounds) as caught:
        parameter().check_values(math.nan)
    assert str(caught.value) == (
        "The value of 'object/x' is not a number; its bounds are [0, 1] kg. "
        "Choose a value inside them."
    )


@pytest.mark.parametrize("value", [math.inf, -math.inf, -1e-300, np.nextafter(1.0, 2.0)])
def test_anything_beyond_the_bounds_is_refused(value):
    with pytest.raises(ValueOutOfBounds):
        parameter().check_values(value)


def test_a_value_just_beyond_a_bound_is_told_from_it():
    with pytest.raises(ValueOutOfBounds) as caught:
        parameter(0.0, 0.15).check_values(0.15000001)
    assert "0.15000001" in str(caught.value)


def test_values_on_the_bounds_are_fine():
    parameter(0.05, 0.21).check_values([0.05, 0.1, 0.21])
    parameter().check_values([])


GOOD = parameter().to_json()


@pytest.mark.parametrize(
    "data",
    [
        {key: value for key, value in GOOD.items() if key != "prior"},
        {key: value for key, value in GOOD.items() if key != "unit"},
        {**GOOD, "colour": "red"},
        {**GOOD, "nominal": "abc"},
        {**GOOD, "nominal": None},
        {**GOOD, "prior": None},
        {**GOOD, "prior": "Uniform"},
        {**GOOD, "prior": {"kind": "Samples", "values": "abc"}},
        {**GOOD, "prior": {"kind": "Mixture", "weights": [1.0], "priors": [None]}},
        {**GOOD, "prior": {"kind": "Normal", "mean": "a", "std": "b"}},
    ],
    ids=lambda data: json.dumps({k: v for k, v in data.items() if GOOD.get(k, 0) != v}),
)
def test_a_parameter_that_cannot_be_read_is_a_sentence(data):
    with pytest.raises(TrueupError, match=r"could not be read|is not a number"):
        Parameter.from_json(data)
