"""The safe envelope of a motion, computed from the model and checked before torque is on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.errors import TrueupError
from trueup.record.body import Body
from trueup.record.clearance import Clearance, Near, Pair
from trueup.record.motions.hand import SITE
from trueup.record.motions.motion import Motion, Plan, Situation
from trueup.worlds import World

_SMALLEST = 0.05  # a motion that must be smaller than this share is not offered
_TRIES = 7
_SHOWN = 3
_NO_NEARER_M = 0.003


@dataclass(frozen=True, kw_only=True)
class Margins:
    """How much room must be left. Commands are checked, and a real arm sags below them.

    Attributes:
        joint_rad: To the limit of a joint.
        speed_share: Of a servo's own speed that may be asked for.
        acceleration_share: Of its own acceleration.
        link_m: Between links.
        fixed_m: Between a link and the table, or what else stands fixed.
        thing_m: Between a link and a thing that was seen.
        fingers_m: Between the fingers and what is fixed, while they probe a thing there.
        sunk_m: How far below the model's table a probed thing may be seen to stand; the fingers
            follow it there.
    """

    joint_rad: float = 0.05
    speed_share: float = 0.9
    acceleration_share: float = 0.9
    link_m: float = 0.008
    fixed_m: float = 0.02
    thing_m: float = 0.015
    fingers_m: float = 0.0005
    sunk_m: float = 0.015


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One reason why a motion is refused.

    Attributes:
        kind: `limit`, `speed`, `acceleration` or `clearance`.
        who: The joint, or the two links.
        time_s: When in the motion.
        value: What it would be: rad, rad/s, rad/s² or m.
        allowed: What it may be.
        cell: Of which robot.
        sentence: All this in words.
    """

    kind: str
    who: str
    time_s: float
    value: float
    allowed: float
    cell: int
    sentence: str


class Unsafe(TrueupError):
    """A motion that leaves the safe envelope.

    Attributes:
        findings: Why, the worst of each kind first.
        scale: The largest share of the motion that fits; none where no smaller one does.
    """

    def __init__(self, motion: Motion, findings: list[Finding], scale: float | None) -> None:
        self.findings, self.scale = tuple(findings), scale
        shown = [finding.sentence for finding in findings[:_SHOWN]]
        if (more := len(findings) - _SHOWN) > 0:
            shown.append(
                f"There {'is 1 more reason' if more == 1 else f'are {more} more reasons'}."
            )
        super().__init__(
            f"The motion {motion.title!r} is not safe. " + " ".join(shown),
            fix=f"At {scale:.2f} of its size it fits: use scaled({scale:.2f}), or --scale "
            f"{scale:.2f}."
            if scale is not None
            else "A smaller one does not fit either: begin or centre it elsewhere.",
        )


