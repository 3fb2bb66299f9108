"""What no parameter explains is learnt where it helps, and refused where it does not."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trueup.cli.entry import main
from trueup.episodes import Episode, Take, Writer
from trueup.errors import TrueupError
from trueup.hardware.hidden import rehearsed
from trueup.hardware.hidden_motion import GearRipple
from trueup.identify.residual import (
    Judgement,
    LearnedResidual,
    ResidualEffect,
    learn_residual,
)
from trueup.identify.residual.effect import HOLD_S, SHARE
from trueup.identify.residual.history import LAGS_S, PLAYS_RAD, inputs_along
from trueup.identify.residual.motions import Motions
from trueup.identify.residual.network import Network, drawn
from trueup.identify.residual.readout import answers
from trueup.replay import replayed
from trueup.simulate import CpuWorlds
from trueup.space import Point, Space
from trueup.worlds import Compiled, get
from trueup.worlds.added import with_effect

WORLD = get("so101/arm")
POINT = Point({"latency/action_delay": 0.03})
TICK = 2 * np.pi / 4096
SECONDS = 7.0


def recorded(hidden: tuple, *, count: int = 6, seconds: float = SECONDS) -> list[Episode]:
    """Slow motions of a rehearsal robot, each of its own, read with an SO-101's encoders."""
    world = rehearsed(WORLD, hidden, WORLD.control_period_s)
    values = {**POINT, "sensing/encoder/quantum": TICK}
    values |= {f"actuation/beyond_{i}/present": 1.0 for i in range(len(hidden))}
    space = world.catalogue.select(*values)
    robots = CpuWorlds(Compiled(world, space), count, threads=1)
    robots.reset(space.point(values), np.arange(count))
    takes = [Take(0.04, origin={"real": False, "world": WORLD.name}) for _ in range(count)]
    for take in takes:
        take.declare("command", "rad", WORLD.commands)
        take.declare("joint_position", "rad", WORLD.commands)
    generator, began = np.random.default_rng(0), robots.hold
    middle = began.mean(axis=0) - np.where(
        np.array(WORLD.commands) == "wrist_flex", 0.6, 0.0
    )  # off its stop
    phase = generator.uniform(0.0, 2 * np.pi, (count, 6, 3))
    rate = 2 * np.pi * generator.uniform([0.05, 0.2, 0.5], [0.2, 0.5, 1.2], (count, 6, 3))
    while (now := float(robots.time_s[0])) < seconds:
        wave = (np.array([0.25, 0.15, 0.06]) * np.sin(rate * now + phase)).sum(axis=2)
        ease = min(1.0, now)
        command = began + ease * (middle + wave - began)
        for take, told, read in zip(
            takes, command, robots.observation["joint_position"], strict=True
        ):
            take.add("joint_position", now, read)
            take.add("command", now, told)
        robots.step(command)
    return [take.episode() for take in takes]


JOINTS = ("elbow_flex", "shoulder_pan")


def stored(folder: Path, episodes: list[Episode]) -> list[str]:
    """The words of a command that learns from them."""
    with Writer(folder / "recordings") as writer:
        for episode in episodes:
            writer.add(episode)
    POINT.save(folder / "point.json")
    words = ["identify", "residual", folder / "recordings", "--estimate", folder / "point.json"]
    return [*map(str, words), "--out", str(folder / "learnt"), "--threads", "1"]


@pytest.fixture(scope="module")
def rippled() -> list[Episode]:
    return recorded((GearRipple(torque=0.1, teeth=28, joints="elbow_flex"),))


