"""Demonstrations of a dataset as a policy of a world would see them, or why they cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trueup.episodes import Channel, Dataset, Episode, Outcome
from trueup.episodes.episode import COMMAND
from trueup.episodes.matching import check_robot, in_radians
from trueup.errors import TrueupError
from trueup.policies import Feature
from trueup.train.imitation.pictures import Encoder, encoded, features_of
from trueup.train.imitation.settings import Portion
from trueup.worlds import World, interface_of

_GAP = 1.5  # periods between two commands from which on something is missing between them
_RATE = 0.01  # of a dataset's rate, that it may differ from the world's
FAILED = "did not succeed"
NOT_FINITE = "has readings that are not numbers"
SHORT = "has fewer than two frames"


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """An unbroken stretch of one episode.

    Attributes:
        episode: Its number in the dataset.
        seen: (k, width) what was observed, side by side, when each command was given.
        told: (k, nu) the commands.
        joints: (k, nu) from where targets are moved: what the encoders read, or where a body
            cannot measure its joints, the targets before.
        right: (k,) whether the command is one to learn: not a mistake that was made on purpose.
        weight: How often it is drawn, against others of its portion.
    """

    episode: int
    seen: np.ndarray
    told: np.ndarray
    joints: np.ndarray
    right: np.ndarray
    weight: float = 1.0

    def __len__(self) -> int:
        return len(self.told)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a portion offers.

    Attributes:
        portion: Which.
        stretches: Demonstrations, in the order of their episodes.
        passed_over: Why other episodes are not among them, counted.
    """

    portion: Portion
    stretches: tuple[Demonstration, ...]
    passed_over: dict[str, int] = field(default_factory=dict)

    @property
    def episodes(self) -> tuple[int, ...]:
        """Numbers of the episodes that can be learned from."""
        return tuple(dict.fromkeys(stretch.episode for stretch in self.stretches))

    def some(self, episodes: Sequence[int], weight: float | None) -> Shown:
        """Some of the episodes, drawn from with another weight."""
        portion = replace(self.portion, episodes=tuple(episodes), weight=weight)
        return replace(self, portion=portion, stretches=self.of(episodes))

    def of(self, episodes: Sequence[int]) -> tuple[Demonstration, ...]:
        """The demonstrations of some episodes."""
        wanted = set(episodes)
        return tuple(stretch for stretch in self.stretches if stretch.episode in wanted)


def offered(
    portions: Sequence[Portion], world: World, encoders: Sequence[Encoder] = ()
) -> tuple[Feature, ...]:
    """The observations of a world that every portion recorded, in its order; then the encoders'.

    A dataset of somebody else has joints and pictures, and seldom anything else; a policy then
    learns from its joints alone.
    """
    datasets = [opened(portion, world) for portion in portions]
    have = [{signal.name for signal in dataset.info.features.signals} for dataset in datasets]
    read = tuple(
        feature
        for feature in interface_of(world).observations
        if all(feature.name in names for names in have)
    )
    return (*read, *features_of(encoders))


def opened(portion: Portion, world: World) -> Dataset:
    """A portion's dataset, if it is of the world's robot, at the world's rate."""
    dataset = Dataset.open(portion.dataset)
    measured = interface_of(world).measured
    needed = (COMMAND, *([measured] if measured else []))
    check_robot(dataset, world.commands, needed, of=f"the world {world.name!r}")
    _check_rate(1.0 / dataset.info.fps, str(dataset.folder), world)
    return dataset


def shown(
    portion: Portion,
    world: World,
    features: Sequence[Feature],
    encoders: Sequence[Encoder] = (),
) -> Shown:
    """The demonstrations of a portion, as a policy that reads these features would see them."""
    dataset = opened(portion, world)
    asked = range(len(dataset)) if portion.episodes is None else portion.episodes
    outcomes = [about.outcome for about in dataset.abouts()]
    passed_over: Counter[str] = Counter()
    stretches: list[Demonstration] = []
    for i in asked:
        if i in portion.refused:
            passed_over[portion.refused[i]] += 1
            continue
        if portion.episodes is None and outcomes[i] not in (None, Outcome.SUCCESS):
            passed_over[FAILED] += 1
            continue
        found, why = _read(dataset, int(i), portion, world, features, encoders)
        stretches += found
        passed_over.update([why] if why else [])
    if not stretches:
        raise _none(dataset, passed_over)
    return Shown(
        portion=portion, stretches=tuple(stretches), passed_over=dict(passed_over.most_common())
    )


