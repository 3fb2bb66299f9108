"""`trueup narrow`: from estimates and a diagnosis to a space to train in."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

from tests.loop.found import estimate, report
from trueup.cli.entry import main
from trueup.space import Space

DELAY, SHIFT = "latency/action_delay", "visual/camera/shift_x"


@pytest.fixture
def known(tmp_path):
    """An estimate in a file."""
    path = tmp_path / "estimate.json"
    estimate({DELAY: (0.08, 0.002)}).save(path)
    return path


def narrowed(*words) -> int:
    return main(["narrow", *map(str, words)])


def test_what_was_identified_becomes_a_space_to_train_in(tmp_path, known, capsys):
    out = tmp_path / "space.json"
    assert narrowed("so101/lift", "--estimate", known, "--out", out) == 0
    space = Space.load(out)
    drawn = space.sample(np.random.default_rng(0), 2000)
    assert drawn.column(DELAY).mean() == pytest.approx(0.08, abs=0.001)
    assert drawn.column(DELAY).std() < 0.005
    told = capsys.readouterr().out
    assert "Latency: 1 number as recordings say" in told
    assert "trueup train so101/lift --space" in told


def test_the_command_to_copy_is_right_whatever_the_path(tmp_path, known, capsys):
    out = tmp_path / "my [red] arm" / "space.json"
    assert narrowed("so101/lift", "--estimate", known, "--out", out) == 0
    line = next(x for x in capsys.readouterr().out.splitlines() if x.startswith("Next: "))
    assert shlex.split(line)[1:] == ["trueup", "train", "so101/lift", "--space", str(out)]


def test_a_diagnosis_says_which_gaps_are_randomized_wider(tmp_path, known, capsys):
    gaps = tmp_path / "gaps.json"
    report(visual=50).save(gaps)
    widths = {}
    for name, more in (("plain", []), ("blamed", ["--gaps", gaps])):
        out = tmp_path / f"{name}.json"
        assert narrowed("so101/lift", "--estimate", known, "--out", out, *more) == 0
        drawn = Space.load(out).sample(np.random.default_rng(0), 2000)
        widths[name] = drawn.column(SHIFT).std()
    assert widths["blamed"] > 2.0 * widths["plain"]
    assert "Visual costs 50 points" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no --estimate, --gaps or --residual"),
        (("--estimate", "missing.json"), "missing.json"),
    ],
)
def test_what_cannot_be_narrowed_is_said(words, said, capsys):
    assert narrowed("so101/lift", *words) == 2
    assert said in capsys.readouterr().err


def test_a_diagnosis_of_another_world_is_refused(tmp_path, known, capsys):
    gaps = tmp_path / "gaps.json"
    report(visual=50).save(gaps)
    assert narrowed("so101/push", "--estimate", known, "--gaps", gaps) == 2
    assert "not in so101/push" in capsys.readouterr().err


def test_an_estimate_is_not_overwritten(known, capsys):
    before = known.read_bytes()
    assert narrowed("so101/lift", "--estimate", known, "--out", known) == 2
    assert known.read_bytes() == before
