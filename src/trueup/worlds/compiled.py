"""A world and a space, compiled: one model, the fields each point writes, the filters it needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import mujoco
import numpy as np
from mujoco.batch import MODEL_FIELDS

from trueup.effects import Draws, Effect, Filter, Law, Values, Write, anatomy
from trueup.errors import TrueupError
from trueup.space import Space
from trueup.worlds.answers import effects_of, spec_of
from trueup.worlds.scene import MissingSensor, sensor_slots
from trueup.worlds.world import World, compiled_spec


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Values for some elements of a model field in each world.

    Attributes:
        elements: (k,) flat indices.
        values: (n, k).
    """

    elements: np.ndarray
    values: np.ndarray


class Compiled:
    """A world ready to be run at any point of a space, by any engine.

    Attributes:
        world: The world.
        space: What may differ between its copies.
        model: The compiled model all copies share.
        nominal: Nominal values of every parameter of the effects at work.
    """

    def __init__(self, world: World, space: Space | None = None) -> None:
        self.world = world
        self.space = world.space if space is None else space
        self._check_space()
        active = set(self.space.active)
        self._effects = [
            effect
            for effect in effects_of(world)
            if active.intersection(p.name for p in effect.parameters(world.model))
        ]
        self.nominal = {p.name: p.nominal for e in self._effects for p in e.parameters(world.model)}
        self.model = self._build()
        self._check_sensors()
        self._plans = _plan(self._writes(each_step=False), self.model)
        self._step_plans = _plan(self._writes(each_step=True), self.model)

    @cached_property
    def substeps(self) -> int:
        """Physics steps per control step."""
        return self.world.substeps

    @cached_property
    def action_filters(self) -> list[Filter]:
        """What commands pass through on their way to the servos, in order."""
        period = self.world.control_period_s
        return [f for e in self._effects if (f := e.action(self.model, period)) is not None]

    @cached_property
    def observation_filters(self) -> list[Filter]:
        """What readings pass through, in order."""
        period = self.world.control_period_s
        return [f for e in self._effects if (f := e.observation(self.model, period)) is not None]

    @cached_property
    def image_filters(self) -> list[Filter]:
        """What rendered frames pass through, in order."""
        return [f for e in self._effects if (f := e.image(self.model)) is not None]

    @cached_property
    def laws(self) -> list[Law]:
        """What follows the motion, physics step by physics step."""
        return [law for e in self._effects if (law := e.law(self.model)) is not None]

    @property
    def fields(self) -> tuple[str, ...]:
        """Model fields that differ between worlds."""
        lawful = (law.field for law in self.laws)
        return tuple(dict.fromkeys((*self._plans, *self._step_plans, *lawful)))

    @property
    def needs_set_const(self) -> bool:
        """Whether MuJoCo must derive constants anew after the fields are written.

        Forgetting this gives silently wrong dynamics that look exactly like a sim-to-real gap.
        """
        derived = set(mujoco.MjModel._setconst_inputs)  # type: ignore[attr-defined]
        return any(name in derived or name.startswith("opt.") for name in self._plans)

    @property
    def step_normals(self) -> int:
        """Normal draws per world and control step that step-wise writes need."""
        return sum(plan.normals for plan in self._step_plans.values())

    def numbers(self, p: Values) -> dict[str, Numbers]:
        """What to write into the model fields at the start of an episode."""
        return {name: plan.numbers(p) for name, plan in self._plans.items()}

    @property
    def step_elements(self) -> dict[str, np.ndarray]:
        """Elements that are written at each control step, by field."""
        return {name: plan.elements for name, plan in self._step_plans.items()}

    def step_numbers(
        self, base: Mapping[str, np.ndarray], p: Values, normals: np.ndarray, time_s: np.ndarray
    ) -> dict[str, Numbers]:
        """What to write at a control step, on top of the episode's own values `base` (n, k)."""
        found, used = {}, 0
        for name, plan in self._step_plans.items():
            draws = Draws(normal=normals[:, used : used + plan.normals])
            found[name] = plan.step_numbers(base[name], p, draws, time_s)
            used += plan.normals
        return found

    # --------------------------------------------------------------------------------------------

    def _check_space(self) -> None:
        catalogue = self.world.catalogue
        for parameter in self.space:
            allowed = catalogue[parameter.name]
            if parameter.unit != allowed.unit:
                raise TrueupError(
                    f"{parameter.name!r} is in {parameter.unit!r} in this space, but in "
                    f"{allowed.unit!r} in the world {self.world.name!r}.",
                    fix="Convert its numbers and its unit.",
                )
            if parameter.low < allowed.low or parameter.high > allowed.high:
                raise TrueupError(
                    f"{parameter.name!r} has the bounds [{parameter.low:g}, {parameter.high:g}] "
                    f"in this space, but the world {self.world.name!r} is only physical within "
                    f"[{allowed.low:g}, {allowed.high:g}] {allowed.unit}.",
                    fix=f"Keep inside them ({allowed.source}).",
                )

    def _build(self) -> mujoco.MjModel:
        edited = [e for e in self._effects if type(e).edit is not Effect.edit]
        if not edited:
            return self.world.model
        spec = spec_of(self.world)
        for effect in edited:
            effect.edit(spec, self.space)
        return compiled_spec(spec, self.world.name)

    def _writes(self, *, each_step: bool) -> list[tuple[Effect, Write]]:
        return [
            (effect, write)
            for effect in self._effects
            for write in effect.writes(self.model)
            if write.each_step == each_step and write.elements
        ]

    def _check_sensors(self) -> None:
        slots = sensor_slots(self.model)
        for signal in (*self.world.observations, *self.world.privileged):
            for sensor in signal.sensors:
                if sensor not in slots:
                    raise MissingSensor(sensor, slots)


