"""The place of image encoders: what turns pictures into numbers that a policy reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.errors import TrueupError
from trueup.evaluate import Begin, check_fit
from trueup.policies import Feature, Policy
from trueup.simulate import Camera, Worlds
from trueup.simulate.rollout import Controller

_UNIT = "1"


class Encoder(Protocol):
    """Numbers from pictures of one camera, always the same from the same picture.

    It is trained elsewhere, or needs no training: learning from demonstrations leaves it as it is.

    Attributes:
        name: The observation that it makes, e.g. `front_features`.
        camera: Whose pictures.
        pixels: Height and width of the pictures that it takes.
        size: How many numbers it makes of each.
    """

    @property
    def name(self) -> str: ...
    @property
    def camera(self) -> str: ...
    @property
    def pixels(self) -> tuple[int, int]: ...
    @property
    def size(self) -> int: ...

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        """(n, size) numbers from pictures (n, height, width, 3) uint8."""
        ...


def features_of(encoders: Sequence[Encoder]) -> tuple[Feature, ...]:
    """The observations that encoders make, as a contract names them."""
    return tuple(Feature(name=one.name, size=one.size, unit=_UNIT) for one in encoders)


def encoded(episode: Episode, encoders: Sequence[Encoder], name: str) -> Episode:
    """An episode with what encoders make of its videos, at the moments the pictures were taken.

    Args:
        episode: With a video of each encoder's camera.
        encoders: Who looks at them.
        name: What to call the episode in messages.
    """
    signals = dict(episode.signals)
    for encoder in encoders:
        video = episode.videos.get(encoder.camera)
        if video is None or not len(video):
            known = ", ".join(episode.videos) or "none"
            raise TrueupError(
                f"{name} has no pictures of the camera {encoder.camera!r}, which {encoder.name!r} "
                f"is made of; it has {known}.",
                fix="Give a dataset with videos of that camera, or learn without the encoder.",
            )
        pictures = np.stack(list(video.pictures(range(len(video)))))
        values = _numbers(encoder, pictures, name)
        columns = tuple(str(i) for i in range(encoder.size))
        signals[encoder.name] = Channel(
            values=values, time_s=video.time_s, unit=_UNIT, names=columns
        )
    return replace(episode, signals=signals)


def seeing(policy: Policy, encoders: Sequence[Encoder]) -> Begin:
    """What `evaluate` needs to let a policy play that reads what encoders make of pictures.

    Every world is drawn at every step, which takes far longer than its physics.
    """
    makes = {encoder.name for encoder in encoders}
    face = policy.contract.interface
    own = tuple(feature for feature in face.observations if feature.name not in makes)
    contract = replace(policy.contract, interface=replace(face, observations=own))

    def begin(worlds: Worlds) -> Controller:
        check_fit(replace(policy, contract=contract), worlds.world)
        cameras = {one.name: _camera(worlds, one) for one in encoders}

        def seen(observation: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            made = {name: look() for name, look in cameras.items()}
            return {**observation, **made}

        pilot = policy.pilot(worlds.n)
        pilot.begin(seen(worlds.observation), worlds.hold)
        return lambda k, observation: pilot(seen(observation))

    return begin


def _camera(worlds: Worlds, encoder: Encoder) -> Callable[[], np.ndarray]:
    height, width = encoder.pixels
    camera = Camera(worlds, camera=encoder.camera, width=width, height=height)
    return lambda: _numbers(encoder, camera.pictures(range(worlds.n)), f"{worlds.world.name!r}")


def _numbers(encoder: Encoder, pictures: np.ndarray, name: str) -> np.ndarray:
    if pictures.shape[1:3] != tuple(encoder.pixels):
        found, wanted = (
            "{} × {}".format(*sides) for sides in (pictures.shape[1:3], encoder.pixels)
        )
        raise TrueupError(
            f"{name}: pictures of {encoder.camera!r} are {found} pixels, the encoder of "
            f"{encoder.name!r} takes {wanted}.",
            fix="Give an encoder for pictures of that size, or scale the videos.",
        )
    values = np.asarray(encoder(pictures), np.float32)
    if values.shape != (len(pictures), encoder.size) or not np.isfinite(values).all():
        raise TrueupError(
            f"{name}: the encoder of {encoder.name!r} made numbers of shape {values.shape} from "
            f"{len(pictures)} pictures; finite ones of shape ({len(pictures)}, {encoder.size}) "
            "were expected.",
            fix="Correct the encoder.",
        )
    return values
