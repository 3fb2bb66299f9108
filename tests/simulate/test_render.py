"""Pictures of worlds: each with its own sizes, after what effects do to images."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.worlds.pendulum import Pendulum
from trueup import worlds
from trueup.effects import Effect, Filter
from trueup.errors import TrueupError, UnknownName
from trueup.simulate import Camera, CpuWorlds, mosaic, save_picture
from trueup.space import Parameter
from trueup.worlds import Compiled

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Dimmer(Effect):
    """A lens that lets less light through."""

    def parameters(self, model):
        return (Parameter(name="visual/lens/dim", unit="1", nominal=0.0, low=0.0, high=1.0),)

    def image(self, model) -> Filter:
        return _Dim()


class _Dim(Filter):
    def apply(self, x, p, memory, draws):
        share = 1.0 - p["visual/lens/dim"]
        return (x * share[:, None, None, None]).astype(np.uint8), memory


class Sparkle(Dimmer):
    """Noise of a whole frame: needs the seed, and the frame's shape."""

    def image(self, model) -> Filter:
        return _Sparkle()


class _Sparkle(Filter):
    normals = 1

    def apply(self, x, p, memory, draws):
        shift = np.minimum(20 * np.abs(draws.normal), 60) * p["visual/lens/dim"][:, None]
        return np.clip(x + shift[:, :, None, None], 0, 255).astype(np.uint8), memory


def pendulum(*effects: Effect, points: list[dict[str, float]]) -> CpuWorlds:
    compiled = Compiled(Pendulum(*effects))
    batch = CpuWorlds(compiled, len(points))
    batch.reset(compiled.space.points(points), 5)
    return batch


@pytest.mark.gl
class TestCamera:
    @pytest.mark.parametrize(("width", "height"), [(64, 48), (33, 17), (800, 700)])
    def test_draws_pictures_of_the_size_asked_for(self, width, height):
        batch = pendulum(points=[{}])
        with Camera(batch, width=width, height=height) as camera:
            picture = camera.picture(0)
        assert picture.shape == (height, width, 3)
        assert picture.dtype == np.uint8
        assert np.ptp(picture) > 50

    def test_draws_each_world_with_its_own_numbers(self):
        compiled = Compiled(worlds.get("so101/lift"))
        batch = CpuWorlds(compiled, 3)
        wide = {"object/cube/size_x": 0.0375, "object/cube/size_z": 0.0375}
        batch.reset(compiled.space.points([{}, wide, {}]), 5)
        with Camera(batch, camera="top", width=160, height=120) as camera:
            pictures = camera.pictures([0, 1, 2])
        np.testing.assert_array_equal(pictures[0], pictures[2])
        changed = (pictures[0] != pictures[1]).any(axis=-1).sum()
        assert 5 < changed < 500  # the cube, not the arm

    def test_draws_one_world_alike_every_time(self):
        batch = pendulum(points=[{}, {}])
        with Camera(batch, width=64, height=48) as camera:
            first = camera.picture(0)
            camera.picture(1)
            np.testing.assert_array_equal(camera.picture(0), first)

    def test_does_not_disturb_the_physics(self):
        batch, twin = pendulum(points=[{}]), pendulum(points=[{}])
        with Camera(batch, width=64, height=48) as camera:
            for _ in range(5):
                camera.picture(0)
                batch.step(batch.hold + 0.2)
                twin.step(twin.hold + 0.2)
        np.testing.assert_array_equal(batch.observation["position"], twin.observation["position"])

    def test_offers_the_cameras_there_are(self):
        with pytest.raises(UnknownName, match=r"no camera named 'frnt'.*'front'"):
            Camera(pendulum(points=[{}]), camera="frnt")

    def test_refuses_a_world_that_is_not_there(self):
        with (
            Camera(pendulum(points=[{}]), width=64, height=48) as camera,
            pytest.raises(TrueupError, match="no world 3 in this batch of 1"),
        ):
            camera.picture(3)


@pytest.mark.gl
class TestImageEffects:
    def pictures(self, effect: Effect, *dims: float) -> np.ndarray:
        batch = pendulum(effect, points=[{"visual/lens/dim": dim} for dim in dims])
        with Camera(batch, width=64, height=48) as camera:
            return camera.pictures(range(len(dims)))

    def test_change_the_whole_frame(self):
        bright, dim = self.pictures(Dimmer(), 0.0, 0.5)
        np.testing.assert_array_equal(dim, (bright * 0.5).astype(np.uint8))
        assert bright.max() > 0

    def test_at_nominal_change_nothing(self):
        plain = pendulum(points=[{}])
        with Camera(plain, width=64, height=48) as camera:
            expected = camera.picture(0)
        np.testing.assert_array_equal(self.pictures(Dimmer(), 0.0)[0], expected)

    def test_draw_from_the_worlds_own_seed(self):
        one, same = self.pictures(Sparkle(), 1.0, 1.0)
        np.testing.assert_array_equal(one, same)  # one seed for both

    def test_noise_differs_from_step_to_step(self):
        batch = pendulum(Sparkle(), points=[{"visual/lens/dim": 1.0}])
        corners = []
        with Camera(batch, width=64, height=48) as camera:
            for _ in range(4):
                corners.append(camera.picture(0)[:3, :3].tobytes())  # nothing moves here
                batch.step(batch.hold)
        assert len(set(corners)) > 1


def test_a_machine_without_graphics_is_told_what_to_do():
    program = (
        "from trueup.simulate import *\n"
        "from tests.simulate.test_render import pendulum\n"
        "try:\n    Camera(pendulum(points=[{}]))\n"
        "except NoGraphics as error:\n    print(error)\n"
    )
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "PYTHONPATH"}
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**env, "MUJOCO_GL": "glfw"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if not done.stdout and done.returncode == 0:
        pytest.skip("glfw draws here without a display")
    assert done.stdout.startswith("Pictures cannot be drawn: no offscreen OpenGL is available")
    assert "apt-get install libegl1" in done.stdout
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


class TestMosaic:
    def test_lays_frames_out_row_by_row(self):
        frames = np.stack([np.full((4, 6, 3), value, np.uint8) for value in (10, 20, 30)])
        sheet = mosaic(frames, columns=2, gap=1)
        assert sheet.shape == (9, 13, 3)
        assert sheet[0, 0, 0] == 10
        assert sheet[0, 7, 0] == 20
        assert sheet[5, 0, 0] == 30
        assert (sheet[5:, 7:] == 255).all()  # no fourth frame
        assert (sheet[4] == 255).all()  # the seam

    def test_one_frame_is_itself(self):
        frame = np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3)
        np.testing.assert_array_equal(mosaic(frame, columns=1), frame[0])


class TestSavePicture:
    frame = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)

    def test_keeps_every_pixel(self, tmp_path):
        path = tmp_path / "new" / "picture.png"
        save_picture(self.frame, path)
        np.testing.assert_array_equal(np.asarray(Image.open(path)), self.frame)
        assert [file.name for file in path.parent.iterdir()] == ["picture.png"]

    def test_a_failure_leaves_the_old_file_alone(self, tmp_path, monkeypatch):
        path = tmp_path / "picture.png"
        save_picture(self.frame, path)
        before = path.read_bytes()

        def disk_full(self, file, **_):
            Path(file).write_bytes(b"half")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Image.Image, "save", disk_full)
        with pytest.raises(TrueupError, match="No space left on device"):
            save_picture(255 - self.frame, path)
        assert path.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["picture.png"]
