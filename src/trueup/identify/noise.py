"""The noise of each sensor of a robot, from its recordings alone: no model, no fit.

What a sensor adds is heard where the truth does not change: at rest, and where the same motion is
commanded twice; speeds and forces also by how they leap. Everything comes with an interval, or with
a sentence that says why not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND
from trueup.errors import TrueupError
from trueup.identify.allan import Strength, plain
from trueup.identify.readings.lattice import Lattice, lattice_of
from trueup.identify.readings.leaping import leaping
from trueup.identify.readings.repeated import repeat_of
from trueup.identify.readings.stale import stale_of
from trueup.identify.readings.still import drift_of, nothing, white_of
from trueup.identify.readings.stretches import Repeat, repeats_of, rests_of
from trueup.identify.readings.tracked import TrackedNoise, tracked_noise
from trueup.identify.timing import Timing, timing
from trueup.space import Fixed, Joint, Parameter, Prior, Space, Uniform

_KINDS = {"quantum": "quantum", "white": "noise", "drift": "drift", "stale": "dropout"}
CATALOGUE = {
    "joint_position": ("sensing/encoder", "rad", ("quantum", "white", "drift", "stale")),
    "joint_velocity": ("sensing/speed", "rad/s", ("quantum", "white")),
    "joint_force": ("sensing/current", "N·m", ("white", "drift", "stale")),
}
"""Signals whose noise the catalogue has parameters for: their stem, unit and kinds of noise."""

_LEAPING = ("joint_velocity", "joint_force")
"""Signals that hardly ever rest: their noise is heard in motion, too."""
_ALIKE = 0.01  # relative: steps of one kind of sensor


@dataclass(frozen=True, kw_only=True)
class SensorNoise:
    """One column of a signal.

    Attributes:
        signal: Of which it is a column.
        column: Its name.
        unit: Of its readings.
        quantum: The step between values that it can read.
        white: Noise of each reading by itself, before it is rounded to a step.
        drift: Random walk of its bias.
        stale: Share of readings that are the last one again; of the whole signal.
        repeat: How far a reading is from that at the same moment of the same motion, / √2.
        bias: A constant error; what is said of it.
        rest_s: Seconds at rest that were heard.
    """

    signal: str
    column: str
    unit: str
    quantum: Strength
    white: Strength
    drift: Strength
    stale: Strength
    repeat: Strength
    bias: Strength
    rest_s: float

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {k: plain(v) if isinstance(v, Strength) else v for k, v in vars(self).items()}


@dataclass(frozen=True, kw_only=True)
class NoiseModel:
    """The noise of all sensors and clocks. `Space.narrowed` takes it, as it takes an estimate.

    Attributes:
        sensors: Every column of every signal but the commands.
        timing: Periods, clocks and jitter; none where there are no commands.
        real: Whether a real robot was recorded.
        tracked: Of a thing whose pose is seen; none where there is none.
    """

    sensors: tuple[SensorNoise, ...]
    timing: Timing | None
    real: bool
    tracked: TrackedNoise | None = None

    def __getitem__(self, name: str) -> SensorNoise:
        for sensor in self.sensors:
            if f"{sensor.signal}/{sensor.column}" == name:
                return sensor
        raise TrueupError(
            f"There is no column {name!r} in this noise model.",
            fix=f"It has {', '.join(f'{s.signal}/{s.column}' for s in self.sensors)}.",
        )

    @property
    def priors(self) -> Mapping[str, Prior]:
        """What the sensors' intervals say about parameters of the catalogue, by name."""
        found: dict[str, Prior] = {}
        for signal, (stem, unit, kinds) in CATALOGUE.items():
            columns = [s for s in self.sensors if s.signal == signal and s.unit == unit]
            for kind in kinds:
                prior = _prior(kind, [getattr(s, kind) for s in columns])
                if prior is not None:
                    found[f"{stem}/{_KINDS[kind]}"] = prior
        for part in (self.timing, self.tracked):
            found |= part.priors if part else {}
        return found

    @property
    def joints(self) -> Sequence[Joint]:
        """None: each of these numbers is known by itself."""
        return ()

    def within(self, space: Space) -> dict[str, Prior]:
        """The priors of those parameters that a space has, for `Space.narrowed`.

        Where a sensor is worse than a space allows, it is as bad as that allows.
        """
        return {
            name: _bounded(prior, space[name])
            for name, prior in self.priors.items()
            if name in space
        }

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "real": self.real,
            "sensors": [sensor.to_json() for sensor in self.sensors],
            "timing": self.timing.to_json() if self.timing else None,
            "tracked": self.tracked.to_json() if self.tracked else None,
            "priors": {name: prior.to_json() for name, prior in self.priors.items()},
        }


def noise_model(
    episodes: Sequence[Episode],
    *,
    signals: Sequence[str] | None = None,
    generator: np.random.Generator | None = None,
) -> NoiseModel:
    """The noise of every sensor, and of the clocks.

    Args:
        episodes: What was recorded.
        signals: Of these only; of all but the commands by default.
        generator: For intervals that come from noise made like that found.
    """
    sensors = sensor_noise(episodes, signals=signals, generator=generator)
    commands = any(COMMAND in episode.signals for episode in episodes)
    return NoiseModel(
        sensors=sensors,
        timing=timing(episodes) if commands else None,
        real=any(bool(episode.origin.get("real")) for episode in episodes),
        tracked=tracked_noise(episodes),
    )


