"""How long after a command a joint begins to move, from what a running loop recorded.

A servo follows its command late even without any delay, for it has inertia, damping and friction.
So the delay is found together with these: the recorded commands are played open loop in the nominal
world, and one delay for all joints, with stiffness, damping and friction of each, is fitted to
where the joints were (Gauss-Newton, all variations in one batch, priors as the world's space has
them). Only the first moments of each episode are used, before a hand touches much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from trueup.episodes.episode import COMMAND, JOINTS, Episode
from trueup.simulate import CpuWorlds
from trueup.space import Points, Space
from trueup.worlds import Compiled, Scene, World

DELAY = "latency/action_delay"
_SERVO = ("kp", "damping", "frictionloss")
_WINDOW_S = 1.2
_MOST = 4  # episodes
_LEAST_RAD = 0.05  # motion below this says nothing
_ROUNDS = 7
_FIRST_S, _DONE_S = 0.03, 1e-4  # where the search begins, and the step at which it ends
_NUDGE_S, _NUDGE = 0.002, 0.03  # of the delay, and of the logarithms of the others
_NOISE_RAD = 0.004
_ALIKE = 5.0  # neighbouring errors are alike, and count as this many times fewer
_TOUCH_RAD = 0.015  # errors beyond this have other causes
_AWAY_M = 3.0


@dataclass(frozen=True, kw_only=True)
class Settle:
    """From sending a command until a joint moves.

    The age of readings when they come is in it too: commands and readings alone cannot tell a
    servo that waits from an encoder that is late, and a policy feels both alike.

    Attributes:
        delay_s: The delay that fits best.
        std_s: How sure that is: standard deviation, given the model.
        misfit_rad: Root mean square of what is left, of errors that count.
        episodes: How many it rests on.
    """

    delay_s: float
    std_s: float
    misfit_rad: float
    episodes: int


def settle(episodes: Sequence[Episode], world: World) -> Settle | None:
    """The delay that fits the episodes of one robot best; none where there is nothing to fit."""
    chosen = [e for e in episodes if COMMAND in e.signals and JOINTS in e.signals]
    chosen = [e for e in chosen if len(e[JOINTS]) > 10 and _moved(e)][:_MOST]
    if not chosen or DELAY not in world.catalogue:
        return None
    return _Fit(chosen, world).settle()


def _moved(episode: Episode) -> bool:
    """Whether an arm was told to go anywhere, and went."""
    return all(
        np.ptp(episode[name].values, axis=0).max() > _LEAST_RAD for name in (COMMAND, JOINTS)
    )


class _Fit:
    """Variations of one servo model, played side by side against some episodes."""

    def __init__(self, episodes: Sequence[Episode], world: World) -> None:
        self.step_s = float(world.model.opt.timestep)
        names = [f"actuation/{j}/{q}" for q in _SERVO for j in world.commands]
        known = [world.catalogue[name] for name in names if name in world.catalogue]
        self.space, self.longest_s = Space(tuple(known)), world.catalogue[DELAY].high
        self.nominal = np.array([p.nominal for p in known])
        self.spread = np.array([_log_spread(p) for p in known])
        self.played = [_Played(episode, self.step_s) for episode in episodes]
        self.steps = max(p.steps for p in self.played)
        rows = (2 + len(known)) * len(episodes)
        begin = np.tile([p.begin for p in self.played], (2 + len(known), 1))
        fine = _bare(world, self.step_s, begin)
        self.worlds = CpuWorlds(Compiled(fine, self.space), rows)

    def settle(self) -> Settle:
        theta = np.concatenate([[_FIRST_S], np.zeros(len(self.nominal))])
        prior = np.concatenate([[0.0], 1.0 / self.spread**2])
        for _ in range(_ROUNDS):
            error, slope = self._around(theta)
            weighed = slope.T * _weights(error)
            normal = weighed @ slope + np.diag(prior)
            step = np.linalg.solve(normal, weighed @ error + prior * theta)
            theta = theta - np.clip(step, *_strides(len(step)))
            theta[0] = np.clip(theta[0], 0.0, self.longest_s)
            theta[1:] = np.clip(theta[1:], -3.0 * self.spread, 3.0 * self.spread)
            if abs(step[0]) < _DONE_S:
                break
        error, slope = self._around(theta)
        weights = _weights(error)
        misfit = float(np.sqrt(np.average(error**2, weights=weights)))
        worse = max(1.0, misfit / _NOISE_RAD) ** 2
        covariance = np.linalg.inv((slope.T * weights / worse) @ slope + np.diag(prior))
        return Settle(
            delay_s=float(theta[0]),
            std_s=float(np.sqrt(covariance[0, 0])),
            misfit_rad=misfit,
            episodes=len(self.played),
        )

    def _around(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Errors (r,) at theta, and how they change with each of its numbers (r, k)."""
        nudges = np.concatenate([[_NUDGE_S], np.full(len(theta) - 1, _NUDGE)])
        varied = np.concatenate([theta[None], theta + np.diag(nudges)])
        paths = self._played_paths(varied)
        errors = np.stack(
            [
                np.concatenate(
                    [p.error(paths[:, k * len(self.played) + e]) for e, p in enumerate(self.played)]
                )
                for k in range(len(varied))
            ]
        )
        return errors[0], ((errors[1:] - errors[0]) / nudges[:, None]).T

    def _played_paths(self, varied: np.ndarray) -> np.ndarray:
        """(steps + 1, rows, nu) where the joints of every variation (v, k) are."""
        servos = self.nominal * np.exp(varied[:, 1:])
        servos = np.clip(servos, [p.low for p in self.space], [p.high for p in self.space])
        points = Points(self.space.names, np.repeat(servos, len(self.played), axis=0))
        self.worlds.reset(points, np.zeros(len(points), np.uint64))
        told = [p.commands(self.steps, late_s) for late_s in varied[:, 0] for p in self.played]
        seen = [self.worlds.observation[JOINTS]]
        for commands in np.stack(told, axis=1):
            seen.append(self.worlds.step(commands).observation[JOINTS])
        return np.stack(seen)


