"""Damaged policies: every kind gives a sentence, and none another exception."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.train.rigs import trained
from trueup.errors import TrueupError
from trueup.policies import Contract, Policy, Provenance

NAMES = ("policy.onnx", "contract.json", "provenance.json")


@pytest.fixture
def folder(tmp_path) -> Path:
    """A saved policy."""
    trained().save(tmp_path / "policy")
    return tmp_path / "policy"


def refused(folder: Path) -> str:
    """The sentence a folder is refused with."""
    with pytest.raises(TrueupError) as told:
        Policy.load(folder)
    error = told.value
    assert error.what.rstrip().endswith(".") and "\n" not in str(error)
    assert error.fix
    return str(error)


def sign(folder: Path) -> None:
    """Let the provenance vouch for what is in the folder now, as an attacker would."""
    path = folder / "provenance.json"
    stored = json.loads(path.read_text())
    for name in NAMES[:2]:
        content = (folder / name).read_bytes()
        mark = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        stored["files"][name] = mark
    path.write_text(json.dumps(stored))


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    assert f"The policy folder {folder} has no {name}." in refused(folder)


def test_no_folder_an_empty_one_and_a_file(tmp_path):
    assert "No policy at" in refused(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "has no policy.onnx" in refused(tmp_path / "empty")
    (tmp_path / "file").write_text("no folder")
    assert "A policy is a folder with" in refused(tmp_path / "file")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "policy.onnx").mkdir()
    assert "could not be read" in refused(tmp_path / "inside")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file(folder, name, share):
    path = folder / name
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert str(path) in refused(folder)


@pytest.mark.parametrize("share", np.linspace(0.0, 0.99, 30).tolist())
def test_a_truncated_network_that_somebody_vouches_for(folder, share):
    path = folder / "policy.onnx"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    sign(folder)
    assert str(path) in refused(folder)


@pytest.mark.parametrize("name", NAMES[:2])
def test_a_flipped_byte(folder, name):
    path = folder / name
    content = path.read_bytes()
    for at in np.linspace(0, len(content) - 1, 25).astype(int).tolist():
        changed = bytearray(content)
        changed[at] ^= 0x10
        path.write_bytes(bytes(changed))
        assert f"{path} is not the file that was saved" in refused(folder)


def test_a_flipped_byte_that_somebody_vouches_for(folder):
    """Such a file may still be a network or a contract; if it is none, a sentence says so."""
    for name in NAMES:
        path = folder / name
        content = path.read_bytes()
        for at in np.linspace(0, len(content) - 1, 60).astype(int).tolist():
            changed = bytearray(content)
            changed[at] ^= 0x08
            path.write_bytes(bytes(changed))
            try:
                if name != "provenance.json":
                    sign(folder)
                Policy.load(folder)
            except TrueupError as error:
                assert str(path) in str(error) or str(folder) in str(error)
        path.write_bytes(content)
        if name != "provenance.json":
            sign(folder)


def test_an_edited_contract(folder):
    path = folder / "contract.json"
    path.write_text(path.read_text().replace('"rad"', '"deg"'))
    assert f"{path} is not the file that was saved" in refused(folder)
    path.write_text(path.read_text() + " ")
    assert "bytes, but" in refused(folder)


def test_the_provenance_of_another_policy(folder, tmp_path):
    other = replace(trained(), contract=replace(trained().contract, task="another"))
    other.save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "provenance.json", folder)
    assert str(folder / "contract.json") in refused(folder)
    stored = json.loads((folder / "provenance.json").read_text())
    del stored["files"]["contract.json"]
    (folder / "provenance.json").write_text(json.dumps(stored))
    assert "is not mentioned in provenance.json" in refused(folder)


def test_a_network_of_another_contract(folder):
    longer = replace(trained().contract, history=5)
    (folder / "contract.json").write_text(longer.to_json())
    sign(folder)
    told = refused(folder)
    assert "input [20], answer [1]" in told and "input [8], answer [1]" in told


@pytest.mark.parametrize("name", NAMES[1:])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"7",
        b"{",
        b'{"format": "other"}',
        b"\xff\xfe\x00",
        b"[" * 5000,
        b"\x00",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_what_is_no_json_object(folder, name, content):
    (folder / name).write_bytes(content)
    if name == "contract.json":
        sign(folder)
    assert str(folder / name) in refused(folder)


def changes() -> list[tuple[Any, Any]]:
    """Places in a contract, and what should not be there."""
    counts = [("history",), ("observations", 0, "size")]
    amounts = [("control_period_s",), ("commands", 0, "lead"), ("commands", 0, "rate_per_s")]
    limits = [("commands", 0, "low"), ("commands", 0, "high")]
    texts = [("world",), ("task",), ("observations", 0, "name"), ("commands", 0, "joint")]
    nan = (float("nan"), float("inf"), -float("inf"))
    return [
        *((place, bad) for place in counts for bad in (0, -1, 1.5, None, "two", [], *nan)),
        *((place, bad) for place in amounts for bad in (0.0, -1.0, None, "fast", {}, *nan)),
        *((place, bad) for place in limits for bad in ("far", [], *nan)),
        *((place, bad) for place in texts for bad in (None, 3, [])),
        *((("format",), bad) for bad in ("trueup/space", None)),
        *((("version",), bad) for bad in (3, "1", None)),
        *((("observations",), bad) for bad in ([], None, {}, [1])),
        *((("commands",), bad) for bad in ([], None, "swing")),
        *((("measured",), bad) for bad in ("nothing", 3, "")),
        *((("space",), bad) for bad in (None, [], {}, {"parameters": 3}, {"parameters": [{}]})),
    ]


@pytest.mark.parametrize(("place", "bad"), changes(), ids=str)
def test_a_contract_with_something_else_in_it(place, bad):
    stored = json.loads(trained().contract.to_json())
    inside = stored
    for part in place[:-1]:
        inside = inside[part]
    inside[place[-1]] = bad
    with pytest.raises(TrueupError) as told:
        Contract.from_json(json.dumps(stored), "lost/contract.json")
    assert "lost/contract.json" in told.value.what


def test_a_contract_without_a_field():
    whole = json.loads(trained().contract.to_json())
    for_readers = {"control_rate_hz", "answer_clip", "network"}  # said elsewhere, or by the network
    for field in set(whole) - for_readers:
        stored = {name: value for name, value in whole.items() if name != field}
        with pytest.raises(TrueupError, match=rf"lost is not a policy's contract: {field}"):
            Contract.from_json(json.dumps(stored), "lost")


def leaves(stored: Any, *path: Any):
    """All places in a JSON document."""
    yield path
    children: Any = enumerate(stored) if isinstance(stored, list) else ()
    for key, value in stored.items() if isinstance(stored, dict) else children:
        yield from leaves(value, *path, key)


@pytest.mark.parametrize("bad", [None, "x", -1, float("nan"), float("inf"), [], {}, 1e308, True])
def test_nonsense_anywhere_in_a_space_is_a_sentence_at_most(bad):
    text = trained().contract.to_json()
    for path in leaves(json.loads(text)["space"]):
        stored = json.loads(text)
        inside: Any = stored
        for part in ("space", *path)[:-1]:
            inside = inside[part]
        inside[("space", *path)[-1]] = bad
        try:
            Contract.from_json(json.dumps(stored), "lost")
        except TrueupError as error:
            assert "lost" in error.what


def test_a_joint_or_an_observation_named_twice():
    stored = json.loads(trained().contract.to_json())
    for field in ("observations", "commands"):
        doubled = {**stored, "measured": None, field: [stored[field][0]] * 2}
        with pytest.raises(TrueupError, match="is named twice"):
            Contract.from_json(json.dumps(doubled))


def test_limits_the_wrong_way_round():
    stored = json.loads(trained().contract.to_json())
    stored["commands"][0] |= {"low": 1.0, "high": -1.0}
    with pytest.raises(TrueupError, match=r"'swing' may move from 1.0 to -1.0"):
        Contract.from_json(json.dumps(stored))


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("created", None),
        ("seed", "none"),
        ("steps", 1.5),
        ("steps", float("nan")),
        ("wall_s", float("nan")),
        ("wall_s", float("inf")),
        ("configuration", []),
        ("versions", {"numpy": 2}),
        ("parent", "older"),
        ("files", {"policy.onnx": "0"}),
        ("files", None),
    ],
    ids=str,
)
def test_a_provenance_with_something_else_in_it(field, bad):
    stored = json.loads(trained().provenance.to_json())
    with pytest.raises(TrueupError, match=rf"lost is not a policy's provenance: {field}"):
        Provenance.from_json(json.dumps({**stored, field: bad}), "lost")
