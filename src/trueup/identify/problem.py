"""What a fit makes small: simulated less measured, at many points at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.identify.moving import moving, stir
from trueup.identify.steady import steady
from trueup.identify.wandering import unforeseen
from trueup.replay import Replayer
from trueup.space import Parameter, Space
from trueup.worlds import World

FINEST = 1e-6
"""rad, m or their like: a simulator that meets readings better knows no more by it."""
_STEP = 0.01  # of a finite difference, as a share of the way between a parameter's bounds
_NOTHING = 0.15  # influence below this share of a parameter's largest is left out on the way


@dataclass(frozen=True, kw_only=True)
class Residual:
    """Simulated less measured, at p points.

    Attributes:
        values: (p, N) in units of each column's noise.
        column: (N,) which column of the signals each belongs to.
        episode: (N,) which episode.
        moves: (N,) whether its column was moving then, by what was measured; all where unknown.
    """

    values: np.ndarray
    column: np.ndarray
    episode: np.ndarray
    moves: np.ndarray | None = None


class Problem:
    """Episodes against a world in which some parameters are free.

    Args:
        world: Where the episodes are replayed.
        episodes: What was measured.
        space: The free parameters.
        signals: What to compare.
        window_s: Begin anew at the measured state after each so many seconds; open loop by default.
        wander: How fast encoders wander, rad/√s: what they read is compared with what that leaves.
        coupled: Whether to find out which parameters act on which columns; if not, one that bears a
            joint's name is taken to act on that joint alone, which is quick and nearly so.
        threads: CPU threads; 0 takes all.

    Attributes:
        replayer: Who replays them.
        columns: Names of what is compared, known after the first replay.
        scale: (columns,) what residuals are divided by.
        steps: (d,) how far each parameter is moved for a slope.
        readings: How many are compared, known after the first replay.
    """

    def __init__(
        self,
        world: World,
        episodes: Sequence[Episode],
        space: Space,
        *,
        signals: Sequence[str] = ("joint_position",),
        window_s: float | None = None,
        wander: float = 0.0,
        coupled: bool = True,
        threads: int = 0,
    ) -> None:
        if not len(space):
            raise TrueupError("Nothing is free to be fitted.", fix="Select at least one parameter.")
        self.space, self.signals, self.coupled = space, tuple(signals), coupled
        self.wander = wander
        self.replayer = Replayer(
            steady(world, space),
            episodes,
            space,
            window_s=window_s,
            signals=signals,
            threads=threads,
        )
        self.columns: tuple[str, ...] = ()
        self.scale: np.ndarray = np.ones(0)
        self.steps = _steps(space, self.replayer.compiled.model.opt.timestep)
        self.readings = 0
        self._groups: list[np.ndarray] | None = None
        self._reaches: np.ndarray | None = None
        self._moves: np.ndarray | None = None

    def residual(self, u: np.ndarray) -> Residual:
        """At points (p, d) of the unit cube."""
        replay = self.replayer(self.space.decode(np.clip(u, 0.0, 1.0)))
        values, column, episode, names = [], [], [], {}
        read, stirred = [], []
        for e, tracks in enumerate(replay.tracks):
            for signal, track in tracks.items():
                known = np.isfinite(track.measured)
                for j, name in enumerate(track.names):
                    rows = known[:, j]
                    if not rows.any():  # a joint that was never read tells nothing
                        continue
                    number = names.setdefault((signal, name), len(names))
                    off = track.residual[:, rows, j]
                    if self.wander and signal == JOINTS:
                        period_s = float(np.median(np.diff(track.time_s)))
                        off = unforeseen(off, self.wander, period_s)
                    values.append(off)
                    if self._moves is None:
                        read.append(track.measured[rows, j])
                        stirred.append(stir(read[-1], track.time_s[rows]))
                    column.append(np.full(int(rows.sum()), number))
                    episode.append(np.full(int(rows.sum()), e))
        self.columns = tuple(f"{signal}/{name}" for signal, name in names)
        if len(self.scale) != len(names):
            self.scale = np.ones(len(names))
        columns = np.concatenate(column)
        self.readings = len(columns)
        if self._moves is None:
            self._moves = moving(np.concatenate(stirred), np.concatenate(read), columns)
        # a world that broke down is as bad as can be, but finite
        flat = np.nan_to_num(np.concatenate(values, axis=1), nan=1e3, posinf=1e3, neginf=-1e3)
        return Residual(
            values=flat / self.scale[columns],
            column=columns,
            episode=np.concatenate(episode),
            moves=self._moves,
        )

    def weigh(self, sizes: np.ndarray) -> None:
        """Divide residuals by so many times (columns,) what they were divided by."""
        self.scale = np.maximum(self.scale * sizes, FINEST)

    def jacobian(self, u: np.ndarray, *, exact: bool = False) -> tuple[Residual, np.ndarray]:
        """The residual at one point (d,), and its slope (N, d) along the unit cube.

        Parameters that act on different columns are moved together, so that a robot with many
        similar joints costs as many replays as one joint has parameters. Who acts where is found
        out the first time, by moving each alone. `exact` does so again, and leaves out nothing.
        """
        if not (self.coupled or exact or self._groups):
            if not self.columns:
                self.residual(u[None])  # which tells them
            self._share_out(self._named())
        alone = [np.array([i]) for i in range(len(self.space))]
        groups = alone if exact else self._groups or alone
        steps = np.where(u + self.steps > 1.0, -self.steps, self.steps)
        rows = [u]
        for group in groups:
            moved = u.copy()
            moved[group] += steps[group]
            rows.append(moved)
        found = self.residual(np.array(rows))
        slopes = np.zeros((found.values.shape[1], len(u)))
        for group, values in zip(groups, found.values[1:], strict=True):
            change = values - found.values[0]
            for i in group:
                mine = slice(None)
                if self._reaches is not None and len(group) > 1:
                    mine = self._reaches[i][found.column]
                slopes[mine, i] = change[mine] / steps[i]
        if self._groups is None:
            self._group(slopes, found.column)
        here = replace(found, values=found.values[:1])
        return here, slopes

    def _group(self, slopes: np.ndarray, column: np.ndarray) -> None:
        """Which parameters act on disjoint columns, and may so be moved together."""
        power = np.stack(
            [np.sqrt((slopes[column == c] ** 2).mean(axis=0)) for c in range(len(self.columns))],
            axis=1,
        )
        self._share_out(power > _NOTHING * np.maximum(power.max(axis=1, keepdims=True), 1e-12))

    def _named(self) -> np.ndarray:
        """(d, columns) which columns each parameter is named after; all, if it is after none."""
        joints = [name.rsplit("/", 1)[-1] for name in self.columns]
        named = np.array([[joint in p.name.split("/") for joint in joints] for p in self.space])
        return named | ~named.any(axis=1, keepdims=True)

    def _share_out(self, reaches: np.ndarray) -> None:
        """Put parameters together whose columns (d, columns) have none in common."""
        groups: list[list[int]] = []
        for i in np.argsort(-reaches.sum(axis=1), kind="stable"):
            for group in groups:
                if not (reaches[group].any(axis=0) & reaches[i]).any():
                    group.append(int(i))
                    break
            else:
                groups.append([int(i)])
        self._groups = [np.array(group) for group in groups]
        self._reaches = reaches


def is_delay(p: Parameter) -> bool:
    """Whether a parameter says how late something is; how soon rest tells in friction is none."""
    return p.unit == "s" and p.scale == "linear"


def _steps(space: Space, timestep_s: float) -> np.ndarray:
    """(d,) how far each parameter is moved for a slope; a delay by more than a physics step."""
    least = [1.2 * timestep_s / (p.high - p.low) if is_delay(p) else 0.0 for p in space]
    return np.maximum(np.array(least), _STEP)
