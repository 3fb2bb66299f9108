"""What is to be played: the commands of some episodes, where each run begins, what it must answer.

Time is local to a run from here on: step 0 is where its physics begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND
from trueup.replay.matching import command_columns
from trueup.worlds import World

_SAME = 1e-6  # of a step: rounding of times that are meant to be equal


@dataclass(frozen=True, kw_only=True)
class Part:
    """One episode of a score.

    Attributes:
        command_s: (c,) when each command was sent.
        commands: (c, nu) in the world's order.
        time_s: (m,) when any signal was read, each time once.
        starts_s: (r,) where runs begin at the measured state.
        run: (m,) which of them each reading belongs to.
    """

    command_s: np.ndarray
    commands: np.ndarray
    time_s: np.ndarray
    starts_s: np.ndarray
    run: np.ndarray


def part_of(
    world: World, episode: Episode, time_s: Sequence[np.ndarray], window_s: float | None
) -> Part:
    """An episode as commands, the times at which it is to be read, and runs from the first on.

    Windows begin at readings, at the first one after each multiple of `window_s`. A reading at
    which a window begins is the last of the window before it, whose error is largest there.
    """
    channel = episode[COMMAND]
    times = np.unique(np.concatenate(time_s))
    starts = times[:1]
    if window_s is not None:
        due = np.arange(times[0], times[-1], window_s)
        starts = np.unique(times[np.searchsorted(times, due - 1e-9)])
        starts = starts[starts < times[-1]] if len(times) > 1 else starts
    run = np.maximum(np.searchsorted(starts, times, side="left") - 1, 0)
    return Part(
        command_s=channel.time_s,
        commands=np.asarray(channel.values, float)[:, command_columns(world, episode)],
        time_s=times,
        starts_s=starts,
        run=run,
    )


@dataclass(frozen=True, kw_only=True)
class Score:
    """Several parts as flat arrays: R runs, Q readings, C commands.

    Attributes:
        parts: The episodes.
        episode: (R,) of each run.
        start_s: (R,) where each run is at the measured state, by the episode's clock.
        end_s: (R,) its last reading.
        run: (Q,) of each reading, all episodes in a row.
        time_s: (Q,) of each reading, by the episode's clock.
        first: (E + 1,) where the readings of each episode begin.
        command_first: (E + 1,) where the commands of each episode begin.
    """

    parts: tuple[Part, ...]
    episode: np.ndarray
    start_s: np.ndarray
    end_s: np.ndarray
    run: np.ndarray
    time_s: np.ndarray
    first: np.ndarray
    command_first: np.ndarray

    @property
    def runs(self) -> int:
        """How many runs."""
        return len(self.episode)

    @property
    def first_s(self) -> np.ndarray:
        """(R,) the first reading of each run's episode: nothing is known before it."""
        return np.array([part.time_s[0] for part in self.parts])[self.episode]


def score_of(parts: Sequence[Part]) -> Score:
    """Parts laid end to end."""
    counts = [len(part.starts_s) for part in parts]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    run = np.concatenate([part.run + at for part, at in zip(parts, offsets[:-1], strict=True)])
    time_s = np.concatenate([part.time_s for part in parts])
    start_s = np.concatenate([part.starts_s for part in parts])
    end_s = start_s.copy()
    np.maximum.at(end_s, run, time_s)
    return Score(
        parts=tuple(parts),
        episode=np.repeat(np.arange(len(parts)), counts),
        start_s=start_s,
        end_s=end_s,
        run=run,
        time_s=time_s,
        first=np.concatenate([[0], np.cumsum([len(part.time_s) for part in parts])]),
        command_first=np.concatenate([[0], np.cumsum([len(part.command_s) for part in parts])]),
    )


def whole_steps(elapsed_s: np.ndarray, step_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps passed, and the share of the next one; a hair's breadth from a step counts as on it."""
    steps = elapsed_s / step_s
    below = np.floor(steps + _SAME)
    share = steps - below
    return below.astype(int), np.where(share < _SAME, 0.0, share)
