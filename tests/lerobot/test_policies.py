"""LeRobot's own ACT learns from what we generate, and its checkpoint drives our worlds."""

# pyright: reportMissingImports=false

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueup.episodes import Dataset, JointUnits, convert
from trueup.episodes.units import converted
from trueup.errors import TrueupError
from trueup.evaluate import evaluate, piloted, trials
from trueup.generate import Order, generate, scripted
from trueup.policies import open_policy
from trueup.policies.lerobot import LerobotPolicy
from trueup.space import Space
from trueup.worlds import get

THINGS = ("cube_position", "cube_orientation", "tcp_position")
CHUNK, SENT = 12, 8


@dataclass(frozen=True)
class Trained:
    folder: Path
    dataset: Path
    losses: list[float]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Trained:
    """Two hundred steps of `lerobot-train` on thirty generated lifts, in LeRobot's own units."""
    place = tmp_path_factory.mktemp("act")
    world = get("so101/lift")
    order = Order(world=world, source=(scripted(world),), space=Space(()), episodes=30)
    generate(order, place / "lifts")
    convert(place / "lifts", place / "set", units=JointUnits.DEGREES, environment=THINGS)
    options = dict(chunk_size=CHUNK, n_action_steps=SENT, dim_model=32, n_heads=2)
    options |= dict(dim_feedforward=64, n_encoder_layers=1, n_vae_encoder_layers=1)
    options |= dict(type="act", device="cpu", push_to_hub="false", optimizer_lr=1e-3)
    run = dict(output_dir=place / "run", steps=200, batch_size=8, num_workers=0)
    run |= dict(log_freq=20, save_freq=200, eval_freq=0)
    words = [f"--policy.{name}={value}" for name, value in options.items()]
    words += [f"--{name}={value}" for name, value in run.items()]
    words += [f"--dataset.root={place / 'set'}", "--dataset.repo_id=ours/lifts"]
    quiet = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    told = subprocess.run(
        [sys.executable, "-m", "lerobot.scripts.lerobot_train", *words, "--wandb.enable=false"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **quiet, "HF_DATASETS_CACHE": str(place / "cache")},
    )
    assert told.returncode == 0, told.stderr[-2000:]
    losses = [float(x) for x in re.findall(r"\bloss:([0-9.]+)", told.stdout + told.stderr)]
    return Trained(place / "run", place / "set", losses)


def test_its_act_learns_from_what_we_generate(trained):
    assert len(trained.losses) == 10
    assert trained.losses[-1] < 0.2 * trained.losses[0]


def readings(trained: Trained, rows: list[int], frames: int) -> list[dict[str, np.ndarray]]:
    """What a few bodies observe, frame by frame: each another demonstration, in radians."""
    dataset = Dataset.open(trained.dataset)
    episodes = [converted(dataset[i], JointUnits.RAD) for i in rows]
    found = []
    for k in range(frames):
        joints = np.stack([e["joint_position"].values[k] for e in episodes])
        things = np.stack([e["environment_state"].values[k] for e in episodes])
        parts = np.split(things, [3, 7], axis=1)
        found.append({"joint_position": joints, **dict(zip(THINGS, parts, strict=True))})
    return found


def commanded(policy: LerobotPolicy, seen: list[dict[str, np.ndarray]]) -> np.ndarray:
    """(frames, n, 6), rad"""
    n = len(seen[0]["joint_position"])
    pilot = policy.pilot(n)
    pilot.begin(seen[0], np.zeros((n, 6)))
    return np.stack([pilot(observation) for observation in seen])