@pytest.fixture(scope="module")
def learnt(rippled, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("residual")
    assert main([*stored(folder, rippled), "--joints", *JOINTS]) == 0
    return folder / "learnt"


@pytest.fixture(scope="module")
def residual(learnt) -> LearnedResidual:
    return LearnedResidual.load(learnt)


# Learning ---------------------------------------------------------------------------------------


def test_teeth_that_no_parameter_has_are_learnt(residual):
    """The elbow's held-out error falls by more than half; a joint without teeth is left alone."""
    plain, corrected = residual.judgement["joints"]["elbow_flex"]
    assert plain > 5 * TICK / np.sqrt(12)
    assert corrected < 0.5 * plain
    plain, corrected = residual.judgement["joints"]["shoulder_pan"]
    assert corrected == pytest.approx(plain, rel=0.05)
    assert residual.judgement["label"] == "sim-to-sim"


def test_the_torque_that_is_learnt_is_the_one_that_was_hidden(residual):
    """Along the elbow at rest, the network draws the wave of the teeth: its size and its place."""
    network = residual.network
    elbow = network.joints.index("elbow_flex")
    angle = network.centre[elbow, 0] + np.linspace(-0.25, 0.25, 200)
    inputs = np.repeat(network.centre[None], len(angle), axis=0)
    inputs[:, elbow, 0] = angle
    torque = network(inputs)[:, elbow]
    waves = np.stack([np.sin(28 * angle), np.cos(28 * angle), np.ones_like(angle), angle], axis=1)
    found, *_ = np.linalg.lstsq(waves, torque, rcond=None)
    assert np.hypot(found[0], found[1]) == pytest.approx(0.1, rel=0.35)


def test_joints_that_were_not_chosen_are_not_touched(residual):
    others = [j not in JOINTS for j in residual.network.joints]
    assert not residual.network.readout[others].any()
    assert not residual.network.limit[others].any()


def test_a_joint_that_is_not_there_is_named(rippled):
    with pytest.raises(TrueupError, match=r"elbow_flexx.*elbow_flex"):
        learn_residual(WORLD, rippled, POINT, joints=("elbow_flexx",))


def test_a_push_moves_a_joint_as_far_as_its_servo_gives_way():
    """Pushed steadily, a sliding joint goes by torque over stiffness: the sum of its answer."""
    point = Point({**POINT, "actuation/elbow_flex/kp": 11.0})
    episodes = recorded((), count=2, seconds=6.0)
    motions = Motions(WORLD, point, episodes, threads=1)
    elbow = WORLD.commands.index("elbow_flex")
    assert motions.stiffness[elbow] == 11.0
    found = answers(motions, np.random.default_rng(0))
    assert found[elbow].sum() == pytest.approx(1 / 11.0, rel=0.25)
    assert found.shape == (6, 15)


# Judging ----------------------------------------------------------------------------------------


def judgement(plain, corrected) -> Judgement:
    return Judgement(
        motions=2, plain=tuple(plain), corrected=tuple(corrected), joints={}, real=False
    )


def test_a_gain_must_exceed_how_much_motions_differ():
    steady = judgement([1.0, 1.0, 1.0, 1.0], [0.8, 0.85, 0.8, 0.75])
    lucky = judgement([1.0, 1.0, 1.0, 1.0], [0.1, 1.1, 1.1, 0.9])
    small = judgement([1.0, 1.0, 1.0, 1.0], [0.97, 0.97, 0.96, 0.97])
    assert steady.accepted
    assert not lucky.accepted
    assert lucky.gain == pytest.approx(0.2)
    assert "no more than the pieces differ" in lucky.sentence
    assert not small.accepted
    assert "not worth having" in small.sentence


# In a world -------------------------------------------------------------------------------------


def test_none_of_it_is_the_plain_world_bit_for_bit(residual, rippled):
    plain = replayed(WORLD, rippled[:1], POINT, threads=1)
    world = residual.added_to(WORLD)
    none = replayed(world, rippled[:1], {**POINT, SHARE: 0.0}, threads=1)
    full = replayed(world, rippled[:1], residual.full, threads=1)
    simulated = [r.tracks[0]["joint_position"].simulated for r in (plain, none, full)]
    assert np.array_equal(simulated[0], simulated[1])
    assert not np.array_equal(simulated[0], simulated[2])


def test_it_is_in_the_space_of_a_world_with_the_same_servos(residual):
    lift = residual.added_to(get("so101/lift"))
    share = lift.space[SHARE]
    assert (share.nominal, share.quantile(0.0), share.quantile(1.0)) == (0.0, 0.5, 1.5)
    batch = CpuWorlds(Compiled(lift, lift.space.select(SHARE)), 4, threads=1)
    batch.reset(lift.space.select(SHARE).sample(np.random.default_rng(0), 4), seeds=np.arange(4))
    assert not any(batch.step(batch.hold).diverged.any() for _ in range(5))
    assert SHARE not in get("so101/lift").catalogue


def test_a_world_that_begins_anew_remembers_nothing(residual):
    """World 1 of a batch that is reset in between does what a fresh world does."""
    world = residual.added_to(WORLD)
    space = world.catalogue.select(SHARE)
    point = space.point({SHARE: 1.0})

    def run(batch: CpuWorlds) -> np.ndarray:
        told = batch.hold + 0.2
        return np.array([batch.step(told).observation["joint_position"][1] for _ in range(20)])

    fresh, used = (CpuWorlds(Compiled(world, space), 2, threads=1) for _ in range(2))
    fresh.reset(point, seeds=[5, 6])
    used.reset(point, seeds=[3, 4])
    run(used)
    used.reset(space.points(point, 1), seeds=[6], ids=[1])
    used.reset(space.points(point, 1), seeds=[5], ids=[0])
    assert np.array_equal(run(fresh), run(used))


def test_a_world_without_its_servos_is_refused(residual):
    network = replace(residual.network, joints=("elbow_flexx", *residual.network.joints[1:]))
    world = with_effect(WORLD, ResidualEffect(network=network))
    with pytest.raises(TrueupError, match="elbow_flexx"):
        Compiled(world, world.catalogue.select(SHARE)).laws  # noqa: B018


def test_it_never_says_more_than_its_recordings_did(residual):
    network = residual.network
    side = np.random.default_rng(0).choice([-1.0, 1.0], (500, *network.centre.shape))
    wild, edge = network.centre + 100.0 * side, np.where(side > 0, network.high, network.low)
    assert (np.abs(network(wild)) <= network.limit).all()
    assert np.allclose(network(wild), network(network.centre + edge * network.spread))


# What the network is told -----------------------------------------------------------------------


@pytest.mark.parametrize("period_s", [0.005, HOLD_S, 0.04])
def test_a_steady_motion_reads_the_same_at_any_rate(period_s):
    time_s = np.arange(0.0, 3.0, period_s)
    position = np.stack([0.5 * time_s, -0.2 * time_s], axis=1)
    last = inputs_along(position, position + 0.1, period_s)[-1]
    assert last[:, 1] == pytest.approx(0.1)
    for k in range(len(LAGS_S)):
        assert last[:, 2 + k] == pytest.approx([0.5, -0.2], rel=1e-3)
    plays = last[:, 2 + len(LAGS_S) : 2 + len(LAGS_S) + len(PLAYS_RAD)]
    assert plays == pytest.approx(np.array([[1.0, 1.0], [-1.0, -1.0]]))
    assert last[:, -2:] == pytest.approx(np.tile(position[-1], (2, 1)))


def test_a_network_that_was_only_drawn_adds_nothing():
    inputs = np.random.default_rng(0).standard_normal((50, 2, 8))
    network = drawn(("a", "b"), inputs, np.random.default_rng(1))
    assert not network(inputs).any()
    one = network.features(inputs[:, 1], 1)
    assert np.array_equal(one, network.features(inputs)[:, 1])


# Stored -----------------------------------------------------------------------------------------


def test_a_residual_survives_storage(residual, tmp_path):
    residual.save(tmp_path / "residual")
    again = LearnedResidual.load(tmp_path / "residual")
    inputs = np.random.default_rng(0).standard_normal((9, *residual.network.centre.shape))
    assert np.array_equal(again.network(inputs), residual.network(inputs))
    assert (again.world, again.point) == (residual.world, residual.point)
    assert again.judgement["accepted"] is True
    residual.save(tmp_path / "residual")  # an older residual may be replaced


def test_other_things_are_not_replaced(residual, tmp_path):
    (tmp_path / "estimate.json").write_text("{}")
    with pytest.raises(TrueupError, match="holds other things"):
        residual.save(tmp_path)
    assert (tmp_path / "estimate.json").read_text() == "{}"


def damage(folder, how):
    text = folder / "residual.json"
    data = json.loads(text.read_text())
    if how == "changed":
        file = folder / "network.npz"
        file.write_bytes(file.read_bytes()[:-1] + b"x")
    elif how == "gone":
        (folder / "network.npz").unlink()
    elif how == "not json":
        text.write_text("{")
    else:
        text.write_text(json.dumps({**data, **how}))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("changed", "not the file that was saved"),
        ("gone", "could not be read"),
        ("not json", "not JSON"),
        ({"format": "trueup/space"}, "does not describe"),
        ({"version": 99}, "version 99"),
        ({"joints": ["elbow_flex"]}, "does not hold a network for 1 joints"),
    ],
)
def test_a_damaged_residual_is_a_sentence(residual, tmp_path, how, words):
    residual.save(tmp_path / "residual")
    damage(tmp_path / "residual", how)
    with pytest.raises(TrueupError, match=words):
        LearnedResidual.load(tmp_path / "residual")


