"""Linkage: the part of actuation that stands between a servo and its link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import mujoco
import numpy as np

from trueup.effects import anatomy
from trueup.effects.effect import Effect, Values, Write
from trueup.effects.plausible import Around, Factor, UpTo
from trueup.space import Parameter, Space


@dataclass(frozen=True, kw_only=True)
class Stribeck(Effect):
    """Extra friction near standstill that fades as the joint moves (LuGre bristles).

    Comes on top of Coulomb friction, as a passive LuGre device on the joint; MuJoCo integrates the
    bristles with the physics.
    """

    optional: ClassVar[bool] = True
    joints: str = "*"

    give: ClassVar[float] = 0.002  # rad; how far the bristles bend before the joint breaks away
    floor: ClassVar[float] = 0.02  # share of the torque that stays at speed; LuGre divides by it

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        torque, velocity = UpTo(limit=0.3, usual=0.05), Factor(limit=8.0, usual=1.5)
        return tuple(
            parameter
            for joint in anatomy.driven_joints(model, self.joints)
            for parameter in (
                torque.parameter(
                    name=f"actuation/{joint}/stribeck_torque",
                    unit="N·m",
                    nominal=0.0,
                    source="breakaway above Coulomb friction; geared hobby servos: 0.02 to 0.3",
                ),
                velocity.parameter(
                    name=f"actuation/{joint}/stribeck_velocity",
                    unit="rad/s",
                    nominal=0.1,
                    source="Stribeck velocities of small gearboxes lie between 0.01 and 1 rad/s",
                ),
            )
        )

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        for joint in _free_joints(space, "stribeck_torque"):
            device = spec.add_actuator(name=f"{joint}_lugre", target=joint)
            device.trntype = mujoco.mjtTrn.mjTRN_JOINT
            device.set_to_dcmotor(
                motorconst=[0.0, 0.0],
                resistance=1.0,
                lugre=[1.0, 0.0, 0.001, 0.001, 0.1],
                ctrlspec=mujoco.mjtCtrlInput.mjINPUT_NONE.value,
            )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        devices = {
            joint: f"{joint}_lugre"
            for joint in anatomy.driven_joints(model, self.joints)
            if anatomy.identity(model, "actuator", f"{joint}_lugre") >= 0
        }
        torques = [f"actuation/{joint}/stribeck_torque" for joint in devices]
        velocities = [f"actuation/{joint}/stribeck_velocity" for joint in devices]

        def torque(p: Values) -> np.ndarray:
            return np.maximum(p.stack(torques), 1e-6)

        places = (
            ("actuator_dynprm", 5, lambda p: torque(p) / self.give),  # bristle stiffness
            ("actuator_biasprm", 3, lambda p: self.floor * torque(p)),  # Coulomb
            ("actuator_biasprm", 4, torque),  # static
            ("actuator_biasprm", 5, lambda p: p.stack(velocities)),
        )
        return tuple(
            Write(
                field=field,
                elements=tuple(
                    anatomy.element(model, "actuator", name, field, column)
                    for name in devices.values()
                ),
                values=values,
            )
            for field, column, values in places
            if devices
        )


@dataclass(frozen=True, kw_only=True)
class Backlash(Effect):
    """Play between servo and link: a passive joint of its own that the encoder does not see."""

    optional: ClassVar[bool] = True
    joints: str = "*"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        found = []
        for joint in anatomy.driven_joints(model, self.joints):
            low, high = model.joint(joint).range
            widest = 0.1 * (high - low) if high > low else 0.1  # never wider than the joint
            found.append(
                UpTo(limit=min(0.06, widest), usual=min(0.015, widest)).parameter(
                    name=f"actuation/{joint}/backlash",
                    unit="rad",
                    nominal=0.0,
                    source="full width; measured on this servo: 0.6° unloaded, 1.3° loaded",
                )
            )
        return tuple(found)

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        for name in _free_joints(space, "backlash"):
            joint = next(j for j in spec.joints if j.name == name)
            joint.parent.add_joint(
                name=f"{name}_backlash",
                type=joint.type,
                pos=joint.pos,
                axis=joint.axis,
                limited=mujoco.mjtLimited.mjLIMITED_TRUE,
                range=[-1e-4, 1e-4],
                damping=[0.01, 0, 0],
                solref_limit=[0.01, 1.0],
                solimp_limit=[0.99, 0.999, 0.0005, 0.5, 2.0],
            )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        joints = [
            joint
            for joint in anatomy.driven_joints(model, self.joints)
            if anatomy.identity(model, "joint", f"{joint}_backlash") >= 0
        ]
        columns = [f"actuation/{joint}/backlash" for joint in joints]
        return tuple(
            Write(
                field="jnt_range",
                elements=tuple(
                    anatomy.element(model, "joint", f"{joint}_backlash", "jnt_range", side)
                    for joint in joints
                ),
                values=lambda p, sign=sign: sign * 0.5 * np.maximum(p.stack(columns), 1e-5),
            )
            for side, sign in ((0, -1.0), (1, 1.0))
            if joints
        )


@dataclass(frozen=True, kw_only=True)
class ZeroOffset(Effect):
    """A joint whose zero is not where the model has it.

    The encoder reads the true angle plus the offset, and the servo drives the reading to the
    command, so both live in the encoder's frame while the links stand elsewhere. Mechanical stops
    stay with the links.
    """

    joints: str = "*"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return tuple(
            Around(limit=0.35, usual=0.015).parameter(
                name=f"actuation/{joint}/zero_offset",
                unit="rad",
                nominal=0.0,
                source="calibration by eye repeats to 1°; 17° was once found in a published setup",
            )
            for joint in anatomy.driven_joints(model, self.joints)
        )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        joints = list(anatomy.driven_joints(model, self.joints))
        columns = [f"actuation/{joint}/zero_offset" for joint in joints]
        limited = [j for j in joints if model.jnt_limited[model.joint(j).id]]
        bounded = [f"actuation/{joint}/zero_offset" for joint in limited]
        zero = Write(
            field="qpos0",
            elements=tuple(anatomy.element(model, "joint", j, "qpos0") for j in joints),
            values=lambda p: p.stack(columns),
            op="add",
        )
        stops = tuple(
            Write(
                field="jnt_range",
                elements=tuple(
                    anatomy.element(model, "joint", j, "jnt_range", side) for j in limited
                ),
                values=lambda p: p.stack(bounded),
                op="add",
            )
            for side in (0, 1)
            if limited
        )
        return (zero, *stops)


@dataclass(frozen=True, kw_only=True)
class LinkInertia(Effect):
    """Mass and centre of mass of each moving link."""

    joints: str = "*"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        found: list[Parameter] = []
        for body in self._bodies(model):
            found.append(
                Factor(limit=2.0, usual=1.1).parameter(
                    name=f"actuation/{body}/mass",
                    unit="kg",
                    nominal=float(model.body(body).mass[0]),
                    source="CAD against print: infill, screws and cables change a link by 10-50 %",
                )
            )
            inside = 0.9 * _reach_inside(model, body)
            for axis in "xyz":
                found.append(
                    Around(limit=inside, usual=min(0.003, inside)).parameter(
                        name=f"actuation/{body}/com_{axis}",
                        unit="m",
                        nominal=0.0,
                        source="offset from CAD; bounded by the box that has the link's inertia",
                    )
                )
        return tuple(found)

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        bodies = self._bodies(model)
        masses = [f"actuation/{body}/mass" for body in bodies]
        nominal = np.array([float(model.body(body).mass[0]) for body in bodies])
        offsets = [f"actuation/{body}/com_{axis}" for body in bodies for axis in "xyz"]

        def elements(field: str, width: int) -> tuple[int, ...]:
            at = [(body, column) for body in bodies for column in range(width)]
            return tuple(anatomy.element(model, "body", b, field, c) for b, c in at)

        return (
            Write(
                field="body_mass",
                elements=elements("body_mass", 1),
                values=lambda p: p.stack(masses),
            ),
            Write(
                field="body_inertia",
                elements=elements("body_inertia", 3),
                values=lambda p: np.repeat(p.stack(masses) / nominal, 3, axis=1),
                op="scale",
            ),
            Write(
                field="body_ipos",
                elements=elements("body_ipos", 3),
                values=lambda p: p.stack(offsets),
                op="add",
            ),
        )

    def _bodies(self, model: mujoco.MjModel) -> list[str]:
        bodies = []
        for joint in anatomy.driven_joints(model, self.joints):
            body = model.body(int(model.jnt_bodyid[model.joint(joint).id]))
            if body.name and body.mass[0] > 0 and body.name not in bodies:
                bodies.append(body.name)
        return bodies


def _free_joints(space: Space, quantity: str) -> list[str]:
    """Joints whose `actuation/JOINT/quantity` may leave its nominal value."""
    parts = [name.split("/") for name in space.active]
    return [part[1] for part in parts if part[0] == "actuation" and part[-1] == quantity]


def _inertia_box(model: mujoco.MjModel, body: str) -> np.ndarray:
    """Half sizes of the solid box with the mass and principal inertia of a body."""
    mass, inertia = float(model.body(body).mass[0]), model.body(body).inertia
    return np.sqrt(np.maximum(1.5 * (inertia.sum() - 2.0 * inertia) / mass, 1e-10))


def _reach_inside(model: mujoco.MjModel, body: str) -> float:
    """How far the centre of mass may move along all three body axes and stay in that box."""
    axes = np.zeros(9)
    mujoco.mju_quat2Mat(axes, model.body(body).iquat)
    diagonal = np.abs(axes.reshape(3, 3)).sum(axis=0)
    return float((_inertia_box(model, body) / diagonal).min())
