"""`trueup worlds` and `trueup space`: tables for people, JSON for programs."""

from __future__ import annotations

import json

import pytest

from trueup.cli import main
from trueup.cli.families import families
from trueup.cli.show import number, span
from trueup.cli.space import usual
from trueup.simulate import CpuWorlds
from trueup.space import Fixed, Gap, LogUniform, Normal, Parameter, Space, Uniform
from trueup.worlds import Compiled, get, names


@pytest.fixture(scope="module")
def lift():
    return get("so101/lift")


def test_worlds_lists_all_of_them(capsys):
    assert main(["worlds"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in names())


def test_worlds_json(capsys, lift):
    assert main(["worlds", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert tuple(rows) == names()
    assert rows["so101/lift"]["episode_s"] == lift.episode_s
    assert rows["so101/lift"]["parameters"] == len(lift.space)
    assert rows["so101/lift"]["catalogue"] == len(lift.catalogue)


def test_show_json(capsys, lift):
    assert main(["worlds", "show", "so101/lift", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {s["name"]: (s["unit"], s["size"]) for s in facts["observations"]}["cube_position"] == (
        "m",
        3,
    )
    assert [c["name"] for c in facts["commands"]] == list(lift.commands)
    assert all(low < high for low, high in (c["limits"] for c in facts["commands"]))
    assert [p for e in facts["effects"] for p in e["parameters"]] == list(lift.catalogue.names)


@pytest.mark.parametrize("name", names())
def test_sizes_are_those_that_a_batch_has(name, capsys):
    assert main(["worlds", "show", name, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    world = get(name)
    copies = CpuWorlds(Compiled(world), 1)
    seen = copies.reset(world.space.nominal(), [0])
    assert {s["name"]: s["size"] for s in facts["observations"]} == {
        signal: values.shape[1] for signal, values in seen.items()
    }
    assert {s["name"]: s["size"] for s in facts["privileged"]} == world.sizes(world.privileged)
    if name == "so101/reach":
        assert {s["name"]: s["size"] for s in facts["observations"]}["tcp_position"] == 3


def test_show_for_people(capsys):
    assert main(["worlds", "show", "so101/lift"]) == 0
    text = capsys.readouterr().out
    for words in ("25 Hz", "joint_position", "shoulder_pan", "actuation/*/backlash", "optional"):
        assert words in text


def test_space_json_is_the_space(capsys, tmp_path, lift):
    assert main(["space", "so101/lift", "--json"]) == 0
    assert Space.from_json(json.loads(capsys.readouterr().out)) == lift.space
    file = tmp_path / "new" / "space.json"
    assert main(["space", "so101/lift", "--json", "--all", "--out", str(file)]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"Written: {file}\n")
    assert Space.load(file) == lift.catalogue
    assert main(["space", "so101/lift", "--out", str(file)]) == 0
    out, err = capsys.readouterr()
    assert (out.splitlines()[-1], err) == (f"Written: {file}", "")
    assert Space.load(file) == lift.space


def test_space_for_people(capsys, lift):
    assert main(["space", "so101/lift"]) == 0
    text = capsys.readouterr().out
    for gap, part in lift.space.by_gap().items():
        assert f"{gap}  {gap.question}  {len(part)} by default" in text
    assert Gap.HUMAN.question not in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("columns", ["80", "100", "160"])
def test_tables_fit_the_terminal(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    for arguments in (["worlds"], ["worlds", "show", "so101/place"], ["space", "so101/lift"]):
        assert main([*arguments]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= int(columns)


def test_selection_finds_optional_parameters_only_where_asked(capsys):
    def chosen(*options: str) -> set[str]:
        assert main(["space", "so101/lift", "--json", *options]) == 0
        return set(Space.from_json(json.loads(capsys.readouterr().out)).names)

    assert not any("backlash" in name for name in chosen("--select", "actuation"))
    assert any("backlash" in name for name in chosen("--select", "actuation", "--all"))
    assert len(chosen("--select", "actuation/*/backlash", "human")) == 6 + 3


def test_an_unknown_pattern_is_refused(capsys):
    assert main(["space", "so101/lift", "--select", "latancy"]) == 2
    assert "Did you mean 'latency'?" in capsys.readouterr().err


def test_families_lose_no_parameter(lift):
    for by_numbers in (True, False):
        found = families(lift.catalogue, lift.space, by_numbers=by_numbers)
        members = [p.name for family in found for p in family.members]
        assert sorted(members) == sorted(lift.catalogue.names)
        for family in found:
            selected = lift.catalogue.select(family.pattern).names
            assert {p.name for p in family.members} <= set(selected)


def test_numbers_for_people():
    assert [number(x) for x in (0, 0.25, 1234.5, 1_234_567, -0.0123456, 1e-5)] == [
        "0",
        "0.25",
        "1,230",
        "1,230,000",
        "−0.0123",
        "1e-05",
    ]
    assert span(-0.3, 0.3) == "± 0.3"
    assert span(1, 2) == "1 … 2"


def test_a_prior_as_a_range():
    def shown(prior) -> str:
        return usual(
            Parameter(name="latency/x", unit="s", nominal=0.5, low=0.1, high=1, prior=prior)
        )

    assert shown(Fixed(0.4)) == "= 0.4"
    assert shown(Uniform()) == "0.1 … 1"
    assert shown(LogUniform(0.2, 0.6)) == "0.2 … 0.6"
    assert shown(Normal(0.5, 0.05)) == "0.402 … 0.598 (95 %)"
