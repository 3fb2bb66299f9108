"""Series: those that come with trueup are safe and useful; a bad file says what is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.record.arm import PERIOD_S, body, envelope, situation, world
from trueup.errors import TrueupError
from trueup.record import Chirp, Envelope, Excitation, Motion, Series, get, names
from trueup.simulate import CpuWorlds
from trueup.space import Points
from trueup.worlds import Compiled

CUBE = np.array([0.2, 0.05, 0.0125, 1.0, 0.0, 0.0, 0.0])
JOINTS = range(6)


@pytest.mark.parametrize("name", [*names(), "all"])
def test_a_series_that_comes_with_trueup_is_safe(name):
    plans = envelope().series(get(name, body()).motions, situation(cube=CUBE))
    np.testing.assert_allclose(plans[-1].path[-1], plans[0].path[0], atol=1e-12)
    for one, other in pairwise(plans):
        np.testing.assert_allclose(one.path[-1], other.path[0], atol=1e-12)


def test_the_standard_series_moves_every_joint_in_under_a_minute():
    plans = envelope().series(get("standard").motions, situation())
    assert sum(len(plan.path) for plan in plans) * PERIOD_S < 60.0
    path = np.concatenate([plan.path[:, 0] for plan in plans])
    speed = np.diff(path, axis=0) / PERIOD_S
    for joint in JOINTS:
        moving = np.abs(speed[:, joint]) > 0.05
        turns = np.diff(np.sign(speed[moving, joint])) != 0
        assert turns.sum() >= 30, body().joints[joint]  # friction and backlash show where it turns
        assert np.abs(speed[:, joint]).max() > 0.5 * body().speed[joint]
        assert np.ptp(path[:, joint]) > 0.3
    # what one joint does is not what another does
    assert np.abs(np.corrcoef(speed.T) - np.eye(6)).max() < 0.5


@pytest.mark.slow
def test_the_standard_series_tells_all_servo_parameters_apart():
    """Cramér and Rao: how well the best estimator could know them from these 49 s.

    Encoders with 2 mrad of noise, the nominal arm, stiffness, damping, friction and armature of six
    joints at once: none may hide behind another.
    """
    arm = world("so101/arm")
    here = replace(situation(), world=arm, period_s=arm.control_period_s)
    plans = Envelope(arm).series(get("standard").motions, here)
    commands = np.concatenate([plan.path[:, 0] for plan in plans])
    kinds = ("kp", "damping", "frictionloss", "armature")
    space = arm.catalogue.select(*(f"actuation/*/{kind}" for kind in kinds))
    width = np.array([p.high - p.low for p in space])
    step = 0.01 * width * np.eye(len(width))
    nominal = np.array([p.nominal for p in space])
    worlds = CpuWorlds(Compiled(arm, space), 2 * len(width))
    points = np.concatenate([nominal + step, nominal - step])
    worlds.reset(Points(space.names, points), np.zeros(len(points), int))
    readings = []
    for command in commands:
        observed = worlds.step(np.tile(command, (len(points), 1))).observation
        readings.append(observed["joint_position"].copy())
    plus, minus = np.split(np.stack(readings, axis=1).reshape(len(points), -1), 2)
    slope = (plus - minus) / 0.02  # in widths of each parameter's range
    error = np.sqrt(np.diag(np.linalg.inv(slope @ slope.T / 0.002**2)))
    by_joint = error.reshape(len(kinds), 6)
    assert by_joint.max() < 0.1, dict(zip(space.names, error.round(3).tolist(), strict=True))
    assert by_joint[:, 1:4].max() < 0.01  # the weight of the arm is a yardstick for these


def test_a_file_gives_back_what_was_saved(tmp_path):
    for name in names():
        series = get(name)
        series.save(tmp_path / f"{name}.json")
        assert Series.load(tmp_path / f"{name}.json") == series


def test_a_single_motion_is_a_file_too(tmp_path):
    file = tmp_path / "one.json"
    file.write_text(json.dumps(Chirp(duration_s=7.0).to_json()))
    assert get(str(file)).motions == (Chirp(duration_s=7.0),)


def test_a_series_for_some_joints_in_less_time():
    series = get("standard").adapted(body(), joints=("elbow_flex",), duration_s=5.0, scale=0.5)
    whole = get("standard")
    for motion, before in zip(series.motions, whole.motions, strict=True):
        assert isinstance(motion, Excitation) and isinstance(before, Excitation)
        assert motion.joints == ("elbow_flex",)
        assert motion.duration_s == 5.0
        assert motion.amplitude_rad == (0.5 * before.amplitude_rad[2],)


def test_every_kind_of_excitation_is_in_all():
    kinds = {kind for kind, made in Motion.kinds.items() if issubclass(made, Excitation)}
    assert {motion.kind for motion in get("all", body()).motions} == kinds
    assert len(kinds) == 6


BAD = [
    ("{", "is not JSON"),
    ("[]", "its format is None"),
    ('{"format": "trueup/point", "version": 1}', "its format is 'trueup/point' version 1"),
    ('{"format": "trueup/motions", "version": 1, "motions": []}', "names none"),
    ('{"format": "trueup/motions", "version": 1, "motion": []}', "Did you mean 'motions'"),
    ('{"kind": "chrip"}', "Did you mean 'chirp'"),
    ('{"kind": "chirp", "duration": 5}', "Did you mean 'duration_s'"),
    ('{"kind": "chirp", "duration_s": "long"}', "The duration_s of a chirp is 'long'"),
    ('{"kind": "chirp", "amplitude_rad": [0.1, "x"]}', "amplitude_rad.1"),
    ('{"kind": "chirp", "duration_s": -1}', "a duration of -1.0 s"),
    (
        '{"format": "trueup/motions", "version": 1, "motions": [{"kind": "chirp"}, {"kin": 1}]}',
        "Motion 2: A motion could not be read",
    ),
]


@pytest.mark.parametrize(("text", "words"), BAD, ids=[words for _, words in BAD])
def test_a_bad_file_is_one_sentence(tmp_path, text, words):
    file = tmp_path / "motions.json"
    file.write_text(text)
    with pytest.raises(TrueupError) as error:
        Series.load(file)
    assert words in str(error.value)
    assert str(file) in str(error.value)
    assert error.value.fix


def test_a_name_that_is_not_known_offers_others(tmp_path):
    with pytest.raises(TrueupError, match="Did you mean 'standard'"):
        get("standrad")
    with pytest.raises(TrueupError, match="There is no file of motions at"):
        get(str(tmp_path / "none.json"))
