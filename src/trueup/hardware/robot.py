"""The robot contract: what every body that a policy drives must offer, real or rehearsed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Self

import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.clock import Clock
from trueup.policies import Interface


class RobotLost(TrueupError):
    """A robot that no longer answers: unplugged, powered off, or its process ended."""


class Robot(ABC):
    """n bodies that are observed and commanded together; a real arm is one.

    The order of a session: `connect` (nothing moves, torque is off), `observe` as often as wanted,
    `enable` (torque on, holding where it is), `act` and `observe` at `interface.period_s`,
    `disable`, `disconnect`. Everything is in SI units and in the order that `interface` declares;
    a driver converts at its door. A robot that stops answering raises `RobotLost`.

    Attributes:
        name: What to call it in messages, e.g. `SO-101 on /dev/ttyACM0`.
        kind: What it is in one word, for the origin of recordings: `rehearsal`, `so101`.
        real: Whether matter moves. Nothing of trueup enables a real robot without being told to.
        n: How many bodies.
        interface: What it observes and takes, with units, limits and rate.
        columns: The name of each number of each observation.
        clock: The time it lives by.
    """

    name: str
    kind: str = "robot"
    real: bool
    n: int
    interface: Interface
    columns: Mapping[str, tuple[str, ...]]
    clock: Clock

    @abstractmethod
    def connect(self) -> None:
        """Open the connection. Nothing moves; torque stays off."""

    @abstractmethod
    def disconnect(self) -> None:
        """Torque off, then close the connection. Calling it twice does no harm."""

    @abstractmethod
    def enable(self) -> None:
        """Torque on, every servo holding where it is now."""

    @abstractmethod
    def disable(self) -> None:
        """Torque off."""

    @abstractmethod
    def observe(self) -> dict[str, np.ndarray]:
        """What it senses now, (n, size) by name."""

    @abstractmethod
    def act(self, commands: np.ndarray) -> np.ndarray:
        """Send one position target per servo, (n, nu); what was really sent, limits applied.

        Returns at once: the robot moves while time passes on its clock.
        """

    @abstractmethod
    def reset(self, seeds: np.ndarray | None = None, rows: np.ndarray | None = None) -> None:
        """Bring some bodies, or all, and what they work on, to where an episode begins.

        A rehearsal robot does it in no time, and puts things where the seeds (n,) say. A person
        does it at a real arm, which only goes to its rest pose here.
        """

    @property
    @abstractmethod
    def hold(self) -> np.ndarray:
        """(n, nu) the commands that keep every servo where it was last told to be."""

    def verdict(self) -> dict[str, np.ndarray] | None:
        """What somebody standing beside it would say: `success` and `over`, each (n,) bool.

        None where nobody can tell but the operator.
        """
        return None

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()
