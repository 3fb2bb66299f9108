"""Hidden effects on what passes between robot and host: a bus that stalls, frames that come late.

And PerCommand, which keeps the catalogue's own per-command effects true to their word where physics
is stepped more finely than commands come.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Annotated

import mujoco
import numpy as np
from pydantic import Field

from trueup.effects import Array, Filter, Values, anatomy
from trueup.effects.wrapped import Wrapped
from trueup.hardware.hidden import Hidden
from trueup.space import Gap, Parameter
from trueup.streams import Streams

_Positive = Annotated[float, Field(gt=0)]
_Share = Annotated[float, Field(ge=0, le=1)]
_SEEN = (mujoco.mjtSensor.mjSENS_FRAMEPOS, mujoco.mjtSensor.mjSENS_FRAMEQUAT)
_BURSTS = 64  # drawn for each episode; where they run out, they come again
_SEED_BITS = np.uint64(2**52)  # of a seed, so that it survives as a float


@dataclass(frozen=True, kw_only=True)
class BusHiccups(Hidden):
    """A bus that stalls in bursts: no command gets through, and readings are the last ones again.

    Attributes:
        per_minute: How many bursts, on average, in a minute of undisturbed time.
        shortest_s: Shortest burst.
        longest_s: Longest burst.
    """

    gap = Gap.LATENCY
    per_minute: _Positive
    shortest_s: _Positive
    longest_s: _Positive

    @property
    def seed(self) -> str:
        """The parameter that lets commands and readings stall together."""
        return f"{self.gap}/beyond_{self.number}/seed"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        drawn = Parameter(name=self.seed, unit="1", nominal=0.0, low=0.0, high=float(_SEED_BITS))
        return (*super().parameters(model), drawn)

    def episode(self, age_s: np.ndarray, seeds: np.ndarray) -> dict[str, np.ndarray]:
        mixed = Streams(seeds, salt=self.number).uniform(1)[:, 0]
        return {**super().episode(age_s, seeds), self.seed: np.floor(mixed * float(_SEED_BITS))}

    def action(self, model: mujoco.MjModel, period_s: float) -> Filter:
        return _Stalling(self, period_s)

    def observation(self, model: mujoco.MjModel, period_s: float) -> Filter:
        return _Stalling(self, period_s)

    def bursts(self, p: Values) -> tuple[np.ndarray, np.ndarray]:
        """When bursts begin and end, (n, k) each, s of the episode."""
        u = Streams(p[self.seed].astype(np.uint64), salt=17).uniform(2, _BURSTS)
        gaps = -np.log(1.0 - u[:, 0]) * 60.0 / self.per_minute
        lengths = self.shortest_s + u[:, 1] * (self.longest_s - self.shortest_s)
        begin = np.cumsum(gaps + lengths, axis=1) - lengths
        return begin, begin + lengths


class _Stalling(Filter):
    """Repeats the last signal while a burst lasts."""

    def __init__(self, hiccups: BusHiccups, period_s: float) -> None:
        self.hiccups, self.period_s = hiccups, period_s

    def start(self, x: Array, p: Values) -> dict[str, Array]:
        begin, end = self.hiccups.bursts(p)
        return {"last": x, "time": np.zeros(len(x)), "begin": begin, "end": end}

    def apply(self, x, p, memory, draws):
        time = memory["time"]
        now = (time % memory["end"][:, -1])[:, None]
        stalled = ((memory["begin"] <= now) & (now < memory["end"])).any(axis=1)
        through = np.where((stalled & (p[self.hiccups.present] > 0))[:, None], memory["last"], x)
        return through, {**memory, "last": through, "time": time + self.period_s}


@dataclass(frozen=True, kw_only=True)
class LateFrames(Hidden):
    """A camera that is slower than the control loop, and whose frames are sometimes late.

    Attributes:
        frame_s: Time between frames; what is seen stands still in between.
        chance: That a frame is late.
        late_s: By how much.
    """

    gap = Gap.VISUAL
    frame_s: _Positive
    chance: _Share = 0.0
    late_s: _Positive = 0.1

    def observation(self, model: mujoco.MjModel, period_s: float) -> Filter | None:
        columns = anatomy.readings(model, anatomy.sensors_of(model, _SEEN))
        return _Framed(self, columns, period_s) if columns else None


class _Framed(Filter):
    """Shows the newest frame that has arrived."""

    uniforms = 1

    def __init__(self, frames: LateFrames, columns: tuple[int, ...], period_s: float) -> None:
        self.frames, self.columns, self.period_s = frames, columns, period_s
        self.late = ceil(frames.late_s / period_s - 1e-9)

    def start(self, x: Array, p: Values) -> dict[str, Array]:
        past = np.stack([x] * (self.late + 1), axis=1)
        return {"past": past, "shown": x, "left": np.zeros(len(x))}

    def apply(self, x, p, memory, draws):
        past = np.concatenate([x[:, None], memory["past"][:, :-1]], axis=1)
        late = (draws.uniform[:, 0] < self.frames.chance)[:, None]
        frame = np.where(late, past[:, -1], x)
        due = memory["left"] <= 1e-9
        shown = np.where(due[:, None], frame, memory["shown"])
        left = memory["left"] - self.period_s + np.where(due, self.frames.frame_s, 0.0)
        return shown, {"past": past, "shown": shown, "left": left}


@dataclass(frozen=True)
class PerCommand(Wrapped):
    """An effect of the catalogue whose filter acts once for each new command, not at each step."""

    def action(self, model: mujoco.MjModel, period_s: float) -> Filter | None:
        inner = super().action(model, period_s)
        return None if inner is None else _WhenNew(inner)


class _WhenNew(Filter):
    """Lets the inner filter see commands that differ from the last one; holds its answer since."""

    def __init__(self, inner: Filter) -> None:
        self.inner, self.columns = inner, inner.columns
        self.normals, self.uniforms = inner.normals, inner.uniforms

    def start(self, x: Array, p: Values) -> dict[str, Array]:
        return {"given": x, "answer": x, **self.inner.start(x, p)}

    def apply(self, x, p, memory, draws):
        inner = {k: v for k, v in memory.items() if k not in ("given", "answer")}
        answer, after = self.inner.apply(x, p, inner, draws)
        new = (x != memory["given"]).any(axis=1)
        kept = {
            key: np.where(new.reshape(-1, *[1] * (np.ndim(v) - 1)), v, inner[key])
            for key, v in after.items()
        }
        answer = np.where(new[:, None], answer, memory["answer"])
        return answer, {**kept, "given": x, "answer": answer}
