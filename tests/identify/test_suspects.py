"""What is missing from a fit is named, chosen by unseen recordings, and refused where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

from tests.identify.planted import WORLD, recorded
from trueup.episodes import Episode
from trueup.identify import Estimate, checked, identify
from trueup.identify.choose import Chooser
from trueup.identify.problem import Problem
from trueup.identify.suspects import Suspicion
from trueup.space import Point, Space

BASE = {"actuation/elbow_flex/kp": 15.0}
LOADED = {**BASE, "actuation/elbow_flex/load_friction": 0.4}
FREE = WORLD.catalogue.select("actuation/*/kp", "actuation/*/damping", "actuation/*/frictionloss")


@cache
def recordings(*, loaded: bool) -> tuple[Episode, ...]:
    return tuple(recorded(LOADED if loaded else BASE, seconds=5.0, seed=s) for s in range(3))


def suspicion(*, loaded: bool) -> Suspicion:
    u = FREE.encode(FREE.points(Point({**FREE.nominal(), **BASE})))[0]
    return Suspicion(WORLD, recordings(loaded=loaded)[:2], FREE, u, threads=1)


def test_the_missing_effect_is_named_first_and_where() -> None:
    asked = ("LoadFriction", "Fade", "JointDelay", "ControlPeriod")
    first, *_ = suspicion(loaded=True).suspects(only=asked)
    assert "load friction" in first.what
    assert max(first.by_column, key=lambda name: first.by_column[name]).endswith("elbow_flex")
    assert first.gain > 0.3
    assert "elbow_flex" in str(first)


def test_nothing_is_suspected_where_nothing_is_missing() -> None:
    found = suspicion(loaded=False).suspects(only=("LoadFriction", "Fade", "JointDelay"))
    assert all(suspect.gain < 0.03 for suspect in found)


def test_an_effect_that_needs_no_other_model_changes_nothing_at_its_nominal_value() -> None:
    """So that what is left there need not be replayed for each."""
    asked = suspicion(loaded=True)
    free = Space((*FREE, *WORLD.catalogue.select("actuation/*/kv", "actuation/*/load_friction")))
    u = np.concatenate([asked.u, free.encode(free.nominal())[0][len(FREE) :]])
    again = Problem(WORLD, asked.episodes, free, threads=1).residual(u[None])
    assert np.array_equal(again.values[0], asked.base)


def test_a_table_is_found_though_it_leaves_no_trace_where_it_is_nominal() -> None:
    truth = {**BASE, "environment/surface/height": 0.14}
    episodes = [recorded(truth, seconds=5.0, seed=s) for s in range(2)]
    free = WORLD.catalogue.select("actuation/elbow_flex/kp")
    u = free.encode(free.points(Point(BASE)))[0]
    (found,) = Suspicion(WORLD, episodes, free, u, threads=1).suspects(only=("Surface",))
    assert found.gain > 0.3
    assert found.start["environment/surface/height"] == pytest.approx(0.14, abs=0.02)


def _only(outside: Callable[..., Iterator], name: str) -> Callable[..., Iterator]:
    """Only the effect that is in question, so that the test is quick."""
    return lambda *given: (row for row in outside(*given) if type(row[0]).__name__ == name)


@pytest.mark.parametrize("loaded", [True, False])
def test_unseen_recordings_decide(loaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    *some, last = recordings(loaded=loaded)
    chooser = Chooser(WORLD, some, [last], options={"threads": 1}, tell=lambda _: None)
    monkeypatch.setattr(Suspicion, "_outside", _only(Suspicion._outside, "LoadFriction"))
    found = chooser.chosen(FREE.select("actuation/elbow_flex/*"))
    taken = [choice for choice in found.choices if choice.taken]
    assert bool(taken) is loaded
    if loaded:
        value = found.space.decode(found.u[None])[0]["actuation/elbow_flex/load_friction"]
        assert value == pytest.approx(0.4, abs=0.05)


def test_the_check_tells_inside_from_outside() -> None:
    inside = checked(WORLD, recordings(loaded=False), Point(BASE), threads=1)
    outside = checked(WORLD, recordings(loaded=True), Point(BASE), threads=1)
    assert inside.inside and "nothing is missing" in inside.sentences[0]
    assert max(outside.excess, key=lambda name: outside.excess[name]) == "elbow_flex"
    assert not outside.inside
    assert "elbow_flex" in outside.sentences[0]


def test_an_estimate_carries_its_check_through_a_file(tmp_path) -> None:
    free = WORLD.catalogue.select("actuation/elbow_flex/kp")
    estimate = identify(WORLD, recordings(loaded=True), free, threads=1)
    assert estimate.check is not None and not estimate.check.inside
    estimate.save(tmp_path / "estimate.json")
    again = Estimate.load(tmp_path / "estimate.json")
    assert again.check is not None
    assert again.check.sentences == estimate.check.sentences
    np.testing.assert_equal(again.to_json(), estimate.to_json())
