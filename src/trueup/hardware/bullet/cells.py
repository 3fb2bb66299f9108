"""The bodies of a rehearsal robot whose physics is PyBullet's."""

from __future__ import annotations

from trueup.hardware.bullet.worlds import BulletWorlds
from trueup.hardware.rehearsal.cells import MujocoCells


class BulletCells(MujocoCells):
    """Bodies in another engine; commands, readings and verdicts take the same way as in our own."""

    engine = BulletWorlds
