"""Who performs an attempt: an expert with legs to carry, or a trained policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.episodes.consent.register import PARTICIPANT
from trueup.errors import TrueupError
from trueup.evaluate import check_fit
from trueup.generate.attempts import Attempts
from trueup.generate.motion.frames import azimuth, face_yaw
from trueup.generate.motion.legs import Source
from trueup.generate.motion.nudges import Nudges
from trueup.generate.motion.performer import TRIES, Performer
from trueup.generate.motion.repertoire import Mistake, Repertoire
from trueup.generate.motion.senses import Knows, Senses
from trueup.policies import Policy
from trueup.simulate import CpuWorlds
from trueup.streams import Streams
from trueup.worlds import World
from trueup.worlds.tabletop import PAN_AXIS_X


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where n attempts stand.

    Attributes:
        wrong: (n,) whether the commands now are a mistake, which nobody should learn.
        back: (n,) whether the attempt had, or will have, to find its way back.
        far: (n,) m that the arm lacked to where it was to close its hand.
        over: (n,) whether there is nothing left to do.
    """

    wrong: np.ndarray
    back: np.ndarray
    far: np.ndarray
    over: np.ndarray


class Driver(ABC):
    """Commands n worlds, each in an attempt of its own."""

    @abstractmethod
    def begin(self, rows: np.ndarray, attempts: Attempts) -> None:
        """Start attempts in some worlds, which were just reset."""

    @abstractmethod
    def commands(self, age: np.ndarray) -> np.ndarray:
        """(n, nu) what to send now, by the control steps (n,) since each attempt began."""

    @property
    @abstractmethod
    def standing(self) -> Standing:
        """How the attempts stand after the last commands."""

    @abstractmethod
    def told(self, row: int) -> dict[str, str]:
        """How a row was performed, in words: its source, who is in that, and its mistake."""


class Expert(Driver):
    """Carries the legs of sources to wherever the things of each world are.

    Args:
        worlds: The batch.
        sources: Demonstrations.
        knows: What it goes by.
        mistakes: The share of attempts with a mistake.
    """

    def __init__(
        self,
        worlds: CpuWorlds,
        sources: Sequence[Source],
        *,
        knows: Knows = "sensors",
        mistakes: float = 0.0,
    ) -> None:
        self._worlds, self._share = worlds, mistakes
        self._senses = Senses(worlds, knows)
        self._repertoire = Repertoire(sources, worlds.world.control_period_s)
        self._performer = Performer(
            worlds.world, self._repertoire.library, worlds.n, most=self._repertoire.most
        )
        self._nudges = Nudges(worlds, self._senses.things.thing)
        self._ranked = np.zeros((worlds.n, len(sources)), int)
        self._mistake = np.zeros(worlds.n, int)

    def begin(self, rows: np.ndarray, attempts: Attempts) -> None:
        streams = attempts.streams
        sensed = self._senses()
        place = sensed.object_place[rows]
        reach = np.hypot(place[:, 0] - PAN_AXIS_X, place[:, 1])
        turn = face_yaw(sensed.object_quat[rows]) - azimuth(place)
        ranked = self._repertoire.ranked(streams, reach, turn)
        mistake = self._mistakes(streams)
        self._ranked[rows], self._mistake[rows] = ranked, mistake
        plans = self._repertoire.plans(ranked, mistake, streams)
        self._performer.begin(rows, plans, self._worlds.hold[rows], mistake != Mistake.NONE)
        self._nudges.begin(rows, mistake, streams)

    def _mistakes(self, streams: Streams) -> np.ndarray:
        u = streams.uniform(2)
        kinds = np.array(self._repertoire.mistakes)
        which = kinds[np.minimum((u[:, 1] * len(kinds)).astype(int), len(kinds) - 1)]
        return np.where(u[:, 0] < self._share, which, Mistake.NONE)

    def commands(self, age: np.ndarray) -> np.ndarray:
        self._nudges.apply(age)
        return self._performer(self._senses())

    def told(self, row: int) -> dict[str, str]:
        mistake = Mistake(int(self._mistake[row]))
        retried = bool(self._performer.retried[row])
        used = [self._repertoire.sources[i] for i in self._ranked[row, : 1 + retried * TRIES]]
        told = {"source": used[0].name}
        people = dict.fromkeys(name for source in used for name in source.people)
        if people:
            told[PARTICIPANT] = " ".join(people)
        if mistake is not Mistake.NONE:
            told["recovery"] = mistake.words
        elif retried:
            told["recovery"] = "grasp repeated"
        return told

    @property
    def standing(self) -> Standing:
        performer = self._performer
        return Standing(
            wrong=performer.wrong,
            back=(self._mistake != Mistake.NONE) | performer.retried,
            far=performer.far,
            over=performer.over,
        )


class Piloted(Driver):
    """A trained policy, which goes by what it observes.

    Args:
        worlds: The batch.
        policy: Its contract must fit the world.
    """

    def __init__(self, worlds: CpuWorlds, policy: Policy) -> None:
        check_fit(policy, worlds.world)
        self._worlds, self._policy = worlds, policy
        self._pilot = policy.pilot(worlds.n)
        none = np.zeros(worlds.n, bool)
        self._standing = Standing(wrong=none, back=none, far=np.zeros(worlds.n), over=none)

    def begin(self, rows: np.ndarray, attempts: Attempts) -> None:
        self._pilot.begin(self._worlds.observation, self._worlds.hold, rows)

    def commands(self, age: np.ndarray) -> np.ndarray:
        return self._pilot(self._worlds.observation).astype(np.float32).astype(float)

    def told(self, row: int) -> dict[str, str]:
        return {"source": self._policy.name}

    @property
    def standing(self) -> Standing:
        return self._standing


def check_world(world: World) -> None:
    """Refuse a world whose observations an expert could not act on."""
    names = [signal.name for signal in world.observations]
    for needed in ("joint_position", "tcp_position"):
        if needed not in names:
            raise TrueupError(
                f"World {world.name!r} does not observe {needed!r}, which an expert goes by.",
                fix="Add it to the world's observations, or let a trained policy be the source.",
            )
