"""Recorded motions against a simulator: what it misses, and how its joints answer to a push."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np

from trueup.effects import Values, anatomy
from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.errors import TrueupError
from trueup.identify.residual.effect import SHARE, ResidualEffect
from trueup.identify.residual.history import inputs_along
from trueup.identify.residual.network import Network
from trueup.replay import Replayer, Track
from trueup.replay.matching import command_columns, signal_columns
from trueup.replay.states import value_at
from trueup.space import Point, Space
from trueup.worlds import Compiled, World
from trueup.worlds.added import with_effect

_BROKEN = 1.0  # rad; what a simulation that broke down is taken to miss by
_LATE = ("latency/action_*", "latency/*/delay")  # what makes commands late


class Motions:
    """Motions that are replayed from end to end, with or without a network's torque.

    Open loop: a servo comes back to where it is told to be, so that errors do not pile up, and
    what was learnt is judged in the way it is used.

    Args:
        world: The simulator.
        point: What was identified; all else is nominal.
        episodes: The motions.
        threads: CPU threads; 0 takes all.
    """

    def __init__(
        self, world: World, point: Point, episodes: Sequence[Episode], *, threads: int = 0
    ) -> None:
        self.world, self.point, self.threads = world, point, threads
        self.episodes = tuple(episodes)
        self.commands = [
            np.asarray(episode[COMMAND].values, float)[:, command_columns(world, episode)]
            for episode in episodes
        ]

    def __len__(self) -> int:
        return len(self.episodes)

    @cached_property
    def inputs(self) -> list[np.ndarray]:
        """(k, joints, inputs) of a network along each motion as it was measured."""
        return [self._inputs(e, c) for e, c in zip(self.episodes, self.commands, strict=True)]

    def missed(self, network: Network | None = None, *, aside: int = 0) -> list[np.ndarray]:
        """Measured less simulated (k, joints) at the times of commands; motions from `aside` on."""
        if network is None:
            return self._missed(self.world, self.episodes[aside:], self.point)
        world = with_effect(self.world, ResidualEffect(network=network))
        return self._missed(world, self.episodes[aside:], Point({**self.point, SHARE: 1.0}))

    def pushed(self, pushes: Sequence[np.ndarray]) -> list[np.ndarray]:
        """How far torques (k, joints) of each motion move the joints, (k, joints) in rad.

        The servo is pushed through its command, which pulls with the same torque; but a command may
        be late and a torque is not, so that commands are not late here.
        """
        prompt = Point({name: value for name, value in self.point.items() if not _late(name)})
        shifted = [
            _told(episode, self.world, push / self.stiffness)
            for episode, push in zip(self.episodes, pushes, strict=True)
        ]
        both = self._missed(self.world, (*self.episodes, *shifted), prompt)
        return [still - moved for still, moved in zip(both, both[len(self) :], strict=False)]

    @cached_property
    def stiffness(self) -> np.ndarray:
        """(joints,) torque of each servo for a radian of command, at the point, N·m."""
        compiled = Compiled(self.world, self._space(self.world, self.point))
        points = compiled.space.points(self.point, 1)
        gain = anatomy.default(compiled.model, "actuator_gainprm")
        numbers = compiled.numbers(Values.at(points, compiled.nominal)).get("actuator_gainprm")
        if numbers is not None:
            gain[numbers.elements] = numbers.values[0]
        return np.array(
            [
                gain[anatomy.element(compiled.model, "actuator", name, "actuator_gainprm")]
                for name in self.world.commands
            ]
        )

    # --------------------------------------------------------------------------------------------

    def _inputs(self, episode: Episode, commands: np.ndarray) -> np.ndarray:
        channel = episode[JOINTS]
        signal = next(s for s in self.world.observations if s.name == JOINTS)
        columns = signal_columns(self.world, signal, channel)
        if (columns < 0).any():
            raise _Unread(channel.names, self.world)
        bias = [self.point.get(f"sensing/{name}/bias", 0.0) for name in self.world.commands]
        position = value_at(channel, episode[COMMAND].time_s)[:, columns] - np.array(bias)
        position = np.where(np.isnan(position), commands, position)  # nothing better is known
        return inputs_along(position, commands, episode.period_s)

    def _missed(self, world: World, episodes: Sequence[Episode], point: Point) -> list[np.ndarray]:
        space = self._space(world, point)
        replayer = Replayer(world, episodes, space, signals=(JOINTS,), threads=self.threads)
        return [
            _at_commands(tracks[JOINTS], episode, world)
            for tracks, episode in zip(replayer(point).tracks, episodes, strict=True)
        ]

    @staticmethod
    def _space(world: World, point: Point) -> Space:
        return Space(tuple(world.catalogue[name] for name in point))


class _Unread(TrueupError):
    """A recording that does not say where all the joints were."""

    def __init__(self, found: Sequence[str], world: World) -> None:
        super().__init__(
            f"A recording reads the joints {', '.join(found)}, but the world {world.name!r} "
            f"commands {', '.join(world.commands)}.",
            fix="Record the position of every joint that is commanded.",
        )


def _late(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in _LATE)


def _told(episode: Episode, world: World, offsets: np.ndarray) -> Episode:
    """A motion with something added to its commands (k, joints)."""
    channel = episode[COMMAND]
    values = np.array(channel.values, float)
    values[:, command_columns(world, episode)] += offsets
    return replace(episode, signals={**episode.signals, COMMAND: replace(channel, values=values)})


def _at_commands(track: Track, episode: Episode, world: World) -> np.ndarray:
    """(k, joints) measured less simulated at the times of the commands; NaN where nothing was."""
    if len(track.names) != len(world.commands):
        raise _Unread(track.names, world)
    missed = track.measured - np.nan_to_num(track.simulated[0], nan=_BROKEN)
    times, found = episode[COMMAND].time_s, []
    for column in missed.T:
        known = np.isfinite(column)
        there = (track.time_s[known], column[known]) if known.any() else ([0.0], [np.nan])
        found.append(np.interp(times, *there))
    return np.array(found).T
