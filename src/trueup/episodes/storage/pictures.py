"""Pictures as mp4: encoded, joined without encoding again, and decoded one by one.

One picture for each frame at a constant rate, as LeRobot wants it. Every second picture can be
decoded by itself, so that training may read in any order, and none refers to a later one, so that
files can be cut between episodes and joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.error import FFmpegError
from av.video.stream import VideoStream

from trueup.episodes.storage.files import durable
from trueup.episodes.storage.tables import Damaged, Missing

_CODEC = "h264"
_OPTIONS = {"preset": "veryfast", "crf": "23", "g": "2", "bf": "0"}
_STATS_SIDE = 112  # pictures are thinned to about this many pixels a side for statistics


@dataclass(frozen=True, kw_only=True)
class Film:
    """What a video file says of itself."""

    height: int
    width: int
    codec: str
    pix_fmt: str
    fps: float
    extradata: bytes

    def described(self) -> dict[str, Any]:
        """As LeRobot describes it in `meta/info.json`."""
        return {
            "video.height": self.height,
            "video.width": self.width,
            "video.codec": self.codec,
            "video.pix_fmt": self.pix_fmt,
            "video.is_depth_map": False,
            "video.fps": int(self.fps) if self.fps == int(self.fps) else self.fps,
            "video.channels": 3,
            "has_audio": False,
        }

    def joins(self, other: Film) -> bool:
        """Whether the two can lie in one file without encoding again."""
        return replace(self, fps=0.0) == replace(other, fps=0.0)


def film(path: Path) -> Film:
    """Look at a file without decoding it."""
    with _opened(path) as container:
        stream = _video(container, path)
        context = stream.codec_context
        return Film(
            height=context.height,
            width=context.width,
            codec=context.codec.canonical_name,
            pix_fmt=str(context.pix_fmt),
            fps=float(stream.average_rate or 0),
            extradata=bytes(context.extradata or b""),
        )


def count(path: Path) -> int:
    """How many pictures are really in a file, whatever its header says."""
    with _opened(path) as container:
        try:
            return sum(packet.size > 0 for packet in container.demux(_video(container, path)))
        except (FFmpegError, OSError) as error:
            raise Damaged(path, error) from error


def encode(path: Path, pictures: Iterable[np.ndarray], places: np.ndarray, fps: float) -> None:
    """Write a video in which place i shows picture places[i].

    Args:
        path: The file.
        pictures: (height, width, 3) uint8, in the order in which places first names them.
        places: Which picture each place shows; a place names the last picture, or the next.
        fps: Places a second.
    """
    source, number, frame, stream = iter(pictures), -1, None, None
    with durable(path) as partial, av.open(str(partial), "w", format="mp4") as container:
        for i, wanted in enumerate(places):
            if wanted != number or frame is None:
                picture = np.ascontiguousarray(next(source))
                stream = stream or _stream(container, picture.shape, fps)
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(
                    format=stream.pix_fmt
                )
                number = wanted
            assert stream is not None
            frame.pts, frame.time_base = i, Fraction(1) / _rate(fps)
            container.mux(stream.encode(frame))
        assert stream is not None
        container.mux(stream.encode(None))


def decode(path: Path, times_s: Sequence[float] | np.ndarray) -> Iterator[np.ndarray]:
    """Pictures (height, width, 3) uint8 at rising times of a file.

    A file that ends before the last one yields fewer.
    """
    wanted = list(times_s)
    if not wanted:
        return
    with _opened(path) as container:
        stream = _video(container, path)
        stream.thread_type = "AUTO"
        base = stream.time_base or Fraction(1, 1000)
        near = 0.5 / float(stream.average_rate or 1000)
        container.seek(max(0, int((wanted[0] - near) / base)), stream=stream)
        i = 0
        for frame in container.decode(stream):
            now = float((frame.pts or 0) * base)
            if i < len(wanted) and now > wanted[i] - near:
                picture = frame.to_ndarray(format="rgb24")
                while i < len(wanted) and now > wanted[i] - near:
                    yield picture
                    i += 1
            if i == len(wanted):
                return


def copy(source: Path, begin_s: float, count: int, path: Path) -> bool:
    """Cut pictures out of a file without encoding again.

    Returns:
        Whether that was possible; nothing is written where it was not.
    """
    with _opened(source) as container:
        packets = _cut(container, _video(container, source), begin_s, count)
        if packets is None:
            return False
        with durable(path) as partial, av.open(str(partial), "w", format="mp4") as target:
            out = target.add_stream_from_template(container.streams.video[0])
            first = packets[0].pts or 0
            for packet in packets:
                packet.pts = packet.dts = (packet.pts or 0) - first
                packet.stream = out
                target.mux(packet)
    return True


def join(path: Path, parts: Sequence[Path], fps: float) -> list[float]:
    """Write the pictures of several files of one kind into one, which may be the first of them.

    Returns:
        Where each part begins, in s.
    """
    begins = [Fraction(0)]
    with durable(path) as partial, av.open(str(partial), "w", format="mp4") as target:
        out: VideoStream | None = None
        for part in parts:
            with _opened(part) as container:
                stream = _video(container, part)
                out = out or target.add_stream_from_template(stream)
                count = _append(target, out, container, stream, begins[-1])
                begins.append(begins[-1] + count / _rate(fps))
    return [float(begin) for begin in begins[:-1]]


def thinned(picture: np.ndarray) -> np.ndarray:
    """Fewer pixels of a picture (height, width, 3), for statistics."""
    step = max(1, max(picture.shape[:2]) // _STATS_SIDE)
    return picture[::step, ::step]


def _append(
    target: Any, out: VideoStream, container: Any, stream: VideoStream, begin: Fraction
) -> int:
    """Add the pictures of one file to another; how many there were."""
    shift, count = round(begin / (stream.time_base or Fraction(1, 1000))), 0
    for packet in container.demux(stream):
        if packet.size:
            packet.pts = packet.dts = (packet.pts or 0) + shift
            packet.stream = out
            target.mux(packet)
            count += 1
    return count


def _cut(container: Any, stream: VideoStream, begin_s: float, count: int) -> list[Any] | None:
    """The packets of a stretch; none where it cannot be cut there without encoding again."""
    base, found = stream.time_base or Fraction(1, 1000), []
    near = 0.5 / float(stream.average_rate or 1000)
    container.seek(max(0, int((begin_s - near) / base)), stream=stream)
    for packet in container.demux(stream):
        if not packet.size or float((packet.pts or 0) * base) < begin_s - near:
            continue
        found.append(packet)
        if len(found) == count:
            break
    rising = all((a.pts or 0) < (b.pts or 0) for a, b in pairwise(found))
    return found if len(found) == count and found[0].is_keyframe and rising else None


def _stream(container: Any, shape: tuple[int, ...], fps: float) -> VideoStream:
    stream = container.add_stream(_CODEC, rate=_rate(fps))
    stream.height, stream.width = shape[:2]
    even = shape[0] % 2 == 0 and shape[1] % 2 == 0
    stream.pix_fmt = "yuv420p" if even else "yuv444p"  # halved colours need even sides
    stream.options = dict(_OPTIONS)
    stream.codec_context.thread_count = 1  # cameras are encoded beside each other
    return stream


def _rate(fps: float) -> Fraction:
    return Fraction(fps).limit_denominator(1001)


def _opened(path: Path) -> Any:
    try:
        return av.open(str(path))
    except FileNotFoundError:
        raise Missing(path) from None
    except (FFmpegError, OSError) as error:
        raise Damaged(path, error) from error


def _video(container: Any, path: Path) -> VideoStream:
    if not container.streams.video:
        raise Damaged(path, "there is no video in it")
    return container.streams.video[0]