class Envelope:
    """What a robot may be told to do, from its nominal model.

    Args:
        world: The robot and what it stands on.
        body: Its servos, by default as the model has them.
        margins: How much room must be left.
    """

    def __init__(
        self, world: World, *, body: Body | None = None, margins: Margins | None = None
    ) -> None:
        self.world = world
        self.body = body or Body.of(world)
        self.margins = margins or Margins()
        self._clearance = Clearance(world, self.body)
        self._built = self._built_near()

    @property
    def things(self) -> tuple[str, ...]:
        """Bodies that lie about freely."""
        return tuple(self._clearance.things)

    def checked(
        self, motion: Motion, situation: Situation, *, end: np.ndarray | None = None
    ) -> Plan:
        """The plan of a motion, or `Unsafe` with every reason and the largest scale that fits."""
        plan = motion.planned(situation, end=end)
        findings = self.findings(plan, situation)
        if findings:
            raise Unsafe(motion, findings, self._largest(motion, situation, end))
        return plan

    def series(self, motions: Sequence[Motion], situation: Situation) -> list[Plan]:
        """Checked plans of motions one after the other, and back to where the first began."""
        plans: list[Plan] = []
        for i, motion in enumerate(motions):
            start = plans[-1].path[-1] if plans else situation.start
            end = situation.start if i == len(motions) - 1 else None
            plans.append(self.checked(motion, replace(situation, start=start), end=end))
        return plans

    def findings(self, plan: Plan, situation: Situation) -> list[Finding]:
        """Everything that speaks against a plan; empty where it is safe."""
        return [
            *self._beyond_limits(plan, situation.start),
            *self._too_quick(plan),
            *self._too_near(plan, situation),
        ]

    def _largest(
        self, motion: Motion, situation: Situation, end: np.ndarray | None
    ) -> float | None:
        """The largest share of a motion that fits, to one part in a hundred."""

        def fits(share: float) -> bool:
            try:
                plan = motion.scaled(share).planned(situation, end=end)
            except TrueupError:
                return False
            return not self.findings(plan, situation)

        low, high = _SMALLEST, 1.0
        if not fits(low):
            return None
        for _ in range(_TRIES):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if fits(middle) else (low, middle)
        return max(_SMALLEST, int(100 * low) / 100)

    # Reasons ------------------------------------------------------------------------------------

    def _beyond_limits(self, plan: Plan, start: np.ndarray) -> Iterator[Finding]:
        path = plan.path
        stops = np.array([joint == plan.stopped for joint in self.body.joints])
        margins = np.where(stops, 0.0, self.margins.joint_rad)
        # an arm that already rests at a limit may leave it, and come back to rest
        for sign, limits, at_rest in (
            (-1.0, self.body.low, np.minimum(start, path[-1])),
            (1.0, self.body.high, np.maximum(start, path[-1])),
        ):
            allowed = sign * np.maximum(sign * np.array(limits) - margins, sign * at_rest)
            over = sign * (path - allowed)
            for joint in np.flatnonzero(over.max(axis=(0, 1)) > 1e-9):
                row, cell = np.unravel_index(over[:, :, joint].argmax(), over.shape[:2])
                name, value = self.body.joints[joint], float(path[row, cell, joint])
                yield Finding(
                    kind="limit",
                    who=name,
                    time_s=float(row) * plan.period_s,
                    value=value,
                    allowed=float(allowed[cell, joint]),
                    cell=int(cell),
                    sentence=f"{name!r} would be at {value:.2f} rad after "
                    f"{row * plan.period_s:.1f} s; its limit is {limits[joint]:.2f}, and "
                    f"{margins[joint]:.2f} must be left.",
                )

    def _too_quick(self, plan: Plan) -> Iterator[Finding]:
        for order, kind, unit, limits, share in (
            (1, "speed", "rad/s", self.body.speed, self.margins.speed_share),
            (2, "acceleration", "rad/s²", self.body.acceleration, self.margins.acceleration_share),
        ):
            if len(plan.path) <= order:
                continue
            rates = np.abs(np.diff(plan.path, n=order, axis=0)) / plan.period_s**order
            allowed = share * np.array(limits)
            for joint in np.flatnonzero((rates > allowed + 1e-9).any(axis=(0, 1))):
                row, cell = np.unravel_index(rates[:, :, joint].argmax(), rates.shape[:2])
                name, value = self.body.joints[joint], float(rates[row, cell, joint])
                yield Finding(
                    kind=kind,
                    who=name,
                    time_s=float(row) * plan.period_s,
                    value=value,
                    allowed=float(allowed[joint]),
                    cell=int(cell),
                    sentence=f"{name!r} would need {value:.2f} {unit} after "
                    f"{row * plan.period_s:.1f} s; its servo is good for {allowed[joint]:.2f}.",
                )

    def _too_near(self, plan: Plan, situation: Situation) -> list[Finding]:
        least = self._least(plan.path, plan.period_s, situation.objects)
        close = {pair for pair, near in least.items() if near.distance_m < self._margin(pair, plan)}
        at_rest = self._least(situation.start[None], plan.period_s, situation.objects)
        worst: dict[frozenset[str], Finding] = {}
        for pair in close:
            near = least[pair]
            allowed = self._margin(pair, plan)
            for rest in (at_rest.get(pair), self._built.get(pair)):
                if rest is not None:  # what is near already may come no nearer
                    allowed = min(allowed, rest.distance_m - _NO_NEARER_M)
            if near.distance_m >= allowed:
                continue
            finding = self._clearance_finding(near, allowed)
            key = frozenset(map(self._clearance.name, (pair.first, pair.second)))
            if key not in worst or finding.value < worst[key].value:
                worst[key] = finding
        return sorted(worst.values(), key=lambda finding: finding.value - finding.allowed)

    def _clearance_finding(self, near: Near, allowed: float) -> Finding:
        one, other = (self._clearance.name(g) for g in (near.pair.first, near.pair.second))
        how = (
            f"would come within {1e3 * near.distance_m:.0f} mm of each other"
            if near.distance_m > 0
            else f"would be {-1e3 * near.distance_m:.0f} mm inside each other"
        )
        return Finding(
            kind="clearance",
            who=f"{one}, {other}",
            time_s=near.time_s,
            value=near.distance_m,
            allowed=allowed,
            cell=near.cell,
            sentence=f"{one!r} and {other!r} {how} after {near.time_s:.1f} s; "
            f"{1e3 * allowed:.0f} mm must be left.",
        )

    def _margin(self, pair: Pair, plan: Plan) -> float:
        probing = plan.touched != "" and pair.first in self._fingers
        if pair.kind == "self":
            return self.margins.link_m
        if pair.kind == "fixed":
            sunk = min(plan.sunk_m, self.margins.sunk_m)
            return self.margins.fingers_m - sunk if probing else self.margins.fixed_m
        return -np.inf if probing and pair.kind == plan.touched else self.margins.thing_m

    @property
    def _fingers(self) -> frozenset[int]:
        return self._clearance.carried(SITE)

    def _built_near(self) -> dict[Pair, Near]:
        """What is near in the ready pose: links that are built so."""
        ready = np.array(self.body.ready)[None, None]
        return self._least(ready, 1.0, {})

    def _least(
        self, path: np.ndarray, period_s: float, objects: Mapping[str, np.ndarray]
    ) -> dict[Pair, Near]:
        margins = self.margins
        within_m = max(margins.link_m, margins.fixed_m, margins.thing_m, margins.fingers_m)
        return self._clearance.least(path, period_s, objects, within_m=within_m)
