"""LeRobot's checkpoints as far as their JSON goes; tests/lerobot runs them."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.policies.checkpoints import AXES, JOINTS, THINGS, checkpoint, dataset, episode
from trueup.episodes.packing import ENVIRONMENT, packed, parts_of
from trueup.errors import TrueupError
from trueup.evaluate import check_fit
from trueup.policies import open_policy
from trueup.policies.lerobot import Checkpoint, LerobotPolicy
from trueup.policies.lerobot.policy import _provenance
from trueup.policies.lerobot.queue import Blended, OneByOne, queue_for
from trueup.policies.lerobot.terms import terms_of
from trueup.worlds import get

IMAGE = {"observation.images.top": {"type": "VISUAL", "shape": [3, 48, 64]}}
STATE = {"observation.state": {"type": "STATE", "shape": [6]}}


def policy(folder: Path, trained_on: Path | None = None) -> LerobotPolicy:
    """As `load` makes it, but LeRobot is not asked to load the weights."""
    read = Checkpoint.read(folder)
    terms = terms_of(read, trained_on)
    return LerobotPolicy(
        stored=b"",
        contract=terms.contract,
        provenance=_provenance(read),
        name="act",
        checkpoint=read,
        terms=terms,
    )


def test_signals_in_one_are_found_again():
    joined = episode()[ENVIRONMENT]
    assert joined.names[:3] == ("cube_position.x", "cube_position.y", "cube_position.z")
    parts = parts_of(joined.names, joined.unit)
    assert [(p.name, p.size, p.unit) for p in parts] == [
        (thing, len(AXES[thing][0]), AXES[thing][1]) for thing in THINGS
    ]


def test_what_cannot_be_joined_is_named():
    plain = episode(things=())
    for name in ("command", "bin_position"):
        with pytest.raises(TrueupError, match=f"no signal '{name}'"):
            packed(plain, [name])
    other = replace(plain["command"], time_s=plain["command"].time_s + 0.01)
    later = replace(plain, signals={**plain.signals, "a": plain["command"], "b": other})
    with pytest.raises(TrueupError, match="'a' and 'b' are on clocks of their own"):
        packed(later, ["a", "b"])


def test_the_contract_comes_from_the_dataset(tmp_path):
    folder = checkpoint(tmp_path / "act", dataset(tmp_path / "set"))
    made = policy(folder)
    face = made.contract.interface
    assert face.commands == JOINTS and face.period_s == 0.04 and face.measured == "joint_position"
    assert [f.name for f in face.observations] == ["joint_position", *THINGS]
    assert made.contract.world == "so101/lift" and made.contract.task == "pick up the cube"
    assert (made.provenance.method, made.provenance.seed) == ("lerobot/act", 7)
    check_fit(made, get("so101/lift"))


def test_its_units_become_radians(tmp_path):
    folder = checkpoint(tmp_path / "act")
    terms = terms_of(Checkpoint.read(folder), dataset(tmp_path / "set", unit="lerobot-degrees"))
    scale, _ = terms.action
    np.testing.assert_allclose(scale[0], np.radians(1.0), rtol=1e-3)
    in_rad = terms_of(Checkpoint.read(folder), dataset(tmp_path / "rad"))
    np.testing.assert_array_equal(in_rad.action[0], 1.0)


def test_commands_may_move_as_fast_as_in_what_it_learned_from(tmp_path):
    terms = terms_of(Checkpoint.read(checkpoint(tmp_path / "act")), dataset(tmp_path / "set"))
    told = episode()["command"].values.astype(float)
    wanted = np.abs(np.diff(told, axis=0)).max(axis=0) / 0.04
    np.testing.assert_allclose(terms.contract.rate, wanted, rtol=1e-5)


OTHER = {
    "another order": (dict(joints=JOINTS[::-1]), "the same joints in another order"),
    "another robot": (dict(joints=tuple("abcdef")), "commands a, b, c, d, e, f"),
    "another rate": (dict(period_s=1 / 30), "trained at 30 Hz, the world 'so101/lift' runs at 25"),
}


@pytest.mark.parametrize("what", OTHER)
def test_what_does_not_fit_the_world_is_refused_with_both_sides(tmp_path, what):
    how, words = OTHER[what]
    folder = checkpoint(tmp_path / "act")
    with pytest.raises(TrueupError, match=words):
        check_fit(policy(folder, dataset(tmp_path / "set", **how)), get("so101/lift"))


def test_a_world_that_does_not_observe_what_it_reads_is_refused(tmp_path):
    made = policy(checkpoint(tmp_path / "act"), dataset(tmp_path / "set"))
    with pytest.raises(TrueupError, match=r"reads 'cube_position', the world 'so101/reach'"):
        check_fit(made, get("so101/reach"))


REFUSED = {
    "pictures": (dict(input_features={**STATE, **IMAGE}), r"reads pictures \(observation.images"),
    "history": (dict(n_obs_steps=2), "reads 2 observations at a time"),
    "no action": (dict(output_features={}), "says nothing of 'action'"),
    "no type": (dict(type=None), "does not say its type"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_checkpoint_that_cannot_be_run_here_says_why(tmp_path, what):
    changed, words = REFUSED[what]
    with pytest.raises(TrueupError, match=words):
        Checkpoint.read(checkpoint(tmp_path / "act", **changed))


def test_a_step_that_would_import_a_module_is_refused(tmp_path):
    folder = checkpoint(tmp_path / "act")
    steps = {"steps": [{"class": "os.system", "config": {}}]}
    (folder / "policy_preprocessor.json").write_text(json.dumps(steps))
    with pytest.raises(TrueupError, match=r"names the class 'os\.system'"):
        Checkpoint.read(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "policy_preprocessor.json"])
def test_a_missing_file_is_named(tmp_path, name):
    folder = checkpoint(tmp_path / "act")
    (folder / name).unlink()
    with pytest.raises(TrueupError, match=f"has no {name}"):
        Checkpoint.read(folder)


def test_it_is_found_in_the_folder_of_a_training_run(tmp_path):
    checkpoint(tmp_path / "run/checkpoints/last/pretrained_model")
    assert Checkpoint.read(tmp_path / "run").kind == "act"
    with pytest.raises(TrueupError, match="is not a LeRobot checkpoint"):
        Checkpoint.read(tmp_path)
    with pytest.raises(TrueupError, match="no LeRobot checkpoint at"):
        Checkpoint.read(tmp_path / "nowhere")


def test_units_that_nobody_states_are_asked_for(tmp_path):
    read = Checkpoint.read(checkpoint(tmp_path / "act"))
    with pytest.raises(TrueupError, match="does not say in which unit 'action' is"):
        terms_of(read, dataset(tmp_path / "set", unit="unstated"))


def test_a_dataset_of_another_size_or_none_is_refused(tmp_path):
    read = Checkpoint.read(checkpoint(tmp_path / "act"))
    with pytest.raises(TrueupError, match=r"takes 7 numbers as 'observation\.env"):
        terms_of(read, dataset(tmp_path / "set", things=()))
    with pytest.raises(TrueupError, match="the dataset, which is not here"):
        terms_of(read)


def test_without_lerobot_it_says_what_to_install(tmp_path):
    if importlib.util.find_spec("lerobot"):
        pytest.skip("LeRobot is installed")
    folder = checkpoint(tmp_path / "act")
    with pytest.raises(TrueupError, match=r"pip install 'trueup\[lerobot\]'"):
        open_policy(f"lerobot:{folder}@{dataset(tmp_path / 'set')}")


# Row r asked at time t answers 1000 r + 10 t + k for the k-th step from then on.
class Asked:
    def __init__(self, n: int, steps: int) -> None:
        self.t, self.n, self.steps = 0, n, steps
        self.calls: list[list[int]] = []

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        self.calls.append(rows.tolist())
        steps = np.arange(self.steps)
        return (1000.0 * rows[:, None] + 10 * self.t + steps)[..., None]


def test_an_answer_is_sent_step_by_step_and_only_then_is_asked_again():
    queue, asked = OneByOne(2, 3, 1), Asked(2, 5)
    sent = []
    for asked.t in range(5):
        if asked.t == 2:
            queue.begin(np.array([1]))
        sent.append(queue.following(asked)[:, 0].tolist())
    assert sent == [[0, 1000], [1, 1001], [2, 1020], [30, 1021], [31, 1022]]
    assert asked.calls == [[0, 1], [1], [0]]


def test_blended_answers_are_the_weighted_mean_of_all_that_were_given():
    fading, steps = 0.3, 4
    queue, asked = Blended(2, steps, 1, fading), Asked(2, steps)
    for asked.t in range(7):
        if asked.t == 3:
            queue.begin(np.array([1]))
        sent = queue.following(asked)[:, 0]
        for row, first in ((0, 0), (1, 3 if asked.t >= 3 else 0)):
            times = np.arange(max(first, asked.t - steps + 1), asked.t + 1)
            weights = np.exp(-fading * np.arange(len(times)))
            given = 1000 * row + 10 * times + (asked.t - times)
            wanted = (weights * given).sum() / weights.sum()
            np.testing.assert_allclose(sent[row], wanted)


def test_the_queue_is_the_one_the_checkpoint_was_meant_for():
    assert isinstance(queue_for({"chunk_size": 4, "n_action_steps": 2}, 1, 6), OneByOne)
    blended = {"chunk_size": 4, "n_action_steps": 1, "temporal_ensemble_coeff": 0.01}
    assert isinstance(queue_for(blended, 1, 6), Blended)
