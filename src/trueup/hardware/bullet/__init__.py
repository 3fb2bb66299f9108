"""A second opinion: the bodies of a rehearsal robot in PyBullet, another engine than our own."""

from trueup.hardware.bullet.cells import BulletCells as BulletCells
from trueup.hardware.bullet.worlds import BulletWorlds as BulletWorlds
