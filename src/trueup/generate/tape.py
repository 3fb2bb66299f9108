"""What is recorded of attempts while they run: as a robot records it, at the control rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.episodes import Channel
from trueup.simulate import CpuWorlds
from trueup.worlds import World, columns_of, interface_of

COMMAND = "command"
_PRIVILEGED = "privileged."  # a name with a dot is LeRobot's key as it stands


@dataclass(frozen=True, kw_only=True)
class Taped:
    """One attempt as it was recorded.

    Attributes:
        time_s: (k,) when each reading was taken, and the command sent that answers it.
        signals: By name, all on one clock.
        wrong: Control steps from and to which the commands were a mistake, as pairs in one row.
    """

    time_s: np.ndarray
    signals: dict[str, Channel]
    wrong: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.time_s)


class Tape:
    """Signals of n worlds, each on its own clock, in memory of a fixed size.

    Args:
        world: Whose observations.
        n: Worlds.
        longest: Control steps of the longest attempt.
        privileged: Record also what only the simulator knows, under names of its own.
    """

    def __init__(self, world: World, n: int, longest: int, *, privileged: bool) -> None:
        self._columns = columns_of(world)
        self._units = {signal.name: signal.unit for signal in world.observations}
        self._privileged = world.privileged if privileged else ()
        sizes = world.sizes(self._privileged)
        for signal in self._privileged:
            name = f"{_PRIVILEGED}{signal.name}"
            self._units[name] = signal.unit
            self._columns[name] = tuple(str(i) for i in range(sizes[signal.name]))
        interface = interface_of(world)
        self._units[COMMAND], self._columns[COMMAND] = interface.unit[0], interface.commands
        self._signals = {
            name: np.zeros((n, longest, len(names)), np.float32)
            for name, names in self._columns.items()
        }
        self._time_s = np.zeros((n, longest))
        self._wrong = np.zeros((n, longest), bool)

    def privileged(self, worlds: CpuWorlds) -> dict[str, np.ndarray]:
        """What only the simulator knows now, where that is recorded."""
        if not self._privileged:
            return {}
        return {f"{_PRIVILEGED}{name}": values for name, values in worlds.privileged.items()}

    def add(
        self,
        rows: np.ndarray,
        step: np.ndarray,
        observation: dict[str, np.ndarray],
        command: np.ndarray,
        time_s: np.ndarray,
        wrong: np.ndarray,
    ) -> None:
        """Keep one step of some worlds, each at its own place (len(rows),)."""
        for name, kept in self._signals.items():
            values = command if name == COMMAND else observation[name]
            kept[rows, step] = values[rows]
        self._time_s[rows, step] = time_s[rows]
        self._wrong[rows, step] = wrong[rows]

    def taken(self, row: int, steps: int) -> Taped:
        """The first steps of one world."""
        wrong = np.diff(self._wrong[row, :steps], prepend=False, append=False)
        time_s = self._time_s[row, :steps].copy()
        return Taped(
            time_s=time_s,
            signals={
                name: Channel(
                    values=kept[row, :steps].copy(),
                    time_s=time_s,
                    unit=self._units[name],
                    names=self._columns[name],
                )
                for name, kept in self._signals.items()
            },
            wrong=tuple(np.flatnonzero(wrong).tolist()),
        )