def test_arrays_that_do_not_fit_are_named(residual):
    arrays = {**residual.network.arrays, "limit": np.zeros(2)}
    with pytest.raises(TrueupError, match=r"its limit has the shape \(2,\)"):
        Network.of(residual.network.joints, arrays, "network.npz")


# Command line -----------------------------------------------------------------------------------


def test_what_is_written(learnt):
    names = {path.name for path in learnt.iterdir()}
    assert names == {"residual.json", "network.npz", "before.png", "after.png"}


@pytest.mark.slow
def test_the_same_recordings_teach_the_same(rippled, residual):
    """From Python, and at another number of threads."""
    lesson = learn_residual(WORLD, rippled, POINT, joints=JOINTS, threads=2)
    for name, array in lesson.accepted().network.arrays.items():
        assert np.allclose(array, residual.network.arrays[name], rtol=1e-6, atol=1e-8), name


def test_on_a_clean_robot_it_is_refused_and_nothing_is_written(tmp_path, capsys):
    words = stored(tmp_path, recorded((), seconds=5.0))
    assert main([*words, "--json"]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["accepted"] is False
    assert "plain model is as good" in said.err.replace("\n", " ")
    assert "record more" in said.err.replace("\n", " ")
    assert not (tmp_path / "learnt").exists()


def test_a_folder_that_holds_other_things_is_refused_before_the_work(tmp_path, capsys):
    words = stored(tmp_path, [])
    (tmp_path / "learnt").mkdir()
    (tmp_path / "learnt" / "notes.txt").write_text("mine")
    assert main(words) == 2
    assert "holds other things" in capsys.readouterr().err


def test_a_policy_is_trained_in_a_narrowed_world_with_what_was_learnt(learnt, tmp_path, capsys):
    space, out = tmp_path / "space.json", tmp_path / "run"
    told = ["--residual", str(learnt)]
    assert main(["narrow", "so101/reach", *told, "--out", str(space)]) == 0
    said = capsys.readouterr().out
    assert "was learnt from recordings" in said
    assert f"--space {space} --residual {learnt}" in " ".join(said.split())
    few = ["--steps", "100", "--worlds", "16", "--out", str(out), "--no-expert"]
    assert main(["train", "so101/reach", "--space", str(space), *few]) != 0
    assert "--residual FOLDER" in " ".join(capsys.readouterr().err.split()) and not out.exists()
    assert main(["train", "so101/reach", "--space", str(space), *told, *few]) == 0
    assert SHARE in Space.load(out / "space.json")


def test_what_was_learnt_and_a_world_without_it_contradict_each_other(learnt, capsys):
    assert main(["train", "so101/reach", "--nominal", "--residual", str(learnt)]) != 0
    assert "contradict each other" in " ".join(capsys.readouterr().err.split())