def sensor_noise(
    episodes: Sequence[Episode],
    *,
    signals: Sequence[str] | None = None,
    generator: np.random.Generator | None = None,
) -> tuple[SensorNoise, ...]:
    """The noise of every column of the signals, in any unit: encoders, currents, tracked poses."""
    if not episodes:
        raise TrueupError("There is no recording to listen to.", fix="Give at least one.")
    generator = generator or np.random.default_rng(0)
    repeats = repeats_of(episodes)
    names = {name: None for episode in episodes for name in episode.signals if name != COMMAND}
    if missing := [name for name in signals or () if name not in names]:
        raise TrueupError(
            f"None of the recordings has a signal {missing[0]!r}.",
            fix=f"They have {', '.join(names)}.",
        )
    return tuple(
        sensor
        for name in signals or names
        for sensor in _columns(episodes, name, repeats, generator)
    )


def white_noise(episodes: Sequence[Episode], signal: str) -> float:
    """How far a usual column of a signal reads off, from reading to reading; 0 if nobody tells."""
    having = [episode[signal] for episode in episodes if signal in episode.signals]
    found = []
    for k, column in enumerate(having[0].names if having else ()):
        alike = [c for c in having if c.names == having[0].names]
        lattice = lattice_of(np.concatenate([np.asarray(c.values[:, k], float) for c in alike]))
        step = 0.0 if lattice is None else lattice.step
        found.append(white_of(rests_of(episodes, signal, column), step, having[0].unit).value)
    return float(np.median(found)) if found else 0.0


# ------------------------------------------------------------------------------------------------


def _columns(
    episodes: Sequence[Episode],
    signal: str,
    repeats: Sequence[Repeat],
    generator: np.random.Generator,
) -> list[SensorNoise]:
    having = [episode[signal] for episode in episodes if signal in episode.signals]
    first = having[0]
    alike = [channel for channel in having if channel.names == first.names]
    values = np.concatenate([np.asarray(channel.values, float) for channel in alike])
    lattices = [lattice_of(column) for column in values.T]
    steps = np.array([0.0 if lattice is None else lattice.step for lattice in lattices])
    stale = stale_of(episodes, signal, steps)
    found = []
    for k, column in enumerate(first.names):
        rests = rests_of(episodes, signal, column)
        white = white_of(rests, steps[k], first.unit)
        if signal in _LEAPING and not np.isfinite(white.high):
            white = leaping(episodes, signal, k, steps[k])
        found.append(
            SensorNoise(
                signal=signal,
                column=column,
                unit=first.unit,
                quantum=_quantum(lattices[k], values[:, k], first.unit),
                white=white,
                drift=drift_of(rests, steps[k], _at_most(white), first.unit, generator),
                stale=stale,
                repeat=repeat_of(episodes, repeats, signal, column, first.unit),
                bias=_bias(first.unit),
                rest_s=float(sum(len(rest.values) * rest.period_s for rest in rests)),
            )
        )
    return found


def _at_most(white: Strength) -> float:
    return white.value if white.seen or not np.isfinite(white.high) else white.high


def _quantum(lattice: Lattice | None, values: np.ndarray, unit: str) -> Strength:
    if lattice is not None:
        reach = 1.645 * lattice.std + 1e-6 * lattice.step
        return Strength(
            value=lattice.step,
            low=lattice.step - reach,
            high=lattice.step + reach,
            unit=unit,
            seen=True,
            sentence=f"All {lattice.levels} different values lie whole steps apart.",
        )
    levels = np.unique(values[np.isfinite(values)])
    if len(levels) < 4:
        return nothing(unit, f"It has {len(levels)} different values: too few to see steps.")
    return Strength(
        value=0.0,
        low=0.0,
        high=float(np.median(np.diff(levels))),
        unit=unit,
        seen=False,
        sentence="The values lie on no common steps: they are finer than the noise, or filtered.",
    )


def _bias(unit: str) -> Strength:
    return nothing(
        unit,
        "A constant error cannot be heard without a reference: fit sensing/JOINT/bias with "
        "`trueup identify`, or calibrate.",
    )


def _bounded(prior: Prior, p: Parameter) -> Prior:
    if not isinstance(prior, (Uniform, Fixed)):
        return prior
    low, high = prior.support(p.low, p.high)
    if low < high:
        return prior
    return Fixed(min(max(low, p.low), p.high))


def _prior(kind: str, strengths: Sequence[Strength]) -> Prior | None:
    """One belief for sensors of a kind: what lies between the ends that are known."""
    known = [s for s in strengths if np.isfinite(s.high)]
    if not known:
        return None
    if kind != "quantum":
        return Uniform(min(s.low for s in known), max(s.high for s in known))
    steps = [s.value for s in known if s.seen]
    if not steps:  # all are finer than what would have shown
        return Uniform(0.0, max(s.high for s in known))
    usual = float(np.median(steps))
    alike = [step for step in steps if abs(step / usual - 1.0) < _ALIKE]
    return Fixed(usual) if 2 * len(alike) > len(steps) else Uniform(min(steps), max(steps))
