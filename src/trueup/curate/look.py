"""An episode as the rules see it: its numbers as arrays, and on one regular clock."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from trueup.curate.dynamics import Dynamics
from trueup.curate.place import Place
from trueup.curate.survey import QUATERNION, Survey
from trueup.curate.world_view import Touch, WorldView
from trueup.episodes import Channel, Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.errors import TrueupError


class Look:
    """One episode, with what several rules would each compute.

    Args:
        episode: As it was read.
        survey: What its dataset looks like as a whole.
        dynamics: How its signals follow from each other, where that was learned.
        world: Where its states can be put, where that is known.
    """

    def __init__(
        self,
        episode: Episode,
        survey: Survey,
        dynamics: Dynamics | None = None,
        world: WorldView | None = None,
    ) -> None:
        self.episode, self.survey = episode, survey
        self._dynamics, self._world = dynamics, world

    @property
    def period_s(self) -> float:
        """The time between frames that was meant."""
        return self.episode.period_s

    @cached_property
    def channels(self) -> dict[str, Channel]:
        """Signals that are numbers on a scale, filled where readings are missing."""
        return {
            name: _filled(self.episode[name])
            for name in self.survey.signals
            if name in self.episode.signals and len(self.episode[name]) > 3
        }

    def columns(self) -> Iterator[tuple[Place, np.ndarray, float]]:
        """Each column's place, its readings (k,) as recorded, and how far such a column ranges.

        Orientations are left out: their parts mean nothing one by one, and a thing may turn.
        """
        for name, channel in self.channels.items():
            if name in self.survey.turned:
                continue
            for j, column in enumerate(channel.names):
                yield Place(name, column), channel.values[:, j], self.survey.span[name][j]

    @cached_property
    def grid_s(self) -> np.ndarray:
        """(t,) moments one period apart at which every signal can be told."""
        channels = self.channels.values()
        if not channels:
            return np.zeros(0)
        begin = max(c.time_s[0] for c in channels)
        end = min(c.time_s[-1] for c in channels)
        steps = int(np.floor((end - begin) / self.period_s + 1e-6))
        return begin + self.period_s * np.arange(max(steps + 1, 0))

    @cached_property
    def gridded(self) -> dict[str, np.ndarray]:
        """Each signal (t, size) on the grid, between neighbouring readings where needed."""
        return {name: _at(channel, self.grid_s) for name, channel in self.channels.items()}

    @cached_property
    def speed(self) -> np.ndarray:
        """(t - 1,) how fast the robot moves: columns in shares of their span, together, per s."""
        for name in (JOINTS, COMMAND):
            if name in self.gridded:
                moved = np.diff(self.gridded[name], axis=0) / self.survey.span[name]
                return np.linalg.norm(moved, axis=1) / self.period_s
        return np.zeros(0)

    @cached_property
    def pairs(self) -> list[tuple[Place, np.ndarray, np.ndarray, float]]:
        """Each servo: its place, what it was told, where it was (t,), and how far it ranges."""
        if not {COMMAND, JOINTS} <= self.channels.keys():
            return []
        told, seen = self.channels[COMMAND], self.channels[JOINTS]
        where = {column: j for j, column in enumerate(seen.names)}
        return [
            (
                Place(JOINTS, column),
                self.gridded[COMMAND][:, i],
                self.gridded[JOINTS][:, where[column]],
                self.survey.span[JOINTS][where[column]],
            )
            for i, column in enumerate(told.names)
            if column in where
        ]

    @cached_property
    def surprise(self) -> dict[Place, np.ndarray]:
        """(t,) of each measured column what the dataset's own dynamics did not foresee."""
        return {} if self._dynamics is None else self._dynamics.residuals(self.gridded)

    @cached_property
    def touch(self) -> Touch | None:
        """What the world says of the recorded states; none where it cannot."""
        try:
            return None if self._world is None else self._world.of(self.episode)
        except TrueupError:  # one odd episode does not end the judging of all
            return None


def _filled(channel: Channel) -> Channel:
    """Floats; gaps are bridged, because a rule of its own tells of them."""
    values = channel.values.astype(float)
    for column in values.T:
        finite = np.isfinite(column)
        if not finite.all():
            rows = np.flatnonzero(finite)
            known = column[rows] if len(rows) else np.zeros(1)
            column[:] = np.interp(np.arange(len(column)), rows if len(rows) else [0], known)
    if channel.names == QUATERNION:  # q and -q are one orientation
        values *= np.cumprod(np.sign(_turns(values)))[:, None]
    return Channel(values=values, time_s=channel.time_s, unit=channel.unit, names=channel.names)


def _turns(values: np.ndarray) -> np.ndarray:
    """(k,) negative where an orientation is told by the other sign than the one before."""
    along = np.einsum("ij,ij->i", values[1:], values[:-1])
    first = values[:1, 0]
    signs = np.concatenate([first, along])
    return np.where(signs == 0.0, 1.0, signs)


def _at(channel: Channel, time_s: np.ndarray) -> np.ndarray:
    if len(channel) == len(time_s) and np.allclose(channel.time_s, time_s, rtol=0.0, atol=1e-6):
        return channel.values
    rising = np.maximum.accumulate(channel.time_s + 1e-9 * np.arange(len(channel)))
    columns = [np.interp(time_s, rising, column) for column in channel.values.T]
    return np.stack(columns, axis=1)
