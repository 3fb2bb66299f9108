"""What an effect is: a few parameters, and how they are written into a world.

An effect declares; it never touches an engine. It may

- edit the spec before it is compiled (a passive joint, a history buffer, a second object),
- write model fields, once per episode or once per control step (`Write`),
- let a model field follow the motion, physics step by physics step (`Law`),
- filter commands, sensor readings or images as arrays with a leading world axis (`Filter`).

Engines on CPU and GPU apply the same declarations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import mujoco
import numpy as np

from trueup.effects import anatomy
from trueup.errors import TrueupError
from trueup.space import Parameter, Points, Space

Array = Any
"""An array of any array-API library, with a leading world axis."""


class Effect(ABC):
    """One way a world can differ from ours.

    Subclasses are frozen dataclasses whose fields say where they apply. `optional` effects are in
    the catalogue but not in a world's default space: they change the compiled model (and its cost),
    or only make sense for some uses.
    """

    optional: ClassVar[bool] = False

    @abstractmethod
    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        """What can differ, with nominal values read from the nominal model.

        At the nominal value the effect must change nothing, bit for bit.
        """

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        """Prepare the spec for the parameters of `space`.

        Called before compilation, and only if a parameter of this effect is in the space and not
        held at its nominal value.
        """

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        """Model fields to write at the start of an episode, or at each control step."""
        return ()

    def law(self, model: mujoco.MjModel) -> Law | None:
        """Numbers of a model field that follow the motion."""
        return None

    def action(self, model: mujoco.MjModel, period_s: float) -> Filter | None:
        """A filter on commands, (n, nu), before they reach the actuators."""
        return None

    def observation(self, model: mujoco.MjModel, period_s: float) -> Filter | None:
        """A filter on sensor readings, after the physics."""
        return None

    def image(self, model: mujoco.MjModel) -> Filter | None:
        """A filter on rendered frames, (n, height, width, 3) uint8."""
        return None


class Values:
    """Parameters of n worlds: `values[name]` is (n,).

    An effect owns the parameters it declares; those that are not in the space keep their nominal
    value. What others own may be read with `get`, where it is there.

    Args:
        columns: Arrays by parameter name, one number per world.
        n: How many worlds.
        rows: Which of the worlds in the arrays; all by default.
    """

    def __init__(self, columns: Mapping[str, Array], n: int, rows: Any = None) -> None:
        self.n, self._columns, self._rows = n, columns, rows

    @classmethod
    def at(cls, points: Points, nominal: Mapping[str, float] | None = None) -> Values:
        """The parameters of some points, and nominal values for what they do not name."""
        filled = {name: np.full(len(points), value) for name, value in (nominal or {}).items()}
        return cls(filled | {name: points.column(name) for name in points.names}, len(points))

    def __getitem__(self, name: str) -> Array:
        column = self._columns[name]
        return column if self._rows is None else column[self._rows]

    def get(self, name: str, otherwise: float) -> Array:
        """A parameter that may not be in the space."""
        return self[name] if name in self._columns else otherwise

    def stack(self, names: Sequence[str]) -> np.ndarray:
        """Several parameters side by side, (n, len(names))."""
        return np.stack([self[name] for name in names], axis=-1)

    def repeat(self, name: str, k: int) -> np.ndarray:
        """One parameter for k elements alike, (n, k)."""
        return np.repeat(self[name][:, None], k, axis=1)

    def take(self, ids: Any) -> Values:
        """The same parameters for some of the worlds."""
        rows = ids if self._rows is None else self._rows[ids]
        return Values(self._columns, len(ids), rows)


@dataclass(frozen=True, kw_only=True)
class Write:
    """Numbers for some elements of one model field.

    On one element at most one effect may `set`; `scale` and `add` then act on what is there, in
    that order, so that two effects can share a field without knowing of each other. Everything
    starts from the compiled default: writing twice never accumulates.

    Attributes:
        field: MuJoCo's name, e.g. `dof_damping` or `opt.timestep`.
        elements: Flat indices into the field.
        values: Parameters to (n, len(elements)) numbers. With `each_step`, also gets the draws.
        op: What the numbers do to the element.
        each_step: Written anew at each control step, on top of the episode's value.
        normals: Standard normal draws per world and step, for `each_step`.
    """

    field: str
    elements: tuple[int, ...]
    values: Callable[..., Array]
    op: Literal["set", "scale", "add"] = "set"
    each_step: bool = False
    normals: int = 0


class Law(ABC):
    """What the motion adds to some elements of one model field, physics step by physics step.

    For what depends on how the world moves and MuJoCo has no parameter for, such as friction that
    grows with load. Laws on the same element add up.

    Attributes:
        field: MuJoCo's name of the field.
        elements: Flat indices into it.
        reads: MuJoCo's names of the state that it depends on, e.g. `qvel`.
    """

    field: str
    elements: tuple[int, ...]
    reads: tuple[str, ...] = ()

    @abstractmethod
    def start(self, p: Values) -> dict[str, np.ndarray]:
        """What to remember at the start of an episode, parameters included: one row per world."""

    @abstractmethod
    def apply(
        self,
        state: Mapping[str, np.ndarray],
        memory: dict[str, np.ndarray],
        step_s: np.ndarray,
    ) -> np.ndarray:
        """(n, len(elements)) to add for the next physics step; `memory` is brought up to date.

        Must be zero for worlds at nominal values. `state` is as the last step left it; `step_s` is
        (n, 1), how long a step lasts.
        """


class Filter(ABC):
    """A function on arrays with one row per world, and what it remembers between steps.

    Attributes:
        columns: Which columns of the signal it sees; None for all.
        normals: Standard normal draws it needs per world and step.
        uniforms: Uniform draws it needs per world and step.
    """

    columns: tuple[int, ...] | None = None
    normals: int = 0
    uniforms: int = 0

    def start(self, x: Array, p: Values) -> dict[str, Array]:
        """What to remember at the start of an episode whose first signal is `x`."""
        return {}

    @abstractmethod
    def apply(
        self, x: Array, p: Values, memory: dict[str, Array], draws: Draws
    ) -> tuple[Array, dict[str, Array]]:
        """The signal as this effect leaves it, and what to remember.

        Must return `x` unchanged, bit for bit, for worlds at nominal values. `x` is not modified.
        """


@dataclass(frozen=True)
class Draws:
    """Fresh random numbers of one step: `normal` (n, normals) and `uniform` (n, uniforms)."""

    normal: Array = field(default_factory=lambda: np.zeros((0, 0)))
    uniform: Array = field(default_factory=lambda: np.zeros((0, 0)))


class NothingMatches(TrueupError):
    """An effect that finds nothing to act on in this model."""

    def __init__(self, effect: Effect, kind: str, pattern: str, known: Sequence[str]) -> None:
        names = ", ".join(known) or "none"
        super().__init__(
            f"The effect {effect} matches no {kind}: the model has no {kind} like {pattern!r} "
            f"(it has: {names}).",
            fix=f"Name a {kind} of the model in the effect, or leave the effect out of the world.",
        )


def measuring(
    effect: Effect, model: mujoco.MjModel, types: Sequence[mujoco.mjtSensor], pattern: str
) -> list[str]:
    """The sensors of some types an effect acts on; none only where it did not name any."""
    found = anatomy.sensors_of(model, types, pattern)
    if not found and pattern != "*":
        raise NothingMatches(effect, "sensor", pattern, anatomy.names(model, "sensor"))
    return found
