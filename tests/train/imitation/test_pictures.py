"""Learning from pictures: an encoder's numbers are an observation like any other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from tests.train.imitation.reaches import QUICK, reaches, world
from trueup.episodes import Dataset, Episode, Video, Writer
from trueup.errors import TrueupError
from trueup.evaluate import evaluate, piloted
from trueup.simulate import Camera, CpuWorlds
from trueup.space import Point, Space
from trueup.train.imitation import Cloned, Portion, clone, seeing
from trueup.worlds import Compiled

PIXELS, EPISODES = (96, 128), 16
BLIND = ("command", "joint_position", "joint_velocity")  # none says where the target is


@dataclass(frozen=True, kw_only=True)
class GreenSpot:
    """Where in a picture something is green, and how large it is."""

    name: str = "front_features"
    camera: str = "front"
    pixels: tuple[int, int] = PIXELS
    size: int = 3

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        colours = pictures.astype(np.float32)
        green = np.clip(colours[..., 1] - colours[..., ::2].max(axis=-1), 0.0, None) ** 3
        rows, columns = np.mgrid[: PIXELS[0], : PIXELS[1]] / PIXELS[0]
        total = green.sum(axis=(1, 2)) + 1e-3
        places = [(green * axis).sum(axis=(1, 2)) / total for axis in (rows, columns)]
        return np.stack([*places, np.cbrt(total) / 100.0], axis=1)


def filmed(worlds: CpuWorlds, camera: Camera, episode: Episode) -> Episode:
    """An episode once more, with pictures; of its numbers, only those of the arm stay."""
    worlds.reset(Point(episode.origin["point"]), [episode.origin["seed"]])
    frames = []
    for command in episode["command"].values:
        frames.append(camera.picture(0).copy())
        worlds.step(command[None])
    video = Video(time_s=episode["command"].time_s, frames=np.stack(frames))
    signals = {name: episode[name] for name in BLIND}
    return replace(episode, signals=signals, videos={"front": video})


@cache
def films() -> Path:
    """Reaches for a target that only a camera sees."""
    folder, source = Path(mkdtemp()) / "films", Dataset.open(reaches())
    worlds = CpuWorlds(Compiled(world(), Space(())), 1)
    with (
        Camera(worlds, width=PIXELS[1], height=PIXELS[0]) as camera,
        Writer(folder, robot_type="so101") as writer,
    ):
        for i in range(EPISODES):
            writer.add(filmed(worlds, camera, source[i]))
    return folder


@cache
def learned(*encoders: GreenSpot) -> Cloned:
    out = Path(mkdtemp()) / "run"
    settings = replace(QUICK, held_out=0.25, confirm_episodes=0)
    return clone(world(), [Portion(dataset=films())], settings, out, encoders=encoders)


def test_what_only_a_camera_sees_is_learned_from_pictures():
    seen, blind = learned(GreenSpot()), learned()
    assert seen.error < 0.9 * blind.error
    read = [feature.name for feature in seen.policy.contract.interface.observations]
    assert read == ["joint_position", "joint_velocity", "front_features"]


class Blindfold(GreenSpot):
    """The same numbers whatever there is to see."""

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        return np.zeros((len(pictures), self.size))


def commanded(encoder: GreenSpot, seed: int) -> np.ndarray:
    """(steps, 6) what the policy that learned from pictures sends in one episode."""
    sent: list[np.ndarray] = []
    evaluate(
        world(),
        seeing(learned(GreenSpot()).policy, [encoder]),
        Point({}),
        [seed],
        threads=1,
        witness=lambda turn: sent.append(turn.command[0].copy()),
    )
    return np.stack(sent)


def test_it_plays_by_what_its_encoder_sees():
    looked = commanded(GreenSpot(), 1)
    assert np.array_equal(looked[:10], commanded(GreenSpot(), 1)[:10])
    assert np.abs(looked[:10] - commanded(Blindfold(), 1)[:10]).max() > 0.01


def test_without_its_encoder_it_is_refused():
    with pytest.raises(TrueupError, match="front_features"):
        evaluate(world(), piloted(learned(GreenSpot()).policy), Point({}), [0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"camera": "wrist"}, "has no pictures of the camera 'wrist'.*it has front"),
        (
            {"pixels": (48, 64)},
            "are 96 × 128 pixels, the encoder of 'front_features' takes 48 × 64",
        ),
        ({"size": 5}, "made numbers of shape .*, 3\\)"),
    ],
)
def test_an_encoder_that_does_not_fit_gets_a_sentence(tmp_path, change, words):
    encoder = replace(GreenSpot(), **change)
    with pytest.raises(TrueupError, match=words):
        clone(world(), [Portion(dataset=films())], QUICK, tmp_path, encoders=[encoder])
