"""Visual: a tracked pose is off, noisy, late or missing as declared."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effects.rigs import Trace, run, tabletop
from trueup.effects import Tracker

CAMERA = np.array([0.5, 0.1, 0.6])
QUARTER = [0.5**0.5, 0.0, 0.0, 0.5**0.5]  # 90° about z


def rig(*, turn: list[float] | None = None, slope_rad: float = 0.0, friction: float = 0.3):
    return tabletop(
        Tracker(position="place", orientation="turn", camera=tuple(CAMERA)),
        slope_rad=slope_rad,
        friction=f"{friction} {friction} 0.002 0.002 0.002",
        start={"cube": [0.1, 0.05, 0.02, *(turn or [1.0, 0, 0, 0])]},
    )


def shift(trace: Trace) -> np.ndarray:
    """Seen less true position, (T, n, 3)."""
    return trace["place"] - trace["truth/place"]


def twist(trace: Trace) -> np.ndarray:
    """Rotation vectors (T, n, 3), in the world, from the true to the seen orientation."""
    a, b = trace["turn"], trace["truth/turn"] * np.array([1.0, -1.0, -1.0, -1.0])
    w = a[..., :1] * b[..., :1] - (a[..., 1:] * b[..., 1:]).sum(-1, keepdims=True)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return 2.0 * np.sign(w) * v  # small angles


class TestWhereItIsSeen:
    def test_a_camera_shift_moves_every_place(self) -> None:
        values = {"visual/camera/shift_x": 0.01, "visual/camera/shift_y": -0.02}
        trace = run(rig(), values, steps=5)
        np.testing.assert_allclose(shift(trace)[:, 0], [[0.01, -0.02, 0.0]] * 6, atol=1e-12)
        assert np.array_equal(trace["turn"], trace["truth/turn"])

    def test_a_marker_off_centre_turns_with_the_object(self) -> None:
        name = "visual/tracker/bias_x"
        straight = run(rig(), {name: 0.02}, steps=3)
        turned = run(rig(turn=QUARTER), {name: 0.02}, steps=3)
        np.testing.assert_allclose(shift(straight)[:, 0], [[0.02, 0, 0]] * 4, atol=1e-6)
        np.testing.assert_allclose(shift(turned)[:, 0], [[0, 0.02, 0]] * 4, atol=1e-6)

    @pytest.mark.parametrize("axis", [0, 1, 2])
    def test_a_camera_turn_moves_places_about_the_camera(self, axis: int) -> None:
        angle = 0.02
        trace = run(rig(), {f"visual/camera/turn_{'xyz'[axis]}": angle}, steps=3)
        about = angle * np.eye(3)[axis]
        moved = np.cross(about, trace["truth/place"][-1, 0] - CAMERA)
        np.testing.assert_allclose(shift(trace)[-1, 0], moved, atol=1e-9)
        assert np.linalg.norm(moved) > 0.3 * angle * 0.5
        np.testing.assert_allclose(twist(trace)[-1, 0], about, atol=1e-5)

    def test_a_pose_seen_stays_a_rotation(self) -> None:
        values = {"visual/camera/turn_x": 0.15, "visual/tracker/angle_noise": 0.3}
        trace = run(rig(turn=QUARTER), values, steps=50)
        np.testing.assert_allclose(np.linalg.norm(trace["turn"], axis=-1), 1.0, rtol=1e-9)


class TestNoise:
    def test_positions(self) -> None:
        points = [{"visual/tracker/noise": std} for std in (0.002, 0.02)]
        off = shift(run(rig(), *points, steps=1000, seeds=[1, 2]))
        np.testing.assert_allclose(off.std(axis=0), [[0.002] * 3, [0.02] * 3], rtol=0.1)
        np.testing.assert_allclose(off.mean(axis=0) / [[0.002], [0.02]], 0.0, atol=0.15)
        assert np.abs(np.triu(np.corrcoef(off[:, 0].T), 1)).max() < 0.15

    def test_angles(self) -> None:
        trace = run(rig(turn=QUARTER), {"visual/tracker/angle_noise": 0.02}, steps=1000)
        np.testing.assert_allclose(twist(trace)[:, 0].std(axis=0), 0.02, rtol=0.1)
        assert np.array_equal(trace["place"], trace["truth/place"])

    def test_seeds(self) -> None:
        points = [{"visual/tracker/noise": 0.01}] * 3
        seen = run(rig(), *points, steps=20, seeds=[1, 2, 1])["place"]
        assert np.array_equal(seen[:, 0], seen[:, 2])
        assert not np.array_equal(seen[:, 0], seen[:, 1])


class TestInTime:
    """On a slope without much friction, the object moves as g·sin(slope)·t²/2."""

    def sliding(self, values: dict[str, float], steps: int = 100) -> Trace:
        return run(rig(slope_rad=0.3, friction=0.01), values, steps=steps)

    @pytest.mark.parametrize("delay_s", [0.05, 0.0375, 0.25])
    def test_delay(self, delay_s: float) -> None:
        trace = self.sliding({"visual/tracker/delay": delay_s})
        time = trace["time"][:, 0]
        true, seen = trace["truth/place"][:, 0, 0], trace["place"][:, 0, 0]
        level = true[0] + 0.2
        late = np.interp(level, seen, time) - np.interp(level, true, time)
        np.testing.assert_allclose(late, delay_s, atol=0.0021)
        np.testing.assert_allclose(seen[time < delay_s - 0.01], true[0], atol=1e-12)

    def test_a_delay_of_position_is_one_of_orientation_too(self) -> None:
        # a box on a narrow foot falls over: its orientation changes
        tall = tabletop(
            Tracker(position="place", orientation="turn"),
            geom='type="box" size="0.01 0.01 0.02"',
            slope_rad=0.8,
            friction="1 1 0.002 0.002 0.002",
            start={"cube": [0, 0, 0.02, 1, 0, 0, 0]},
        )
        trace = run(tall, {"visual/tracker/delay": 0.1}, steps=60)
        np.testing.assert_allclose(trace["turn"][11:], trace["truth/turn"][1:-10], atol=1e-9)
        assert np.ptp(trace["turn"][..., 2]) > 0.1

    def test_dropout_shows_the_last_pose_again(self) -> None:
        trace = self.sliding({"visual/tracker/dropout": 0.4}, steps=1000)
        seen, true = trace["place"][:, 0, 0], trace["truth/place"][:, 0, 0]
        fresh = seen == true
        np.testing.assert_allclose(1 - fresh.mean(), 0.4, atol=0.05)
        hidden = np.flatnonzero(~fresh)
        assert np.array_equal(seen[hidden], seen[hidden - 1])

    def test_dropout_and_delay_leave_the_truth_alone(self) -> None:
        names = [f"visual/tracker/{n}" for n in ("dropout", "delay", "noise", "angle_noise")]
        spoilt = dict(zip(names, (0.4, 0.1, 0.02, 0.3), strict=True))
        trace = run(rig(slope_rad=0.3), dict.fromkeys(names, 0.0), spoilt, steps=50)
        for name in ("truth/place", "truth/turn", "truth/velocity"):
            assert np.array_equal(trace[name][:, 0], trace[name][:, 1]), name


def test_a_tracker_of_positions_only() -> None:
    world = tabletop(Tracker(position="place"), start={"cube": [0, 0, 0.02, *QUARTER]})
    assert "visual/tracker/angle_noise" not in world.catalogue
    values = {"visual/tracker/bias_x": 0.02, "visual/tracker/delay": 0.1}
    trace = run(world, values, steps=20)
    np.testing.assert_allclose(shift(trace)[:, 0], [[0.02, 0, 0]] * 21, atol=1e-4)
    assert np.array_equal(trace["turn"], trace["truth/turn"])
