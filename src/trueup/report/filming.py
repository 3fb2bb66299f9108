"""Short films: the robot on the left, the simulator with the same commands on the right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from io import BytesIO

import numpy as np

from trueup.episodes import Episode, Outcome
from trueup.errors import TrueupError
from trueup.replay import Replayer
from trueup.replay.states import states_at
from trueup.report.blocks import Film
from trueup.simulate import Camera, mosaic
from trueup.space import Point, Space
from trueup.worlds import World

_HEIGHT, _WIDTH = 240, 320  # of each half
_RATE_HZ = 12.5
_SECONDS = 8.0
_OPTIONS = {"crf": "38", "b": "0", "deadline": "realtime", "cpu-used": "8", "row-mt": "0"}


def filmed(
    world: World,
    episode: Episode,
    *,
    name: str,
    about: str = "",
    point: Mapping[str, float] | None = None,
    camera: str = "front",
    seconds: float = _SECONDS,
) -> Film:
    """A film of one trial and of what the simulator makes of its commands.

    Where a camera of that name was recorded, the left half is its picture; otherwise the
    robot is drawn from what it reported, joints and tracked objects. Raises `NoGraphics` where
    this machine cannot draw.

    Args:
        world: The simulator.
        episode: The trial.
        name: The film's file name, without its end.
        about: Which trial it is and how it ended, as the beginning of a sentence.
        point: Where the simulator stands; nominal by default.
        camera: From where to look.
        seconds: Longest film; the end is kept, for that is where things fail.
    """
    times = _times(episode, seconds)
    shown = camera in episode.videos
    left = "as its camera saw it" if shown else "drawn from what it reported"
    who = "the robot" if episode.origin.get("real") else "the rehearsal robot"
    frames = _frames(world, episode, times, Point(point or {}), camera)
    return Film(
        name=name,
        webm=encoded(frames),
        says=f"{about or 'A trial'}: left {who}, {left}; right the simulator with the same "
        "commands.",
        seconds=float(times[-1] - times[0]) if len(times) else 0.0,
    )


def films_of(
    world: World,
    episodes: Sequence[Episode],
    *,
    most: int = 2,
    point: Mapping[str, float] | None = None,
) -> tuple[tuple[Film, ...], str]:
    """Films of a few trials, failures first; and where there are none, why, as a sentence."""
    order = sorted(range(len(episodes)), key=lambda i: episodes[i].outcome is not Outcome.FAILURE)
    judged = [i for i in order if episodes[i].outcome in (Outcome.FAILURE, Outcome.SUCCESS)]
    films = []
    try:
        for i in judged[:most]:
            about = f"Trial {i}, a {episodes[i].outcome}"
            films.append(filmed(world, episodes[i], name=f"trial-{i}", about=about, point=point))
    except TrueupError as error:
        return (), f"There are no films. {error.what}"
    return tuple(films), "" if films else "There are no films: no trial was judged."


def _times(episode: Episode, seconds: float) -> np.ndarray:
    """(k,) moments to show: the last seconds, evenly."""
    channels = [channel.time_s for channel in episode.signals.values() if len(channel)]
    begin, end = max(t[0] for t in channels), min(t[-1] for t in channels)
    begin = max(begin, end - seconds)
    return begin + np.arange(max(2, int((end - begin) * _RATE_HZ) + 1)) / _RATE_HZ


def _frames(
    world: World, episode: Episode, times: np.ndarray, point: Point, camera: str
) -> Iterator[np.ndarray]:
    space = Space(tuple(world.catalogue[name] for name in point))
    replayer = Replayer(world, [episode], space, moments_s=times)
    stage, simulated = replayer.poses(space.point(point))
    measured = states_at(world, stage.compiled.model, episode, times).qpos
    measured = np.where(np.isnan(measured), simulated[0], measured)
    qpos = stage.batch.bind("qpos")
    pictures = _pictures(episode, camera, times)
    with Camera(stage, camera=_camera(world, camera), width=_WIDTH, height=_HEIGHT) as drawn:

        def draw(pose: np.ndarray) -> np.ndarray:
            qpos[0] = pose
            return drawn.picture(0).copy()

        for real, pose in zip(measured, simulated[0], strict=True):
            left = next(pictures, None)
            yield mosaic(np.stack([draw(real) if left is None else left, draw(pose)]), columns=2)


def _pictures(episode: Episode, camera: str, times: np.ndarray) -> Iterator[np.ndarray]:
    """What the camera saw at these moments, in the film's size; nothing where there is none."""
    from PIL import Image

    if camera not in episode.videos:
        return
    video = episode.videos[camera]
    rows = np.clip(np.searchsorted(video.time_s, times, side="right") - 1, 0, len(video) - 1)
    for picture in video.pictures(rows):
        yield np.asarray(Image.fromarray(picture).resize((_WIDTH, _HEIGHT)))


def _camera(world: World, wanted: str) -> str:
    known = [world.model.camera(i).name for i in range(world.model.ncam)]
    return wanted if wanted in known or not known else known[0]


def encoded(frames: Iterator[np.ndarray]) -> bytes:
    """A WebM of VP9: what every browser of today plays."""
    import av

    kept = BytesIO()
    with av.open(kept, "w", format="webm") as container:
        stream = None
        for frame in frames:
            if stream is None:
                rate = Fraction(_RATE_HZ).limit_denominator(100)
                stream = container.add_stream("libvpx-vp9", rate=rate, options=_OPTIONS)
                stream.height, stream.width = (side - side % 2 for side in frame.shape[:2])
                stream.pix_fmt = "yuv420p"
            picture = np.ascontiguousarray(frame[: stream.height, : stream.width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        if stream is not None:
            container.mux(stream.encode())
    return kept.getvalue()
