"""What the discriminator sees of an episode: a few windows of equal length, nothing else.

Not how long it is, not how it ended, not its labels, origin, task or clock: windows lie at equal
shares of an episode, as many in each, on one common rate and in one common precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.curate.look import Look
from trueup.curate.survey import Survey
from trueup.episodes.episode import COMMAND

COUNT = 5
"""Windows of each episode."""

LONGEST_S, FEWEST_FRAMES = 1.0, 8
_SMALL = 1e-4  # of a span
_TRAITS = ("place", "extent", "speed", "roughness", "repeats")
_LAG_TRAITS = ("offset from command", "distance to command")


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Which number of a window is what.

    Attributes:
        survey: The signals that both sets have.
        frames: In a window.
        signals: (k,) the signal that each number is of.
        traits: (k,) what it says of it.
    """

    survey: Survey
    frames: int
    signals: tuple[str, ...]
    traits: tuple[str, ...]

    @classmethod
    def of(cls, survey: Survey, shortest: int) -> Sheet:
        """For sets whose shortest episode has so many frames."""
        most = max(round(LONGEST_S / survey.period_s), FEWEST_FRAMES)
        signals, traits = [], []
        for name, columns in survey.names.items():
            for column in columns:
                signals += [name] * len(_TRAITS)
                traits += [f"{trait} of {column}" for trait in _TRAITS]
        for name, column in _driven(survey):
            signals += [name] * len(_LAG_TRAITS)
            traits += [f"{trait} of {column}" for trait in _LAG_TRAITS]
        frames = max(FEWEST_FRAMES, min(most, shortest))
        return cls(survey=survey, frames=frames, signals=tuple(signals), traits=tuple(traits))

    def windows(self, look: Look) -> np.ndarray | None:
        """(COUNT, k) numbers of an episode; none where it is shorter than a window."""
        steps = len(look.grid_s) - self.frames
        if steps < 0 or any(name not in look.gridded for name in self.survey.signals):
            return None
        begins = np.round(np.linspace(0, steps, COUNT)).astype(int)
        rows = begins[:, None] + np.arange(self.frames)
        shared = {
            name: (look.gridded[name].astype(np.float32) / self.survey.span[name])[rows]
            for name in self.survey.signals
        }
        parts = [_traits(values) for values in shared.values()]
        for name, column in _driven(self.survey):
            told = shared[COMMAND][:, :, self.survey.names[COMMAND].index(column)]
            seen = shared[name][:, :, self.survey.names[name].index(column)]
            parts.append(_follows(told, seen, self._ratio(name, column)))
        return np.concatenate(parts, axis=1)

    def _ratio(self, name: str, column: str) -> float:
        """What brings a command, in shares of its span, to shares of the joint's."""
        told = self.survey.span[COMMAND][self.survey.names[COMMAND].index(column)]
        return float(told / self.survey.span[name][self.survey.names[name].index(column)])


def _driven(survey: Survey) -> list[tuple[str, str]]:
    """Joint and column of every command."""
    seen = survey.names.get("joint_position", ())
    return [("joint_position", c) for c in survey.names.get(COMMAND, ()) if c in seen]


def _traits(values: np.ndarray) -> np.ndarray:
    """(COUNT, size × traits) of a signal's windows (COUNT, frames, size)."""
    change = np.diff(values, axis=1)
    found = np.stack(
        [
            values.mean(axis=1),
            _log(values.std(axis=1)),
            _log(_rms(change)),
            _log(_rms(np.diff(change, axis=1))),
            (change == 0.0).mean(axis=1),
        ],
        axis=2,
    )
    return found.reshape(len(values), -1)


def _follows(told: np.ndarray, seen: np.ndarray, ratio: float) -> np.ndarray:
    apart = seen - ratio * told
    return np.stack([apart.mean(axis=1), _log(_rms(apart))], axis=1)


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt((values**2).mean(axis=1))


def _log(values: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(values, _SMALL))
