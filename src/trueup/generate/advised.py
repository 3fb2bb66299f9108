"""An expert that is asked anew at every moment: it needs no plan, and mends what went astray."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.errors import TrueupError
from trueup.generate.attempts import Attempts
from trueup.generate.drivers import Driver, Standing
from trueup.generate.motion.repertoire import Mistake
from trueup.generate.motion.servos import Servos
from trueup.simulate import CpuWorlds
from trueup.simulate.advice import advised
from trueup.worlds import World, interface_of
from trueup.worlds.scripted_expert import Advice, expert_of

_STRAYS = 4  # times that the commands of an attempt go astray
_SPAN = (0.025, 0.65)  # of the world's own time: from and until when they begin to
_LONG_S = (0.08, 0.28)
_FAR = 1.0  # of what a servo can pull, that its command is off at most


@dataclass(frozen=True, kw_only=True)
class Advisor:
    """A source that says at every moment what to do now, whatever happened before.

    Attributes:
        name: What episodes say that they come from.
        advice: From what the robot reads and what is true to targets for its servos.
    """

    name: str
    advice: Advice


def advisor(world: World) -> Advisor:
    """The expert of a world that can be asked at every moment."""
    advice = expert_of(world)
    if advice is None:
        raise TrueupError(
            f"World {world.name!r} has no expert that could be asked at every moment.",
            fix="Start from its script (--source script), or give the world an expert().",
        )
    if interface_of(world).measured is None:
        raise TrueupError(
            f"World {world.name!r} does not observe the positions of its joints, from which an "
            "expert moves them.",
            fix="Add them to the world's observations, or let a trained policy be the source.",
        )
    return Advisor(name="expert", advice=advice)


class Advised(Driver):
    """Does as it is advised, except where commands are made to go astray.

    For a moment, every servo is told something else than advised, by an amount of its own; then the
    way back is shown from wherever that led. It is what noise does in Laskey et al. (2017), "DART:
    Noise Injection for Robust Imitation Learning", but in stretches that can be left out: a dataset
    holds the commands that were sent.

    Args:
        worlds: The batch.
        advisor: Who is asked.
        mistakes: The share of attempts in which commands go astray.
    """

    def __init__(self, worlds: CpuWorlds, advisor: Advisor, *, mistakes: float = 0.0) -> None:
        world, n = worlds.world, worlds.n
        nu = world.model.nu
        self._worlds, self._advisor, self._share = worlds, advisor, mistakes
        self._measured = str(interface_of(world).measured)
        self._period_s, self._steps = world.control_period_s, world.steps
        self._servos = Servos(world.model, self._period_s)
        self._astray, self._wrong = np.zeros(n, bool), np.zeros(n, bool)
        self._first, self._after = np.zeros((n, _STRAYS)), np.zeros((n, _STRAYS))
        self._off = np.zeros((n, _STRAYS, nu))
        self._told = np.zeros((n, nu))

    def begin(self, rows: np.ndarray, attempts: Attempts) -> None:
        streams, nu = attempts.streams, self._off.shape[2]
        self._astray[rows] = streams.uniform(1)[:, 0] < self._share
        start, long = np.split(streams.uniform(2 * _STRAYS), 2, axis=1)
        first = _between(_SPAN, start) * self._steps
        self._first[rows] = first
        self._after[rows] = first + _between(_LONG_S, long) / self._period_s
        off = 2.0 * streams.uniform(_STRAYS * nu).reshape(-1, _STRAYS, nu) - 1.0
        known = np.isfinite(self._servos.reach)
        self._off[rows] = _FAR * off * np.where(known, self._servos.reach, 0.0)
        self._told[rows] = self._worlds.hold[rows]

    def commands(self, age: np.ndarray) -> np.ndarray:
        worlds = self._worlds
        joints = worlds.observation[self._measured]
        wanted = self._servos.pulled(self._advice(), joints)
        now = (age[:, None] >= self._first) & (age[:, None] < self._after)
        now &= self._astray[:, None]
        wanted = wanted + (now[..., None] * self._off).sum(axis=1)
        self._wrong = np.asarray(now.any(axis=1))
        self._told = self._servos.told(self._told, wanted, joints)
        return self._told.copy()

    def _advice(self) -> np.ndarray:
        fix = "Correct its expert(), or take another source."
        return advised(self._advisor.advice, self._worlds, fix=fix)

    def told(self, row: int) -> dict[str, str]:
        told = {"source": self._advisor.name}
        return told | ({"recovery": Mistake.STRAYED.words} if self._astray[row] else {})

    @property
    def standing(self) -> Standing:
        n = self._worlds.n
        return Standing(
            wrong=self._wrong, back=self._astray, far=np.zeros(n), over=np.zeros(n, bool)
        )


def _between(ends: tuple[float, float], u: np.ndarray) -> np.ndarray:
    return ends[0] + (ends[1] - ends[0]) * u
