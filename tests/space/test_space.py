"""One space, four readings: sampled, narrowed, split by gap, printed. The laws each relies on."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trueup.errors import TrueupError, UnknownName
from trueup.space import (
    Fixed,
    Gap,
    Joint,
    JointNormal,
    JointSamples,
    LogNormal,
    Mixture,
    Normal,
    Parameter,
    Point,
    Points,
    Prior,
    Samples,
    Space,
    Uniform,
    ValueOutOfBounds,
)


def parameter(name: str, low=0.0, high=1.0, **more) -> Parameter:
    return Parameter(**{"name": name, "unit": "1", "nominal": low, "low": low, "high": high} | more)


DELAY = parameter("latency/delay", 0.0, 0.15, unit="s", source="65 ms measured")
KP = parameter("actuation/elbow/kp", 3.0, 50.0, nominal=13.0, scale="log", unit="N·m/rad")
DAMPING = parameter("actuation/elbow/damping", 0.2, 5.5, nominal=1.1, prior=LogNormal(1.1, 1.3))
WRIST = parameter("actuation/wrist/damping", 0.2, 5.5, nominal=1.1, prior=Normal(1.1, 0.3))
MASS = parameter("object/mass", 0.02, 0.2, nominal=0.05, prior=Samples((0.03, 0.05, 0.09)))
MODE = parameter("contact/mode", prior=Mixture((1.0, 2.0), (Fixed(0.25), Uniform(0.5, 1.0))))
SPACE = Space((DELAY, KP, DAMPING, WRIST, MASS, MODE))
PAIR = ("actuation/elbow/kp", "object/mass")
ROWS = np.array([[10.0, 0.03], [20.0, 0.06], [30.0, 0.09]])
SAMPLES = JointSamples(PAIR, ROWS)
NORMAL = JointNormal(
    ("latency/delay", "actuation/elbow/kp"),
    np.array([0.07, math.log(13)]),
    np.array([[1e-4, 1e-3], [1e-3, 0.04]]),
)
EMPTY = Space(())


@dataclass
class Found:
    """As much of an estimate as `narrowed` needs."""

    priors: Mapping[str, Prior] = field(default_factory=dict)
    joints: Sequence[Joint] = ()


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# The unit cube ----------------------------------------------------------------------------------

unit_rows = st.lists(st.floats(0, 1), min_size=len(SPACE), max_size=len(SPACE))


@given(st.lists(unit_rows, min_size=1, max_size=4))
def test_decode_and_encode_undo_each_other(rows):
    points = SPACE.decode(rows)
    u = SPACE.encode(points)
    assert u == pytest.approx(np.array(rows), abs=1e-12)
    assert SPACE.decode(u).values == pytest.approx(points.values, rel=1e-12)
    assert np.all((u >= 0) & (u <= 1))


def test_the_corners_of_the_cube_are_the_bounds():
    corners = SPACE.decode([[0.0] * 6, [1.0] * 6])
    assert corners.values.tolist() == [[p.low for p in SPACE], [p.high for p in SPACE]]
    assert SPACE.encode(corners).tolist() == [[0.0] * 6, [1.0] * 6]


def test_one_point_encodes_to_one_row():
    u = SPACE.encode(SPACE.nominal())
    assert u.shape == (1, 6)
    assert SPACE.decode(u[0]) == SPACE.decode(u)
    assert u[0, SPACE.index("latency/delay")] == 0.0


@pytest.mark.parametrize("columns", [0, 5, 7])
@pytest.mark.parametrize("door", [Space.from_uniform, Space.decode])
def test_the_cube_has_one_column_for_each_parameter(door, columns):
    with pytest.raises(TrueupError, match="6"):
        door(SPACE, np.full((3, columns), 0.5))


# Sampling ---------------------------------------------------------------------------------------


def test_draws_stay_within_bounds_and_are_repeatable():
    for space in (SPACE, SPACE.narrowed(SAMPLES), SPACE.narrowed(NORMAL)):
        points = space.sample(rng(), 3000)
        assert points == space.sample(rng(), 3000)
        assert points != space.sample(rng(1), 3000)
        assert space.points(points) == points  # which checks every value


def test_each_column_follows_its_own_prior():
    points = SPACE.sample(rng(), 4000)
    for p, expected in [
        (DELAY, stats.uniform(0, 0.15)),
        (KP, stats.loguniform(3.0, 50.0)),
        (WRIST, stats.truncnorm(-3, 4.4 / 0.3, loc=1.1, scale=0.3)),
    ]:
        assert stats.kstest(points.column(p.name), expected.cdf).pvalue > 1e-3
    between = np.corrcoef(points.values.T) - np.eye(6)
    assert np.abs(between).max() < 0.08


def test_planned_uniform_numbers_sample_more_evenly():
    planned = SPACE.from_uniform(stats.qmc.Sobol(6, rng=0).random(256))
    assert len(planned) == 256
    delay = np.sort(planned.column("latency/delay"))
    assert np.abs(delay - (np.arange(256) + 0.5) * 0.15 / 256).max() < 0.15 / 128
    exact = planned.column("object/mass")
    assert np.array_equal(np.unique(exact), [0.03, 0.05, 0.09])


def test_draws_of_others_do_not_move_when_some_are_narrowed():
    before, after = SPACE.sample(rng(), 50), SPACE.narrowed(SAMPLES).sample(rng(), 50)
    for name in SPACE.names:
        assert np.array_equal(before.column(name), after.column(name)) == (name not in PAIR)


# Density ----------------------------------------------------------------------------------------


def test_density_is_the_sum_over_parameters():
    points = SPACE.sample(rng(), 20)
    parts = [p.log_density(points.column(p.name)) for p in SPACE]
    assert SPACE.log_density(points) == pytest.approx(np.sum(parts, axis=0))


def test_fixed_parameters_count_nothing():
    points = SPACE.sample(rng(), 20)
    some = SPACE.pinned({"object/mass": 0.1, "contact/mode": 0.25})
    rest = SPACE.without("object", "contact")
    assert some.log_density(points) == pytest.approx(rest.log_density(points))
    assert SPACE.pinned().log_density(points).tolist() == [0.0] * 20


def test_a_joint_replaces_the_density_of_its_parameters():
    space = SPACE.narrowed(NORMAL)
    points = space.sample(rng(), 20)
    values = np.stack([points.column(name) for name in NORMAL.names], axis=-1)
    others = SPACE.without(*NORMAL.names).log_density(points)
    assert space.log_density(points) == pytest.approx(
        others + NORMAL.log_density(values, [DELAY, KP])
    )


# Points -----------------------------------------------------------------------------------------


def test_the_nominal_point():
    assert SPACE.nominal() == {p.name: p.nominal for p in SPACE}
    assert tuple(SPACE.nominal()) == SPACE.names
    assert SPACE.point() == SPACE.point({}) == SPACE.nominal()
    assert SPACE.point({"object/mass": 0.1}) == {**SPACE.nominal(), "object/mass": 0.1}


def test_points_come_from_every_source():
    values = {"object/mass": 0.1, "latency/delay": 0.05}
    expected = Points(SPACE.names, np.array([[0.05, 13.0, 1.1, 1.1, 0.1, 0.0]] * 2))
    assert SPACE.points(values, 2) == expected
    assert SPACE.points(Point(values), 2) == expected
    assert SPACE.points(SPACE.point(values), n=2) == expected
    assert SPACE.points([values, Point(values)]) == expected
    assert SPACE.points((SPACE.point(values),) * 2) == expected
    assert SPACE.points(expected) == expected
    assert SPACE.points(expected.values) == expected
    assert SPACE.points(expected.values.tolist()) == expected
    part = Points(("object/mass", "latency/delay"), np.array([[0.1, 0.05]] * 2))
    assert SPACE.points(part) == expected


def test_no_points_are_points_too():
    for none in ([], np.empty((0, 6)), Points(SPACE.names, np.empty((0, 6)))):
        points = SPACE.points(none)
        assert points.values.shape == (0, 6)
    assert SPACE.sample(rng(), 0).values.shape == (0, 6)
    assert SPACE.encode(SPACE.sample(rng(), 0)).shape == (0, 6)


@pytest.mark.parametrize("shape", [(6,), (2, 5), (2, 7), (2, 3, 6)])
def test_points_of_another_shape_are_refused(shape):
    with pytest.raises(TrueupError) as caught:
        SPACE.points(np.ones(shape))
    assert f"need an array of shape (n, 6), not {shape}" in str(caught.value)
    assert "in the order of `space.names`" in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        {"latency/delay": 0.2},
        Point({"latency/delay": 0.2}),
        [{"latency/delay": 0.1}, {"latency/delay": 0.2}],
        Points(("latency/delay",), np.array([[0.1], [0.2]])),
        np.array([[0.2, 13.0, 1.1, 1.1, 0.1, 0.0]]),
    ],
    ids=lambda source: type(source).__name__,
)
def test_a_value_out_of_bounds_is_told_whatever_the_source(source):
    with pytest.raises(ValueOutOfBounds) as caught:
        SPACE.points(source)
    assert str(caught.value) == (
        "'latency/delay' = 0.2 s is out of its bounds [0, 0.15] s. "
        "Choose a value inside them (65 ms measured)."
    )


def test_what_is_not_a_number_is_no_value():
    for door in (SPACE.point, SPACE.points, SPACE.encode):
        with pytest.raises(ValueOutOfBounds, match="'latency/delay' is not a number"):
            door(Point({"latency/delay": math.nan}))


def test_an_unknown_parameter_offers_the_nearest():
    doors = [
        lambda name: SPACE[name],
        SPACE.index,
        lambda name: SPACE.point({name: 1.0}),
        lambda name: SPACE.points([{name: 1.0}]),
        lambda name: SPACE.points(Points((name,), np.ones((1, 1)))),
        lambda name: SPACE.pinned({name: 1.0}),
        lambda name: SPACE.narrowed({name: Uniform()}),
        lambda name: SPACE.narrowed(JointSamples((name,), np.ones((1, 1)))),
        lambda name: Space(SPACE.parameters, (JointSamples((name,), np.ones((1, 1))),)),
    ]
    for door in doors:
        with pytest.raises(UnknownName) as caught:
            door("actuation/elbow/dampin")
        assert "There is no parameter named 'actuation/elbow/dampin'." in str(caught.value)
        assert "Did you mean 'actuation/elbow/damping'" in str(caught.value)


# Other spaces -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        (("latency",), "0"),
        (("actuation",), "123"),
        (("actuation/*/damping",), "23"),
        (("*/damping",), "23"),
        (("object/mass",), "4"),
        (("object", "latency"), "04"),
        (("*",), "012345"),
        (("actuation/elbow/k?",), "1"),
        (("actuation/[ew]*/d*",), "23"),
        ((), ""),
    ],
)
def test_patterns_select_and_leave_out(patterns, kept):
    inside = [SPACE.names[int(i)] for i in kept]
    outside = [name for name in SPACE.names if name not in inside]
    assert list(SPACE.select(*patterns).names) == inside
    assert list(SPACE.without(*patterns).names) == outside


@pytest.mark.parametrize("method", [Space.select, Space.without])
def test_a_pattern_that_matches_nothing_is_an_error(method):
    with pytest.raises(TrueupError) as caught:
        method(SPACE, "latency", "object/mas")
    assert "No parameter of this space matches 'object/mas'" in str(caught.value)
    assert "'object/mass'" in str(caught.value)
    assert "Patterns look like 'actuation/*/damping'" in str(caught.value)


def test_a_gap_without_parameters_is_not_offered_again():
    with pytest.raises(TrueupError) as caught:
        SPACE.select("human")
    assert "Did you mean 'human'" not in str(caught.value)


def test_by_gap_covers_everything_in_the_order_of_the_gaps():
    parts = SPACE.by_gap()
    assert list(parts) == [Gap.CONTACT, Gap.OBJECT, Gap.ACTUATION, Gap.LATENCY]
    assert [*parts] == [gap for gap in Gap if gap in parts]
    together = [p for part in parts.values() for p in part]
    assert sorted(p.name for p in together) == sorted(SPACE.names)
    assert all(p.gap is gap for gap, part in parts.items() for p in part)
    assert parts[Gap.ACTUATION] == SPACE.select("actuation") == Space((KP, DAMPING, WRIST))


def test_selecting_part_of_a_joint_keeps_its_marginal():
    space = SPACE.narrowed(SAMPLES)
    assert space.select("object").joints == (SAMPLES.marginal(["object/mass"]),)
    assert space.by_gap()[Gap.ACTUATION].joints == (SAMPLES.marginal(["actuation/elbow/kp"]),)
    assert space.select("object", "actuation").joints == (SAMPLES,)
    assert space.select("latency").joints == ()
    assert np.isin(space.select("object").sample(rng(), 50).values, ROWS[:, 1]).all()


def test_free_and_active_tell_what_may_move():
    assert SPACE.free == SPACE.active == SPACE.names
    at_nominal = SPACE.pinned({"object/mass": 0.05, "latency/delay": 0.1})
    assert at_nominal.free == SPACE.names[1:4] + SPACE.names[5:]
    assert at_nominal.active == SPACE.names[:4] + SPACE.names[5:]  # 0.1 s is not nominal
    assert SPACE.pinned().free == SPACE.pinned().active == ()


def test_a_joint_sets_a_pinned_parameter_free():
    space = SPACE.pinned().narrowed(SAMPLES)
    assert space.sample(rng(), 50)[:].column("object/mass").std() > 0
    assert space.free == PAIR
    assert space.active == PAIR


def test_pinned_parameters_are_drawn_at_their_value():
    some = SPACE.pinned({"object/mass": 0.123}).sample(rng(), 20)
    assert set(some.column("object/mass").tolist()) == {0.123}
    assert some.column("latency/delay").std() > 0
    assert SPACE.pinned().sample(rng(), 3) == SPACE.points(SPACE.nominal(), 3)
    assert SPACE.pinned({}) == SPACE


def test_pinning_leaves_a_joint_about_the_rest():
    space = SPACE.narrowed(SAMPLES).pinned({"object/mass": 0.1})
    assert space.joints == (SAMPLES.marginal(["actuation/elbow/kp"]),)
    assert set(space.sample(rng(), 20).column("object/mass").tolist()) == {0.1}
    assert SPACE.narrowed(SAMPLES).pinned().joints == ()


def test_pinning_out_of_bounds_is_refused():
    with pytest.raises(TrueupError, match=r"'latency/delay' makes no sense.*\[0.0, 0.15\]"):
        SPACE.pinned({"latency/delay": 0.2})


@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: Found(priors=p)], ids=["dict", "estimate"])
def test_narrowing_by_priors_leaves_the_rest_as_wide(wrap):
    narrow = SPACE.narrowed(wrap({"latency/delay": Normal(0.06, 0.001)}))
    assert narrow["latency/delay"].prior == Normal(0.06, 0.001)
    assert narrow.without("latency") == SPACE.without("latency")
    drawn = narrow.sample(rng(), 500).column("latency/delay")
    assert np.abs(drawn - 0.06).max() < 0.006
    assert SPACE["latency/delay"].prior == Uniform()  # the old space is as it was


@pytest.mark.parametrize("wrap", [lambda j: j, lambda j: Found(joints=[j])], ids=["joint", "found"])
def test_narrowing_by_a_joint_replaces_those_priors(wrap):
    narrow = SPACE.narrowed(wrap(SAMPLES))
    drawn = narrow.sample(rng(), 300)
    pairs = np.stack([drawn.column(name) for name in PAIR], axis=-1)
    assert {tuple(pair) for pair in pairs} == {tuple(row) for row in ROWS}
    assert narrow.names == SPACE.names


def test_narrowing_by_priors_and_joints_at_once():
    narrow = SPACE.narrowed(Found({"latency/delay": Fixed(0.1)}, [SAMPLES]))
    assert narrow.joints == (SAMPLES,)
    assert narrow["latency/delay"].prior == Fixed(0.1)


def test_narrowing_again_renews_only_what_it_covers():
    twice = SPACE.narrowed(SAMPLES).narrowed(NORMAL)
    assert twice.joints == (SAMPLES.marginal(["object/mass"]), NORMAL)
    assert twice.narrowed(SAMPLES).joints == (NORMAL.marginal(["latency/delay"]), SAMPLES)
    assert SPACE.narrowed(SAMPLES).narrowed(SAMPLES) == SPACE.narrowed(SAMPLES)
    back = SPACE.narrowed(SAMPLES).narrowed({name: Uniform() for name in PAIR})
    assert back.joints == ()


# Storage ----------------------------------------------------------------------------------------

STORED = Space(
    (*SPACE.parameters, parameter("human/awkward", -0.1 - 0.2, 5e-324)), (SAMPLES,)
).narrowed(JointNormal(("latency/delay", "human/awkward"), np.array([1 / 3, -0.0]), np.eye(2) / 3))


@pytest.mark.parametrize("space", [SPACE, STORED, EMPTY], ids=["plain", "joints", "empty"])
def test_a_saved_space_loads_equal_bit_for_bit(space, tmp_path):
    space.save(tmp_path / "space.json")
    back = Space.load(str(tmp_path / "space.json"))
    assert back == space
    assert repr(back) == repr(space)
    assert back.sample(rng(), 5) == space.sample(rng(), 5)
    back.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "space.json").read_bytes()


def loading(tmp_path, text: str) -> str:
    path = tmp_path / "space.json"
    path.write_text(text)
    with pytest.raises(TrueupError) as caught:
        Space.load(path)
    return str(caught.value)


def test_a_file_that_is_not_json_is_called_so(tmp_path):
    message = loading(tmp_path, "parameters: []\n")
    assert "space.json is not JSON" in message and "line 1" in message


def test_a_truncated_file_is_called_so(tmp_path):
    text = json.dumps(STORED.to_json(), indent=1)
    for end in (0, 1, len(text) // 2, len(text) - 1):
        message = loading(tmp_path, text[:end])
        assert "is not JSON" in message and "cut short" in message


@pytest.mark.parametrize(
    ("data", "found"),
    [({"format": "trueup/point"}, "'trueup/point'"), ({}, "None"), ([], "'list'"), (3, "'int'")],
)
def test_another_format_is_named(tmp_path, data, found):
    message = loading(tmp_path, json.dumps(data))
    assert f"its format is {found}, not 'trueup/space'" in message
    looks_like_a_point = isinstance(data, dict)
    assert ("looks like a point" if looks_like_a_point else "trueup space") in message


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.5])
@pytest.mark.parametrize("door", ["decode", "from_uniform"])
def test_what_lies_outside_the_unit_cube_is_refused(door, bad):
    u = np.full((2, len(SPACE)), 0.5)
    u[1, 0] = bad
    with pytest.raises(TrueupError, match="not inside the unit cube"):
        getattr(SPACE, door)(u)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_version_is_named(tmp_path, version):
    message = loading(tmp_path, json.dumps({**SPACE.to_json(), "version": version}))
    assert f"is of version {version!r}; this trueup reads version 1" in message
    assert "Upgrade trueup" in message


@pytest.mark.parametrize("parameters", [None, [None], {"a": 1}, "abc", [[]]], ids=json.dumps)
def test_parameters_that_cannot_be_read_are_a_sentence(tmp_path, parameters):
    message = loading(tmp_path, json.dumps({**SPACE.to_json(), "parameters": parameters}))
    assert "could not be read" in message and str(tmp_path) in message


def test_a_space_file_without_parameters_is_not_an_empty_space(tmp_path):
    assert "parameters" in loading(tmp_path, '{"format": "trueup/space", "version": 1}')


def test_a_missing_or_unreadable_file_is_named(tmp_path):
    with pytest.raises(TrueupError, match=r"There is no space file at .*none\.json\. Check"):
        Space.load(tmp_path / "none.json")
    with pytest.raises(TrueupError, match="could not be read"):
        Space.load(tmp_path)
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(TrueupError, match="could not be read"):
        Space.load(tmp_path / "binary.json")


# What cannot be ---------------------------------------------------------------------------------


def test_a_name_stands_once():
    with pytest.raises(TrueupError, match=r"names 'latency/delay' more than once"):
        Space((DELAY, KP, DELAY))


def test_a_parameter_has_one_joint():
    with pytest.raises(TrueupError, match=r"both cover 'actuation/elbow/kp'"):
        Space(SPACE.parameters, (SAMPLES, NORMAL))
    with pytest.raises(TrueupError, match=r"cover 'object/mass'"):
        twice = JointSamples(("object/mass", "object/mass"), np.array([[0.1, 0.1]]))
        Space(SPACE.parameters, (twice,))


# The rest ---------------------------------------------------------------------------------------


def test_a_space_reads_like_an_ordered_collection():
    assert len(SPACE) == 6 and tuple(SPACE) == SPACE.parameters
    assert SPACE["object/mass"] is MASS and SPACE.index("object/mass") == 4
    assert "object/mass" in SPACE and "object/mas" not in SPACE
    assert Space([DELAY, KP]) == Space((DELAY, KP)) != Space((KP, DELAY))  # type: ignore[arg-type]


def test_an_empty_space_works_everywhere():
    assert len(EMPTY) == 0 and EMPTY.names == EMPTY.free == EMPTY.active == ()
    assert EMPTY.nominal() == EMPTY.point({}) == {}
    assert EMPTY.by_gap() == {}
    for points in (
        EMPTY.sample(rng(), 3),
        EMPTY.from_uniform(np.empty((3, 0))),
        EMPTY.points({}, 3),
        EMPTY.points([{}, {}, {}]),
        EMPTY.points(np.empty((3, 0))),
        EMPTY.decode(np.empty((3, 0))),
    ):
        assert len(points) == 3 and points.values.shape == (3, 0)
        assert points[1] == {}
        assert EMPTY.points(points) == points
        assert EMPTY.encode(points).shape == (3, 0)
        assert EMPTY.log_density(points).tolist() == [0.0] * 3
    assert len(EMPTY.points([])) == 0
    assert EMPTY.pinned() == EMPTY.narrowed({}) == EMPTY.select() == EMPTY.without() == EMPTY
    with pytest.raises(TrueupError, match="No parameter of this space matches"):
        EMPTY.select("latency/*")
    with pytest.raises(UnknownName, match="None exist yet"):
        EMPTY["latency/delay"]
