"""Maximum entropy under a success constraint: wide where it is harmless, narrow where not."""

import json
from time import perf_counter

import numpy as np
import pytest
from scipy import stats

from tests.randomize.spaces import failing_beyond, name, space_of, trained
from trueup.randomize import MaximumEntropy
from trueup.randomize.betas import Betas, statistics
from trueup.randomize.widening import Evidence, widened

ETAS = np.array([[0.0, 0.0], [3.0, 1.5], [0.0, 40.0]])
MOVED = np.array([[0.5, 0.2], [-0.4, 0.3], [0.1, -5.0]])


def test_betas_agree_with_scipy():
    betas = Betas(ETAS)
    kinds = [stats.beta(1 + a, 1 + b) for a, b in ETAS]
    places = betas.sample(np.random.default_rng(0), 7)
    expected = stats.beta.logpdf(places, *(1 + ETAS.T)).sum(axis=1)
    np.testing.assert_allclose(betas.log_density(statistics(places)), expected)
    assert betas.entropy() == pytest.approx(sum(float(kind.entropy()) for kind in kinds))
    np.testing.assert_allclose(
        betas.quantiles(np.array([0.1, 0.9])), [kind.ppf([0.1, 0.9]) for kind in kinds]
    )


def test_divergence_and_information_agree_with_samples():
    betas, other = Betas(ETAS), Betas(ETAS + MOVED)
    seen = statistics(betas.sample(np.random.default_rng(1), 200_000))
    gained = betas.log_density(seen) - other.log_density(seen)
    assert abs(betas.divergence(other) - gained.mean()) < 5 * gained.std() / np.sqrt(len(seen))
    assert betas.divergence(betas) == pytest.approx(0.0, abs=1e-12)
    blocks = np.cov(seen.T)
    for i, block in enumerate(betas.information()):
        two = slice(2 * i, 2 * i + 2)
        np.testing.assert_allclose(blocks[two, two], block, rtol=0.05)


def evidence_of(old: Betas, fails_above: float, n: int = 4000) -> Evidence:
    places = old.sample(np.random.default_rng(0), n)
    seen = statistics(places)
    return Evidence(
        statistics=seen,
        log_drawn=old.log_density(seen),
        success=(places[:, 0] < fails_above).astype(float),
    )


def test_an_update_holds_success_and_trust_while_entropy_grows():
    old = Betas.around(np.full(20, 0.5), 20.0)
    evidence = evidence_of(old, fails_above=0.6)
    new = widened(old, evidence, target=0.8, trust=0.5)
    assert new.divergence(old) <= 0.5
    assert new.entropy() > old.entropy()
    assert evidence.expected_success(new) >= 0.8 - 1e-6
    places = new.sample(np.random.default_rng(1), 4000)
    assert (places[:, 0] < 0.6).mean() > 0.8 - 3 * np.sqrt(0.16 / 4000) - 0.02


def test_an_update_below_the_target_steps_back_to_more_success():
    old = Betas.around(np.full(20, 0.5), 5.0)
    evidence = evidence_of(old, fails_above=0.45)
    new = widened(old, evidence, target=0.95, trust=0.1)
    before, after = (evidence.expected_success(betas) for betas in (old, new))
    assert before < 0.5
    assert after > before + 0.1
    assert new.divergence(old) <= 0.1


def test_the_update_is_near_the_optimum_of_a_general_solver():
    """Two parameters, one harmful: a brute search inside the same constraints finds little more."""
    old = Betas.around(np.full(2, 0.5), 10.0)
    evidence = evidence_of(old, fails_above=0.6)
    new = widened(old, evidence, target=0.8, trust=0.3)
    generator, best = np.random.default_rng(0), old.entropy()
    for _ in range(20_000):
        tried = Betas(np.abs(old.eta + generator.normal(0, 3.0, (2, 2))))
        near = tried.entropy() > best and tried.divergence(old) <= 0.3
        if near and evidence.expected_success(tried) >= 0.8:
            best = tried.entropy()
    gain = new.entropy() - old.entropy()
    assert gain >= 0.9 * (best - old.entropy())


