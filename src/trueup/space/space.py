"""An ordered tuple of parameters, with its unit cube: randomize samples it, identify narrows it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import TrueupError, UnknownName, suggestion
from trueup.files import whole
from trueup.space.gap import Gap
from trueup.space.joint import Joint
from trueup.space.parameter import Parameter
from trueup.space.point import Point, Points, about_file, numbers_only, read_json
from trueup.space.prior import Fixed, LogUniform, Prior, Uniform

_FORMAT = "trueup/space"


class Estimate(Protocol):
    """What `narrowed` needs of an identification: beliefs, alone or together."""

    @property
    def priors(self) -> Mapping[str, Prior]: ...
    @property
    def joints(self) -> Sequence[Joint]: ...


@dataclass(frozen=True)
class Space:
    """Every number a world may have wrong, and what we believe of each.

    Attributes:
        parameters: In column order.
        joints: Beliefs over several parameters at once; they replace those parameters' priors.
    """

    parameters: tuple[Parameter, ...]
    joints: tuple[Joint, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", tuple(self.parameters))
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "_index", {p.name: i for i, p in enumerate(self.parameters)})
        self._check()

    # Reading ------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in column order."""
        return tuple(p.name for p in self.parameters)

    @property
    def free(self) -> tuple[str, ...]:
        """The names of the parameters that are not held at one value."""
        joined = self._names_joined()
        return tuple(p.name for p in self.parameters if p.name in joined or not p.fixed)

    @property
    def active(self) -> tuple[str, ...]:
        """The names of the parameters that may leave their nominal value."""
        joined = self._names_joined()
        return tuple(
            p.name for p in self.parameters if p.name in joined or p.belief != Fixed(p.nominal)
        )

    def __len__(self) -> int:
        return len(self.parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.parameters)

    def __contains__(self, name: object) -> bool:
        return name in self._index  # type: ignore[attr-defined]

    def __getitem__(self, name: str) -> Parameter:
        return self.parameters[self.index(name)]

    def index(self, name: str) -> int:
        """The column of a parameter."""
        columns: dict[str, int] = self._index  # type: ignore[attr-defined]
        if name not in columns:
            raise UnknownName(
                "parameter", name, columns, fix="`trueup space WORLD` lists them all."
            )
        return columns[name]

    def by_gap(self) -> dict[Gap, Space]:
        """One space per gap that has parameters here, in the order of `Gap`."""
        parts = {gap: self._kept(lambda p, gap=gap: p.gap is gap) for gap in Gap}
        return {gap: part for gap, part in parts.items() if len(part)}

    # Points -------------------------------------------------------------------------------------

    def nominal(self) -> Point:
        """The nominal world: no effect changes anything."""
        return Point({p.name: p.nominal for p in self.parameters})

    def point(self, values: Mapping[str, float] | None = None, /) -> Point:
        """The nominal world but for the given values, each checked against its bounds."""
        values = numbers_only(values or {})
        for name, value in values.items():
            self[name].check_values(value)
        return Point({**self.nominal(), **values})

    @overload
    def points(self, source: Point | Mapping[str, float], n: int = 1) -> Points: ...
    @overload
    def points(self, source: Points | ArrayLike | Sequence[Mapping[str, float]]) -> Points: ...
    def points(self, source: Any, n: int = 1) -> Points:
        """Checked points of this space, columns in its order.

        Args:
            source: One point (repeated `n` times), several, or a (n, len(space)) array. Points that
                lack some of the parameters take the nominal value there.
            n: How often to repeat a single point.
        """
        if isinstance(source, Mapping):
            rows = np.tile([*self.point(source).values()], (n, 1))
        elif isinstance(source, Points):
            rows = np.tile([p.nominal for p in self.parameters], (len(source), 1))
            for name in source.names:
                rows[:, self.index(name)] = source.column(name)
        elif isinstance(source, Sequence) and all(isinstance(s, Mapping) for s in source):
            rows = np.array([[*self.point(s).values()] for s in source])
            rows = rows.reshape(len(source), len(self))
        else:
            rows = np.asarray(source, float)
            if rows.ndim != 2 or rows.shape[1] != len(self):
                raise TrueupError(
                    f"Points of this space need an array of shape (n, {len(self)}), "
                    f"not {rows.shape}.",
                    fix="Give one column for each parameter, in the order of `space.names`.",
                )
        self._check_rows(rows)
        return Points(self.names, rows)

    def sample(self, generator: np.random.Generator, n: int) -> Points:
        """`n` worlds drawn from the beliefs."""
        return self.from_uniform(generator.random((n, len(self))))

    def from_uniform(self, u: np.ndarray) -> Points:
        """Worlds for uniform numbers (n, len(space)), however those were planned."""
        u = self._unit_rows(u)
        values = np.empty_like(u)
        for quantile, columns, low, high in self._quantiles:
            values[:, columns] = quantile(u[:, columns], low, high)
        for joint, columns, parameters in self._joined():
            values[:, columns] = joint.quantile(u[:, columns], parameters)
        return Points(self.names, values)

    def log_density(self, points: Points) -> np.ndarray:
        """Natural log density (n,) of the beliefs; fixed parameters count nothing."""
        joined = self._names_joined()
        total = np.zeros(len(points))
        for p in self.parameters:
            if p.name not in joined and not p.fixed:
                total = total + p.log_density(points.column(p.name))
        for joint, columns, parameters in self._joined():
            total = total + joint.log_density(points.values[:, columns], parameters)
        return total

    def encode(self, points: Points | Point) -> np.ndarray:
        """Points to the unit cube, (n, len(space))."""
        points = self.points(points)
        columns = [p.encode(points.column(p.name)) for p in self.parameters]
        return np.stack(columns, axis=-1) if columns else np.zeros((len(points), 0))

    def decode(self, u: ArrayLike) -> Points:
        """The unit cube back to points; undoes `encode` to within rounding."""
        u = self._unit_rows(np.atleast_2d(np.asarray(u, float)))
        values = [p.decode(u[:, i]) for i, p in enumerate(self.parameters)]
        return Points(self.names, np.stack(values, axis=-1) if values else u)

    # Other spaces -------------------------------------------------------------------------------

    def select(self, *patterns: str) -> Space:
        """The parameters that match any pattern, e.g. `actuation/*/damping` or `latency`.

        A pattern without a slash is a gap; `*` matches across slashes.
        """
        return self._kept(self._matcher(patterns))

    def without(self, *patterns: str) -> Space:
        """The parameters that match no pattern."""
        matches = self._matcher(patterns)
        return self._kept(lambda p: not matches(p))

    def pinned(self, values: Mapping[str, float] | None = None, /) -> Space:
        """Hold parameters at one value: the given ones, or all of them at nominal."""
        values = self.nominal() if values is None else values
        return self._believing({name: Fixed(float(value)) for name, value in values.items()})

    def narrowed(self, estimate: Estimate | Joint | Mapping[str, Prior]) -> Space:
        """The same parameters with the beliefs of an identification; the rest stays as wide."""
        if isinstance(estimate, Joint):
            return self._believing({}, (estimate,))
        if isinstance(estimate, Mapping):
            return self._believing(estimate)
        return self._believing(estimate.priors, tuple(estimate.joints))

    # Storage ------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal space, bit for bit."""
        return {
            "format": _FORMAT,
            "version": 1,
            "parameters": [p.to_json() for p in self.parameters],
            "joints": [j.to_json() for j in self.joints],
        }

    @staticmethod
    def from_json(data: Any) -> Space:
        """The space that `to_json` described."""
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            found = data.get("format") if isinstance(data, dict) else type(data).__name__
            point = found == "trueup/point" or (isinstance(data, dict) and "format" not in data)
            raise TrueupError(
                f"This is not a space: its format is {found!r}, not {_FORMAT!r}.",
                fix="It looks like a point: give it as one."
                if point
                else "Write one with `trueup space WORLD --json --out FILE`.",
            )
        if data.get("version") != 1:
            raise TrueupError(
                f"This space is of version {data.get('version')!r}; this trueup reads version 1.",
                fix="Upgrade trueup, or write the space again.",
            )
        if not isinstance(data.get("parameters"), list):
            raise TrueupError(
                "This space could not be read: it has no list of parameters.",
                fix="Was it edited by hand? Write it again.",
            )
        try:
            return Space(
                tuple(Parameter.from_json(p) for p in data["parameters"]),
                tuple(Joint.from_json(j) for j in data.get("joints", ())),
            )
        except (AttributeError, TypeError, ValueError, KeyError) as error:
            raise TrueupError(
                f"This space could not be read: something in it is of the wrong kind ({error}).",
                fix="Was it edited by hand? Write it again.",
            ) from error

    def save(self, path: Path | str) -> None:
        """Write as JSON."""
        with whole(path) as partial:
            partial.write_text(json.dumps(self.to_json(), indent=1) + "\n")

    @staticmethod
    def load(path: Path | str) -> Space:
        """Read what `save` wrote."""
        with about_file(path):
            return Space.from_json(read_json(path, "space"))

    # --------------------------------------------------------------------------------------------

    def _check(self) -> None:
        names = self.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise TrueupError(
                f"The space names {twice[0]!r} more than once.", fix="Name each parameter once."
            )
        joined = [name for joint in self.joints for name in joint.names]
        twice = sorted({name for name in joined if joined.count(name) > 1})
        if twice:
            raise TrueupError(
                f"Two joint beliefs of this space both cover {twice[0]!r}.",
                fix="Let one joint cover it.",
            )
        for joint, _, parameters in self._joined():
            joint.check(parameters)

    @cached_property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.array([[p.low, p.high] for p in self.parameters]).reshape(-1, 2).T
        return low, high

    def _check_rows(self, rows: np.ndarray) -> None:
        low, high = self._bounds
        inside = ((rows >= low) & (rows <= high)).all(axis=0)  # NaN is not inside
        for i in np.flatnonzero(~inside):
            self.parameters[i].check_values(rows[:, i])

    @cached_property
    def _quantiles(self) -> list[tuple[Callable, np.ndarray, Any, Any]]:
        """Quantile functions with the columns each serves, plain priors gathered into one each.

        A space has a hundred parameters and a reset often concerns a handful of worlds: one call
        per column would cost more than all the arithmetic.
        """
        gathered: dict[type[Uniform], list[tuple[int, float, float]]] = defaultdict(list)
        found: list[tuple[Callable, np.ndarray, Any, Any]] = []
        for i, p in enumerate(self.parameters):
            if isinstance(p.belief, (Uniform, Fixed)):
                kind = LogUniform if isinstance(p.belief, LogUniform) else Uniform
                gathered[kind].append((i, *p.belief.support(p.low, p.high)))
            else:
                found.append((p.belief.quantile, np.array([i]), p.low, p.high))
        for kind, rows in gathered.items():
            columns, low, high = (np.array(side) for side in zip(*rows, strict=True))
            found.append((kind().quantile, columns, low, high))
        return found

    def _names_joined(self) -> set[str]:
        return {name for joint in self.joints for name in joint.names}

    def _unit_rows(self, u: ArrayLike) -> np.ndarray:
        u = np.asarray(u, float)
        if u.ndim != 2 or u.shape[1] != len(self):
            raise TrueupError(
                f"The unit cube of this space needs an array of shape (n, {len(self)}), "
                f"not {u.shape}.",
                fix="Give one column for each parameter, in the order of `space.names`.",
            )
        if not ((u >= 0.0) & (u <= 1.0)).all():
            bad = float(u[~((u >= 0.0) & (u <= 1.0))][0])
            raise TrueupError(
                f"{bad} is not inside the unit cube.", fix="Give numbers from 0 to 1."
            )
        return u

    def _joined(self) -> Iterator[tuple[Joint, list[int], list[Parameter]]]:
        for joint in self.joints:
            columns = [self.index(name) for name in joint.names]
            yield joint, columns, [self.parameters[i] for i in columns]

    def _matcher(self, patterns: Sequence[str]):
        wanted = [pattern if "/" in pattern else f"{pattern}/*" for pattern in patterns]
        for pattern in wanted:
            if not any(fnmatchcase(name, pattern) for name in self.names):
                raise TrueupError(
                    f"No parameter of this space matches {pattern!r}.",
                    fix=f"{suggestion(pattern.removesuffix('/*'), [*self.by_gap(), *self.names])} "
                    "Patterns look like 'actuation/*/damping' or 'latency'.",
                )
        return lambda p: any(fnmatchcase(p.name, pattern) for pattern in wanted)

    def _kept(self, keep) -> Space:
        parameters = tuple(p for p in self.parameters if keep(p))
        names = {p.name for p in parameters}
        joints = []
        for joint in self.joints:
            left = [name for name in joint.names if name in names]
            if left:
                joints.append(joint if len(left) == len(joint.names) else joint.marginal(left))
        return Space(parameters, tuple(joints))

    def _believing(self, priors: Mapping[str, Prior], joints: tuple[Joint, ...] = ()) -> Space:
        for name in [*priors, *(name for joint in joints for name in joint.names)]:
            self.index(name)
        renewed = set(priors) | {name for joint in joints for name in joint.names}
        kept = []
        for joint in self.joints:
            left = [name for name in joint.names if name not in renewed]
            if left:
                kept.append(joint.marginal(left))
        parameters = tuple(
            replace(p, prior=priors[p.name]) if p.name in priors else p for p in self.parameters
        )
        return Space(parameters, (*kept, *joints))
