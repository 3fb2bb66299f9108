"""Demonstrations to curate: scripted grasps in randomized worlds, and faults to plant in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from trueup import worlds
from trueup.episodes import Channel, Episode, Outcome
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.evaluate import trials
from trueup.simulate import CpuWorlds, Rollout
from trueup.worlds import Compiled, World
from trueup.worlds.scripted import ScriptedLift
from trueup.worlds.so101 import JOINTS as NAMES

WORLD = "so101/lift"
_PLACE = ("x", "y", "z")
_SIGNALS = {
    "joint_position": ("rad", NAMES),
    "joint_velocity": ("rad/s", NAMES),
    "joint_force": ("N·m", NAMES),
    "cube_position": ("m", _PLACE),
    "cube_orientation": ("1", ("w", *_PLACE)),
}
_PACES = (0.8, 0.9, 1.0, 1.1, 1.25)
_SCRIPT_S = 2.9


def demonstrations(
    n: int,
    *,
    seed: int = 0,
    select: tuple[str, ...] = (),
    paces: tuple[float, ...] = _PACES,
) -> list[Episode]:
    """`n` grasps that lifted the cube, at several paces; `select` says which parameters differ.

    A hand that wanders a little moves the arm, so no two are alike. Nothing is chosen but success.
    """
    found: list[Episode] = []
    turn = 0
    while len(found) < n:
        pace = paces[turn % len(paces)]
        tried = _tried(max(8, n // len(paces)), pace, 1000 * seed + turn, select)
        found += [episode for episode in tried if episode.outcome is Outcome.SUCCESS]
        turn += 1
    order = np.random.default_rng(seed).permutation(len(found))
    return [found[i] for i in order[:n]]


def _tried(n: int, pace: float, seed: int, select: tuple[str, ...]) -> list[Episode]:
    world = worlds.get(WORLD)
    space = world.space.select(*select) if select else world.space
    points, seeds = trials(space, n, seed)
    batch = CpuWorlds(Compiled(world, space), n, threads=1)
    observation = batch.reset(points, seeds)
    hand = _Hand(world, observation, pace, seed)
    first = {name: observation[name] for name in _SIGNALS}
    steps = round(_SCRIPT_S / pace / world.control_period_s) + 8
    done = Rollout(batch, record=tuple(_SIGNALS)).run(hand, steps)
    # a robot is read, then told: row k holds what was seen before command k
    seen = {name: np.concatenate([first[name][None], done.signals[name][:-1]]) for name in _SIGNALS}
    made = [
        _episode(world, {name: rows[:, i] for name, rows in seen.items()}, done.action[:, i])
        for i in range(n)
    ]
    lifted = done.success & ~done.diverged
    return [
        e if good else replace(e, outcome=Outcome.FAILURE)
        for e, good in zip(made, lifted, strict=True)
    ]


class _Hand:
    """The scripted grasp at a pace of its own, by a hand that wanders a little."""

    def __init__(self, world: World, observation: dict, pace: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._script, self._pace = ScriptedLift(world, observation), pace
        shape = (len(observation["joint_position"]), 6)
        self._rate, self._phase = rng.uniform(0.1, 0.3, shape), rng.uniform(0, 6.3, shape)

    def __call__(self, k: int, observation: dict) -> np.ndarray:
        wander = np.sin(self._rate * k + self._phase) - np.sin(self._phase)
        return self._script(self._pace * k, observation) + 0.005 * wander  # type: ignore[arg-type]


def _episode(world: World, seen: dict[str, np.ndarray], told: np.ndarray) -> Episode:
    time_s = world.control_period_s * np.arange(len(told))
    signals = {COMMAND: Channel(values=told, time_s=time_s, unit="rad", names=NAMES)}
    for name, (unit, names) in _SIGNALS.items():
        signals[name] = Channel(values=seen[name], time_s=time_s, unit=unit, names=names)
    return Episode(
        signals=signals,
        period_s=world.control_period_s,
        task="lift the cube",
        outcome=Outcome.SUCCESS,
        origin={"world": world.name, "real": False, "label": "sim-to-sim"},
    )


# Faults ------------------------------------------------------------------------------------------

Fault = Callable[[Episode, np.random.Generator], Episode]


def _changed(episode: Episode, name: str, values: np.ndarray) -> Episode:
    channel = replace(episode[name], values=values)
    return replace(episode, signals={**episode.signals, name: channel})


def _moment(episode: Episode, rng: np.random.Generator, low: float, high: float) -> int:
    return int(rng.uniform(low, high) * len(episode[COMMAND]))


def frozen(episode: Episode, rng: np.random.Generator) -> Episode:
    """One joint's reading stops somewhere and stays."""
    values = episode[JOINTS].values.copy()
    begin, column = _moment(episode, rng, 0.05, 0.35), int(rng.integers(0, 6))
    values[begin:, column] = values[begin, column]
    return _changed(episode, JOINTS, values)


def shifted(episode: Episode, rng: np.random.Generator) -> Episode:
    """Commands are stored 4 to 8 frames late."""
    values, late = episode[COMMAND].values, int(rng.integers(4, 9))
    return _changed(episode, COMMAND, np.concatenate([values[:1].repeat(late, 0), values[:-late]]))


