"""Pendulums to train: one servo, and two numbers that nobody knows."""

from __future__ import annotations

import numpy as np

from tests.worlds.pendulum import MJCF, Pendulum, damping, mass
from trueup.worlds import Signal

LIMITED = MJCF.replace('kp="20"', 'kp="20" ctrlrange="-2 2"')
SEEN = '<framepos name="goal_seen" objtype="xbody" objname="goal"/></sensor>'


class Swing(Pendulum):
    """Swing beyond half a radian: learned in ten updates, and by luck in none."""

    name = "test/swing"
    summary = "swing beyond half a radian"
    mjcf = LIMITED

    def __init__(self) -> None:
        super().__init__(damping(), mass(), mjcf=self.mjcf)


class Reach(Swing):
    """Go to an angle that is another one in each episode: nothing but looking at it helps."""

    name = "test/reach"
    summary = "go to the angle that is shown"
    observations = (
        *Swing.observations,
        Signal(
            name="goal",
            unit="rad",
            sensors=("goal_seen",),
            function=lambda world, values, found: values[:, :1],
        ),
    )
    mjcf = LIMITED.replace("</sensor>", SEEN)

    def start(self, scene):
        goal = np.zeros((scene.n, 3))
        goal[:, 0] = 2.0 * scene.streams.uniform(1)[:, 0] - 1.0
        return {**super().start(scene), "goal": goal}

    def reward(self, s, action):
        return -abs(self._away(s))

    def success(self, s):
        return abs(self._away(s)) < 0.1

    @staticmethod
    def _away(s):
        return s["swing_position"][:, 0] - s["truth/goal"][:, 0]
