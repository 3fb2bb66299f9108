"""Demonstrations of a small task, made once for all tests of imitation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from trueup.episodes import Dataset, Episode, Writer
from trueup.generate import Order, generate, scripted
from trueup.space import Space
from trueup.train.imitation import Cloned, Cloning, Portion, clone
from trueup.worlds import World, get

QUICK = Cloning(  # every number that matters, so that tests do not follow the defaults
    chunk=6,
    forget=0.5,
    history=2,
    hidden=(64,),
    steps=300,
    batch=256,
    learning_rate=2e-3,
    held_out=0.1,
    look_every=100,
    patience=50,
    confirm_episodes=0,
)


@cache
def world() -> World:
    return get("so101/reach")


@cache
def reaches() -> Path:
    """32 demonstrations of reaching, in the nominal world."""
    folder = Path(mkdtemp()) / "reaches"
    order = Order(
        world=world(), source=(scripted(world()),), space=Space(()), episodes=32, mistakes=0.0
    )
    generate(order, folder, threads=1)
    return folder


def demonstrations() -> Portion:
    """All of them."""
    return Portion(dataset=reaches())


@cache
def cloned() -> Cloned:
    """A policy that was cloned from them, shared between tests."""
    return clone(world(), [demonstrations()], QUICK, Path(mkdtemp()) / "run")


def rewritten(
    folder: Path, change: Callable[[Episode], Episode], *, episodes: int = 3, robot: str = "so101"
) -> Path:
    """Some of the demonstrations again, with something changed in each."""
    source = Dataset.open(reaches())
    with Writer(folder, robot_type=robot) as writer:
        for i in range(episodes):
            writer.add(change(source[i]))
    return folder


def with_channel(episode: Episode, name: str, **change: object) -> Episode:
    """The episode with one of its signals changed."""
    channel = replace(episode.signals[name], **change)  # type: ignore[arg-type]
    return replace(episode, signals={**episode.signals, name: channel})


def only(episode: Episode, *names: str) -> Episode:
    """The episode with these signals alone."""
    return replace(episode, signals={name: episode.signals[name] for name in names})