def jerky(episode: Episode, rng: np.random.Generator) -> Episode:
    """A few commands are spikes."""
    values = episode[COMMAND].values.copy()
    for row in rng.choice(len(values), 4, replace=False):
        values[row, rng.integers(0, 5)] += rng.choice([-1, 1]) * rng.uniform(0.2, 0.5)
    return _changed(episode, COMMAND, values)


def truncated(episode: Episode, rng: np.random.Generator) -> Episode:
    """The recording stops before the cube is in the air, though it is called a success."""
    return cut(episode, _moment(episode, rng, 0.35, 0.75))


def cut(episode: Episode, end: int) -> Episode:
    """The first frames of an episode."""
    signals = {
        name: replace(c, values=c.values[:end], time_s=c.time_s[:end])
        for name, c in episode.signals.items()
    }
    return replace(episode, signals=signals)


def failed(episode: Episode, rng: np.random.Generator) -> Episode:
    """The cube slips out on the way up; nobody noticed, and it is called a success."""
    end, rest = _moment(episode, rng, 0.72, 0.8), len(episode[COMMAND])
    place = episode["cube_position"].values.copy()
    fall = np.clip(np.arange(rest - end) / 4.0, 0.0, 1.0)[:, None]
    ground = np.array([*place[end, :2], place[0, 2]])
    place[end:] = (1.0 - fall**2) * place[end] + fall**2 * ground
    return _changed(episode, "cube_position", place)


def degrees(episode: Episode, rng: np.random.Generator) -> Episode:
    """The joints are told in degrees."""
    return _changed(episode, JOINTS, np.rad2deg(episode[JOINTS].values))


def noisy(episode: Episode, rng: np.random.Generator) -> Episode:
    """A bad connection: for a third of a second one joint's readings jitter."""
    values = episode[JOINTS].values.copy()
    begin, column = _moment(episode, rng, 0.1, 0.8), int(rng.integers(0, 6))
    part = values[begin : begin + 8, column]
    part += rng.normal(0.0, 0.05, len(part))
    return _changed(episode, JOINTS, values)


def slammed(episode: Episode, rng: np.random.Generator) -> Episode:
    """A joint runs into its stop and is pressed against it for a while."""
    low, high = worlds.get(WORLD).model.jnt_range[:6].T
    column, begin = int(rng.integers(0, 5)), _moment(episode, rng, 0.15, 0.6)
    end = high[column] if rng.random() < 0.5 else low[column]
    rise = np.clip(np.arange(len(episode[COMMAND]) - begin) / 6.0, 0.0, 1.0)
    told, seen = episode[COMMAND].values.copy(), episode[JOINTS].values.copy()
    told[begin:, column] += rise * (1.1 * end - told[begin, column])
    for row in range(begin + 1, len(seen)):  # it follows its command until it is stopped
        near = seen[row - 1, column] + 0.4 * (told[row - 1, column] - seen[row - 1, column])
        seen[row, column] = np.clip(near, low[column], high[column])
    return _changed(_changed(episode, COMMAND, told), JOINTS, seen)


def teleported(episode: Episode, rng: np.random.Generator) -> Episode:
    """The tracker loses the cube and finds it elsewhere."""
    place = episode["cube_position"].values.copy()
    begin = _moment(episode, rng, 0.2, 0.8)
    place[begin:] += rng.choice([-1, 1], 3) * rng.uniform(0.04, 0.1, 3)
    return _changed(episode, "cube_position", place)


def duplicated(episode: Episode, rng: np.random.Generator) -> Episode:
    """Nearly what another one is: a copy with a tenth of a milliradian of noise."""
    noise = rng.normal(0.0, 1e-4, episode[JOINTS].values.shape)
    return _changed(episode, JOINTS, episode[JOINTS].values + noise)


FAULTS: dict[str, Fault] = {
    f.__name__: f
    for f in (
        frozen, shifted, jerky, truncated, failed, degrees, noisy, slammed, teleported, duplicated,
    )
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A set of episodes, some with faults.

    Attributes:
        episodes: In no order.
        faults: (n,) what was planted in each; empty where nothing was.
    """

    episodes: list[Episode]
    faults: list[str]

    @property
    def faulty(self) -> np.ndarray:
        """(n,) whether something was planted."""
        return np.array([bool(fault) for fault in self.faults])


def planted(
    clean: list[Episode],
    *,
    share: float = 0.3,
    kinds: tuple[str, ...] = tuple(FAULTS),
    seed: int = 0,
) -> Planted:
    """The same number of episodes, a share of them faulty; of a copy and its original, the copy."""
    rng = np.random.default_rng(seed)
    episodes, faults = list(clean), [""] * len(clean)
    sound = len(clean) - round(share * len(clean))
    for k, i in enumerate(range(sound, len(clean))):
        kind = kinds[k % len(kinds)]
        source = int(rng.integers(0, sound)) if kind == "duplicated" else i
        episodes[i], faults[i] = FAULTS[kind](clean[source], rng), kind
    # a copy comes after its original, so that it is clear which of the two is the copy
    order = rng.permutation(len(clean))
    order = np.concatenate([order[order < sound], order[order >= sound]])
    return Planted(episodes=[episodes[i] for i in order], faults=[faults[i] for i in order])