def _read(
    dataset: Dataset,
    i: int,
    portion: Portion,
    world: World,
    features: Sequence[Feature],
    encoders: Sequence[Encoder],
) -> tuple[list[Demonstration], str]:
    name = f"Episode {i} of {dataset.folder}"
    episode = encoded(in_radians(dataset[i], name, portion.read_as), encoders, name)
    _check_rate(episode.period_s, name, world)
    command = episode[COMMAND]
    seen = np.concatenate([_at(command, episode, f, name) for f in features], axis=1)
    joints = _joints(episode, command, interface_of(world).measured)
    right = np.ones(len(command), bool)
    mistakes = episode.origin.get("mistake_frames") or []
    for first, after in zip(mistakes[::2], mistakes[1::2], strict=False):
        right[first:after] = False
    told = np.asarray(command.values, np.float32)
    if not all(np.isfinite(values).all() for values in (seen, told, joints)):
        return [], NOT_FINITE
    weight = float(portion.weights.get(i, 1.0))
    found = [
        Demonstration(
            episode=i,
            seen=seen[part],
            told=told[part],
            joints=joints[part],
            right=right[part],
            weight=weight,
        )
        for part in _unbroken(command.time_s, world.control_period_s)
    ]
    return found, "" if found else SHORT


def _unbroken(time_s: np.ndarray, period_s: float) -> Iterator[slice]:
    """Stretches of commands that follow each other; what is missing cannot be learned from."""
    ends = [*(np.flatnonzero(np.diff(time_s) > _GAP * period_s) + 1).tolist(), len(time_s)]
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        if end - first >= 2:
            yield slice(first, end)


def _at(command: Channel, episode: Episode, feature: Feature, name: str) -> np.ndarray:
    """What a signal last read when each command was given, (k, size)."""
    channel = episode[feature.name]
    if (found := (len(channel.names), channel.unit)) != (feature.size, feature.unit):
        raise TrueupError(
            f"{name}: {feature.name!r} is {found[0]} × {found[1]}, the world reads "
            f"{feature.size} × {feature.unit}.",
            fix="Convert the dataset, or give one that was recorded in the world's units.",
        )
    return _latest(channel, command.time_s)


def _joints(episode: Episode, command: Channel, measured: str | None) -> np.ndarray:
    if measured is not None:
        return _latest(episode[measured], command.time_s)
    told = np.asarray(command.values, np.float32)
    return np.concatenate([told[:1], told[:-1]])


def _latest(channel: Channel, time_s: np.ndarray) -> np.ndarray:
    rows = np.searchsorted(channel.time_s, time_s + 1e-9, side="right") - 1
    return np.asarray(channel.values, np.float32)[np.maximum(rows, 0)]


def _check_rate(period_s: float, name: str, world: World) -> None:
    if abs(period_s / world.control_period_s - 1.0) > _RATE:
        raise TrueupError(
            f"{name} was recorded at {1 / period_s:.4g} Hz, the world {world.name!r} runs at "
            f"{1 / world.control_period_s:.4g} Hz.",
            fix="Record at the world's rate, or use a world of your own that runs at the dataset's "
            "(control_period_s).",
        )


def _none(dataset: Dataset, passed_over: Counter[str]) -> TrueupError:
    if set(passed_over) == {FAILED}:
        return TrueupError(
            f"None of the {len(dataset)} episodes of {dataset.folder} succeeded, and a policy that "
            "imitates failures fails.",
            fix="Record some that succeed, or make them: `trueup generate`.",
        )
    reasons = "; ".join(f"{count} × {why}" for why, count in passed_over.most_common())
    return TrueupError(
        f"Nothing in {dataset.folder} can be learned from: {reasons}.", fix="Give another dataset."
    )