def theirs(folder: Path, seen: list[dict[str, np.ndarray]], policy: LerobotPolicy) -> np.ndarray:
    """What LeRobot's own loop sends, one body at a time: `select_action` between its processors."""
    import torch
    from lerobot.policies.act.modeling_act import ACTPolicy
    from lerobot.policies.factory import make_pre_post_processors

    act: Any = ACTPolicy.from_pretrained(folder)
    before, after = make_pre_post_processors(act.config, pretrained_path=str(folder))
    scale, offset = policy.terms.state
    sent = np.zeros((len(seen), len(seen[0]["joint_position"]), 6))
    for row in range(sent.shape[1]):
        act.reset()
        for k, observation in enumerate(seen):
            state = (observation["joint_position"][row] - offset) / scale
            things = np.concatenate([observation[name][row] for name in THINGS])
            batch = {"observation.state": state, "observation.environment_state": things}
            batch = {key: torch.tensor(v, dtype=torch.float32)[None] for key, v in batch.items()}
            answer = after(act.select_action(before(batch))).numpy()[0]
            sent[k, row] = answer * policy.terms.action[0] + policy.terms.action[1]
    return sent


def test_it_commands_what_lerobots_own_loop_sends(trained):
    policy = LerobotPolicy.load(trained.folder)
    seen = readings(trained, [0, 3, 5], 2 * SENT + 3)
    wanted = theirs(policy.checkpoint.folder, seen, policy)
    np.testing.assert_allclose(commanded(policy, seen), wanted, atol=1e-4)
    assert np.ptp(wanted, axis=0).max() > 0.05


def test_blending_is_lerobots_own(trained, tmp_path):
    folder = tmp_path / "blended"
    shutil.copytree(LerobotPolicy.load(trained.folder).checkpoint.folder, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"temporal_ensemble_coeff": 0.05, "n_action_steps": 1}
    (folder / "config.json").write_text(json.dumps(config))
    policy = LerobotPolicy.load(folder)
    seen = readings(trained, [1, 2], CHUNK + 4)
    np.testing.assert_allclose(commanded(policy, seen), theirs(folder, seen, policy), atol=1e-4)


def test_a_body_is_driven_alike_alone_and_among_others(trained):
    policy = LerobotPolicy.load(trained.folder)
    rows = list(range(20))
    together = commanded(policy, readings(trained, rows, SENT + 2))
    for row in (0, 17):
        alone = commanded(policy, readings(trained, [row], SENT + 2))
        np.testing.assert_array_equal(alone[:, 0], together[:, row])


def test_it_plays_in_a_world_and_its_contract_is_checked(trained):
    policy = open_policy(f"lerobot:{trained.folder}")
    world = get("so101/lift")
    points, seeds = trials(Space(()), 6, 0)
    played = evaluate(world, piloted(policy), points, seeds)
    again = evaluate(world, piloted(policy), points[2:3], seeds[2:3])
    assert len(played) == 6 and played.return_[2] == again.return_[0]
    with pytest.raises(TrueupError, match=r"reads 'cube_position', the world 'so101/reach'"):
        evaluate(get("so101/reach"), piloted(policy), points, seeds)


def test_commands_evaluate_and_deploy_it(trained, tmp_path):
    address = f"lerobot:{trained.folder}@{trained.dataset}"
    words = ["evaluate", address, "--points", "3", "--nominal", "--json"]
    result = json.loads(said(*words))
    assert (result["episodes"], result["label"]) == (3, "sim-to-sim")
    out = tmp_path / "trials"
    words = ["deploy", address, "--robot", "rehearsal:benign", "--trials", "2", "--quick-check"]
    result = json.loads(said(*words, "--out", str(out), "--json"))
    assert result["label"] == "sim-to-sim"
    trial = Dataset.open(out / "episodes")
    assert len(trial) == 2
    weights = LerobotPolicy.load(trained.folder).mark
    assert {trial.about(i).origin["policy_sha256"] for i in range(2)} == {weights}


def said(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "trueup", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_damaged_checkpoint_is_told_in_a_sentence(trained, tmp_path, name):
    folder = tmp_path / "act"
    shutil.copytree(LerobotPolicy.load(trained.folder).checkpoint.folder, folder)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(TrueupError, match=r"could not (load|be read)"):
        LerobotPolicy.load(folder)
