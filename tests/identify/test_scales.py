"""A joint that gravity does not load has one free common scale, and that is said."""

import numpy as np

from tests.identify.planted import WORLD, recorded
from trueup.identify import identify
from trueup.identify.scales import unloaded, widened
from trueup.identify.target import prior_spread

FREE = WORLD.catalogue.select(
    *(f"actuation/{j}/{q}" for j in ("shoulder_pan", "shoulder_lift") for q in ("kp", "damping")),
    *(f"actuation/{j}/frictionloss" for j in ("shoulder_pan", "shoulder_lift")),
)


def test_only_joints_about_a_vertical_axis_or_through_their_load_are_unloaded() -> None:
    ways = unloaded(WORLD, [recorded({}, seconds=4.0)], FREE)
    assert list(ways) == ["shoulder_pan"]
    moved = {name for name, x in zip(FREE.names, ways["shoulder_pan"], strict=True) if x}
    assert moved == {f"actuation/shoulder_pan/{q}" for q in ("kp", "damping", "frictionloss")}


def test_they_are_widened_together_and_the_rest_is_not() -> None:
    ways = list(unloaded(WORLD, [recorded({}, seconds=4.0)], FREE).values())
    wide = widened(1e-6 * np.eye(len(FREE)), ways, np.full(len(FREE), 10.0))
    spread = np.sqrt(np.diag(wide))
    pan = [i for i, name in enumerate(FREE.names) if "pan" in name]
    lift = [i for i, name in enumerate(FREE.names) if "lift" in name]
    np.testing.assert_allclose(spread[lift], 1e-3)
    correlation = wide[np.ix_(pan, pan)] / np.outer(spread[pan], spread[pan])
    assert correlation.min() > 0.99


def test_nothing_becomes_wider_than_what_was_believed_before() -> None:
    ways = list(unloaded(WORLD, [recorded({}, seconds=4.0)], FREE).values())
    spread = prior_spread(FREE)
    for told in (1e-8, 1e-3, 0.99):  # of the prior's variance: what the data left
        wide = widened(told * np.diag(spread**2), ways, spread)
        sizes = np.linalg.eigvalsh(wide / np.outer(spread, spread))
        assert sizes.max() < 1.0 + 1e-9
        assert (np.diag(wide) >= told * spread**2 * (1.0 - 1e-6)).all()
    np.testing.assert_array_equal(widened(np.eye(2), [], np.ones(2)), np.eye(2))


def test_readings_without_error_leave_no_less_than_nothing() -> None:
    """Told to a part in ten million along most axes, and next to nothing along others."""
    ways = list(unloaded(WORLD, [recorded({}, seconds=4.0)], FREE).values())
    generator = np.random.default_rng(0)
    for _ in range(20):
        axes, _ = np.linalg.qr(generator.standard_normal((len(FREE), len(FREE))))
        exact = (axes * generator.choice([1e-15, 1e-9, 0.9], len(FREE))) @ axes.T
        wide = widened(0.5 * (exact + exact.T), ways, np.ones(len(FREE)))
        assert np.linalg.eigvalsh(wide).min() > -1e-12 and np.diag(wide).min() > 0.0


def test_where_all_is_well_told_it_is_what_linear_algebra_says() -> None:
    generator = np.random.default_rng(1)
    half = generator.standard_normal((5, 5))
    covariance = np.linalg.inv(np.eye(5) / 4.0 + half @ half.T)
    way, spread = generator.standard_normal(5), np.full(5, 2.0)
    told = np.linalg.inv(covariance) - np.eye(5) / 4.0
    looser = np.linalg.inv(np.linalg.inv(told) + 0.15**2 * np.outer(way, way))
    expected = np.linalg.inv(looser + np.eye(5) / 4.0)
    np.testing.assert_allclose(widened(covariance, [way], spread), expected, rtol=1e-9)


def test_an_estimate_says_it_and_keeps_it_for_training() -> None:
    truth = {"actuation/shoulder_pan/kp": 15.0}
    episodes = [recorded(truth, seconds=4.0, seed=s) for s in range(2)]
    estimate = identify(WORLD, episodes, FREE, check=False, threads=1)
    assert any("shoulder_pan" in line and "common scale" in line for line in estimate.unseen)
    narrowed = WORLD.catalogue.narrowed(estimate)
    drawn = narrowed.sample(np.random.default_rng(0), 400)
    kp, damping = (drawn.column(f"actuation/shoulder_pan/{q}") for q in ("kp", "damping"))
    assert np.corrcoef(np.log(kp), np.log(damping))[0, 1] > 0.9
    assert 0.06 < np.log(kp).std() < 0.13  # the prior's: wide, but never wider than before
