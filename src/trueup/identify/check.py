"""Does reality lie inside what the fitted space can produce? And if not, what is it like?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.identify.expected import allowed, excess_of, sensor_of
from trueup.identify.lateness import Lateness, lateness_of
from trueup.identify.leftover import Column
from trueup.identify.leftover import Pattern as Pattern
from trueup.identify.problem import Problem
from trueup.identify.starts import starts_of
from trueup.identify.steady import steady
from trueup.identify.suspects import Suspect
from trueup.identify.tremor import Tremor, tremor_of
from trueup.replay import Replayer, Track
from trueup.space import Point, Points, Space
from trueup.worlds import World

_UNTOLD = 1.6  # times what the sensor alone would leave, where a file does not say how much
_DRAWS, _REPLAYED_S = 32, 600.0  # points of the posterior, and how long to replay for them at most
_FEWEST = 50  # readings of a column
_NAMED = 0.03  # of what is left: an effect that explains less is not named


@dataclass(frozen=True, kw_only=True)
class Check:
    """Whether the fitted space can produce what was measured.

    Attributes:
        excess: By column, what is left as a multiple of what the sensor alone would leave.
        allowed: By column, how large that may become if nothing is missing.
        patterns: Regularities in it.
        suspects: Effects that are not in the fit and would explain some of it.
        lateness: What of it all joints have in common, if they were early or late together.
        tremor: What of it is one tone in all joints.
    """

    excess: Mapping[str, float]
    allowed: Mapping[str, float] = field(default_factory=dict)
    patterns: tuple[Pattern, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    lateness: Lateness | None = None
    tremor: Tremor | None = None

    @property
    def outside(self) -> tuple[str, ...]:
        """Columns in which something is missing."""
        return tuple(
            name for name, times in self.excess.items() if times > self.allowed.get(name, _UNTOLD)
        )

    @property
    def inside(self) -> bool:
        """Whether nothing is missing that the sensors could show."""
        return not self.outside

    @property
    def random(self) -> bool:
        """Whether what is missing is chance that the catalogue has, and no replay repeats.

        Commands that are late or lost, or a hand that trembles.
        """
        late = self.lateness is not None and self.lateness.told
        return late or (self.tremor is not None and self.tremor.mostly)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in words."""
        if self.inside:
            return (
                "What is left is no more than the sensors and the fit's uncertainty explain: "
                "nothing is missing.",
            )
        worst = max(self.outside, key=lambda name: self.excess[name])
        found, usual = _apart(self.excess[worst], self.allowed.get(worst, _UNTOLD))
        lines = [
            f"Unmodelled: {', '.join(self.outside)} differ from the simulator by more than their "
            f"sensors and the fit's uncertainty explain ({worst}: {found} times the sensor's "
            f"noise, where {usual} would be usual)."
        ]
        lines += [str(pattern) for pattern in self.patterns if pattern.column in self.outside]
        named = [suspect for suspect in self.suspects if suspect.gain > _NAMED][:4]
        lines += [str(one) for one in (self.lateness, self.tremor) if one is not None and one.told]
        lines += [f"Not in the fit: {suspect}" for suspect in named]
        if not named and not self.random:
            lines.append("No effect of the catalogue explains it.")
        return tuple(lines)

    def joined(self, other: Check) -> Check:
        """Of each column the one of two checks that lies further out; the rest is this one's."""
        excess, allowed = dict(self.excess), dict(self.allowed)
        for name, times in other.excess.items():
            mine = excess.get(name, 0.0) / allowed.get(name, _UNTOLD)
            if times / other.allowed.get(name, _UNTOLD) > mine:
                excess[name], allowed[name] = times, other.allowed.get(name, _UNTOLD)
        return replace(self, excess=excess, allowed=allowed)

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "inside": self.inside,
            "excess": dict(self.excess),
            "allowed": dict(self.allowed),
            "patterns": [vars(pattern) for pattern in self.patterns],
            "suspects": [suspect.to_json() for suspect in self.suspects],
            "lateness": None if self.lateness is None else asdict(self.lateness),
            "tremor": None if self.tremor is None else asdict(self.tremor),
            "sentences": list(self.sentences),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Check:
        """What `to_json` described."""
        return Check(
            excess=data["excess"],
            allowed=data.get("allowed", {}),
            patterns=tuple(Pattern(**row) for row in data["patterns"]),
            suspects=tuple(Suspect.from_json(row) for row in data["suspects"]),
            lateness=Lateness(**data["lateness"]) if data.get("lateness") else None,
            tremor=Tremor(**data["tremor"]) if data.get("tremor") else None,
        )


