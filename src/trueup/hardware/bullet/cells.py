"""The bodies of a rehearsal robot whose physics is PyBullet's."""

from __future__ import annotations

from trueup.hardware.bullet.worlds import BulletWorlds
from trueup.hardware.reality import Reality
from trueup.hardware.rehearsal.cells import MujocoCells
from trueup.worlds import World


class BulletCells(MujocoCells):
    """Bodies in another engine; commands, readings and verdicts take the same way as in our own.

    Args:
        reality: What they really are.
        world: The world as everybody knows it.
        n: How many.
        period_s: Time between commands; the world's own by default.
        tick_s: Time that one step takes; the period by default.
        threads: CPU threads of what is not PyBullet's.
    """

    def __init__(
        self,
        reality: Reality,
        world: World,
        n: int,
        *,
        period_s: float | None = None,
        tick_s: float | None = None,
        threads: int = 0,
    ) -> None:
        super().__init__(reality, world, n, period_s=period_s, tick_s=tick_s, threads=threads)
        self._worlds = BulletWorlds(self._worlds.compiled, n, threads=threads)
