"""What recordings add to trials: how deep the evidence goes, what departs, what stays in doubt."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from trueup.diagnose.doubt import Doubt
from trueup.diagnose.failures import analysed
from trueup.diagnose.gap_report import Departure, GapReport
from trueup.diagnose.trialed import Trials
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.worlds import World

_PROBED = ("contact", "object")
_NOTICED = (
    0.002  # rad that a joint is off: a policy does not notice less, encoders read as coarsely
)
_MISSES = 0.01  # rad that joints are off: a fingertip 30 cm away is by 3 mm
_WANDERS = 1.5  # times what a walk goes on average: one goes further than the other
_APART = 1.5  # times what holds and the tracker leave
_TURNED = 0.1  # rad, in the hand: a thing that turns there by so much is hardly held
_ACCOUNTED = 0.5  # of what varies: with more than that, it is as the simulator has it
_ODDS, _AGREE = 4.0, 2.0  # standard deviations at which two estimates are at odds, and agree
_SURE = 1.645  # standard deviations to either side of a 90 % interval


class Told(Protocol):
    """What identification returns, as far as a gap report quotes it."""

    @property
    def findings(self) -> Sequence[Any]: ...
    @property
    def check(self) -> Any: ...
    @property
    def fitted(self) -> Any: ...
    @property
    def held(self) -> Any: ...
    @property
    def each(self) -> Any: ...
    @property
    def noise(self) -> Mapping[str, float]: ...
    @property
    def varies(self) -> Mapping[str, float]: ...
    @property
    def accounted(self) -> Mapping[str, float]: ...


def evidence_of(told: Sequence[Told], *, heard: bool = False) -> tuple[str, ...]:
    """Trials, and which kinds of recordings beside them.

    Args:
        told: What was identified.
        heard: Whether the noise of recordings was listened to, too.
    """
    names = [f.name for one in told for f in one.findings if "/size_" not in f.name]
    gaps = {name.split("/")[0] for name in names}  # how large a thing is, a hold tells as well
    free, probed = gaps - set(_PROBED), gaps & set(_PROBED)
    return ("trials", *(["recordings"] if free or heard else []), *(["probes"] if probed else []))


def doubts_of(
    told: Sequence[Told],
    *,
    shaken: bool = False,
    wander: float = 0.0,
    learnt: float = 0.0,
    late: bool = False,
) -> tuple[Doubt, ...]:
    """What the identification could not explain, as far as a policy could notice it.

    Commands that were lost or late by chance are none, nor are frames that were missed: the
    catalogue has them, no replay repeats them.

    Args:
        told: What was identified.
        shaken: Whether commands were heard to be noisy, which no replay repeats either.
        wander: How far encoders were heard to drift, in rad: no replay repeats that, either.
        learnt: How much of what the numbers leave was learnt beside them, as a share of 1.
        late: Whether frames that are late by chance are played beside all numbers, too: what they
            cost is known then, and no reason to believe other numbers less.
    """
    found = [
        doubt
        for one in told
        for kind in (
            () if shaken or _drifted(one, wander) else _unmodelled(one, learnt),
            _apart(one),
            _out_of_step(one, late),
        )
        for doubt in kind
    ]
    return (*found, *(_at_odds(told) if found else ()))


def _unmodelled(one: Told, learnt: float) -> Iterator[Doubt]:
    """Joints that do what the fitted numbers do not make them do."""
    check = one.check
    if check is not None and not check.inside and not check.random and _noticed(one):
        yield Doubt(what=check.sentences[0], gaps=_gaps(one), explained=_explained(one, learnt))


def _drifted(one: Told, wander: float) -> bool:
    """Whether joints are no further off than drifting encoders make them seem."""
    joints = left_over(one) if one.check is not None else {}
    return bool(joints) and _size(joints) <= _WANDERS * wander


def _size(joints: Mapping[str, float]) -> float:
    """Root mean square."""
    return math.hypot(*joints.values()) / math.sqrt(max(len(joints), 1))


def _explained(one: Told, learnt: float) -> float:
    """How much of what joints did otherwise than the model the fitted numbers make them do.

    Whatever that is, what they leave may cost as much by itself: a hand that is a few millimetres
    off misses. It counts less, the more they leave; but what was learnt of that is played, and so
    it is known what it costs.
    """
    before, after = (
        math.hypot(*(off for column, off in side.items() if column.startswith(f"{JOINTS}/")))
        for side in (one.fitted.before, one.fitted.after)
    )
    joints = left_over(one)
    left = (1.0 - learnt) * _size(joints)
    return _less(before, after) / (1.0 + (left / _MISSES) ** 2)


def _less(before: float, after: float) -> float:
    """By what share something is smaller: a policy minds how far off a joint is, not its square."""
    return max(0.0, 1.0 - after / before) if before > 0.0 else 0.0


def _apart(one: Told) -> Iterator[Doubt]:
    """Things that were held and are not seen where the hand has them, whatever the numbers.

    Frames that are late by chance are said by themselves. A thing that turns in the hand slips: no
    camera and no zero makes it seem to, and a hand that lets it go is no doubt about either.
    """
    if one.varies or one.each is None or _slipped(one):
        return
    for column, usual in one.noise.items():
        before, after = (side.get(column, 0.0) for side in (one.each.before, one.each.after))
        if "/" in column or after <= _APART * usual:
            continue
        yield Doubt(
            what=f"Unmodelled: hand and eye disagree about {column} by {1e3 * after:.1f} mm after "
            f"all, where {1e3 * usual:.1f} mm would be usual.",
            gaps=_gaps(one),
            explained=_less(before, after),
        )


def _slipped(one: Told) -> bool:
    """Whether most holds are none."""
    turned = [off for column, off in one.each.after.items() if column.endswith("orientation")]
    return max(turned, default=0.0) > _TURNED


def _gaps(one: Told) -> tuple[str, ...]:
    """Those whose numbers were fitted."""
    return tuple(dict.fromkeys(finding.name.split("/")[0] for finding in one.findings))


def _out_of_step(one: Told, late: bool) -> Iterator[Doubt]:
    """Numbers that vary from moment to moment as nothing in the catalogue makes them vary."""
    for name, share in one.accounted.items():
        if share < _ACCOUNTED:
            yield Doubt(
                what=f"Unmodelled: {name} is not one number; it varies from moment to moment, and "
                f"what the simulator has makes for {100 * share:.0f} % of that.",
                gaps=() if late else (name.split("/")[0],),
                explained=share,
            )


def _at_odds(told: Sequence[Told]) -> Iterator[Doubt]:
    """A number that two kinds of recordings tell, and each otherwise: it stands for something else.

    A joint whose zero is off bends motions and what the hand holds alike; a base that tilts does
    not. Where nothing else is in doubt, numbers are as sure as they say, or nearly.
    """
    for k, one in enumerate(told):
        for other in told[k + 1 :]:
            mine = {f.name: f for f in one.findings}
            worst = max(
                ((_sigmas(mine[f.name], f), f.name) for f in other.findings if f.name in mine),
                default=(0.0, ""),
            )
            if worst[0] > _ODDS:
                yield Doubt(
                    what=f"Unmodelled: recordings tell {worst[1]} in two ways, and disagree by "
                    f"{worst[0]:.0f} times what either leaves open.",
                    gaps=_gaps(other),
                    explained=(_AGREE / worst[0]) ** 2,
                )


def _sigmas(a: Any, b: Any) -> float:
    """How far two findings of one number are apart, in standard deviations."""
    spread = math.hypot(a.high - a.low, b.high - b.low) / (2.0 * _SURE)
    return abs(a.value - b.value) / max(spread, 1e-12)


def left_over(one: Told) -> Mapping[str, float]:
    """By how much joints are off after the fit, beyond the noise of their sensors, in rad."""
    return {
        column.removeprefix(f"{JOINTS}/"): off
        * _beyond(one.check, column.removeprefix(f"{JOINTS}/"))
        for column, off in one.fitted.after.items()
        if column.startswith(f"{JOINTS}/")
    }


def _noticed(one: Told) -> bool:
    """Whether joints are off by more than a policy minds; other signals always may be."""
    joints = left_over(one)
    return not joints or max(joints.values()) > _NOTICED


def _beyond(check: Any, joint: str) -> float:
    """How much of what is left of a joint is no noise of its sensor, as a share of 1."""
    if joint not in check.excess or joint not in check.allowed:
        return 1.0
    usual = min(1.0, check.allowed[joint] / max(check.excess[joint], 1e-9))
    return math.sqrt(1.0 - usual**2)


def departures_of(told: Sequence[Told], world: World) -> tuple[Departure, ...]:
    """Every parameter of the world that was fitted, the surest first; the last finding counts."""
    found = {
        f.name: Departure(
            name=f.name,
            unit=f.unit,
            nominal=f.before,
            value=f.value,
            low=f.low,
            high=f.high,
            left=f.left,
        )
        for one in told
        for f in one.findings
        if f.name in world.catalogue
    }
    return tuple(sorted(found.values(), key=lambda departure: departure.left))


def with_failures(report: GapReport, world: World, trials: Trials) -> GapReport:
    """The report, with where its failures happened, where the trials' signals tell."""
    try:
        return replace(report, failures=analysed(world, trials.episodes).to_json())
    except TrueupError as error:
        return replace(report, notes=(*report.notes, f"No failure analysis: {error.what}"))
