"""Planted gaps: a bent world is found out from its trials, and what it costs adds up."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from trueup.diagnose import (
    Attribution,
    Bank,
    Beyond,
    Case,
    Size,
    attributed,
    built,
    diagnose,
    judged,
)
from trueup.diagnose.doubt import Doubt
from trueup.diagnose.familiarity import Familiarity, outside
from trueup.diagnose.inference import Reader
from trueup.diagnose.planted import GAPS
from trueup.diagnose.playing import Tape
from trueup.diagnose.shapley import Cost
from trueup.diagnose.signature import Traces, signature
from trueup.effects import Effect, Filter
from trueup.episodes import Channel, Episode, Outcome
from trueup.errors import TrueupError
from trueup.evaluate import evaluate
from trueup.space import Parameter, Points, Space, Uniform
from trueup.streams import seeds_from
from trueup.worlds import get
from trueup.worlds.scripted import ScriptedLift

WORLD = get("so101/lift")
SPACE = WORLD.catalogue.select(
    "visual/camera/shift_*", "actuation/supply_voltage", "actuation/*/frictionloss"
)
SMALL = Size(screened=12, kept=10, pairs=8, triples=0, trials=10, nominal=40)
SHIFT = {"visual/camera/shift_x": 0.03, "visual/camera/shift_y": -0.03}
WEAK = {"actuation/supply_voltage": 0.6}


SHOVED = "actuation/shoved"


class Shoved(Effect):
    """Every command is off by as much."""

    def parameters(self, model):
        p = Parameter(name=SHOVED, unit="rad", nominal=0.0, low=0.0, high=1.0, source="a test")
        return (p,)

    def action(self, model, period_s):
        return Shove()


class Shove(Filter):
    def apply(self, x, p, memory, draws):
        return x + p[SHOVED][:, None], memory


class Known:
    """What an identification says, as far as a diagnosis asks."""

    def __init__(self, priors):
        self.priors, self.joints = priors, ()


def begin(worlds):
    return ScriptedLift(worlds.world, worlds.observation)


def played(point: dict[str, float], n: int = 10, seed: int = 3) -> Traces:
    values = np.tile([*point.values()], (n, 1))
    tape = Tape(WORLD.steps)
    seeds = seeds_from(np.random.default_rng(seed), n)
    found = evaluate(WORLD, begin, Points([*point], values), seeds, witness=tape)
    return tape.traces(found.success[None], WORLD)[0]


def episodes(traces: Traces, **origin) -> list[Episode]:
    made = []
    for k, success in enumerate(traces.success):
        steps = traces.steps[k]
        time_s = traces.period_s * np.arange(steps)
        signals = {
            name: Channel(
                values=values[k, :steps],
                time_s=time_s,
                unit="1",
                names=tuple(f"{name}{i}" for i in range(values.shape[2])),
            )
            for name, values in traces.signals.items()
        }
        outcome = Outcome.SUCCESS if success else Outcome.FAILURE
        made.append(
            Episode(
                signals=signals,
                period_s=traces.period_s,
                task="lift",
                outcome=outcome,
                origin={"world": "so101/lift", **origin},
            )
        )
    return made


@pytest.fixture(scope="module")
def bank() -> Bank:
    return built(WORLD, begin, SPACE, np.random.default_rng(0), size=SMALL, policy="script")


def case(bank: Bank, trials: list[Episode], **more) -> Case:
    return Case(
        world=WORLD,
        begin=begin,
        policy="script",
        trials=judged(trials, WORLD),
        bank=bank,
        **more,
    )


def test_a_bank_comes_back_from_its_file(bank, tmp_path):
    bank.save(tmp_path / "bank.npz")
    again = Bank.load(tmp_path / "bank.npz")
    np.testing.assert_array_equal(again.signatures[10], bank.signatures[10])
    np.testing.assert_array_equal(again.shares, bank.shares)
    np.testing.assert_array_equal(again.bent, bank.bent)
    assert again.features == bank.features and again.parameters == bank.parameters


def test_a_bank_knows_which_numbers_were_bent(bank):
    assert bank.bent.shape == (len(bank), len(bank.parameters))
    for g, gap in enumerate(GAPS):
        own = [name.split("/")[0] == gap for name in bank.parameters]
        np.testing.assert_array_equal(bank.bent[:, own].any(axis=1), bank.gaps[:, g])


def test_a_damaged_bank_is_refused_in_words(tmp_path):
    (tmp_path / "bank.npz").write_bytes(b"PK no")
    with pytest.raises(TrueupError, match="could not be read"):
        Bank.load(tmp_path / "bank.npz")


def test_a_bank_of_another_version_is_told_from_a_damaged_one(bank, tmp_path):
    path = tmp_path / "bank.npz"
    bank.save(path)
    with np.load(path) as stored:
        arrays = {**stored, "format": np.array("trueup/bank 1")}
    np.savez(path, **arrays)
    with pytest.raises(TrueupError, match="another version of trueup") as said:
        Bank.load(path)
    assert "--from bank" in said.value.fix and "Error" not in str(said.value)


def test_shares_of_a_bank_add_up_to_what_each_world_loses(bank):
    np.testing.assert_allclose(bank.shares.sum(axis=1), bank.nominal - bank.success, atol=1e-9)
    assert (bank.shares[~bank.gaps] == 0).all()


@pytest.mark.parametrize(("point", "gap"), [(SHIFT, "visual"), (WEAK, "actuation")])
def test_a_planted_gap_is_named_from_trials_alone(bank, point, gap):
    report = diagnose(case(bank, episodes(played(point))))
    assert report.loss > 20
    assert report.ranked[0].gap == gap
    assert sum(share.points for share in report.ranked) == pytest.approx(report.loss)
    assert all(share.low <= share.points <= share.high for share in report.ranked)
    assert gap in report.sentences[1] and "weakest" in report.sentences[-1]


def test_an_identified_gap_costs_what_simulation_says(bank):
    pinned = SPACE.select(*WEAK)
    belief = pinned.narrowed({"actuation/supply_voltage": Uniform(low=0.6, high=0.601)})

    known = Known({p.name: p.prior for p in belief})
    report = diagnose(
        case(bank, episodes(played(WEAK)), beliefs=(known,), evidence=("trials", "recordings")),
        draws=3,
    )
    assert report.ranked[0].gap == "actuation"
    assert report.share("actuation").points == pytest.approx(report.loss, abs=25)
    assert report.share("actuation").low > 0


def test_shapley_values_add_up_exactly_and_nothing_costs_nothing():
    space = WORLD.catalogue.select("actuation/supply_voltage", "visual/camera/shift_x")
    bent = space.narrowed(
        {
            "actuation/supply_voltage": Uniform(low=0.6, high=0.7),
            "visual/camera/shift_x": Uniform(low=0.02, high=0.03),
        }
    )
    found = attributed(WORLD, begin, bent, np.random.default_rng(0), draws=3, episodes=4)
    total = sum(cost.value for cost in found.shares.values())
    assert total == pytest.approx(found.nominal.mean() - found.identified.mean())
    same = space.pinned({p.name: p.nominal for p in space})
    none = attributed(WORLD, begin, same, np.random.default_rng(0), draws=2, episodes=2)
    assert all(cost.value == 0 and cost.spread == 0 for cost in none.shares.values())


@pytest.mark.parametrize(("name", "lost"), [("actuation/supply_voltage", False), (SHOVED, True)])
def test_what_was_learnt_is_played_on_top_of_all_that_was_identified(name, lost):
    """Of a supply, 1 is nominal; a shove of 1 rad no policy survives."""
    space = WORLD.catalogue.select("visual/camera/shift_x").pinned({"visual/camera/shift_x": 0.0})
    shoved = copy(WORLD)
    vars(shoved)["effects"] = lambda: (*WORLD.effects(), Shoved())
    vars(shoved).pop("catalogue", None)
    found = attributed(
        WORLD,
        begin,
        space,
        np.random.default_rng(0),
        draws=2,
        episodes=4,
        beyond=Beyond(world=shoved, values={name: 1.0}),
    )
    assert found.beyond is not None
    assert found.beyond.value == pytest.approx(found.identified.mean() if lost else 0.0)
    assert found.shares["visual"].value == 0.0 and found.identified.mean() > 0.5


def test_every_other_point_is_of_the_belief_that_is_sober():
    """What recordings leave open costs half as much where a usual robot would not lose by it."""
    space = WORLD.catalogue.select("visual/camera/shift_x")
    off = space.pinned({"visual/camera/shift_x": 0.04})
    usual = space.pinned({"visual/camera/shift_x": 0.0})

    def lost(sober: Space | None) -> np.ndarray:
        generator = np.random.default_rng(0)
        found = attributed(WORLD, begin, off, generator, draws=4, episodes=4, sober=sober)
        return (found.nominal - found.identified).reshape(4, 4).mean(axis=1)

    assert (lost(None) > 0.5).all()
    assert (lost(usual)[::2] == lost(None)[::2]).all() and (lost(usual)[1::2] == 0.0).all()


def test_with_many_gaps_shares_still_add_up_and_the_costly_one_leads():
    names = (
        "actuation/supply_voltage",
        "visual/camera/shift_x",
        "latency/action_jitter",
        "sensing/encoder/noise",
        "environment/table/height",
        "object/cube/mass",
    )
    space = WORLD.catalogue.select(*names)
    pinned = {p.name: p.nominal for p in space} | {"visual/camera/shift_x": 0.04}
    found = attributed(
        WORLD, begin, space.pinned(pinned), np.random.default_rng(0), draws=4, episodes=4
    )
    assert set(found.gaps) == set(found.shares) == {name.split("/")[0] for name in names}
    total = sum(cost.value for cost in found.shares.values())
    assert total == pytest.approx(found.nominal.mean() - found.identified.mean())
    assert max(found.shares, key=lambda gap: found.shares[gap].value) == "visual"
    assert found.shares["sensing"].value == pytest.approx(0.0)


def test_shares_that_explain_too_much_keep_their_proportions_and_grow_less_sure():
    costs = {"actuation": Cost(value=0.6, spread=0.05), "latency": Cost(value=0.3, spread=0.02)}
    won = np.ones(20)
    found = Attribution(
        gaps=tuple(costs), nominal=won, identified=won, shares=costs, alone=costs, pairs={}
    ).scaled(0.75)
    values = [cost.value for cost in found.shares.values()]
    assert values == pytest.approx([0.45, 0.225])
    assert found.shares["actuation"].spread > 0.05


def test_a_signature_does_not_see_the_order_of_trials():
    traces = played(SHIFT)
    mixed = traces.some(np.random.default_rng(0).permutation(10))
    assert signature(mixed).names == signature(traces).names
    np.testing.assert_allclose(signature(mixed).values, signature(traces).values, atol=1e-6)


def test_marks_that_never_go_together_are_strange_and_the_others_are_not():
    generator = np.random.default_rng(0)
    ways = generator.standard_normal((5, 40))

    def worlds(n: int) -> np.ndarray:
        noise = 0.05 * generator.standard_normal((n, 40))
        return generator.standard_normal((n, 5)) @ ways + noise

    familiar = Familiarity(worlds(300))
    usual = np.array([familiar.p_value(world) for world in worlds(200)])
    assert 0.02 < (usual < 0.1).mean() < 0.2  # a p value is below 0.1 one time in ten
    odd = worlds(50)
    odd[:, 7] += 6.0
    strange = np.array([familiar.p_value(world) for world in odd])
    assert (strange < 0.02).mean() > 0.9
    assert np.mean([7 in familiar.strangest(world) for world in odd]) > 0.9
    assert outside(0.004) > 0.5 > outside(0.3)


def test_intervals_of_worlds_that_were_kept_out_cover_most_shares(bank):
    reader = Reader(bank, 10)
    inside = []
    for k in range(len(reader._judged)):
        low, high = np.array([reader._interval(g, reader._judged[k]) for g in range(len(GAPS))]).T
        true = reader._shares[k] / reader._loss[k]
        slack = 2 * reader._noise[k] / reader._loss[k]
        inside.append((true >= low - slack) & (true <= high + slack))
    assert np.mean(inside) > 0.85


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"world": "so101/push"}, "another world"),
        ({"policy_sha256": "other"}, "another policy"),
    ],
)
def test_trials_of_something_else_are_refused(change, said):
    trials = episodes(played(SHIFT, n=2), **change)
    with pytest.raises(TrueupError, match=said):
        judged(trials, WORLD, "mine")


def test_few_trials_no_failure_and_no_success_are_answered_in_words(bank):
    few = diagnose(case(bank, episodes(played(SHIFT, n=3))))
    assert not few.shares and any("too few" in note for note in few.notes)
    good = diagnose(case(bank, episodes(played({"visual/camera/shift_x": 0.0}, n=6))))
    assert any("No trial failed" in note for note in good.notes) and not good.shares
    traces = played(SHIFT, n=6)
    lost = Traces(signals=traces.signals, success=np.zeros(6, bool), period_s=traces.period_s)
    none = diagnose(case(bank, episodes(lost)))
    assert any("No trial succeeded" in note for note in none.notes) and none.shares


def test_an_identification_that_trials_contradict_is_said_to_and_not_used(bank):
    """A robot that works well, and an estimate by which it could not: a pull taken for a zero."""
    weak = SPACE.select(*WEAK).narrowed({"actuation/supply_voltage": Uniform(low=0.6, high=0.601)})
    traces = played({"visual/camera/shift_x": 0.0}, n=12)
    some = Traces(signals=traces.signals, success=np.arange(12) > 1, period_s=traces.period_s)
    known = Known({p.name: p.prior for p in weak})
    report = diagnose(
        case(bank, episodes(some), beliefs=(known,), evidence=("trials", "recordings")), draws=3
    )
    assert any("stands for something else" in note for note in report.notes)
    assert report.evidence == ("trials",)
    assert report.share("actuation").points <= report.loss
    doubted = replace(
        case(bank, episodes(some), beliefs=(known,), evidence=("trials", "recordings")),
        doubts=(Doubt(what="Unmodelled: something.", gaps=("actuation",), explained=0.9),),
    )
    report = diagnose(doubted, draws=3)
    assert (
        report.share("actuation").points <= 0.5 * report.loss
        and "Unmodelled: something." in report.notes
    )


def test_a_loss_that_may_be_chance_is_said_to_be(bank):
    traces = played({"visual/camera/shift_x": 0.0}, n=10)
    some = Traces(signals=traces.signals, success=np.arange(10) > 0, period_s=traces.period_s)
    assert any("chance" in line for line in diagnose(case(bank, episodes(some))).sentences)
