"""Videos as MP4 that any browser plays."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np

from trueup.errors import TrueupError
from trueup.files import whole


def save_video(frames: Iterable[np.ndarray], path: Path, *, fps: float) -> int:
    """Write frames (height, width, 3) uint8 as they come; return how many there were.

    The file appears whole or not at all, also when the frames break off with an error.
    """
    import av

    count = 0
    with whole(path) as partial, av.open(str(partial), "w", format="mp4") as container:
        stream = None
        for frame in frames:
            if stream is None:
                stream = container.add_stream("h264", rate=Fraction(fps).limit_denominator(1001))
                # the codec halves colours, so sizes must be even
                stream.height, stream.width = (side - side % 2 for side in frame.shape[:2])
                stream.pix_fmt = "yuv420p"
                stream.options = {"crf": "20", "preset": "veryfast"}
            picture = np.ascontiguousarray(frame[: stream.height, : stream.width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            count += 1
        if stream is None:
            raise TrueupError(
                f"The video {path} would have no frames.", fix="Record at least one step."
            )
        container.mux(stream.encode())
    return count
