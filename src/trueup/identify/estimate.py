"""What identification returns: a posterior over a space, and what it rests on."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.artefacts import Artefact
from trueup.episodes.episode import JOINTS
from trueup.files import whole
from trueup.identify.check import Check
from trueup.identify.choose import Choice
from trueup.space import Joint, JointNormal, Point, Prior, Space

_KIND = Artefact(
    format="trueup/estimate",
    version=1,
    called="an estimate",
    written="`trueup identify` writes an estimate.json into its --out folder.",
    again="Identify again",
)
HOLLOW = "what was fitted predicts motions that it has not seen no better than the model did"
_BETTER, _OFF_RAD = 0.9, 0.005  # of the error before, and at least: more is no identification
_TRACE = 1e-6  # of a variance
PINNED, VAGUE = 0.3, 0.8  # of the prior's spread: what is pinned, and what is not told at all


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One parameter after the fit.

    Attributes:
        name: Which.
        unit: Of the numbers.
        value: The best one.
        low: Lower end of its 90 % interval.
        high: Upper end.
        before: What the model had.
        left: Its spread as a share of what was believed before.
    """

    name: str
    unit: str
    value: float
    low: float
    high: float
    before: float
    left: float

    @property
    def differs(self) -> bool:
        """Whether it is surely not what the model had."""
        return not self.low <= self.before <= self.high

    @property
    def verdict(self) -> str:
        """`pinned`, `partly` or `not told`."""
        return "pinned" if self.left < PINNED else "partly" if self.left < VAGUE else "not told"


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """How far simulated and measured lie apart in some episodes, in the signals' own units.

    Attributes:
        episodes: How many.
        before: Root mean square by column, at nominal.
        after: The same, at the estimate.
    """

    episodes: int
    before: Mapping[str, float]
    after: Mapping[str, float]

    def undone(self, columns: Collection[str]) -> Misfit:
        """The same, if some columns had not been fitted."""
        after = {c: self.before[c] if c in columns else off for c, off in self.after.items()}
        return replace(self, after=after)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A posterior over a space. `Space.narrowed` takes it: posterior in, randomization out.

    Attributes:
        world: The world's name.
        belief: Mean and covariance, in the parameters' own scales.
        findings: Every parameter that was fitted.
        unseen: Sentences: what the data cannot tell.
        fitted: The misfit of what was fitted.
        held: The misfit of what was kept out of the fit.
        each: The misfit of a usual episode or hold, the median of all: one in which a thing slipped
            says little there. None where they were not looked at one by one.
        noise: Standard deviation of what no parameter explains, by column.
        check: Whether reality lies inside what the fitted space can produce; none if not asked.
        choices: Effects that were tried, and whether unseen recordings spoke for them.
        notes: Sentences about the data: what was left out and why.
        varies: Parameters that are not the same from one moment to the next, and by how much: a
            standard deviation in their scale, beside what is not known of their mean.
        accounted: Of the variance of these, the share that the catalogue has a number for, such as
            frames that are missed; all of it where nothing is said.
        made: How it was made, as JSON.
    """

    world: str
    belief: JointNormal
    findings: tuple[Finding, ...]
    unseen: tuple[str, ...]
    fitted: Misfit
    held: Misfit
    noise: Mapping[str, float]
    each: Misfit | None = None
    check: Check | None = None
    choices: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()
    varies: Mapping[str, float] = field(default_factory=dict)
    accounted: Mapping[str, float] = field(default_factory=dict)
    made: Mapping[str, Any] = field(default_factory=dict)

    @property
    def point(self) -> Point:
        """The best point."""
        return Point({finding.name: finding.value for finding in self.findings})

    @property
    def priors(self) -> Mapping[str, Prior]:
        """Nothing is believed of one parameter alone: see `joints`."""
        return {}

    @property
    def joints(self) -> Sequence[Joint]:
        """The posterior, correlations included."""
        return (self.belief,)

    @property
    def hollow(self) -> bool:
        """Whether the fit is no better than its model was at motions that it has not seen.

        Something is missing then, and the numbers stand for it: a policy that is trained for them
        is worse off than one that is ready for anything.
        """
        before, after = (_joints_off(side) for side in (self.held.before, self.held.after))
        missing = self.check is not None and not self.check.inside
        return missing and _no_better(before, after)

    def solid(self) -> Estimate | None:
        """A hollow estimate without the joints that make it so; none where these are the most.

        One joint that does what no number makes it do says nothing against the numbers of others.
        """
        held = {c: off for c, off in self.held.after.items() if c.startswith(f"{JOINTS}/")}
        empty = {c for c, off in held.items() if _no_better(self.held.before[c], off)}
        joints = {column.removeprefix(f"{JOINTS}/") for column in empty}
        names = [name for name in self.belief.names if not joints & set(name.split("/"))]
        if not joints or not names or 2 * len(empty) > len(held):
            return None
        aside = f"The numbers of {', '.join(sorted(joints))} were left aside: there, {HOLLOW}."
        return replace(
            self,
            belief=self.belief.marginal(names),
            findings=tuple(finding for finding in self.findings if finding.name in names),
            fitted=self.fitted.undone(empty),
            held=self.held.undone(empty),
            notes=(*self.notes, aside),
        )

    def beside(self, other: Estimate) -> Estimate:
        """The same estimate with what another tells of other numbers, as if by themselves."""
        more = [name for name in other.belief.names if name not in self.belief.names]
        if not more:
            return self
        theirs, mine = other.belief.marginal(more), len(self.belief.names)
        covariance = np.zeros((mine + len(more),) * 2)
        covariance[:mine, :mine], covariance[mine:, mine:] = (
            self.belief.covariance,
            theirs.covariance,
        )
        return replace(
            self,
            belief=JointNormal(
                (*self.belief.names, *more),
                np.concatenate([self.belief.mean, theirs.mean]),
                covariance,
            ),
            findings=(*self.findings, *(f for f in other.findings if f.name in more)),
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal estimate."""
        return {
            **_KIND.mark,
            "world": self.world,
            "belief": self.belief.to_json(),
            "findings": [vars(finding) | {"verdict": finding.verdict} for finding in self.findings],
            "unseen": list(self.unseen),
            "fitted": vars(self.fitted),
            "held": vars(self.held),
            "each": None if self.each is None else vars(self.each),
            "noise": dict(self.noise),
            "check": None if self.check is None else self.check.to_json(),
            "choices": [choice.to_json() for choice in self.choices],
            "notes": list(self.notes),
            "varies": dict(self.varies),
            "accounted": dict(self.accounted),
            "made": dict(self.made),
        }

    @staticmethod
    def from_json(data: Any, where: str = "the estimate") -> Estimate:
        """The estimate that `to_json` described."""
        return _KIND.read(data, where, _read)

    def save(self, path: Path | str) -> None:
        """Write as JSON."""
        with whole(path) as partial:
            partial.write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path | str) -> Estimate:
        """Read what `save` wrote."""
        return Estimate.from_json(_KIND.load(path), str(path))


