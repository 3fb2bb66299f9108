"""The discriminator sees what differs and nothing else: not length, not labels, not itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.curate.reaches import reaches
from trueup.curate.comparison import Comparison
from trueup.curate.discriminator.discriminator import Discrimination, discriminated
from trueup.curate.discriminator.logistic import Logistic, auroc
from trueup.curate.discriminator.windows import COUNT
from trueup.episodes import Channel, Episode, Outcome


def told_apart(made: list[Episode], real: list[Episode], seed: int = 0) -> Discrimination:
    comparison = Comparison.of(made, real)
    for episode in made:
        comparison.see(episode)
    found = comparison.discrimination(seed)
    assert found is not None
    return found


def wandering(n: int, frames: int, seed: int) -> list[Episode]:
    """Motions without beginning or end, so that length is all that can differ."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        white = rng.normal(size=(frames + 200, 2))
        values = np.stack([np.convolve(w, np.hanning(12), "same") for w in white.T], 1)[100:-100]
        time_s = 0.04 * np.arange(frames)
        channel = Channel(values=values, time_s=time_s, unit="rad", names=("a", "b"))
        found.append(Episode(signals={"joint_position": channel}, period_s=0.04))
    return found


def test_sets_of_one_kind_cannot_be_told_apart():
    found = told_apart(reaches(150, seed=1), reaches(150, seed=2))
    assert abs(found.auroc - 0.5) < 0.08
    assert abs(found.control - 0.5) <= 0.05 and found.sound


def test_shuffled_labels_fall_to_chance_where_the_sets_do_differ():
    found = told_apart(reaches(100, seed=1, noise=3e-3), reaches(100, seed=2))
    assert found.auroc > 0.99
    assert abs(found.control - 0.5) <= 0.05


@pytest.mark.parametrize(
    ("signal", "noise"), [("command", 0.01), ("joint_position", 0.01), ("current", 0.1)]
)
def test_the_channel_that_differs_is_named(signal, noise):
    rng = np.random.default_rng(0)

    def rougher(episode: Episode) -> Episode:
        channel = episode[signal]
        values = channel.values + rng.normal(0.0, noise, channel.values.shape)
        return replace(
            episode, signals={**episode.signals, signal: replace(channel, values=values)}
        )

    made = [rougher(e) for e in reaches(60, seed=1)]
    found = told_apart(made, reaches(60, seed=2))
    assert next(iter(found.by_signal)) == signal
    named = [g for g in found.giveaways if g == signal]
    assert len(named) > 0.9 * len(made)


def test_length_says_nothing():
    found = told_apart(wandering(120, 240, seed=1), wandering(120, 60, seed=2))
    assert abs(found.auroc - 0.5) < 0.1


def test_outcome_labels_origin_task_and_clock_say_nothing():
    real = reaches(120, seed=2)
    made = [
        replace(
            e,
            outcome=Outcome.FAILURE,
            labels={"kind": "synthetic"},
            origin={"real": False},
            task="another",
            signals={n: replace(c, time_s=c.time_s + 1e3) for n, c in e.signals.items()},
        )
        for e in reaches(120, seed=1)
    ]
    assert abs(told_apart(made, real).auroc - 0.5) < 0.1


def test_no_episode_is_judged_by_a_model_that_saw_it():
    """Many random numbers of few episodes: whoever looks at its own answers gets them all right."""
    rng = np.random.default_rng(0)
    comparison = Comparison.of(reaches(20, seed=1), reaches(20, seed=2))
    k = len(comparison.sheet.signals)

    def noise() -> list[np.ndarray | None]:
        # windows of one episode are alike, so that a model which saw one knows the others
        return [rng.normal(size=(1, k)).repeat(COUNT, 0) for _ in range(40)]

    made, real = noise(), noise()
    x = np.concatenate([np.array(made)[:, 0], np.array(real)[:, 0]])
    y = np.arange(80) >= 40
    own = Logistic.fitted(x, y)
    assert auroc(own.odds(x[y]), own.odds(x[~y])) > 0.85  # something to cheat with
    found = discriminated(comparison.sheet, made, real)
    assert found is not None and abs(found.auroc - 0.5) < 0.17


def test_too_few_are_not_told_apart():
    comparison = Comparison.of(reaches(8, seed=1), reaches(8, seed=2))
    for episode in reaches(8, seed=1):
        comparison.see(episode)
    assert comparison.discrimination(0) is None
    assert "needs 10 episodes" in comparison.notes[-1]


def test_auroc_counts_pairs():
    assert auroc(np.array([2.0, 3.0]), np.array([1.0, 2.0])) == pytest.approx(3.5 / 4)
