"""What is missing: effects outside a fit, each asked how much of what is left it would explain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.effects import Effect
from trueup.episodes import Episode
from trueup.identify.cutting import shortened
from trueup.identify.descent import weights
from trueup.identify.problem import Problem
from trueup.identify.suspect import Suspect as Suspect
from trueup.space import Parameter, Space
from trueup.worlds import World

AROUND = ("environment", "object", "contact")
INSIDE = ("actuation", "latency")
_GAPS = (*INSIDE, *AROUND)
_TRIED = (0.1, 0.4)  # of the way from nominal to a bound
_LONGEST_S = 15.0  # of each recording: enough to suspect
_TWO_SIDED = (0.3, 0.7)  # a nominal value between these shares of its bounds may err both ways
_FURTHEST = 4.0  # times the change that was tried: an extrapolation beyond is not believed
_TRACE = 1e-3  # of the residual: a change below leaves no trace
_HALVINGS = 7
_LEAST_START = 0.02  # of the change that was tried: so that a fit can begin at all
_LEAST_NOISE = 0.1  # of the residual: a joint that hardly moves shows less than its sensor has
_ONSET_STEPS = (2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 120.0, 160.0, 240.0)  # thousandths of the bounds
_DRAWN = ("jitter", "noise", "drift", "dropout", "probability")  # nothing that a replay repeats


class Suspicion:
    """A fit that asks effects outside it for what they would explain.

    Args:
        world: Where the episodes are replayed.
        episodes: What was fitted.
        fitted: The parameters of the fit.
        u: (d,) where it ended, in their unit cube.
        longest_s: Of each recording, from its beginning, where nothing is touched yet.
        options: Of `Problem`.
    """

    def __init__(
        self,
        world: World,
        episodes: Sequence[Episode],
        fitted: Space,
        u: np.ndarray,
        *,
        longest_s: float = _LONGEST_S,
        **options: Any,
    ) -> None:
        self.world, self.fitted, self.u = world, fitted, u
        self.episodes = tuple(shortened(episode, longest_s) for episode in episodes)
        self.options = options
        problem = Problem(world, self.episodes, fitted, **options)
        here, slopes = problem.jacobian(u)
        self.columns, self.column, self.base = problem.columns, here.column, here.values[0]
        self._root = np.sqrt(weights(here)[0] * self._fair(here.values[0]))
        self.left = here.values[0] * self._root
        # what the fit itself can still take up does not count for a suspect
        self._known, _ = np.linalg.qr(slopes * self._root[:, None])
        self.left = self._new(self.left)

    def suspects(
        self, *, only: Sequence[str] | None = None, gaps: Sequence[str] = _GAPS
    ) -> list[Suspect]:
        """All effects of some gaps that leave a trace, those that explain most first."""
        found = [
            suspect
            for effect, parameters in self._outside(gaps)
            if only is None or type(effect).__name__ in only
            if (suspect := self._asked(effect, parameters)) is not None
        ]
        return sorted(found, key=lambda suspect: -suspect.gain)

    # --------------------------------------------------------------------------------------------

    def _fair(self, residual: np.ndarray) -> np.ndarray:
        """(N,) so that every column counts by what its own noise does not explain."""
        found = []
        for c in range(len(self.columns)):
            mine = residual[self.column == c]
            noise = np.sqrt((np.diff(mine, 2) ** 2).mean() / 6.0) if len(mine) > 2 else 0.0
            found.append(max(noise, _LEAST_NOISE * np.sqrt((mine**2).mean()), 1e-12))
        return 1.0 / np.array(found)[self.column] ** 2

    def _new(self, values: np.ndarray) -> np.ndarray:
        return values - self._known @ (self._known.T @ values)

    def _outside(self, gaps: Sequence[str]) -> Iterator[tuple[Effect, list[Parameter]]]:
        for effect in self.world.effects():
            some = [
                p
                for p in effect.parameters(self.world.model)
                if p.name not in self.fitted
                and p.gap.value in gaps
                and not any(word in p.name for word in _DRAWN)
            ]
            if some:
                yield effect, some

    def _asked(self, effect: Effect, parameters: Sequence[Parameter]) -> Suspect | None:
        problem = Problem(
            self.world,
            self.episodes,
            Space((*self.fitted, *parameters)),
            **self.options,
        )
        asking = _Asking(self, problem, rebuilt=type(effect).edit is not Effect.edit)
        answers: dict[str, _Answer] = {}
        for quantity, some in _alike(parameters).items():
            answer = asking.best(some)
            if answer is not None:
                answers[quantity] = answer
        if not answers:
            return None
        quantity = max(answers, key=lambda q: float(answers[q].explained.sum()))
        explained = answers[quantity].explained
        total = np.array([(self.left[self.column == c] ** 2).sum() for c in range(len(explained))])
        some = _alike(parameters)[quantity]
        own = {p.name: answers[quantity].value(p, self.columns) for p in some}
        gain = float(explained.sum() / total.sum())
        return Suspect(
            what=_words(effect, quantity),
            parameters=tuple(p.name for p in parameters),
            gain=gain,
            by_column=dict(
                zip(self.columns, (explained / np.maximum(total, 1e-12)).tolist(), strict=True)
            ),
            start=own,
        )


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """What a quantity explains when it is moved.

    Attributes:
        explained: (columns,) power.
        step: How far it was moved, in the unit cube.
        amount: (columns,) how much of that is best.
    """

    explained: np.ndarray
    step: float
    amount: np.ndarray

    def value(self, parameter: Parameter, columns: Sequence[str]) -> float:
        """The value that is best for the column that a parameter is named after, or as tried."""
        joints = [name.rsplit("/", 1)[-1] for name in columns]
        mine = [joint in parameter.name.split("/") for joint in joints]
        amount = float(self.amount[mine].mean()) if any(mine) else 1.0
        nominal = float(parameter.encode(np.array([parameter.nominal]))[0])
        moved = nominal + max(amount, _LEAST_START) * self.step
        return float(parameter.decode(np.clip(moved, 0.0, 1.0)))


class _Asking:
    """One effect put to the test: parameters of one quantity are moved together.

    Args:
        suspicion: Who asks.
        problem: The fit with the effect's parameters free, too.
        rebuilt: Whether the effect needs another model. If not, it changes nothing at its nominal
            value, bit for bit; but a model with a joint more is not solved to the last bit alike.
    """

    def __init__(self, suspicion: Suspicion, problem: Problem, *, rebuilt: bool) -> None:
        self.suspicion, self.problem = suspicion, problem
        space, fitted = problem.space, suspicion.fitted
        self.here = space.encode(space.nominal())[0]
        self.here[: len(fitted)] = suspicion.u
        self.base = problem.residual(self.here[None]).values[0] if rebuilt else suspicion.base

    def best(self, parameters: Sequence[Parameter]) -> _Answer | None:
        """What the quantity explains at its best value; none where it leaves no trace."""
        nominal = float(parameters[0].encode(np.array([parameters[0].nominal]))[0])
        way = 1.0 - nominal if nominal < _TWO_SIDED[1] else -nominal
        both = _TWO_SIDED[0] < nominal < _TWO_SIDED[1]
        steps = way * np.array([_TRIED[0], -_TRIED[0]] if both else _TRIED)
        changes = self._changes(parameters, steps)
        jumps = not self._traces(changes).any()
        if jumps:
            # what may err both ways does not begin somewhere: it is too weak to matter
            onset = None if both else self._onset(parameters, way)
            if onset is None:
                return None
            steps = onset + np.sign(way) * np.array(_ONSET_STEPS) * 1e-3
            changes = self._changes(parameters, steps)
        alone = len(parameters) == 1
        answers = self._explained(changes, steps, alone=alone, jumps=jumps)
        return max(answers, key=lambda answer: float(answer.explained.sum()))

    def _onset(self, parameters: Sequence[Parameter], way: float) -> float | None:
        """How far from nominal a parameter first leaves a trace, where it does not at once."""
        quiet, loud = 0.0, 0.98 * way
        if not self._traces(self._changes(parameters, np.array([loud])))[0]:
            return None
        for _ in range(_HALVINGS):
            middle = 0.5 * (quiet + loud)
            trace = self._traces(self._changes(parameters, np.array([middle])))[0]
            quiet, loud = (quiet, middle) if trace else (middle, loud)
        return quiet

    def _changes(self, parameters: Sequence[Parameter], steps: np.ndarray) -> np.ndarray:
        """(k, N) what moving all parameters of a quantity does to the residual."""
        moved = np.tile(self.here, (len(steps), 1))
        for parameter in parameters:
            i = self.problem.space.index(parameter.name)
            moved[:, i] = np.clip(moved[:, i] + steps, 0.0, 1.0)
        return self.problem.residual(moved).values - self.base

    def residual(self, points: Sequence[Mapping[str, float]]) -> np.ndarray:
        """(k, N) at some values of parameters; all others are where the fit ended, or nominal."""
        space, moved = self.problem.space, np.tile(self.here, (len(points), 1))
        for row, values in zip(moved, points, strict=True):
            for name, value in values.items():
                row[space.index(name)] = space[name].encode(np.array([value]))[0]
        return self.problem.residual(moved).values

    def _traces(self, changes: np.ndarray) -> np.ndarray:
        return (changes**2).mean(axis=1) > _TRACE * (self.base**2).mean()

    def _explained(
        self, changes: np.ndarray, steps: np.ndarray, *, alone: bool, jumps: bool
    ) -> Iterator[_Answer]:
        """What each change (k, N) of the residual explains."""
        for step, change in zip(steps, changes, strict=True):
            new = self.suspicion._new(change * self.suspicion._root)
            yield self._by_column(new, float(step), alone=alone, jumps=jumps)

    def _by_column(self, new: np.ndarray, step: float, *, alone: bool, jumps: bool) -> _Answer:
        """Each column by its own parameter, or all by the same; what jumps counts as it was tried.

        Half the push of a table is not a table half as high.
        """
        suspicion = self.suspicion
        kinds = [suspicion.column == c for c in range(len(suspicion.columns))]
        left = suspicion.left
        if jumps:
            amounts = np.ones(len(kinds))
        elif alone:
            amounts = np.full(len(kinds), _amount(new, left))
        else:
            amounts = np.array([_amount(new[k], left[k]) for k in kinds])
        gains = np.array(
            [
                (left[k] ** 2).sum() - ((left[k] + a * new[k]) ** 2).sum()
                for k, a in zip(kinds, amounts, strict=True)
            ]
        )
        return _Answer(
            explained=gains if alone else np.maximum(gains, 0.0), step=step, amount=amounts
        )


def _amount(new: np.ndarray, left: np.ndarray) -> float:
    """How much of a change best cancels what is left; never backwards."""
    power = float((new**2).sum())
    return float(np.clip(-(new @ left) / power, 0.0, _FURTHEST)) if power > 0 else 0.0


def _alike(parameters: Sequence[Parameter]) -> dict[str, list[Parameter]]:
    """Parameters of one effect by what they are about, whatever the joint."""
    found: dict[str, list[Parameter]] = defaultdict(list)
    for parameter in parameters:
        parts = parameter.name.split("/")
        found[
            parts[-1] if len(parts) == 3 and parts[0] != "environment" else "/".join(parts[1:])
        ] += [parameter]
    return found


def _words(effect: Effect, quantity: str) -> str:
    text = (type(effect).__doc__ or "").strip().split("\n")[0].rstrip(".")
    told = text.split(":")[0] if type(effect).__name__ != "FieldEffect" else ""
    return f"{told or 'Another'} ({quantity.replace('_', ' ')})" if told else quantity
