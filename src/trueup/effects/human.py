"""Human: what does a person at the controls add?"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import ClassVar

import mujoco
from array_api_compat import array_namespace

from trueup.effects.effect import Effect, Filter
from trueup.effects.latency import HeldCommand
from trueup.effects.plausible import Between, UpTo
from trueup.space import Parameter


def operator() -> tuple[Effect, ...]:
    """A person who moves the arm by hand or by leader arm: late first, then trembling."""
    return (Reaction(), Tremor())


@dataclass(frozen=True, kw_only=True)
class Reaction(Effect):
    """Time an operator needs to see and answer: commands as they were meant that long ago."""

    optional: ClassVar[bool] = True
    name: ClassVar[str] = "human/reaction_delay"
    limit_s: ClassVar[float] = 0.6

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return (
            UpTo(limit=self.limit_s, usual=0.25).parameter(
                name=self.name,
                unit="s",
                nominal=0.0,
                source="visual reaction times: 0.2-0.3 s; with a poor view up to 0.6 s",
            ),
        )

    def action(self, model: mujoco.MjModel, period_s: float) -> Filter:
        return HeldCommand(self.name, self.limit_s, period_s)


@dataclass(frozen=True, kw_only=True)
class Tremor(Effect):
    """The trembling of a hand, as a sine on each commanded joint with a phase of its own."""

    optional: ClassVar[bool] = True
    amplitude: ClassVar[str] = "human/tremor_amplitude"
    frequency: ClassVar[str] = "human/tremor_frequency"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return (
            UpTo(limit=0.1, usual=0.01).parameter(
                name=self.amplitude,
                unit="rad",
                nominal=0.0,
                source="physiological tremor of an unsupported hand moves a leader arm by 0.2-1°",
            ),
            Between(low=3.0, high=12.0, usual=(6.0, 12.0)).parameter(
                name=self.frequency,
                unit="Hz",
                nominal=9.0,
                source="physiological tremor: 8-12 Hz; pathological from 4 Hz",
            ),
        )

    def action(self, model: mujoco.MjModel, period_s: float) -> Filter:
        return _Trembling(self.amplitude, self.frequency, model.nu, period_s)


class _Trembling(Filter):
    def __init__(self, amplitude: str, frequency: str, width: int, period_s: float) -> None:
        self.amplitude, self.frequency = amplitude, frequency
        self.uniforms, self.period_s = width, period_s

    def start(self, x, p):
        return {"phase": x * 0.0 - 1.0}  # not yet drawn

    def apply(self, x, p, memory, draws):
        xp = array_namespace(x)
        phase = xp.where(memory["phase"] < 0, draws.uniform, memory["phase"])
        shake = p[self.amplitude][:, None] * xp.sin(2.0 * pi * phase)
        step = p[self.frequency][:, None] * self.period_s
        return x + shake, {"phase": (phase + step) % 1.0}
