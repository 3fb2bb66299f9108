"""Templates as data: every gap has one, and all that it names exists."""

from __future__ import annotations

from dataclasses import fields
from fnmatch import fnmatchcase
from functools import cache

import pytest

from trueup.cli.carrying import _BY_HAND, _ENTER
from trueup.cli.entry import chosen
from trueup.diagnose import UNEXPLAINED
from trueup.episodes.consent.participant import AGES, HANDS, HEIGHTS
from trueup.errors import UnknownName
from trueup.plan import Costs, Kind, template, uncovered
from trueup.plan.action import GAPS, actions
from trueup.record import get as series
from trueup.worlds import get

ACTIONS = [pytest.param(action, id=name) for name, action in actions().items()]


@cache
def catalogue() -> tuple[str, ...]:
    return get("so101/lift").catalogue.names


def test_every_gap_has_a_template_and_no_name_is_used_twice():
    count = sum(len(template(gap).actions) for gap in GAPS)
    assert len(GAPS) == 9
    assert len(actions()) == count
    with pytest.raises(UnknownName, match="no gap named 'friction'"):
        template("friction")


@pytest.mark.parametrize("gap", GAPS)
def test_a_template_states_what_comes_back_and_acts_on_its_own_gap(gap):
    found = template(gap)
    assert 0.0 <= found.recovers[0] < found.recovers[1] <= 1.0
    own = [n for n in catalogue() if n.startswith(f"{gap}/")] or [UNEXPLAINED]
    for action in found.actions:
        assert any(action.left(name, 1.0) < 1.0 for name in own), action.name
    for pattern in found.matters:
        assert any(fnmatchcase(name, pattern) for name in own), pattern


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_can_be_carried_out(action):
    for motion in action.motions:
        assert series(motion).motions
        assert motion in Costs.usual().motion_s
    assert uncovered(action.conditions, action.factors) == []
    assert bool(action.motions) == (action.kind in (Kind.MOTIONS, Kind.PROBES, Kind.RESIDUAL))
    assert action.steps or action.motions or action.demonstrations
    for pattern, left in action.then.items():
        assert 0.0 < left <= 1.0
        if pattern not in ("*", UNEXPLAINED):
            assert any(fnmatchcase(name, pattern) for name in catalogue()), pattern


@pytest.mark.parametrize("action", [*actions().values()], ids=lambda a: a.name)
def test_the_command_that_takes_a_result_in_exists(action):
    text = action.enter or _ENTER[action.kind]
    verb, options = chosen(text.split(",")[0].split()[1:])
    module = __import__(f"trueup.cli.{verb.module}", fromlist=[verb.command])
    known = {f"--{f.name.replace('_', '-')}" for f in fields(getattr(module, verb.command))}
    assert {word for word in options if word.startswith("--")} <= known


def test_people_are_asked_for_by_what_the_register_knows():
    (action,) = template("human").actions
    known = {"age": AGES, "height": HEIGHTS, "handedness": HANDS}
    assert set(action.factors) == set(known)
    assert all(set(levels) <= set(known[name]) for name, levels in action.factors.items())


def test_every_kind_that_no_robot_does_says_how():
    by_hand = {Kind.TRAIN, Kind.MEASURE, Kind.CALIBRATE, Kind.DEMONSTRATIONS, Kind.PEOPLE}
    assert set(_BY_HAND) == set(_ENTER) == by_hand
