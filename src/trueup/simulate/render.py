"""Pictures of any world of a batch, offscreen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from types import TracebackType

import mujoco
import numpy as np

from trueup.effects import Values
from trueup.errors import TrueupError, UnknownName
from trueup.files import whole
from trueup.simulate.chain import Chain
from trueup.simulate.contract import Worlds
from trueup.space import Points

_IMAGES = 17  # salt of the random streams of image effects
_VISIBLE_GROUPS = (0, 1, 2)  # collision shapes (3) stay hidden


class NoGraphics(TrueupError):
    """This machine cannot draw offscreen."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"Pictures cannot be drawn: no offscreen OpenGL is available here ({reason}).",
            fix="On Debian or Ubuntu, install a software renderer with "
            "`apt-get install libegl1 libgl1 libgl1-mesa-dri`. If there is one, set MUJOCO_GL=egl "
            "before mujoco is first imported. Everything but pictures works without.",
        )


class Camera:
    """Draws single worlds of a batch, one at a time, each with its own sizes and colours.

    Use as a context manager, or call `close`.

    Args:
        worlds: The batch.
        camera: Name of a camera of the model.
        width: Pixels.
        height: Pixels.
    """

    def __init__(
        self, worlds: Worlds, *, camera: str = "front", width: int = 640, height: int = 480
    ) -> None:
        self._worlds = worlds
        self._camera = checked_camera(worlds.compiled.model, camera)
        self._model = copy(worlds.compiled.model)
        # the offscreen buffer is as large as the model says, not as the picture needs
        self._model.vis.global_.offwidth = max(width, self._model.vis.global_.offwidth)
        self._model.vis.global_.offheight = max(height, self._model.vis.global_.offheight)
        self._renderer = open_renderer(self._model, width=width, height=height)
        self._option = mujoco.MjvOption()
        for group in range(len(self._option.geomgroup)):
            self._option.geomgroup[group] = group in _VISIBLE_GROUPS

    def picture(self, i: int) -> np.ndarray:
        """World i as (height, width, 3) uint8, after what visual effects do to images."""
        _, data = self._worlds.snapshot(i, self._model)
        self._renderer.update_scene(data, camera=self._camera, scene_option=self._option)
        frame = self._renderer.render()
        filters = self._worlds.compiled.image_filters
        return self._filtered(i, frame) if filters else frame

    def pictures(self, ids: Sequence[int]) -> np.ndarray:
        """Several worlds, (len(ids), height, width, 3)."""
        return np.stack([self.picture(int(i)) for i in ids])

    def close(self) -> None:
        """Give the graphics memory back."""
        self._renderer.close()

    def __enter__(self) -> Camera:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _filtered(self, i: int, frame: np.ndarray) -> np.ndarray:
        worlds = self._worlds
        p = Values.at(Points(worlds.space.names, worlds.points[i : i + 1]), worlds.compiled.nominal)
        # a picture is a function of its world and moment: asked for twice, it is the same
        moment = round(float(worlds.time_s[i]) / worlds.world.control_period_s)
        chain = Chain(worlds.compiled.image_filters, n=1, salt=_IMAGES + 16 * (moment + 1))
        chain.start(np.zeros(1, int), worlds.seeds[i : i + 1], frame[None], p)
        return chain.apply(frame[None], p)[0]


def checked_camera(model: mujoco.MjModel, name: str) -> str:
    """The name of a camera, if the model has it."""
    known = [model.camera(i).name for i in range(model.ncam)]
    if name not in known:
        raise UnknownName("camera", name, known)
    return name


def open_renderer(model: mujoco.MjModel, *, width: int, height: int) -> mujoco.Renderer:
    """MuJoCo's renderer, or a sentence that says why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a missing display warns first, then fails
            return mujoco.Renderer(model, height=height, width=width)
    except Exception as error:  # each GL backend fails in a way of its own
        raise NoGraphics(f"{type(error).__name__}: {error}".split(",")[0]) from error


def save_picture(frame: np.ndarray, path: Path) -> None:
    """Write a frame as PNG; the file appears whole or not at all."""
    from PIL import Image

    with whole(path) as partial:
        Image.fromarray(frame).save(partial, format="PNG")


def mosaic(frames: np.ndarray, *, columns: int, gap: int = 4) -> np.ndarray:
    """Frames (n, height, width, 3) in a grid with a light seam between them."""
    n, height, width, _ = frames.shape
    rows = -(-n // columns)
    sheet = np.full(
        (rows * height + (rows - 1) * gap, columns * width + (columns - 1) * gap, 3), 255, np.uint8
    )
    for k, frame in enumerate(frames):
        top, left = (k // columns) * (height + gap), (k % columns) * (width + gap)
        sheet[top : top + height, left : left + width] = frame
    return sheet
