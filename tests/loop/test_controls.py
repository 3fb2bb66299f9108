"""Controls: as many steps, spent without what the loop found out."""

from __future__ import annotations

from dataclasses import replace

from tests.loop.turns import TINY, job
from trueup.loop import Journal, State, run
from trueup.loop.stages.controlling import CONTROLS
from trueup.loop.stages.training import kept
from trueup.policies import Policy
from trueup.space import Space
from trueup.worlds import get


def test_controls_take_as_many_steps_in_the_space_they_are_for(tmp_path):
    made = job(tmp_path, replace(TINY, controls=True))
    run(made, command="trueup run --controls")
    steps = made.policy("retrain/policy").provenance.steps
    for name, (_, space_of) in CONTROLS.items():
        assert Journal.load(made.folder).stages[f"control-{name}"].state is State.DONE
        policy = Policy.load(made.path(f"controls/{name}/policy"))
        assert policy.provenance.steps == steps
        assert policy.contract.space == space_of(made)


def test_what_serves_every_robot_is_trained_once(tmp_path):
    told: list[str] = []
    space = get(TINY.world).space.select("latency/*")
    first = kept(job(tmp_path / "a", tell=told.append), space, TINY.tune)
    trained = len(told)
    other = replace(job(tmp_path / "b", tell=told.append), cache=tmp_path / "a" / "cache")
    assert kept(other, space, TINY.tune).stored == first.stored
    assert 0 < trained == len(told)
    kept(other, Space(()), TINY.tune)
    assert len(told) > trained
