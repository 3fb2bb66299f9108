"""How a policy fared at many points, episode by episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import TrueupError
from trueup.evaluate.chance import Method, share_interval
from trueup.files import whole
from trueup.simulate import Divergence
from trueup.space import Point, Points

ENDS = ("success", "diverged", "failure", "timeout")
"""How an episode can end; where several hold at once, the first counts."""

_FORMAT = "trueup/evaluation 1"
_ARRAYS = ("seeds", *ENDS, "return_", "time_s", "steps")


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An episode that did not succeed, with all that is needed to see it again.

    Attributes:
        episode: Its row.
        end: `failure`, `timeout` or `diverged`.
        seed: The seed of its episode.
        point: The world it was.
        return_: The sum of its rewards.
    """

    episode: int
    end: str
    seed: int
    point: Point
    return_: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """What came of n episodes, each at its own point.

    An episode ends in exactly one way: `success`, `failure`, `timeout` or `diverged`.

    Attributes:
        world: The world's name.
        points: The point of each.
        seeds: (n,) the seed of each.
        success: (n,) the task was done, and stayed done for the world's `hold_s`.
        failure: (n,) the task's own condition for a lost episode held.
        timeout: (n,) the time was up.
        diverged: (n,) the physics broke down.
        return_: (n,) sum of the rewards up to the end, undiscounted.
        time_s: (n,) seconds to success; NaN where there was none.
        steps: (n,) control steps to the end.
        divergences: The episodes whose physics broke down; `world` is the row here.
    """

    world: str
    points: Points
    seeds: np.ndarray
    success: np.ndarray
    failure: np.ndarray
    timeout: np.ndarray
    diverged: np.ndarray
    return_: np.ndarray
    time_s: np.ndarray
    steps: np.ndarray
    divergences: tuple[Divergence, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.points)
        wrong = [name for name in _ARRAYS if np.shape(getattr(self, name)) != (n,)]
        if wrong:
            shape = np.shape(getattr(self, wrong[0]))
            raise TrueupError(
                f"An evaluation of {n} points has {wrong[0]!r} of shape {shape}.",
                fix="Give one value for each point.",
            )
        ends = np.sum([np.asarray(getattr(self, end), int) for end in ENDS], axis=0)
        if not np.all(ends == 1):
            row = int(np.flatnonzero(ends != 1)[0])
            raise TrueupError(
                f"Episode {row} of this evaluation ended in {ends[row]} ways.",
                fix=f"Give each episode one of {', '.join(ENDS)}.",
            )

    def __len__(self) -> int:
        return len(self.points)

    @property
    def successes(self) -> int:
        """How many episodes succeeded."""
        return int(self.success.sum())

    @property
    def success_share(self) -> float:
        """The share of episodes that succeeded."""
        return self.successes / len(self)

    def interval(
        self, method: Method = "wilson", *, confidence: float = 0.95
    ) -> tuple[float, float]:
        """Where the true share lies: by `wilson`, `jeffreys` (Beta) or `exact` (Clopper-Pearson).

        It covers the luck of drawing these points and starts, and nothing else: not the luck of a
        training run, and not what the simulation leaves out.
        """
        return share_interval(self.successes, len(self), method=method, confidence=confidence)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Every episode that did not succeed, in order."""
        rows = np.flatnonzero(~self.success)
        return tuple(
            Failure(
                episode=int(row),
                end=self.end(int(row)),
                seed=int(self.seeds[row]),
                point=self.points[int(row)],
                return_=float(self.return_[row]),
            )
            for row in rows
        )

    def end(self, row: int) -> str:
        """How an episode ended, in a word."""
        return next(end for end in ENDS if getattr(self, end)[row])

    def subset(self, rows: ArrayLike | slice) -> Evaluation:
        """Some of the episodes: rows by number, by mask or by slice."""
        taken = np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows)]
        place = {int(row): k for k, row in enumerate(taken)}
        return Evaluation(
            world=self.world,
            points=self.points[taken],
            **{name: getattr(self, name)[taken] for name in _ARRAYS},
            divergences=tuple(
                _moved(d, place[d.world]) for d in self.divergences if d.world in place
            ),
        )

    # Storage ------------------------------------------------------------------------------------

    def save(self, path: Path | str) -> None:
        """Write as a compressed .npz that numpy reads without trueup."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {
            "format": np.array(_FORMAT),
            "world": np.array(self.world),
            "parameters": np.array(self.points.names, dtype=str),
            "points": self.points.values,
            "divergence_row": np.array([d.world for d in self.divergences], int),
            "divergence_time_s": np.array([d.time_s for d in self.divergences], float),
            "divergence_reason": np.array([d.reason for d in self.divergences], str),
        }
        with whole(path) as partial, partial.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @staticmethod
    def load(path: Path | str) -> Evaluation:
        """Read what `save` wrote; nothing in the file is executed."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                return _from_arrays({name: stored[name] for name in stored.files})
        except FileNotFoundError:
            raise TrueupError(f"There is no evaluation at {path}.", fix="Check the path.") from None
        except TrueupError as error:
            raise TrueupError(f"{path}: {error.what}", fix=error.fix) from error
        except Exception as error:  # a broken archive fails in a dozen ways
            reason = f"{type(error).__name__}: {error}".rstrip(".")
            raise TrueupError(
                f"The evaluation {path} could not be read ({reason}).",
                fix="Was it cut short, or is it another file? Write it again with `save`.",
            ) from error


def joined(parts: list[Evaluation]) -> Evaluation:
    """Evaluations of one world and space, one after the other, as one."""
    starts = np.cumsum([0, *(len(part) for part in parts)])
    return Evaluation(
        world=parts[0].world,
        points=Points(parts[0].points.names, np.concatenate([p.points.values for p in parts])),
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS},
        divergences=tuple(
            _moved(d, int(start) + d.world)
            for start, part in zip(starts, parts, strict=False)
            for d in part.divergences
        ),
    )


def _moved(divergence: Divergence, row: int) -> Divergence:
    return Divergence(**{**vars(divergence), "world": row})


def _from_arrays(stored: Mapping[str, Any]) -> Evaluation:
    if str(stored.get("format")) != _FORMAT:
        raise TrueupError(
            f"This is not an evaluation: its format is {str(stored.get('format'))!r}, not "
            f"{_FORMAT!r}.",
            fix="Give a file that `Evaluation.save` or `trueup evaluate --out` wrote.",
        )
    points = Points(
        stored["parameters"].tolist(), stored["points"].reshape(len(stored["seeds"]), -1)
    )
    told = (stored[f"divergence_{name}"].tolist() for name in ("row", "time_s", "reason"))
    return Evaluation(
        world=str(stored["world"]),
        points=points,
        **{name: stored[name] for name in _ARRAYS},
        divergences=tuple(
            Divergence(
                world=row,
                seed=int(stored["seeds"][row]),
                point=points[row],
                time_s=time_s,
                reason=reason,
            )
            for row, time_s, reason in zip(*told, strict=True)
        ),
    )