def test_an_update_of_128_parameters_is_quick():
    old = Betas.around(np.full(128, 0.5), 20.0)
    evidence = evidence_of(old, fails_above=0.55, n=1000)
    started = perf_counter()
    widened(old, evidence, target=0.8, trust=1.0)
    assert perf_counter() - started < 0.5


def test_entropy_grows_to_uniform_where_nothing_is_harmful():
    generator = np.random.default_rng(0)
    plan = MaximumEntropy(space_of(128))
    seen = [plan.betas.entropy()]
    for _ in range(5):
        trained(plan, failing_beyond({}, generator), generator, episodes=4_000)
        seen.append(plan.betas.entropy())
    assert (np.diff(seen) >= 0).all()
    assert seen[-1] == pytest.approx(0.0, abs=0.5)
    assert plan.distribution()[name(0)].belief == space_of(1)[name(0)].belief


def test_a_harmful_parameter_stays_narrow_and_the_rest_becomes_wide():
    generator = np.random.default_rng(1)
    plan = MaximumEntropy(space_of(64), every=1000)
    policy = failing_beyond({5: 0.1}, generator)  # of 0.5
    trained(plan, policy, generator, episodes=30_000)
    fresh = policy(plan.draw(generator, 4000).values).mean()
    assert fresh >= 0.8 - 0.05  # each update is sure to about 4 × √(0.16 / 1000)
    wide = np.subtract(*plan.betas.quantiles(np.array([0.95, 0.05])).T) / 0.9
    assert wide[5] < 0.35
    assert np.delete(wide, 5).min() > 0.8
    assert name(5) in plan.summary()


def test_harm_that_is_spread_thin_is_met_by_a_common_width():
    generator = np.random.default_rng(2)
    plan = MaximumEntropy(space_of(64), every=1000)
    policy = failing_beyond(dict.fromkeys(range(64), 0.42), generator)
    trained(plan, policy, generator, episodes=30_000)
    fresh = policy(plan.draw(generator, 4000).values).mean()
    assert 0.8 - 0.07 < fresh < 0.8 + 0.07
    assert plan.betas.entropy() > -64  # a nat each: well wider than it began


def test_a_policy_that_fails_everywhere_leaves_it_as_it_began():
    generator = np.random.default_rng(3)
    plan = MaximumEntropy(space_of(16))
    start = plan.betas
    trained(plan, failing_beyond({}, generator, skill=0.1), generator, episodes=5_000)
    assert plan.betas.entropy() >= start.entropy() - 1e-9


def test_the_distribution_handed_on_is_what_is_drawn():
    generator = np.random.default_rng(4)
    plan = MaximumEntropy(space_of(8, one_sided=4), concentration=20.0)
    drawn = plan.draw(generator, 4000)
    stored = plan.distribution().sample(generator, 4000)
    for i in range(8):
        both = np.sort(np.concatenate([drawn.values[:, i], stored.values[:, i]]))
        shares = [
            np.searchsorted(np.sort(x.values[:, i]), both, "right") / 4000 for x in (drawn, stored)
        ]
        assert np.abs(shares[0] - shares[1]).max() < 2.2 * np.sqrt(2 / 4000)  # p = 1e-4


def test_a_resumed_curriculum_learns_the_same():
    generator = np.random.default_rng(5)
    plan, again = (MaximumEntropy(space_of(12), every=300) for _ in range(2))
    trained(plan, failing_beyond({2: 0.2}, generator), generator, episodes=2_000)
    again.restore(json.loads(json.dumps(plan.state())))
    for one in (plan, again):
        twin = np.random.default_rng(9)
        trained(one, failing_beyond({2: 0.2}, twin), twin, episodes=2_000)
    np.testing.assert_array_equal(plan.betas.eta, again.betas.eta)
    assert plan.state() == again.state()
