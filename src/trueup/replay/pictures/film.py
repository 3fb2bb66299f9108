"""What a camera saw, beside what it would have seen in the simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from trueup.episodes import Episode
from trueup.errors import TrueupError, UnknownName
from trueup.replay.replayer import Replayer
from trueup.simulate import Camera, mosaic, save_video
from trueup.space import Point, Space
from trueup.worlds import World


def save_side_by_side(
    world: World,
    episode: Episode,
    path: Path,
    *,
    camera: str,
    point: Mapping[str, float] | None = None,
    window_s: float | None = None,
    on_frame: Callable[[int], None] = lambda frames: None,
) -> int:
    """Write a video: recorded on the left, simulated on the right; returns how many frames.

    The right half is drawn by the world's camera of the same name, or by its first one where it has
    none of that name. Pictures from before the first reading are left out.
    """
    if camera not in episode.videos:
        raise UnknownName("camera in this episode", camera, episode.videos)
    begin = min(channel.time_s[0] for channel in episode.signals.values() if len(channel))
    times = episode.videos[camera].time_s
    rows = np.flatnonzero(times >= begin)
    if len(rows) < 2:
        raise TrueupError(
            f"The camera {camera!r} took {len(rows)} pictures after the first reading.",
            fix="Replay the episode without its video.",
        )
    rate = 1.0 / float(np.median(np.diff(times[rows])))
    frames = _pairs(world, episode, camera, rows, Point(point or {}), window_s)
    return save_video(_counted(frames, on_frame), path, fps=rate)


def _pairs(
    world: World,
    episode: Episode,
    camera: str,
    rows: np.ndarray,
    point: Point,
    window_s: float | None,
) -> Iterator[np.ndarray]:
    """Recorded and simulated frames side by side."""
    video = episode.videos[camera]
    space = Space(tuple(world.catalogue[name] for name in point))
    times = video.time_s[rows]
    replayer = Replayer(world, [episode], space, window_s=window_s, moments_s=times)
    stage, poses = replayer.poses(space.point(point))
    qpos = stage.batch.bind("qpos")
    # the codec wants even sides
    height, width = video.height - video.height % 2, video.width - video.width % 2
    with Camera(stage, camera=_camera(world, camera), width=width, height=height) as drawn:
        for recorded, pose in zip(video.pictures(rows), poses[0], strict=True):
            qpos[0] = pose
            both = np.stack([recorded[:height, :width], drawn.picture(0)])
            yield mosaic(both, columns=2)


def _camera(world: World, wanted: str) -> str:
    known = [world.model.camera(i).name for i in range(world.model.ncam)]
    if not known:
        raise TrueupError(
            f"The world {world.name!r} has no camera to draw it with.", fix="Add one to its model."
        )
    return wanted if wanted in known else known[0]


def _counted(frames: Iterator[np.ndarray], on_frame: Callable[[int], None]) -> Iterator[np.ndarray]:
    for frame in frames:
        on_frame(1)
        yield frame
