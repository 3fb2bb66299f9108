"""What a motion may be before anyone records it: inside the envelope, above the table."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace

import mujoco
import numpy as np

from trueup.errors import TrueupError
from trueup.hardware import TABLETOP
from trueup.record import Body, Envelope, Excitation, Holds, Phase, Plan, Situation, Unsafe
from trueup.record.motions.excitation import way
from trueup.record.motions.hand import SITE
from trueup.worlds import World
from trueup.worlds.answers import spec_of
from trueup.worlds.kinematics import ForwardKinematics

_QUICK = 0.97  # of what the envelope allows: rounding must not decide
_SMALLEST_RAD = 0.05  # a motion that moves no joint this far is none
_INSIDE_M = 0.03  # from the sides of the box that the guard watches
_SOLID_GROUP = 3


class Safety:
    """Makes motions as large as they may be, and knows which ways between poses are free.

    A world without a table gets one under its foot, as most robots stand on something.

    Args:
        world: The robot and what it stands on.
        body: Its servos.
        period_s: Time between commands.
        objects: (7,) poses of things that were seen, by body.
        floor_m: How high the table is, where the world has none.
    """

    def __init__(
        self,
        world: World,
        body: Body,
        period_s: float,
        *,
        objects: Mapping[str, np.ndarray] | None = None,
        floor_m: float = 0.0,
    ) -> None:
        self.body, self.period_s = body, period_s
        self.objects = {name: np.atleast_2d(pose) for name, pose in (objects or {}).items()}
        self.envelope = Envelope(with_floor(world, body, floor_m), body=body)
        self._ways: dict[tuple[float, ...], bool] = {}
        sites = {world.model.site(i).name for i in range(world.model.nsite)}
        self._hand = ForwardKinematics(world.model, SITE, body.joints) if SITE in sites else None

    def fitted(self, motion: Excitation) -> Excitation | None:
        """The largest version of a motion that is safe from the ready pose and back, if any."""
        try:
            motion = self._slowed(self._slowed(motion))
            return self._shrunk(motion)
        except TrueupError:
            return None

    def plan(self, motion: Excitation) -> Plan:
        """The motion from its centre, and back there."""
        return motion.planned(self.at(np.array(motion.center_rad or self.body.ready)))

    def free(self, start: np.ndarray, end: np.ndarray) -> bool:
        """Whether the slow way from pose (nu,) to pose meets nothing."""
        key = (*start, *end)
        if key not in self._ways:
            path = np.concatenate([start[None], way(start, end, self.period_s)])[:, None]
            phases = (Phase(name="way", first=0, end=len(path)),)
            plan = Plan(motion=Holds(), period_s=self.period_s, path=path, phases=phases)
            self._ways[key] = self._is_safe(plan, self.at(start))
        return self._ways[key]

    def way_s(self, start: np.ndarray, end: np.ndarray) -> float:
        """How long that way takes."""
        return self.period_s * len(way(start, end, self.period_s))

    # --------------------------------------------------------------------------------------------

    def at(self, pose: np.ndarray) -> Situation:
        """The robot at rest in a pose (nu,)."""
        return Situation(
            world=self.envelope.world,
            body=self.body,
            period_s=self.period_s,
            start=np.array([pose], float),
            objects=self.objects,
        )

    def _slowed(self, motion: Excitation) -> Excitation:
        """Each joint's amplitude as its own speed and acceleration allow."""
        path = self.plan(motion).path[:, 0]
        columns = self.body.columns(motion.joints)
        margins, share = self.envelope.margins, np.ones(len(columns))
        for order, limits, part in (
            (1, self.body.speed, margins.speed_share),
            (2, self.body.acceleration, margins.acceleration_share),
        ):
            rate = np.abs(np.diff(path, n=order, axis=0)).max(axis=0) / self.period_s**order
            allowed = _QUICK * part * np.array(limits)[columns]
            share = np.minimum(share, allowed / np.maximum(rate[columns], 1e-9))
        sizes = np.broadcast_to(motion.amplitude_rad, len(columns)) * share
        return replace(motion, amplitude_rad=tuple(float(size) for size in sizes))

    def _shrunk(self, motion: Excitation) -> Excitation | None:
        # from the ready pose and back: where a plan begins and ends, the envelope forgives more
        ready = np.array(self.body.ready)
        situation, end = self.at(ready), ready[None]
        try:
            self.envelope.checked(motion, situation, end=end)
        except Unsafe as refusal:
            if refusal.scale is None:
                return None
            motion = motion.scaled(refusal.scale)
        large = max(motion.amplitude_rad) >= _SMALLEST_RAD
        safe = large and self._is_safe(motion.planned(situation, end=end), situation)
        return motion if safe else None

    def _is_safe(self, plan: Plan, situation: Situation) -> bool:
        if self._hand is not None:
            places = self._hand(plan.path[:, 0])
            low, high = np.array(TABLETOP.low) + _INSIDE_M, np.array(TABLETOP.high) - _INSIDE_M
            if ((places < low) | (places > high)).any():
                return False
        return not self.envelope.findings(plan, situation)


def with_floor(world: World, body: Body, height_m: float) -> World:
    """The world itself where something fixed is around the robot, else with a plane below it."""
    model = world.model
    if _surroundings(model, body) or _lowest(model, body) < 0.0:
        return world
    spec = spec_of(world)
    spec.worldbody.add_geom(
        name="floor of the design",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[1.0, 1.0, 0.02],
        pos=[0.0, 0.0, height_m],
        contype=0,
        conaffinity=0,
        group=_SOLID_GROUP,
    )
    floored = copy(world)
    vars(floored)["model"] = spec.compile()
    return floored


def _surroundings(model: mujoco.MjModel, body: Body) -> bool:
    """Whether anything stands fixed that does not carry the robot."""
    carrying = set()
    for name in body.joints:
        link = int(model.jnt_bodyid[model.joint(name).id])
        while link := int(model.body_parentid[link]):
            carrying.add(link)
    fixed = model.body_weldid[model.geom_bodyid] == 0
    return any(int(model.geom_bodyid[geom]) not in carrying for geom in np.flatnonzero(fixed))


def _lowest(model: mujoco.MjModel, body: Body) -> float:
    """Height of the lowest joint, ready: a robot that reaches below its foot gets no floor."""
    data = mujoco.MjData(model)
    joints = [model.joint(name).id for name in body.joints]
    data.qpos[model.jnt_qposadr[joints]] = body.ready
    mujoco.mj_kinematics(model, data)
    return float(data.xanchor[joints, 2].min())
