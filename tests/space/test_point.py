"""Points hold values, read-only and equal by value; many of them are one array."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import TrueupError, UnknownName
from trueup.space import Point, Points

NAMES = ("latency/delay", "object/mass", "object/size")
finite = st.floats(allow_nan=False, allow_infinity=False)
any_point = st.dictionaries(st.text(min_size=1), finite).map(Point)


@pytest.fixture
def points() -> Points:
    return Points(NAMES, np.arange(12.0).reshape(4, 3))


def test_a_point_is_a_read_only_mapping():
    given_values = {"latency/delay": 1, "object/mass": np.float32(0.5)}
    point = Point(given_values)
    given_values["object/mass"] = np.float32(9)
    assert dict(point) == {"latency/delay": 1.0, "object/mass": 0.5}
    assert len(point) == 2 and "object/mass" in point and "object/size" not in point
    assert {type(value) for value in point.values()} == {float}
    with pytest.raises(TypeError):
        point["object/mass"] = 1.0  # type: ignore[index]


def test_points_are_equal_by_value_whatever_the_order():
    one, two = Point({"a/x": 1.0, "a/y": 2.0}), Point({"a/y": 2.0, "a/x": 1.0})
    assert one == two
    assert hash(one) == hash(two)
    assert one != Point({"a/x": 1.0, "a/y": 2.5})
    assert one != Point({"a/x": 1.0})


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(UnknownName) as caught:
        Point({"object/mass": 1.0})["object/mas"]
    assert "no parameter in this point named 'object/mas'" in str(caught.value)
    assert "Did you mean 'object/mass'?" in str(caught.value)


def test_get_falls_back_like_any_mapping():
    point = Point({"object/mass": 1.0})
    assert point.get("object/mass", 2.0) == 1.0
    assert point.get("object/size", 2.0) == 2.0
    assert point.get("object/size") is None


@given(any_point)
def test_json_returns_a_point_bit_for_bit(point):
    back = Point.from_json(json.loads(json.dumps(point.to_json())))
    assert back == point
    assert repr(back) == repr(point)


def test_a_saved_point_loads_equal(tmp_path):
    point = Point({"object/mass": 0.1 + 0.2, "object/size": 5e-324})
    point.save(tmp_path / "point.json")
    assert Point.load(tmp_path / "point.json") == point


def test_a_plain_object_of_numbers_is_a_point(tmp_path):
    (tmp_path / "plain.json").write_text('{"object/mass": 1, "object/size": 0.25}')
    assert Point.load(str(tmp_path / "plain.json")) == {"object/mass": 1.0, "object/size": 0.25}


@pytest.mark.parametrize("data", [[], 3, None, "x", {"values": [1]}])
def test_what_is_not_a_point_is_told_how_to_be_one(data):
    with pytest.raises(TrueupError) as caught:
        Point.from_json(data)
    assert "not a JSON object of names and numbers" in str(caught.value)
    assert "object/cube/mass" in str(caught.value)


@pytest.mark.parametrize("value", ["65ms", None, True, [0.1]])
def test_what_is_not_a_number_is_named_with_its_file(tmp_path, value):
    path = tmp_path / "point.json"
    path.write_text(json.dumps({"object/mass": value}))
    with pytest.raises(TrueupError) as caught:
        Point.load(path)
    assert str(path) in str(caught.value)
    assert f"'object/mass' is {value!r}, which is not a number" in str(caught.value)


def test_a_byte_order_mark_is_no_reason_to_refuse(tmp_path):
    (tmp_path / "point.json").write_text('{"object/mass": 1.0}', encoding="utf-8-sig")
    assert Point.load(tmp_path / "point.json") == {"object/mass": 1.0}


@pytest.mark.parametrize(
    "change", [{"version": 2}, {"format": "trueup/episode"}], ids=["version", "format"]
)
def test_a_point_of_another_version_or_format_is_refused(change):
    with pytest.raises(TrueupError, match=str(*change.values())):
        Point.from_json({**Point({"object/mass": 1.0}).to_json(), **change})


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TrueupError, match=r"There is no point file at .*none\.json"):
        Point.load(tmp_path / "none.json")


def test_points_are_rows_of_values(points):
    assert len(points) == 4
    assert points[1] == {"latency/delay": 3.0, "object/mass": 4.0, "object/size": 5.0}
    assert points[-1] == points[3] == points[np.int64(3)]
    assert [p["object/mass"] for p in points] == [1.0, 4.0, 7.0, 10.0]
    assert points.column("object/size").tolist() == [2.0, 5.0, 8.0, 11.0]
    with pytest.raises(IndexError):
        points[4]


@pytest.mark.parametrize(
    ("index", "rows"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, -2), [3, 1]),
        ([2, 0, 2], [2, 0, 2]),
        (np.array([False, True, False, True]), [1, 3]),
        (slice(0, 0), []),
        (np.array([], int), []),
    ],
)
def test_a_slice_mask_or_index_array_keeps_points(points, index, rows):
    some = points[index]
    assert isinstance(some, Points)
    assert some.names == NAMES
    assert some.values.shape == (len(rows), 3)
    assert [some[i] for i in range(len(rows))] == [points[i] for i in rows]


def test_points_are_read_only_and_own_their_values():
    values = np.ones((2, 3))
    points = Points(NAMES, values)
    values[:] = 7.0
    assert points.values.tolist() == np.ones((2, 3)).tolist()
    with pytest.raises(ValueError, match="read-only"):
        points.values[0, 0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        points.column(NAMES[0])[0] = 2.0


def test_points_are_equal_by_names_and_values(points):
    assert points == Points(NAMES, points.values)
    assert points != Points(NAMES, points.values + 1)
    assert points != Points(NAMES[::-1], points.values)
    assert points != points[:2]
    assert points != "points"


def test_one_row_may_be_given_flat():
    assert len(Points(NAMES, np.array([1.0, 2.0, 3.0]))) == 1


@pytest.mark.parametrize("shape", [(4, 2), (4, 4), (2,), (1, 2, 3)])
def test_values_need_one_column_for_each_name(shape):
    with pytest.raises(TrueupError, match="3"):
        Points(NAMES, np.zeros(shape))


def test_an_unknown_column_offers_the_nearest(points):
    with pytest.raises(UnknownName, match=r"named 'object/siz'.*'object/size'"):
        points.column("object/siz")


def test_a_point_keeps_what_a_file_may_not_hold():
    # JSON from elsewhere may say NaN: the point carries it, the space refuses it (see test_space).
    assert math.isnan(Point.from_json(json.loads('{"object/mass": NaN}'))["object/mass"])