def _read(data: Mapping[str, Any]) -> Estimate:
    belief = Joint.from_json(data["belief"])
    assert isinstance(belief, JointNormal)
    keys = ("name", "unit", "value", "low", "high", "before", "left")
    return Estimate(
        world=data["world"],
        belief=belief,
        findings=tuple(Finding(**{k: row[k] for k in keys}) for row in data["findings"]),
        unseen=tuple(data["unseen"]),
        fitted=Misfit(**data["fitted"]),
        held=Misfit(**data["held"]),
        each=None if data.get("each") is None else Misfit(**data["each"]),
        noise=data["noise"],
        check=None if data.get("check") is None else Check.from_json(data["check"]),
        choices=tuple(Choice.from_json(row) for row in data.get("choices", ())),
        notes=tuple(data["notes"]),
        varies=data.get("varies", {}),
        accounted=data.get("accounted", {}),
        made=data["made"],
    )


def belief_of(space: Space, u: np.ndarray, covariance: np.ndarray) -> JointNormal:
    """A normal in the unit cube as one in the parameters' scales."""
    lows = np.array([np.log(p.low) if p.scale == "log" else p.low for p in space])
    highs = np.array([np.log(p.high) if p.scale == "log" else p.high for p in space])
    width = highs - lows
    return JointNormal(space.names, lows + u * width, _regular(covariance) * np.outer(width, width))


def _regular(covariance: np.ndarray) -> np.ndarray:
    """The covariance, where rounding leaves a direction less than no variance: with a trace of it.

    So it comes from recordings without noise, which pin some numbers to the last digit.
    """
    size = np.sqrt(np.diag(covariance))
    alike = covariance / np.outer(size, size)
    lacking = _TRACE - float(np.linalg.eigvalsh(alike).min())
    if lacking <= 0.0:
        return covariance
    return (alike + lacking * np.eye(len(size))) * np.outer(size, size)


def findings_of(
    space: Space, u: np.ndarray, covariance: np.ndarray, left: np.ndarray
) -> tuple[Finding, ...]:
    """Each parameter in its own unit."""
    reach = 1.645 * np.sqrt(np.diag(covariance))
    found = []
    for i, p in enumerate(space):
        low, value, high = p.decode(np.clip([u[i] - reach[i], u[i], u[i] + reach[i]], 0.0, 1.0))
        found.append(
            Finding(
                name=p.name,
                unit=p.unit,
                value=float(value),
                low=float(low),
                high=float(high),
                before=p.nominal,
                left=float(left[i]),
            )
        )
    return tuple(found)


def _no_better(before: float, after: float) -> bool:
    return after > _OFF_RAD and after > _BETTER * before


def _joints_off(misfit: Mapping[str, float]) -> float:
    """Root mean square over all joints."""
    joints = [off for column, off in misfit.items() if column.startswith(f"{JOINTS}/")]
    return float(np.sqrt(np.mean(np.square(joints)))) if joints else 0.0
