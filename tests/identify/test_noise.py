"""Noise that was planted is found again with an interval that holds it; what cannot be is said."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.identify.planted import recorded
from trueup.episodes import Channel, Episode, Take, Writer
from trueup.episodes.imports.importing import imported
from trueup.episodes.imports.mapping import load_mapping
from trueup.errors import TrueupError
from trueup.identify.noise import NoiseModel, noise_model, sensor_noise, white_noise
from trueup.identify.readings.lattice import lattice_of
from trueup.identify.timing import timing
from trueup.simulate import CpuWorlds
from trueup.space import Fixed, Uniform
from trueup.worlds import Compiled, get

WORLD = get("so101/arm")
QUANTUM = 2 * np.pi / 4096
TRUTH = {
    "sensing/encoder/quantum": QUANTUM,
    "sensing/encoder/noise": 0.002,
    "sensing/encoder/dropout": 0.02,
    "sensing/speed/quantum": 0.0767,
    "sensing/current/noise": 0.03,
}


def moved_and_held(truth: dict[str, float], *, seconds: float = 20.0, seed: int = 0) -> Episode:
    """A multisine on all joints, then rest."""
    space = WORLD.catalogue.select(*truth)
    worlds = CpuWorlds(Compiled(WORLD, space), 1)
    worlds.reset(space.point(truth), seeds=seed)
    take = Take(WORLD.control_period_s, origin={"real": False, "world": WORLD.name})
    units = {"joint_position": "rad", "joint_velocity": "rad/s", "joint_force": "N·m"}
    for name, unit in {"command": "rad", **units}.items():
        take.declare(name, unit, WORLD.commands)
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi, (6, 5))
    frequency = 2 * np.pi * np.array([0.3, 0.7, 1.3, 2.1, 3.3])
    home = worlds.hold[0]
    for _ in range(round(seconds / WORLD.control_period_s)):
        now = float(worlds.time_s[0])
        for name in units:
            take.add(name, now, worlds.observation[name][0])
        wave = (np.sin(frequency * now + phase) - np.sin(phase)).sum(axis=1)
        command = home + (0.12 * min(1.0, now) * wave if now < 0.6 * seconds else 0.0)
        take.add("command", now, command)
        worlds.step(command[None])
    return take.episode()


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return [moved_and_held(TRUTH, seed=seed) for seed in range(2)]


@pytest.fixture(scope="module")
def model(episodes) -> NoiseModel:
    return noise_model(episodes)


def bench(values: np.ndarray, *, period_s: float = 0.01, unit: str = "m") -> Episode:
    """A tracked pose that nobody moves: no commands at all."""
    time_s = period_s * np.arange(len(values))
    channel = Channel(values=values[:, None], time_s=time_s, unit=unit, names=("x",))
    return Episode(signals={"pose": channel}, period_s=period_s)


# Steps ------------------------------------------------------------------------------------------


def test_the_step_is_found_also_where_levels_are_skipped_and_numbers_were_rounded():
    generator = np.random.default_rng(0)
    levels = 3 * generator.integers(-400, 400, 5000) + 2 * generator.integers(0, 2, 5000)
    for step in (QUANTUM, 1.0, 1e-3):
        for stored in (lambda x: x, np.float32, lambda x: np.round(x, 7)):
            found = lattice_of(np.asarray(stored(0.1 + step * levels), float))
            assert found is not None
            assert found.step == pytest.approx(step, rel=1e-5)


def test_readings_on_no_steps_have_steps_finer_than_their_distances():
    """So that encoders are cleared of being coarse, and not only of being noisy."""
    priors = noise_model([moved_and_held({"sensing/encoder/noise": 0.0})]).priors
    found = priors["sensing/encoder/quantum"]
    assert isinstance(found, Uniform)
    low, high = found.support(0.0, 1.0)
    assert low == 0.0 and high < QUANTUM / 3


def test_smooth_readings_have_no_step():
    generator = np.random.default_rng(1)
    assert lattice_of(generator.standard_normal(5000)) is None
    assert lattice_of(np.sin(np.arange(2000) * 0.01)) is None
    assert lattice_of(np.zeros(1000)) is None


def test_the_steps_of_every_sensor_are_found(model):
    for joint in WORLD.commands:
        assert model[f"joint_position/{joint}"].quantum.value == pytest.approx(QUANTUM, rel=1e-6)
        assert model[f"joint_velocity/{joint}"].quantum.value == pytest.approx(0.0767, rel=1e-6)
        assert not model[f"joint_force/{joint}"].quantum.seen


# At rest ----------------------------------------------------------------------------------------


def test_white_noise_beside_steps_is_found(model):
    for signal, value in (("joint_position", 0.002), ("joint_force", 0.03)):
        found = [s.white for s in model.sensors if s.signal == signal]
        assert np.mean([w.low <= value <= w.high for w in found]) >= 0.5
        assert np.mean([w.value for w in found]) == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize("share", [0.2, 0.5, 1.5])
def test_white_noise_below_and_above_a_step_is_found(share):
    generator = np.random.default_rng(2)
    truth = 0.01 * np.arange(40).repeat(100)  # many places within a step
    values = QUANTUM * np.rint(
        (truth + share * QUANTUM * generator.standard_normal(4000)) / QUANTUM
    )
    rests = [bench(part, unit="rad") for part in np.split(values, 40)]
    (found,) = sensor_noise(rests)
    assert found.quantum.value == pytest.approx(QUANTUM, rel=1e-4)
    assert found.white.value == pytest.approx(share * QUANTUM, rel=0.12)
    assert found.white.low <= share * QUANTUM <= found.white.high


def test_a_sensor_that_repeats_one_step_gets_an_upper_end():
    moves = np.rint(np.sin(np.arange(1000) / 50) / 0.01) * 0.01
    episode = Episode(
        signals={
            name: Channel(
                values=np.concatenate([moves, np.zeros(1000)])[:, None],
                time_s=0.02 * np.arange(2000),
                unit="rad",
                names=("a",),
            )
            for name in ("command", "joint_position")
        },
        period_s=0.02,
    )
    (found,) = sensor_noise([episode])
    assert not found.white.seen
    assert 0.0 < found.white.high < 0.3 * 0.01
    assert "repeat one step" in found.white.sentence


def test_a_random_walk_is_found_and_none_is_not():
    generator = np.random.default_rng(3)
    white = 0.001 * generator.standard_normal(3000)
    walk = 0.005 * np.sqrt(0.01) * generator.standard_normal(3000).cumsum()
    (wanders,) = sensor_noise([bench(white + walk)])
    (stays,) = sensor_noise([bench(white)])
    assert wanders.drift.seen
    assert wanders.drift.value == pytest.approx(0.005, rel=0.4)
    assert wanders.white.value == pytest.approx(0.001, rel=0.1)
    assert not stays.drift.seen
    assert 0.0 < stays.drift.high < 0.002


def test_what_a_recording_does_not_say_is_a_sentence(episodes):
    short = [
        replace(episodes[0], signals={k: _first(c, 250) for k, c in episodes[0].signals.items()})
    ]
    found = noise_model(short)["joint_position/elbow_flex"]
    for strength, words in (
        (found.white, "hold still"),
        (found.drift, "too short"),
        (found.repeat, "Repeat one"),
        (found.bias, "calibrate"),
    ):
        assert not strength.seen
        assert words in strength.sentence
        assert strength.high == np.inf


def _first(channel: Channel, rows: int) -> Channel:
    return replace(channel, values=channel.values[:rows], time_s=channel.time_s[:rows])


# In motion --------------------------------------------------------------------------------------


def test_stale_readings_are_counted(model):
    found = model["joint_position/elbow_flex"].stale
    assert found.low <= TRUTH["sensing/encoder/dropout"] <= found.high
    assert not model["joint_velocity/elbow_flex"].stale.seen


def test_noise_is_heard_as_it_is_where_half_of_the_readings_are_stale():
    """So much noise that a joint at rest seems to go about, and every other reading told twice."""
    truth = {"sensing/encoder/noise": 0.014, "sensing/encoder/dropout": 0.46}
    heard = noise_model([moved_and_held(truth, seed=seed) for seed in range(2)]).priors
    for name, value in truth.items():
        prior = heard[name]
        assert isinstance(prior, Uniform)
        low, high = prior.support(0.0, 1.0)
        assert low <= value <= high < 1.5 * value, name
    white = white_noise([moved_and_held(truth)], "joint_position")
    assert white == pytest.approx(truth["sensing/encoder/noise"], rel=0.1)


def test_the_same_motion_twice_differs_by_the_noise():
    truth = {"sensing/encoder/noise": 0.002}
    first = moved_and_held(truth, seconds=8.0, seed=0)
    second = moved_and_held(truth, seconds=8.0, seed=0)
    other = np.random.default_rng(9).standard_normal(second["joint_position"].values.shape)
    joints = replace(
        second["joint_position"],
        values=moved_and_held({"sensing/encoder/noise": 0.0}, seconds=8.0)["joint_position"].values
        + 0.002 * other,
    )
    again = replace(second, signals={**second.signals, "joint_position": joints})
    found = sensor_noise([first, again], signals=["joint_position"])
    for sensor in found:
        assert sensor.repeat.value == pytest.approx(0.002, rel=0.15)


def test_jitter_of_commands_is_told_from_none():
    plain, jittered = (
        timing([moved_and_held({"latency/action_jitter": j}, seed=seed) for seed in range(2)])
        for j in (0.0, 0.01)
    )
    assert not plain.action_jitter.seen
    assert jittered.action_jitter.low <= 0.01 <= jittered.action_jitter.high
    assert not jittered.reading_jitter.seen


def test_periods_and_offsets_come_from_the_stamps(episodes):
    generator = np.random.default_rng(0)
    command = episodes[0]["command"]
    late = 0.001 * generator.random(len(command))
    slow = replace(command, time_s=1.02 * command.time_s + late)
    joints = replace(episodes[0]["joint_position"], time_s=slow.time_s + 0.004)
    found = timing([replace(episodes[0], signals={"command": slow, "joint_position": joints})])
    assert found.period_error.value == pytest.approx(0.02, abs=2e-4)
    assert found.period_jitter.value == pytest.approx(0.001 / np.sqrt(6), rel=0.1)
    assert found.offsets["joint_position"].value == pytest.approx(0.004, abs=1e-6)
    same = timing(episodes).offsets["joint_position"]
    assert "share one stamp" in same.sentence


def test_a_delay_lengthens_the_answer_by_as_much():
    found = [
        timing([moved_and_held({"latency/action_delay": d}, seed=s) for s in range(2)]).response
        for d in (0.0, 0.06)
    ]
    assert found[1].value - found[0].value == pytest.approx(0.06, abs=0.01)


# For others -------------------------------------------------------------------------------------


def test_the_space_takes_the_noise(model):
    space = WORLD.catalogue.select("sensing/encoder/*", "latency")
    narrowed = space.narrowed(model.within(space))
    drawn = narrowed.sample(np.random.default_rng(0), 100)
    assert narrowed["sensing/encoder/quantum"].belief == Fixed(
        model.priors["sensing/encoder/quantum"].value
    )
    for name in ("sensing/encoder/noise", "sensing/encoder/dropout"):
        assert drawn.column(name).min() < TRUTH[name] < drawn.column(name).max()
        assert np.ptp(drawn.column(name)) < 0.02


def test_every_prior_is_a_parameter_of_the_catalogue(model):
    assert set(model.priors) <= set(WORLD.catalogue.names)
    assert WORLD.catalogue.narrowed(model) is not None


def test_wrong_questions_are_sentences(episodes, model):
    with pytest.raises(TrueupError, match="no recording"):
        sensor_noise([])
    with pytest.raises(TrueupError, match="signal 'imu'"):
        sensor_noise(episodes, signals=["imu"])
    with pytest.raises(TrueupError, match="no column"):
        model["joint_position/nose"]
    with pytest.raises(TrueupError, match="control period"):
        timing([bench(np.zeros(300))])


def test_the_command_prints_and_writes(episodes, tmp_path):
    with Writer(tmp_path / "set") as writer:
        for episode in episodes:
            writer.add(episode)
    call = [sys.executable, "-m", "trueup", "identify", "noise", "set"]
    told = subprocess.run(
        [*call, "--signals", "joint_position", "--out", "noise.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "joint_position/elbow_flex" in told
    assert "joint_velocity/elbow_flex" not in told
    assert "sim-to-sim" in told
    data = json.loads((tmp_path / "noise.json").read_text())
    assert data["priors"]["sensing/encoder/quantum"]["value"] == pytest.approx(QUANTUM)


def test_real_encoders_have_the_steps_of_their_servo(real_data):
    folder, mapping = real_data / "so101-real-motions", load_mapping("so101-sage")
    if not folder.is_dir():
        pytest.skip("no recordings of a real SO-101 in the folder of real data")
    model = noise_model([imported(folder / "staircase_motion", mapping)])
    quantum = model.priors["sensing/encoder/quantum"]
    assert isinstance(quantum, Fixed)
    assert quantum.value == pytest.approx(QUANTUM, rel=1e-5)
    assert model.real
    assert model["joint_velocity/shoulder_pan"].quantum.value == pytest.approx(0.0767, rel=1e-3)
    assert model["joint_position/shoulder_pan"].white.high < QUANTUM


# In motion --------------------------------------------------------------------------------------


def restless(truth: dict[str, float]) -> NoiseModel:
    return noise_model([recorded(truth, seconds=30.0)])


@pytest.mark.parametrize(("speed", "current"), [(0.42, 0.28), (0.05, 0.02), (0.0, 0.0)])
def test_noise_of_speeds_and_currents_is_heard_while_all_joints_move(speed, current):
    truth = {"sensing/speed/noise": speed, "sensing/current/noise": current}
    priors = restless({**truth, "sensing/encoder/noise": 0.02}).priors
    for name, planted in truth.items():
        found = priors[name]
        assert isinstance(found, Uniform)
        low, high = found.support(0.0, 10.0)
        assert low <= planted <= high
        if planted > 0.1:  # else it may be what the arm does
            assert low > 0.5 * planted


@pytest.mark.parametrize(
    "shaken",
    [
        {"human/tremor_amplitude": 0.05, "human/tremor_frequency": 10.0},
        {"actuation/command_noise": 0.05},
    ],
)
def test_what_shakes_the_arm_is_no_noise_of_its_sensors(shaken):
    priors = restless(shaken).priors
    for name in ("sensing/speed/noise", "sensing/current/noise"):
        found = priors[name]
        assert isinstance(found, Uniform) and found.support(0.0, 10.0)[0] == 0.0
