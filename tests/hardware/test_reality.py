"""Reality files: those that come with trueup, and everything that can be wrong with one's own."""

from __future__ import annotations

import json

import pytest

from trueup.errors import TrueupError
from trueup.hardware.reality import BEYOND, read_reality, realities, reality_from
from trueup.space import Gap, ValueOutOfBounds
from trueup.worlds import get, names

LIFT, REACH = get("so101/lift"), get("so101/reach")
GOOD = {"trueup_reality": 1, "story": "A test.", "values": {"object/cube/mass": 0.05}}


def gaps(name: str) -> set[Gap]:
    reality = read_reality(name)
    world = get(reality.world)
    named = {world.catalogue[parameter].gap for parameter in reality.point(world)}
    return named | {effect.gap for effect in reality.beyond}


class TestShipped:
    def test_there_are_twelve_and_more_from_benign_on(self) -> None:
        assert len(realities()) >= 12
        assert realities()[0] == "benign"
        grades = [read_reality(name).grade for name in realities()]
        assert grades == sorted(grades)

    @pytest.mark.parametrize("name", realities())
    def test_each_is_possible_and_has_a_story(self, name: str) -> None:
        reality = read_reality(name)
        assert reality.point(get(reality.world)) or reality.beyond
        assert reality.story.endswith(".")
        model = get(reality.world).model
        assert all(effect.parameters(model) for effect in reality.beyond)

    def test_every_gap_has_a_reality_of_its_own(self) -> None:
        single = [found for name in realities() if len(found := gaps(name)) == 1]
        assert set.union(*single) == set(Gap)

    def test_every_effect_beyond_the_space_is_used(self) -> None:
        used = {type(e) for name in realities() for e in read_reality(name).beyond}
        assert used == set(BEYOND.values())

    def test_some_are_mixed(self) -> None:
        assert sum(len(gaps(name)) >= 4 for name in realities()) >= 2


class TestReading:
    def test_patterns_choose_as_a_space_does_and_the_last_one_counts(self) -> None:
        values = {"actuation/*/damping": 1.3, "actuation/gripper/damping": 0.9, "latency": 0.01}
        values["latency/control_period_error"] = -0.1
        point = reality_from({**GOOD, "values": values}).point(LIFT)
        assert point["actuation/elbow_flex/damping"] == 1.3
        assert point["actuation/gripper/damping"] == 0.9
        assert point["latency/drop_probability"] == 0.01
        assert point["latency/control_period_error"] == -0.1

    def test_a_file_is_read(self, tmp_path) -> None:
        file = tmp_path / "mine.json"
        file.write_text(json.dumps(GOOD))
        assert read_reality(file).point(LIFT)["object/cube/mass"] == 0.05

    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            ({"trueup_reality": 2}, ["trueup_reality", "it is 2"]),
            ({"trueup_reality": None}, ["trueup_reality"]),
            ({"story": ""}, ["story", "at least 1"]),
            ({"story": "two\nlines"}, ["story"]),
            ({"values": {"a/b": "1"}}, ["values.a/b", "it is '1'"]),
            ({"values": {"a/b": True}}, ["values.a/b", "it is True"]),
            ({"values": {"a/b": float("nan")}}, ["values.a/b", "finite"]),
            ({"engine": "unreal"}, ["engine", "'mujoco' or 'bullet'", "it is 'unreal'"]),
            ({"valeus": {}}, ["has no field 'valeus'", "Did you mean 'values'?"]),
            ({"beyond": [{"effect": "cable_drop"}]}, ["beyond[0]", "'cable_drag'"]),
            ({"beyond": [{}]}, ["beyond[0] does not say which effect"]),
            ({"beyond": [{"effect": "cable_drag"}]}, ["(cable_drag) lacks 'pull'", "tied_rad"]),
            (
                {"beyond": [{"effect": "cable_drag", "pull": 1.0, "tied": 0.5}]},
                ["has no field 'tied'", "'tied_rad'"],
            ),
            ({"beyond": [{"effect": "gear_ripple", "torque": -1.0, "teeth": 9}]}, ["torque"]),
            ({"beyond": [{"effect": "gear_ripple", "torque": "1", "teeth": 9}]}, ["it is '1'"]),
            (
                {"beyond": [{"effect": "thermal_fade", "loss": 2.0, "minutes": 1.0}]},
                ["loss", "it is 2.0"],
            ),
            (
                {"beyond": [{"effect": "oil_film", "share": 0.5, "number": 3}]},
                ["has no field 'number'"],
            ),
        ],
    )
    def test_a_mistake_is_named_with_what_was_there(self, changed, words) -> None:
        with pytest.raises(TrueupError) as refused:
            reality_from({**GOOD, **changed}, "mine.json")
        assert str(refused.value).startswith("mine.json")
        assert [word for word in words if word not in str(refused.value)] == []

    @pytest.mark.parametrize("data", [None, [], 3, "text"])
    def test_what_is_no_object_is_refused(self, data) -> None:
        with pytest.raises(TrueupError, match=r"mine\.json"):
            reality_from(data, "mine.json")

    def test_an_unknown_name_offers_near_ones(self) -> None:
        with pytest.raises(TrueupError, match="Did you mean 'garage'"):
            read_reality("garag")

    def test_a_missing_file_is_a_sentence(self, tmp_path) -> None:
        with pytest.raises(TrueupError, match="There is no reality file at"):
            read_reality(tmp_path / "none.json")

    def test_a_broken_file_is_named(self, tmp_path) -> None:
        file = tmp_path / "cut.json"
        file.write_text('{"trueup_reality": 1,')
        with pytest.raises(TrueupError, match=r"cut\.json is not JSON"):
            read_reality(file)

    def test_an_unknown_parameter_names_the_world_and_near_ones(self) -> None:
        reality = reality_from({**GOOD, "values": {"actuation/elbow_flex/dampening": 1.0}})
        with pytest.raises(TrueupError) as refused:
            reality.point(LIFT)
        for words in ("'actuation/elbow_flex/dampening'", "so101/lift", "elbow_flex/damping'"):
            assert words in str(refused.value)

    def test_a_parameter_of_another_world_is_refused(self) -> None:
        with pytest.raises(TrueupError, match="no parameter of the world 'so101/reach' matches"):
            reality_from(GOOD).point(REACH)

    def test_an_impossible_value_is_refused_with_its_bounds(self) -> None:
        with pytest.raises(ValueOutOfBounds, match=r"'object/cube/mass' = 5 kg"):
            reality_from({**GOOD, "values": {"object/cube/mass": 5}}).point(LIFT)


@pytest.mark.parametrize("world", names())
def test_benign_is_possible_in_every_world(world: str) -> None:
    assert read_reality("benign").point(get(world))
