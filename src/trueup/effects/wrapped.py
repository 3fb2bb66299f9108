"""An effect around another one, which it leaves as it is but for what a subclass changes."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco

from trueup.effects.effect import Effect, Filter, Law, Write
from trueup.space import Parameter, Space


@dataclass(frozen=True)
class Wrapped(Effect):
    """Does what the inner effect does.

    Attributes:
        inner: The effect.
    """

    inner: Effect

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return self.inner.parameters(model)

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        self.inner.edit(spec, space)

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        return self.inner.writes(model)

    def law(self, model: mujoco.MjModel) -> Law | None:
        return self.inner.law(model)

    def action(self, model: mujoco.MjModel, period_s: float) -> Filter | None:
        return self.inner.action(model, period_s)

    def observation(self, model: mujoco.MjModel, period_s: float) -> Filter | None:
        return self.inner.observation(model, period_s)

    def image(self, model: mujoco.MjModel) -> Filter | None:
        return self.inner.image(model)