class _Played:
    """One episode's commands and readings, from its beginning."""

    def __init__(self, episode: Episode, step_s: float) -> None:
        told, seen = episode[COMMAND], episode[JOINTS]
        self._step_s, first = step_s, min(told.time_s[0], seen.time_s[0])
        inside = seen.time_s <= first + _WINDOW_S
        self._seen_s, self._seen = seen.time_s[inside] - first, seen.values[inside]
        self._told_s, self._told = told.time_s - first, told.values
        self.begin = seen.values[0]
        self.steps = int(np.ceil(self._seen_s[-1] / step_s)) + 1

    def commands(self, steps: int, late_s: float) -> np.ndarray:
        """(steps, nu) late, and averaged over each step, so that no time is rounded."""
        edges = self._step_s * np.arange(steps + 1) - late_s
        at = np.concatenate([[-1.0], self._told_s, [1e6]])
        held = np.concatenate([self.begin[None], self._told])  # before, it stood still
        sums = np.concatenate(
            [np.zeros_like(held[:1]), np.cumsum(held * np.diff(at)[:, None], axis=0)]
        )
        each = [np.diff(np.interp(edges, at, column)) for column in sums.T]
        return np.stack(each, axis=1) / self._step_s

    def error(self, path: np.ndarray) -> np.ndarray:
        """(r,) of a path (steps + 1, nu), at the times of the readings, begun where they begin."""
        times = self._step_s * np.arange(len(path))
        where = np.stack([np.interp(self._seen_s, times, column) for column in path.T], axis=1)
        off = where - self._seen
        return (off - off[:1]).ravel()


def _bare(world: World, step_s: float, begin: np.ndarray) -> World:
    """The world commanded at every physics step, its arms at some poses, all loose things away."""
    model = world.model
    joints = [model.joint(int(j)).name for j in model.actuator_trnid[:, 0]]
    free = [
        model.joint(j).name
        for j in range(model.njnt)
        if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE.value
    ]

    def start(self: World, scene: Scene) -> Mapping[str, np.ndarray]:
        away = np.array([-_AWAY_M, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0])
        found = {name: begin[: scene.n, k : k + 1] for k, name in enumerate(joints)}
        return found | {name: np.tile(away, (scene.n, 1)) for name in free}

    members: dict[str, Any] = {
        "start": start,
        "control_period_s": step_s,
        "failure": World.failure,
        "__module__": __name__,
    }
    made = type(f"Bare{type(world).__name__}", (type(world),), members)()
    made.model = model  # the nominal model is the same, and costs time to compile
    return made


def _log_spread(parameter: Any) -> float:
    """How far its prior spreads, as a standard deviation of the logarithm."""
    low, high = parameter.quantile(np.array([0.0, 1.0]))
    return float(np.log(high / low)) / 12**0.5


def _weights(error: np.ndarray) -> np.ndarray:
    """What each error counts: next to nothing where a hand has met something (Cauchy)."""
    return 1.0 / (_NOISE_RAD**2 * _ALIKE * (1.0 + (error / _TOUCH_RAD) ** 2) ** 2)


def _strides(k: int) -> tuple[np.ndarray, np.ndarray]:
    longest = np.concatenate([[0.03], np.full(k - 1, 0.3)])
    return -longest, longest
