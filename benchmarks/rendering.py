"""Pictures of 224 × 224 pixels with our light meshes, against the same scene with the CAD's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

from benchmarks.measure import Effort, Measure, Target, Turns
from benchmarks.workload import randomized, spaces
from trueup.simulate import Camera, NoGraphics
from trueup.worlds import tabletop

_SIZE = 224
_COPIES = 8
_FRAMES = {"light": 16, "stock": 2}  # per turn
_WHAT = f"pictures of {_SIZE} × {_SIZE} per s, our meshes against the stock ones"


def measure(effort: Effort) -> list[Measure]:
    try:
        cameras = {"light": _camera()}
        with _stock_arm():
            cameras["stock"] = _camera()
    except NoGraphics as error:
        return [Measure(what=_WHAT, value=None, note=str(error))]
    turns = Turns()
    for turn in range(effort.turns(15) + 1):
        for name, camera in cameras.items():
            with turns.of(name):
                for frame in range(_FRAMES[name]):
                    camera.picture(frame % _COPIES)
        if turn:  # the first turn pays for what GL compiles and uploads
            turns.end()
        else:
            turns = Turns()
    for camera in cameras.values():
        camera.close()
    rate = {name: _FRAMES[name] / turns.seconds(name) for name in cameras}
    faces = {name: int(camera._model.nmeshface) for name, camera in cameras.items()}
    return [
        Measure.of(
            _WHAT,
            rate["light"] / rate["stock"],
            unit="×",
            target=Target(side="≥", value=10.0),
            note=f"{np.median(rate['light']):.0f} against {np.median(rate['stock']):.1f} per s; "
            f"{faces['light']:,} against {faces['stock']:,} faces",
            details={"pixels": [_SIZE, _SIZE], "faces": faces},
        )
    ]


def _camera() -> Camera:
    space = spaces()["default space"].pinned()
    return Camera(randomized(space, _COPIES), camera="front", width=_SIZE, height=_SIZE)


@contextmanager
def _stock_arm() -> Iterator[None]:
    """Let the table be built with the stock arm: it has no such option, as nobody else wants it."""
    ours = tabletop.so101
    tabletop.so101 = partial(ours, stock=True)
    try:
        yield
    finally:
        tabletop.so101 = ours
