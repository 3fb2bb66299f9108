"""The artefact: what is saved comes back whole, and runs where the trainer is not installed."""

from __future__ import annotations

import errno
import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from tests.train.rigs import trained
from tests.train.swing import Swing
from trueup.errors import TrueupError
from trueup.evaluate import evaluate, piloted, trials
from trueup.policies import Contract, Policy, Provenance
from trueup.space import Normal

FILES = {"policy.onnx", "contract.json", "provenance.json"}


@pytest.fixture
def folder(tmp_path) -> Path:
    """A saved policy."""
    trained().save(tmp_path / "policy")
    return tmp_path / "policy"


def test_it_comes_back_bit_for_bit(folder):
    policy = trained()
    again = Policy.load(folder)
    assert {path.name for path in folder.iterdir()} == FILES
    assert again.stored == policy.stored
    assert again.contract == policy.contract
    assert again.contract.space.to_json() == Swing().space.to_json()
    assert replace(again.provenance, files={}).to_json() == policy.provenance.to_json()
    assert again.name == str(folder)
    x = np.random.default_rng(0).normal(size=(5, policy.contract.inputs)).astype(np.float32)
    np.testing.assert_array_equal(again.network(x), policy.network(x))
    again.save(folder.with_name("copy"))
    for name in FILES:
        assert (folder.with_name("copy") / name).read_bytes() == (folder / name).read_bytes()


def test_a_measured_space_comes_back_with_its_belief(tmp_path):
    policy = trained()
    damping = "actuation/swing/damping"
    measured = policy.contract.space.narrowed({damping: Normal(mean=0.21, std=0.013)})
    policy = replace(policy, contract=replace(policy.contract, space=measured))
    again = Policy.load(policy.save(tmp_path / "policy").name).contract.space
    assert again.to_json() == measured.to_json()
    generators = (np.random.default_rng(4) for _ in range(2))
    one, other = (
        space.sample(g, 9) for space, g in zip((measured, again), generators, strict=True)
    )
    assert one == other


def test_limits_that_are_not_there_come_back_as_none():
    policy = trained()
    free = replace(policy.contract.interface, low=(-np.inf,), high=(np.inf,))
    contract = replace(policy.contract, interface=free)
    assert Contract.from_json(contract.to_json()) == contract
    assert json.loads(contract.to_json())["commands"][0]["low"] is None


def test_the_files_say_what_is_in_them(folder):
    contract = json.loads((folder / "contract.json").read_text())
    assert contract["format"] == "trueup/policy"
    assert contract["control_rate_hz"] == pytest.approx(50.0)
    assert [o["name"] for o in contract["observations"]] == ["position", "velocity", "force"]
    assert contract["commands"][0] == dict(
        joint="swing", unit="rad", low=-2.0, high=2.0, lead=0.45, rate_per_s=45.0
    )
    assert contract["network"]["input"]["size"] == 2 * (3 + 1)
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["method"] == "ppo"
    assert provenance["steps"] == 8 * 64 * 16
    assert provenance["configuration"]["plan"] == "prior"
    assert set(provenance["versions"]) >= {"trueup", "torch", "rsl-rl-lib", "mujoco"}
    assert provenance["files"]["policy.onnx"]["bytes"] == (folder / "policy.onnx").stat().st_size


def test_the_policy_that_was_saved_is_the_one_that_plays(folder):
    world = Swing()
    points, seeds = trials(world.space, 32, 5)
    before, after = (
        evaluate(world, piloted(policy), points, seeds, threads=1)
        for policy in (trained(), Policy.load(folder))
    )
    assert before.success_share > 0.8  # it does have something to lose
    np.testing.assert_array_equal(before.return_, after.return_)


ALONE = """
    import sys

    blocked = {"torch", "rsl_rl", "tensordict", "tensorboard", "onnx", "mujoco", "scipy", "tyro"}

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in blocked:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Missing())
    for name in blocked:
        try:
            __import__(name)
        except ModuleNotFoundError:
            continue
        raise SystemExit(f"{name} can be imported: this proves nothing")

    import json
    import numpy as np
    from trueup.policies import Policy

    policy = Policy.load(sys.argv[1])
    generator = np.random.default_rng(3)
    sizes = {f.name: f.size for f in policy.contract.interface.observations}
    seen = [
        {name: generator.normal(size=(4, size)) for name, size in sizes.items()} for _ in range(12)
    ]
    hold = np.zeros((4, policy.contract.outputs))
    pilot, single = policy.pilot(4), policy.pilot()
    pilot.begin(seen[0], hold)
    single.begin({name: values[1] for name, values in seen[0].items()}, hold[1])
    many = [pilot(now).tolist() for now in seen]
    one = [single({name: values[1] for name, values in now.items()}).tolist() for now in seen]
    loaded = blocked & {name.partition(".")[0] for name in sys.modules}
    print(json.dumps({"many": many, "one": one, "loaded": sorted(loaded)}))
"""


def test_it_runs_without_the_trainer(folder):
    found = subprocess.run(
        [sys.executable, "-c", dedent(ALONE), str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert found.returncode == 0, found.stderr
    said = json.loads(found.stdout)
    assert said["loaded"] == []
    assert np.shape(said["many"]) == (12, 4, 1)
    assert [row[1] for row in said["many"]] == said["one"]
    assert np.ptp(said["many"]) > 0.1  # it does something
    generator = np.random.default_rng(3)
    seen = [
        {name: generator.normal(size=(4, 1)) for name in ("position", "velocity", "force")}
        for _ in range(12)
    ]
    pilot = Policy.load(folder).pilot(4)
    pilot.begin(seen[0], np.zeros((4, 1)))
    assert [pilot(now).tolist() for now in seen] == said["many"]


def test_nothing_is_unpickled(folder, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a policy was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    assert Policy.load(folder).contract == trained().contract


def test_a_newer_policy_takes_the_place_of_an_older_one(folder):
    newer = replace(trained(), provenance=replace(trained().provenance, seed=77))
    newer.save(folder)
    assert Policy.load(folder).provenance.seed == 77
    assert [path.name for path in folder.parent.iterdir()] == ["policy"]


@pytest.mark.parametrize("survives", [0, 1, 2])
def test_a_disk_that_fills_leaves_the_older_policy_whole(folder, survives, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write, left = Path.write_bytes, [survives]

    def full(self, data):
        if left[0] == 0:
            write(self, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= 1
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    newer = replace(trained(), provenance=replace(trained().provenance, seed=77))
    with pytest.raises(TrueupError, match="could not be written: No space left on device"):
        newer.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["policy"]
    assert Policy.load(folder).provenance.seed == 0


def test_a_file_in_the_way_is_told(tmp_path):
    (tmp_path / "policy").write_text("mine")
    with pytest.raises(TrueupError, match="is a file, but a folder is to be written there"):
        trained().save(tmp_path / "policy")
    assert (tmp_path / "policy").read_text() == "mine"


def test_a_provenance_comes_back():
    full = Provenance(
        created="2026-01-01T00:00:00+00:00",
        method="ppo",
        seed=3,
        steps=10,
        wall_s=1.25,
        configuration={"gamma": 0.9, "hidden": [32, 32]},
        versions={"numpy": "2"},
        outcome={"ended": "target"},
        parent={"name": "older", "parent": None},
        files={"policy.onnx": {"sha256": "0", "bytes": 1}},
    )
    assert Provenance.from_json(full.to_json()) == full
