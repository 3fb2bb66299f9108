"""The advisor: laws of its curve, planted learning curves that it must find, and its sentences."""

from __future__ import annotations

import json

import numpy as np
import pytest

from trueup.errors import TrueupError
from trueup.mix import Run, advised, fitted, load_runs, sentences
from trueup.mix.advice import ENOUGH


def planted(
    reals: tuple[int, ...],
    *,
    ceiling: float = 3.0,
    gap: float = 2.5,
    halved: float = 3.0,
    scarcity: float = 0.5,
    decay: float = 0.5,
    synthetics: tuple[int, ...] = (2000,),
    trials: int = 2000,
) -> list[Run]:
    """Runs whose success is exactly what a curve says."""
    runs = []
    for real in reals:
        for synthetic in synthetics:
            odds = ceiling - gap / (1 + real / halved)
            odds -= scarcity * ((real + synthetic + 1) / 100) ** -decay
            good = round(trials / (1 + np.exp(-odds)))
            runs.append(Run(real=real, synthetic=synthetic, good=good, trials=trials))
    return runs


def test_success_never_falls_with_more_demonstrations():
    curve = fitted(planted((0, 3, 10)))
    by_real = [curve.success(n, 2000) for n in (0, 1, 3, 10, 100)]
    by_synthetic = [curve.success(3, m) for m in (0, 10, 1000, 10**5)]
    for rising in (by_real, by_synthetic):
        assert (np.diff(np.array(rising), axis=0) >= -1e-12).all()


@pytest.mark.parametrize("halved", [1.5, 3.0, 8.0])
def test_a_planted_curve_is_forecast_within_five_points(halved):
    shown, hidden = (0, 3, 10), 20
    runs = planted((*shown, hidden), halved=halved)
    advice = advised(runs[:-1], more=10)
    gain = runs[-1].share - runs[-2].share
    assert advice.gain.low <= gain <= advice.gain.high
    assert 100 * abs(advice.gain.middle - gain) < 5
    assert advice.then.low < runs[-1].share < advice.then.high


def test_where_everything_is_scarce_synthetic_ones_are_worth_something():
    runs = planted(
        (0, 10, 40), gap=0.05, scarcity=4.0, ceiling=2.5, decay=0.6, synthetics=(0, 100, 1000)
    )
    advice = advised(runs, more=10, real=10, synthetic=100)
    assert advice.never < 0.2
    assert 3 < advice.worth.middle < 60
    assert advice.worth.low < advice.worth.middle < advice.worth.high


def test_where_only_the_robot_can_show_it_no_number_of_synthetic_ones_is_worth_it():
    advice = advised(planted((0, 3, 10), gap=4.0, scarcity=0.01, synthetics=(500, 5000)), more=10)
    assert advice.never > 0.9
    assert advice.worth.middle == ENOUGH
    assert any("more than any number of synthetic ones" in text for text in sentences(advice))


def test_more_trials_make_it_surer():
    widths = []
    for trials in (10, 1000):
        now = advised(planted((0, 3, 10), trials=trials)).now
        widths.append(now.high - now.low)
    assert widths[1] < 0.7 * widths[0]


def test_it_says_what_it_rests_on():
    said = " ".join(sentences(advised([Run(real=0, synthetic=2000, good=4, trials=10)])))
    assert "1 training with 0 real" in said
    assert "mostly the latter" in said
    strange = [
        Run(real=0, synthetic=2000, good=998, trials=1000),
        Run(real=10, synthetic=2000, good=1, trials=1000),
    ]
    assert "Hardly any curve fits" in " ".join(sentences(advised(strange)))


def test_the_same_runs_give_the_same_advice():
    runs = planted((0, 3))
    assert advised(runs) == advised(runs)


def test_runs_are_read_from_csv_and_json(tmp_path):
    rows = [vars(run) for run in planted((0, 3))]
    text = "real, synthetic, good, trials, note\n"
    text += "".join(",".join(str(v) for v in row.values()) + ",x\n" for row in rows)
    (tmp_path / "runs.csv").write_text(text)
    (tmp_path / "runs.json").write_text(json.dumps(rows))
    assert load_runs(tmp_path / "runs.csv") == load_runs(tmp_path / "runs.json")
    assert load_runs(tmp_path / "runs.csv") == tuple(planted((0, 3)))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("r.csv", "real,synthetic,good,trials\n3,2000,11,10\n", "11 of 10 trials succeeded"),
        ("r.csv", "real,synthetic,good,trials\n3,2000,0,0\n", "0 of 0 trials"),
        ("r.csv", "real,synthetic,good,trials\n3,many,1,10\n", "row 1 synthetic"),
        ("r.csv", "real,good,trials\n3,1,10\n", "row 1 synthetic: Field required"),
        ("r.csv", "", "not a list of runs"),
        ("r.json", "{", "could not be read"),
        ("r.json", '[{"real": -1, "synthetic": 0, "good": 0, "trials": 1}]', "row 1 real"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(TrueupError) as refused:
        load_runs(tmp_path / name)
    assert words in refused.value.what
    assert str(tmp_path / name) in refused.value.what


def test_senseless_questions_are_refused(tmp_path):
    with pytest.raises(TrueupError, match="no runs"):
        fitted([])
    with pytest.raises(TrueupError, match="0 more"):
        advised(planted((0,)), more=0)
    with pytest.raises(TrueupError, match="There is no file"):
        load_runs(tmp_path / "none.csv")
