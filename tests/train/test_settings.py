"""Settings: numbers that cannot work are refused by name, with the bounds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from trueup.errors import TrueupError
from trueup.train import Settings


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(worlds=0), "worlds is 0; it must lie from 1 to 1e+06"),
        (dict(worlds=10**9), "worlds is 1e+09"),
        (dict(horizon=1), "horizon is 1; it must lie from 2 to 100000"),
        (dict(steps=0), "steps is 0; it must lie from 1 to 1e+12"),
        (dict(steps=-5), "steps is -5"),
        (dict(history=0), "history is 0; it must lie from 1 to 64"),
        (dict(history=65), "history is 65"),
        (dict(hidden=(64, 0)), "hidden is 0; it must lie from 1 to 4096"),
        (dict(hidden=(5000,)), "hidden is 5000"),
        (dict(gamma=1.0), "gamma is 1; it must lie from 0 to 0.9999"),
        (dict(gamma=float("nan")), "gamma is nan"),
        (dict(lam=1.1), "lam is 1.1; it must lie from 0 to 1"),
        (dict(learning_rate=0.0), "learning_rate is 0; it must lie from 1e-08 to 1"),
        (dict(learning_rate=float("inf")), "learning_rate is inf"),
        (dict(kl=-0.1), "kl is -0.1"),
        (dict(epochs=0), "epochs is 0"),
        (dict(minibatches=0), "minibatches is 0"),
        (dict(entropy=-1.0), "entropy is -1"),
        (dict(exploration=0.0), "exploration is 0"),
        (dict(bonus=-1.0), "bonus is -1"),
        (dict(smoothness=float("nan")), "smoothness is nan"),
        (dict(loss=-2.0), "loss is -2"),
        (dict(check_every=0), "check_every is 0"),
        (dict(check_episodes=0), "check_episodes is 0"),
        (dict(confirm_episodes=0), "confirm_episodes is 0"),
        (dict(target=2.0), "target is 2; it must lie from 0 to 1"),
        (dict(target=-0.1), "target is -0.1"),
        (dict(seed=-1), "seed is -1; it must lie from 0 to"),
    ],
    ids=str,
)
def test_what_cannot_work_is_refused(given, words):
    with pytest.raises(TrueupError) as told:
        Settings(**given)
    assert words in str(told.value)
    assert told.value.fix


def test_a_network_needs_a_hidden_layer():
    with pytest.raises(TrueupError, match="no hidden layer"):
        Settings(hidden=())


def test_less_data_than_parts_is_refused():
    """A part without data gives a loss that is not a number."""
    with pytest.raises(TrueupError, match="minibatches"):
        Settings(worlds=1, horizon=2, minibatches=4)


def test_the_ends_of_the_bounds_are_allowed():
    ends = {"worlds": 4, "history": 64, "gamma": 0.0, "lam": 1.0, "target": 1.0, "hidden": (1,)}
    settings = Settings(horizon=2, **ends)
    assert {name: getattr(settings, name) for name in ends} == ends


def test_they_come_back_from_json():
    settings = Settings(hidden=(16, 8), target=0.5, seed=3)
    assert Settings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


def test_steps_are_whole_updates_and_at_least_one():
    settings = Settings(worlds=10, horizon=10, steps=1)
    assert (settings.update, settings.updates) == (100, 1)
    assert Settings(worlds=10, horizon=10, steps=1000).updates == 10


def test_the_page_shows_every_setting_with_its_default():
    page = (Path(__file__).parents[2] / "docs" / "train.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", page, flags=re.MULTILINE))
    for name, value in Settings().to_json().items():
        if value is None:
            assert shown[name].strip() == "–"
            continue
        numbers = [float(part.replace(",", "")) for part in shown[name].split(", ")]
        wanted = list(value) if isinstance(value, tuple) else [value]
        assert numbers == wanted, f"docs/train.md shows {name} = {shown[name]}, which is {value}"
