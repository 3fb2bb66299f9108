"""Maximum entropy under a success constraint: as wide as can be while the policy still copes."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import Any

import numpy as np

from trueup.randomize.betas import Betas, statistics
from trueup.randomize.ledger import Ledger
from trueup.randomize.plan import Plan, checked_count, checked_outcomes, checked_share
from trueup.randomize.ranges import Ranges
from trueup.randomize.widening import Evidence, widened
from trueup.space import LogUniform, Mixture, Points, Prior, Space, Uniform

_TAIL = [1e-4, 1e-3, 0.005, 0.02]
_KNOTS = np.array([*_TAIL, *np.linspace(0.05, 0.95, 19), *(1.0 - np.array(_TAIL[::-1]))])
_NEW = 0.3  # weight of the newest disappointment
_LONGER, _SHORTEST = 1.25, 16.0  # how the trust in an update recovers, and how far it falls
_GENERATIONS = 16  # distributions that are remembered; episodes begun earlier are not counted


class MaximumEntropy(Plan):
    """A Beta distribution for each parameter, widened as long as enough episodes succeed.

    DORAEMON, after Tiboni et al. (2024), "Domain Randomization via Entropy Maximization". Every
    `every` episodes the distribution takes one step: the most entropy such that the success to
    expect is at least `target`, within a divergence of `trust` from what it was. Where success is
    below the target, it steps back to where success is highest. It never becomes narrower than it
    began: a policy that fails everywhere has to learn, not to be spared.

    Beside `Automatic` it asks for no boundary episodes, and gives more width where that is cheap;
    it holds one success, on average over all worlds drawn, and does not guard each end.

    Args:
        space: The space; its priors are the full ranges.
        widest: Stretches the full ranges, up to the parameters' bounds.
        target: Share of episodes that shall succeed.
        trust: How far one update goes, in nats of Kullback and Leibler's divergence, over all
            parameters together; less after an update that promised too much.
        every: Episodes between updates.
        concentration: How narrow it begins: 100 has a standard deviation of 5 % of the full width
            about a nominal value in its middle.
    """

    name = "entropy"
    moves = True

    def __init__(
        self,
        space: Space,
        *,
        widest: float = 1.0,
        target: float = 0.8,
        trust: float = 1.0,
        every: int = 500,
        concentration: float = 100.0,
    ) -> None:
        super().__init__(space)
        self.target = checked_share("target", target)
        self.trust = checked_share("trust", trust, most=10.0)
        self.every = int(checked_share("every", every, above=1, most=1e7))
        self._ranges = r = Ranges.of(space, widest=widest)
        nominal = (r.centre - r.low) / (r.high - r.low)
        tight = checked_share("concentration", concentration, most=1e4)
        self._start = Betas.around(nominal, tight)
        self._betas = [self._start]  # the newest last
        self._generation = 0
        self._ledger = Ledger()
        self._success: float | None = None  # of the last update's episodes
        self._promised: float | None = None  # by the last update
        self._missing = 0.0  # what promises fell short by of late
        self._reach = self.trust  # of the next update
        self._forget()

    @property
    def betas(self) -> Betas:
        """What is drawn from now, over the unit cube of full ranges."""
        return self._betas[-1]

    def draw(self, generator: np.random.Generator, n: int) -> Points:
        r = self._ranges
        rows = r.background(generator, checked_count(n))
        places = self.betas.sample(generator, n)
        rows[:, r.columns] = r.values(r.low + places * (r.high - r.low))
        self._ledger.write(rows, [self._generation] * n)
        return Points(self.space.names, rows)

    def learn(self, points: np.ndarray, success: np.ndarray) -> None:
        rows, good = checked_outcomes(self.space, points, success)
        oldest = self._generation - len(self._betas) + 1
        notes = self._ledger.take(rows)
        known = np.array([note is not None and note >= oldest for note in notes], bool)
        r = self._ranges
        places = (r.places(rows[known][:, r.columns]) - r.low) / (r.high - r.low)
        self._places.extend(places.astype(np.float32))
        self._good.extend(good[known].tolist())
        self._drawn_in.extend(note for note, use in zip(notes, known, strict=True) if use)
        if len(self._good) >= self.every:
            self._update()

    def distribution(self) -> Space:
        r = self._ranges
        places = self.betas.quantiles(_KNOTS)
        # a face of the cube that the density falls to is not reached; one that it meets is
        places[:, 0] = np.where(self.betas.eta[:, 0] < 1.0, 0.0, places[:, 0])
        places[:, -1] = np.where(self.betas.eta[:, 1] < 1.0, 1.0, places[:, -1])
        knots = r.values(r.low + places.T * (r.high - r.low)).T
        columns = zip(r.names, knots, self.betas.eta, r.logs, strict=True)
        return r.believing({name: _pieces(x, eta, log) for name, x, eta, log in columns})

    def full(self) -> Space:
        return self._ranges.evenly(self._ranges.low, self._ranges.high)

    def summary(self) -> str:
        if not len(self._ranges):
            return "no parameter is free to move"
        shares = np.subtract(*self.betas.quantiles(np.array([0.95, 0.05])).T) / 0.9
        i = int(shares.argmin())
        seen = "not known yet" if self._success is None else f"{100 * self._success:.0f} %"
        return (
            f"{len(shares)} parameters at {100 * shares.mean():.0f} % of full width on average; "
            f"narrowest: {self._ranges.names[i]}, {100 * shares[i]:.0f} %; success {seen}, target "
            f"{100 * self.target:.0f} %"
        )

    # --------------------------------------------------------------------------------------------

    def _update(self) -> None:
        evidence = self._evidence()
        self._success = float(evidence.success.mean())
        # An optimum over an estimate is one over its errors too, so it promises more than comes.
        # What was missing of late is asked for on top.
        missing = 0.0 if self._promised is None else self._promised - self._success
        self._missing = max(0.0, self._missing + _NEW * (missing - self._missing))
        target = min(self.target + self._missing, 1.0)
        # and a step that disappointed was too far for its evidence
        chance = np.sqrt(self.target * (1.0 - self.target) / len(evidence.success))
        short = missing > 2.0 * chance and self._success < self.target - chance
        factor = 0.5 if short else _LONGER
        self._reach = float(np.clip(factor * self._reach, self.trust / _SHORTEST, self.trust))
        new = widened(self.betas, evidence, target=target, trust=self._reach)
        if new.entropy() < self._start.entropy():
            new = self.betas
        self._promised = evidence.expected_success(new)
        self._generation += 1
        self._betas = [*self._betas, new][-_GENERATIONS:]
        self._forget()

    def _evidence(self) -> Evidence:
        """The episodes since the last update, each from the distribution it was drawn in."""
        found = statistics(np.array(self._places, float))
        generations, counts = np.unique(self._drawn_in, return_counts=True)
        newest = self._generation - len(self._betas) + 1
        # as if every episode were drawn from the mixture of all: no weight can become huge
        parts = [
            self._betas[g - newest].log_density(found) + np.log(count / len(found))
            for g, count in zip(generations, counts, strict=True)
        ]
        return Evidence(
            statistics=found,
            log_drawn=np.logaddexp.reduce(parts),
            success=np.array(self._good, float),
        )

    def _forget(self) -> None:
        self._places: list[np.ndarray] = []
        self._good: list[bool] = []
        self._drawn_in: list[int] = []

    def _kept(self) -> dict[str, Any]:
        places = np.array(self._places, "<f4").tobytes()
        return {
            "etas": [betas.eta.tolist() for betas in self._betas],
            "generation": self._generation,
            "success": self._success,
            "promised": self._promised,
            "missing": self._missing,
            "reach": self._reach,
            "places": base64.b64encode(places).decode("ascii"),
            "good": [int(won) for won in self._good],
            "drawn_in": list(self._drawn_in),
            "ledger": self._ledger.state(),
        }

    def _resume(self, state: dict[str, Any]) -> None:
        shape = self._start.eta.shape
        self._betas = [Betas(np.array(eta, float).reshape(shape)) for eta in state["etas"]]
        self._generation = int(state["generation"])
        self._success, self._promised = state["success"], state["promised"]
        self._missing, self._reach = float(state["missing"]), float(state["reach"])
        places = np.frombuffer(base64.b64decode(state["places"]), "<f4")
        self._places = list(places.reshape(-1, len(self._ranges)))
        self._good = [bool(won) for won in state["good"]]
        self._drawn_in = [int(generation) for generation in state["drawn_in"]]
        self._ledger.restore(state["ledger"])


def _pieces(knots: np.ndarray, eta: np.ndarray, log: bool) -> Prior:
    """A distribution with `_KNOTS` as its quantiles; no kind of prior is a Beta."""
    kind = LogUniform if log else Uniform
    if not eta.any():
        return kind(float(knots[0]), float(knots[-1]))
    parts = [kind(float(a), float(b)) for a, b in pairwise(knots)]
    return Mixture(tuple(np.diff(_KNOTS).tolist()), tuple(parts))
