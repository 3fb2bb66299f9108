"""What to expect before any trial; measurement takes its place."""

from __future__ import annotations

import pytest

from tests.plan.reports import report
from trueup.plan import Nature, outlook
from trueup.plan.outlook import EXPERIENCE, MEASURED
from trueup.worlds import get


def test_a_world_says_what_it_can_of_its_task():
    lift, reach = Nature.of(get("so101/lift")), Nature.of(get("so101/reach"))
    assert lift.contact_rich
    assert lift.tracked
    assert not lift.people
    assert not reach.contact_rich
    assert lift.with_(people=True, tracked=None).people
    assert lift.with_(people=True, tracked=None).tracked


def test_free_motion_transfers_and_force_needs_real_data():
    free, force = outlook(Nature()), outlook(Nature(contact_rich=True, force_regulated=True))
    assert any("transfer well" in sentence for sentence in free.sentences)
    assert not any("transfer well" in sentence for sentence in force.sentences)
    assert any("needs real contact data" in sentence for sentence in force.sentences)
    assert free.real < force.real
    assert next(iter(force.gaps)) == "contact"


@pytest.mark.parametrize(
    ("trait", "gap"),
    [("seen", "visual"), ("people", "human"), ("cluttered", "environment"),
     ("variable_objects", "object"), ("contact_rich", "contact")],
)  # fmt: skip
def test_a_trait_raises_its_gap_and_the_real_part(trait, gap):
    before, after = outlook(Nature()), outlook(Nature(**{trait: True}))
    assert after.gaps[gap] > before.gaps[gap]
    assert after.real > before.real
    assert sum(after.gaps.values()) == pytest.approx(1.0)
    assert after.simulation + after.real == pytest.approx(1.0)


def test_experience_is_labelled_and_measurement_replaces_it():
    guess = outlook(Nature(contact_rich=True))
    assert guess.source == EXPERIENCE
    assert any(EXPERIENCE in sentence for sentence in guess.sentences)
    found = outlook(Nature(contact_rich=True), report(latency=50))
    assert found.source == MEASURED
    assert next(iter(found.gaps)) == "latency"
    assert not any(EXPERIENCE in sentence for sentence in found.sentences)
    assert "sim-to-sim" in found.sentences[-1]
    people = outlook(Nature(), report(human=50))
    assert people.real > found.real