@dataclass(frozen=True, kw_only=True)
class _Step:
    op: str
    columns: np.ndarray
    write: Write


@dataclass(frozen=True, kw_only=True)
class _FieldPlan:
    """All writes to one field, in the order set, scale, add."""

    elements: np.ndarray
    default: np.ndarray
    steps: list[_Step] = field(default_factory=list)

    @property
    def normals(self) -> int:
        return sum(step.write.normals for step in self.steps)

    def numbers(self, p: Values) -> Numbers:
        values = np.tile(self.default, (p.n, 1))
        for step in self.steps:
            _act(values, step, step.write.values(p))
        return Numbers(elements=self.elements, values=values)

    def step_numbers(
        self, base: np.ndarray, p: Values, draws: Draws, time_s: np.ndarray
    ) -> Numbers:
        values, used = base.copy(), 0
        for step in self.steps:
            own = Draws(normal=draws.normal[:, used : used + step.write.normals])
            used += step.write.normals
            _act(values, step, step.write.values(p, own, time_s))
        return Numbers(elements=self.elements, values=values)


def _act(values: np.ndarray, step: _Step, numbers: np.ndarray) -> None:
    if step.op == "set":
        values[:, step.columns] = numbers
    elif step.op == "scale":
        values[:, step.columns] *= numbers
    else:
        values[:, step.columns] += numbers


def _plan(writes: list[tuple[Effect, Write]], model: mujoco.MjModel) -> dict[str, _FieldPlan]:
    by_field: dict[str, list[tuple[Effect, Write]]] = defaultdict(list)
    for effect, write in writes:
        by_field[write.field].append((effect, write))
    return {name: _field_plan(name, found, model) for name, found in by_field.items()}


def _field_plan(name: str, writes: list[tuple[Effect, Write]], model: mujoco.MjModel) -> _FieldPlan:
    if name not in MODEL_FIELDS:
        raise TrueupError(
            f"{writes[0][0]} writes the model field {name!r}, which cannot differ between worlds.",
            fix="mujoco.batch.MODEL_FIELDS lists those that can.",
        )
    owner: dict[int, Effect] = {}
    for effect, write in writes:
        for element in write.elements if write.op == "set" else ():
            if element in owner:
                raise FieldCollision(name, element, owner[element], effect)
            owner[element] = effect
    elements = np.unique([element for _, write in writes for element in write.elements])
    order = {"set": 0, "scale": 1, "add": 2}
    steps = [
        _Step(op=write.op, columns=np.searchsorted(elements, write.elements), write=write)
        for _, write in sorted(writes, key=lambda pair: order[pair[1].op])
    ]
    return _FieldPlan(
        elements=elements, default=anatomy.default(model, name)[elements], steps=steps
    )


class FieldCollision(TrueupError):
    """Two effects that both want to own one number of the model."""

    def __init__(self, field_name: str, element: int, first: Effect, second: Effect) -> None:
        super().__init__(
            f"{first} and {second} both set element {element} of the model field {field_name!r}; "
            "one of them would be lost silently.",
            fix="Leave one of the two out of the space, e.g. with `space.without(...)`, or out of "
            "the world's effects().",
        )