def _apart(found: float, usual: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    for digits in (1, 2, 3):
        told = f"{found:.{digits}f}", f"{usual:.{digits}f}"
        if told[0] != told[1]:
            break
    return told


def checked(
    world: World,
    episodes: Sequence[Episode],
    point: Point,
    *,
    covariance: np.ndarray | None = None,
    suspects: Sequence[Suspect] = (),
    window_s: float | None = None,
    threads: int = 0,
) -> Check:
    """Replay recordings that had no part in a fit, and look at what is left.

    Args:
        world: Where they are replayed.
        episodes: What was measured.
        point: The fitted world.
        covariance: (d, d) how uncertain it would be if nothing were missing, in the unit cube of
            its parameters: `Posterior.narrow`.
        suspects: What is known about effects outside the fit.
        window_s: Begin anew at the measured state after each so many seconds.
        threads: CPU threads; 0 takes all.
    """
    space = Space(tuple(world.catalogue[name] for name in point))
    replayer = Replayer(
        steady(world, space), episodes, space, window_s=window_s, signals=(JOINTS,), threads=threads
    )
    generator = np.random.default_rng(0)
    best = _tracks(replayer, space.points(point, 1))
    columns = [Column(name, j, best, episodes) for j, name in enumerate(best[0].names)]
    used = [column for column in columns if column.used]
    u = space.encode(space.points(point, 1))[0]
    drawn = _drawn(replayer, used, u, covariance, generator)
    return Check(
        excess={column.name: column.excess for column in used},
        allowed={column.name: column.allowed(drawn, generator) for column in used},
        patterns=tuple(pattern for column in used for pattern in column.patterns()),
        suspects=tuple(suspects),
        lateness=lateness_of(best),
        tremor=tremor_of(best, episodes),
    )


def checked_inside(problem: Problem, u: np.ndarray) -> Check:
    """The same for recordings that were fitted, at the best point (d,).

    A fault that comes and goes may have struck only them. There the best point is as near as it
    gets, so that nothing is uncertain but how each recording began, and that is taken out. Where
    replays begin anew in windows there is no one start, and nothing is said.
    """
    if problem.replayer.window_s is not None:
        return Check(excess={})
    here, generator = problem.residual(u[None]), np.random.default_rng(0)
    noise = np.sqrt(np.bincount(here.column, here.values[0] ** 2) / np.bincount(here.column))
    noise = noise + 1e-12
    starts = starts_of(problem, u, noise)
    size = noise[here.column]
    left = (starts.freed(here.values / size)[0] * size) * problem.scale[here.column]
    excess, most = {}, {}
    for c, column in enumerate(problem.columns):
        signal, name = column.split("/", 1)
        if signal != JOINTS or (here.column == c).sum() <= _FEWEST:
            continue
        mine, measured = left[here.column == c], _measured(problem, name)
        sensor = sensor_of(mine, measured)
        excess[name] = excess_of(mine, sensor.quantum)
        nothing = np.zeros((0, len(mine)))
        most[name] = allowed(measured + mine, nothing, sensor, generator)
    return Check(excess=excess, allowed=most)


def _measured(problem: Problem, name: str) -> np.ndarray:
    """(m,) all readings of a joint, in the order of the residual."""
    found = []
    for episode in problem.replayer.episodes:
        values = np.asarray(episode[JOINTS].values[:, episode[JOINTS].names.index(name)], float)
        found.append(values[np.isfinite(values)])
    return np.concatenate(found)


def _tracks(replayer: Replayer, points: Points) -> list[Track]:
    return [found[JOINTS] for found in replayer(points).tracks]


def _drawn(
    replayer: Replayer,
    columns: Sequence[Column],
    u: np.ndarray,
    covariance: np.ndarray | None,
    generator: np.random.Generator,
) -> list[Track]:
    """What points around the best one say, begun as far off as a start was read; none if unasked.

    Long recordings are replayed at fewer points: what they leave uncertain is small.
    """
    total_s = sum(episode.duration_s for episode in replayer.episodes)
    draws = min(_DRAWS, int(_REPLAYED_S / max(total_s, 1e-9)))
    if covariance is None or not (draws and columns):
        return []
    values, vectors = np.linalg.eigh(covariance)
    ways = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    points = np.clip(u + generator.standard_normal((draws, len(u))) @ ways, 0.0, 1.0)
    size = float(np.median([column.sensor.floor for column in columns]))
    speed = np.sqrt(2.0) * size / replayer.world.control_period_s
    with replayer.nudged(generator.standard_normal((draws, 2)) * [size, speed]):
        return _tracks(replayer, replayer.compiled.space.decode(points))
