"""The SO-101 alone: no table, nothing to handle. Motions of a bare arm are replayed here."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from array_api_compat import array_namespace

from trueup.effects import Array, Effect, Surface, actuation, latency, operator, sensing
from trueup.worlds.registry import register
from trueup.worlds.scene import Readings, Scene
from trueup.worlds.tabletop import (
    FINGERS,
    JOINT_SIGNALS,
    LINKS,
    TCP_SIGNAL,
    TRUE_TCP,
    near_home,
    tabletop,
)
from trueup.worlds.world import World


@register
class Arm(World):
    """Hold still."""

    name = "so101/arm"
    summary = "The arm alone, nothing to touch but its own foot; it has only to hold still."
    observations = (*JOINT_SIGNALS, TCP_SIGNAL)
    privileged = (TRUE_TCP,)
    episode_s = 2.0
    hold_s = 0.2

    def spec(self) -> mujoco.MjSpec:
        spec = tabletop()
        for pair in [pair for pair in spec.pairs if "table" in (pair.geomname1, pair.geomname2)]:
            spec.delete(pair)
        spec.delete(spec.body("table"))
        spec.add_sensor(
            name="truth/tcp_velocity",
            type=mujoco.mjtSensor.mjSENS_FRAMELINVEL,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            objname="tcp",
        )
        return spec

    def effects(self) -> tuple[Effect, ...]:
        surface = Surface(touching=(*FINGERS, *LINKS))
        return (*operator(), *latency(), *actuation(), *sensing(), surface)

    def start(self, scene: Scene) -> Mapping[str, np.ndarray]:
        return near_home(scene.streams)

    def reward(self, s: Readings, action: Array) -> Array:
        xp = array_namespace(action)
        return 1.0 - xp.tanh(self._speed(s) / 0.1)

    def success(self, s: Readings) -> Array:
        return (self._speed(s) < 0.01) & (s.time > 1.0)

    def _speed(self, s: Readings) -> Array:
        """Of the fingertips, m/s."""
        return (s["truth/tcp_velocity"] ** 2).sum(-1) ** 0.5
