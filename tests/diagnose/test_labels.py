"""What goes along with failure: planted labels are found, luck is not, and bad tables are told."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from trueup.cli import main
from trueup.diagnose.failures import LabelAnalysis, Table, labelled
from trueup.diagnose.failures.labels.columns import Column, column_of
from trueup.diagnose.failures.labels.contrast import Contrast, Level
from trueup.episodes import Channel, Episode, Outcome
from trueup.errors import TrueupError


def table(success, **columns) -> Table:
    return Table(
        success=np.array(success, bool),
        columns={name: tuple(map(str, words)) for name, words in columns.items()},
    )


def lit(n: int = 60, seed: int = 0) -> Table:
    """Fails half of the time in the evening, seldom else; three more labels mean nothing."""
    generator = np.random.default_rng(seed)
    light = generator.choice(["morning", "noon", "evening"], n)
    success = generator.random(n) > np.where(light == "evening", 0.6, 0.1)
    return table(
        success,
        light=light,
        person=generator.choice(["ann", "bob"], n),
        colour=generator.choice(["red", "blue", "green"], n),
        warmth=generator.normal(21, 2, n).round(1),
    )


def claimed(found: LabelAnalysis) -> list[str]:
    return [label.name for label in found.labels if label.claimed]


def test_a_planted_label_is_found_and_told():
    data = lit()
    found = labelled(data)
    assert claimed(found) == ["light"]
    words = np.array(data.columns["light"])
    failed, n = int((~data.success[words == "evening"]).sum()), int((words == "evening").sum())
    rest, m = int((~data.success[words != "evening"]).sum()), int((words != "evening").sum())
    times = (failed / n) / (rest / m)
    assert found.sentences[0].startswith(
        f"Fails {times:.1f} times as often where light is evening ({failed} of {n}) as else "
        f"({rest} of {m}), 95 % interval "
    )
    assert found.sentences[0].endswith("after correction for 4 labels.")


def test_a_planted_number_is_found_by_rank():
    generator = np.random.default_rng(2)
    hour = generator.uniform(8, 20, 80)
    success = generator.random(80) > np.where(hour > 15, 0.7, 0.1)
    clock = [f"{int(h)}:{int(60 * (h % 1)):02d}" for h in hour]
    found = labelled(table(success, hour=clock, person=generator.choice(["a", "b"], 80)))
    assert claimed(found) == ["hour"]
    assert found.labels[0].numeric
    assert "where hour is above 1" in found.sentences[0]
    # only the order counts: any rising scale gives the same p-value
    scaled = labelled(table(success, hour=np.exp(hour / 5), person=["a", "b"] * 40))
    plain = labelled(table(success, hour=hour, person=["a", "b"] * 40))
    assert scaled.labels[0].p_value == plain.labels[0].p_value


def test_nothing_is_claimed_of_luck():
    """Six labels that mean nothing: a claim in one of twenty series, however many trials."""
    wrong = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        n = int(generator.integers(15, 60))
        columns = {f"l{k}": generator.choice(list("abc"), n) for k in range(5)}
        columns["x"] = generator.normal(size=n)
        success = generator.random(n) > 0.3
        if 0 < success.sum() < n:
            wrong += bool(claimed(labelled(table(success, **columns), shuffles=199)))
    assert wrong <= stats.binom.ppf(0.999, 60, 0.05)


def test_what_cannot_be_told_is_said_with_what_could_have_been():
    generator = np.random.default_rng(5)
    found = labelled(table(generator.random(30) > 0.4, light=["dim", "day"] * 15))
    assert claimed(found) == []
    (sentence,) = found.sentences
    assert sentence.startswith("Nothing can be told: no label goes with failure at 5 %")
    assert "after correction for 1 label." in sentence
    assert "30 trials show a difference" in sentence


@pytest.mark.parametrize(
    ("success", "words"),
    [
        ([1, 0, 1], "from 3 trials: at least 5 are needed"),
        ([0], "from 1 trial: at least 5"),
        ([1] * 9, "all 9 trials succeeded"),
        ([0] * 9, "all 9 trials failed"),
    ],
)
def test_too_little_is_answered_in_words(success, words):
    found = labelled(table(success, light=(["a", "b"] * 10)[: len(success)]))
    assert found.labels == ()
    assert words in found.sentences[0]
    assert json.dumps(found.to_json(), allow_nan=False)


def test_labels_that_tell_nothing_are_left_out_with_a_reason():
    n = 12
    success = [1, 0] * 6
    found = labelled(
        table(
            success,
            place=["lab"] * n,
            name=[f"trial-{k}" for k in range(n)],
            empty=[""] * n,
            light=["dim", "day", ""] * 4,
        )
    )
    assert [label.name for label in found.labels] == ["light"]
    assert [level.name for level in found.labels[0].levels] == ["(empty)", "day", "dim"]
    told = " ".join(found.notes)
    for words in (
        "'place' is 'lab' in every row",
        "'name' is different in every row",
        "'empty' is empty in every row",
    ):
        assert words in told
    alone = labelled(table(success, place=["lab"] * n))
    assert "there is none with two words or more" in alone.sentences[0]


def test_capitals_do_not_make_a_level():
    column = column_of("light", ("Dim", "dim", "DAY", "day", "day"))
    assert isinstance(column, Column) and set(column.words) == {"Dim", "DAY"}


def test_effect_sizes_are_what_textbooks_have():
    """Katz's interval of a ratio and Newcombe's of a difference, by hand for 12/20 and 4/20."""
    success = np.array([0] * 12 + [1] * 8 + [0] * 4 + [1] * 16, bool)
    column = column_of("light", ("evening",) * 20 + ("day",) * 20)
    assert isinstance(column, Column)
    contrast = Contrast.of(column, column.sides[0], success, 0.01)
    assert (contrast.first.name, contrast.ratio) == ("evening", pytest.approx(3.0))
    spread = 1.959964 * math.sqrt(1 / 12 - 1 / 20 + 1 / 4 - 1 / 20)
    assert contrast.ratio_interval == pytest.approx((3 * math.exp(-spread), 3 * math.exp(spread)))
    assert contrast.difference == pytest.approx(40.0)
    low, high = contrast.difference_interval
    assert low == pytest.approx(9.6, abs=1.0) and high == pytest.approx(61.6, abs=1.0)


def test_failures_on_one_side_only_have_no_ratio():
    found = labelled(table([0] * 8 + [1] * 12, light=["dim"] * 10 + ["day"] * 10))
    best = found.labels[0].contrasts[0]
    assert math.isinf(best.ratio) and best.to_json()["ratio"] is None
    assert "Fails only where light is dim (8 of 10), never where it is day (0 of 10)" in str(best)
    assert Level(name="day", trials=10, failed=0).interval == pytest.approx((0.7225, 1.0), abs=1e-3)


def test_the_order_of_rows_does_not_matter():
    data = lit()
    order = np.random.default_rng(1).permutation(len(data))
    mixed = Table(
        success=data.success[order],
        columns={name: tuple(words[k] for k in order) for name, words in data.columns.items()},
    )
    first, second = labelled(data), labelled(mixed)
    assert claimed(first) == claimed(second)
    assert [x.levels for x in first.labels[:1]] == [x.levels for x in second.labels[:1]]
    assert labelled(data) == first


def test_labels_of_episodes():
    channel = Channel(values=np.zeros((2, 1)), time_s=np.arange(2.0), unit="m", names=("x",))

    def episode(outcome: Outcome | None, **labels: str) -> Episode:
        return Episode(signals={"x": channel}, period_s=1.0, outcome=outcome, labels=labels)

    found = Table.of(
        [
            episode(Outcome.SUCCESS, light="dim"),
            episode(Outcome.FAILURE, person="ann", stopped="It pushed."),
            episode(Outcome.ABORTED, light="dim"),
            episode(None, light="dim"),
        ]
    )
    assert found.success.tolist() == [True, False]
    assert dict(found.columns) == {"light": ("dim", ""), "person": ("", "ann")}


# ------------------------------------------------------------------------------------------------


@pytest.fixture
def csv(tmp_path):
    def write(text: str | bytes):
        file = tmp_path / "outcomes.csv"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


@pytest.mark.parametrize(
    ("text", "success", "columns"),
    [
        ("success,light\n1,dim\n0,day\n", [1, 0], {"light": ("dim", "day")}),
        ("light,Outcome\ndim,YES\nday,Failure\n", [1, 0], {"light": ("dim", "day")}),
        ("\ufeffResult;t\npass;21,5\nFail;22\n", [1, 0], {"t": ("21,5", "22")}),
        ("failed\tlight\nyes\tdim\nno\tday\n", [0, 1], {"light": ("dim", "day")}),
        ("failure,a\nsuccess,x\nfailed,y\n", [1, 0], {"a": ("x", "y")}),
        ('success,"a, b"\nTrue,"x, y"\n\nfalse,z\n,w\n', [1, 0], {"a, b": ("x, y", "z")}),
        ("light,success\ncaf\xe9,1\nday,0\n".encode("cp1252"), [1, 0], {"light": ("café", "day")}),
        ("success,a\r\n1.0,x\r\n0.0,y\r\n", [1, 0], {"a": ("x", "y")}),
        ("success,a\n1,x\n0,y\n".encode("utf-16"), [1, 0], {"a": ("x", "y")}),
    ],
)
def test_tables_as_people_write_them(csv, text, success, columns):
    found = Table.read(csv(text))
    assert found.success.tolist() == [bool(x) for x in success]
    assert dict(found.columns) == columns


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("success,light\n", "tells of no trial: it has a line of names alone"),
        ("success,light\n,dim\n", "none of its rows has an outcome"),
        ("light,person\ndim,ann\n", "has no column of outcomes .* it has light, person"),
        ("success,Light,light\n1,a,b\n", "more than one column named 'light'"),
        ("success,light\n1,dim\nmaybe,day\n", "Line 3 of .* has the outcome 'maybe'"),
        ("success,light\n1,dim\n0\n", "Line 3 of .* has 1 cells; the line of names has 2"),
    ],
)
def test_bad_tables_are_told_in_a_sentence(csv, text, words):
    with pytest.raises(TrueupError, match=words):
        Table.read(csv(text))


def test_the_outcome_may_have_any_name(csv):
    file = csv("picked,light\ny,dim\nn,day\n")
    assert Table.read(file, outcome="Picked").success.tolist() == [True, False]
    with pytest.raises(TrueupError, match="has no column named 'lifted'; it has picked, light"):
        Table.read(file, outcome="lifted")


def test_rows_and_columns_that_are_left_out_are_said(csv):
    found = Table.read(csv("success,result,a\n1,pass,x\n,,y\naborted,,z\n0,fail,x\n"))
    assert found.success.tolist() == [True, False]
    assert found.notes == (
        "2 rows have no outcome and are left out.",
        "'success' is taken as the outcome, and 'result' is left out.",
    )


# ------------------------------------------------------------------------------------------------


def rows(n: int = 40) -> str:
    lines = [f"{int(k % 2 == 0 or k % 10 == 1)},{'dim' if k % 2 else 'day'}" for k in range(n)]
    return "success,light\n" + "\n".join(lines) + "\n"


def test_the_command_tells_writes_and_draws(csv, tmp_path, capsys):
    file, out = csv(rows()), tmp_path / "out"
    assert main(["failures", str(file), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "Fails only where light is dim (16 of 20), never where it is day (0 of 20)" in " ".join(
        text.split()
    )
    assert (out / "failures.png").read_bytes().startswith(b"\x89PNG")
    stored = json.loads((out / "failures.json").read_text())
    assert main(["failures", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == stored
    assert stored["labels"][0]["levels"][1] | {"success_interval_95": []} == {
        "name": "dim",
        "trials": 20,
        "failed": 16,
        "success_interval_95": [],
    }


@pytest.mark.parametrize("label", ["", ",lamp"])
def test_outcomes_alone_are_counted_and_not_drawn(csv, tmp_path, capsys, label):
    head = "success,light\n" if label else "success\n"
    file = csv(head + f"1{label}\n" * 7 + f"0{label}\n" * 3)
    assert main(["failures", str(file), "--out", str(tmp_path / "out")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("3 of 10 trials failed: success 70.0 % (95 % interval 39.7 – 89.2)")
    assert "failures.png" not in text
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["failures.json"]


def test_the_command_answers_bad_input_in_a_sentence(csv, tmp_path, capsys):
    for argument, words in (
        (str(tmp_path / "none.csv"), "could not be read"),
        (str(csv("a,b\n1,2\n")), "Name the column with --outcome"),
        (str(tmp_path), "meta/info.json"),
    ):
        assert main(["failures", argument]) == 2
        error = capsys.readouterr().err
        assert words in " ".join(error.split()) and "Traceback" not in error
