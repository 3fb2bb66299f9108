"""The space to train in next: what is known as it is known, what is blamed wider than usual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.diagnose import GapReport
from trueup.diagnose.hearing import doubts_of, left_over
from trueup.effects.actuation import CommandNoise
from trueup.errors import TrueupError
from trueup.identify import Estimate
from trueup.identify.frames import Frames, drawn_late, in_step, not_missed, seen_late
from trueup.identify.residual import SHARE, LearnedResidual
from trueup.loop.sober import FLOOR, sober, support, usual_width
from trueup.space import Gap, JointNormal, LogUniform, Parameter, Prior, Space, Uniform
from trueup.worlds import World

WORTH = 2.0
"""Points: a gap that costs less is not blamed."""
_WELCOME = 0.25  # of the loss: a gap outside the usual space that costs so much, surely or not
_AT_EASE = 0.5  # of the usual width: for gaps that nobody blames
_TOWARDS = 2.0  # usual widths more, for a gap that costs all that was lost
_SHAKES = 2.0  # times: a servo follows half of what its commands jump from step to step


@dataclass(frozen=True, kw_only=True)
class TruedUp:
    """A space, and why it is as it is.

    Attributes:
        space: What to randomize, and how.
        sentences: One for each gap.
        short: All of it in a line.
    """

    space: Space
    sentences: tuple[str, ...]
    short: str


def trued_up(
    world: World,
    report: GapReport | None,
    known: Sequence[Estimate],
    heard: Mapping[str, Prior] | None = None,
    learnt: LearnedResidual | None = None,
) -> TruedUp:
    """The space to train in, from what was diagnosed and identified.

    Identified numbers are drawn from their posterior, and those that may well be nominal from what
    it and their prior leave together; those that vary from moment to moment, as far as they vary.
    Numbers that recordings did not tell keep their prior, around
    nominal: half as wide where their gap is not blamed; as wide as usual where it is, and
    recordings told which of its numbers; up to three times as wide where it is, and nobody knows
    which. What no gap explains widens all of these, by half a prior at most: a policy that is ready
    for everything is good at nothing. Without a report, they keep their prior as it is.

    Args:
        world: Where the policy is to be trained.
        report: Which gap costs how much; None where that was not diagnosed.
        known: What was identified; the last one counts.
        heard: Noise of sensors and clocks, by parameter.
        learnt: What the arm does beside all numbers, if that was learnt.
    """
    heard, beliefs = not_missed(heard or {}, known), _joints(world, known)
    settled = {name for joint in beliefs for name in joint.names}
    heard_of = {name.split("/")[0] for name in settled}
    widths = {gap: _width(gap, report, str(gap) in heard_of) for gap in Gap}
    rest = _others(world, report, settled)
    priors = {p.name: scaled(p, widths[p.gap]) for p in rest}
    told = {n: _with_usual(rest[n], p) for n, p in heard.items() if n in priors}
    priors |= {n: p for n, p in told.items() if _fits(rest, n, p)}
    if CommandNoise.name not in heard:
        priors |= _shaken(rest.narrowed(priors), known, learnt)
    space = world.catalogue.select(*settled, *rest.names).narrowed(priors)
    for joint in beliefs:
        space = space.narrowed(joint)
    sentences = [_sentence(gap, space, settled, widths[gap], report) for gap in Gap]
    if learnt is not None:
        space = Space((*space, learnt.added_to(world).catalogue[SHARE]), space.joints)
        sentences.append(_of_learnt(learnt))
    if late := seen_late(known):
        space = drawn_late(world, space, late)
        sentences.append(_of_late(late))
    return TruedUp(
        space=space,
        sentences=tuple(sentence for sentence in sentences if sentence),
        short=_short(settled, widths, rest, report is not None),
    )


def _of_learnt(learnt: LearnedResidual) -> str:
    gain = 100 * learnt.gain
    return (
        f"What no number makes the joints do was learnt from recordings, and takes {gain:.0f} % "
        "off what they were still off by: worlds have half of it to half as much again."
    )


def _of_late(late: Frames) -> str:
    return (
        f"Frames come every {1e3 * late.period_s:.0f} ms, and late by up to some "
        f"{1e3 * late.most_s:.0f} ms by chance: worlds have half of that to half as much again."
    )


def _shaken(
    rest: Space, known: Sequence[Estimate], learnt: LearnedResidual | None
) -> dict[str, Prior]:
    """Noise on commands that moves joints as far as what neither numbers nor a network explain."""
    untaught = 1.0 if learnt is None else 1.0 - learnt.gain
    off = [
        float(np.sqrt(np.mean(np.square(list(left_over(estimate).values())))))
        for estimate in known
        if estimate.check is not None and doubts_of([estimate])
    ]
    if not off or CommandNoise.name not in rest:
        return {}
    noise = rest[CommandNoise.name]
    size = min(noise.high, _SHAKES * untaught * max(off))
    return {noise.name: Uniform(0.0, size)} if size > support(noise)[1] else {}


def blamed(report: GapReport | None) -> tuple[str, ...]:
    """Gaps that cost enough to be worth it, the most costly first."""
    if report is None:
        return ()
    return tuple(
        s.gap for s in report.ranked if s.points >= WORTH and s.gap != report.unexplained.gap
    )


def _width(gap: Gap, report: GapReport | None, told: bool) -> float:
    """How wide a gap's unidentified numbers are randomized, as a multiple of the usual."""
    if report is None:
        return 1.0
    if report.loss <= 0:
        return _AT_EASE
    strange = min(1.0, max(0.0, report.unexplained.points / report.loss))
    slack = (1.0 - _AT_EASE) * strange
    if str(gap) not in blamed(report):
        return _AT_EASE + slack
    part = 0.0 if told else min(1.0, report.share(str(gap)).points / report.loss)
    return 1.0 + _TOWARDS * part + slack


def _others(world: World, report: GapReport | None, settled: set[str]) -> Space:
    """Numbers that nobody has identified: the usual ones, and all of a blamed gap without any.

    Such a gap makes the task another one, and harder. For a few points that chance may have made,
    that is not worth it.
    """
    usual = set(world.space.names)
    bare = {gap for gap in _bare(world, report) if _worth(report, gap)}
    names = [
        p.name
        for p in world.catalogue
        if p.name not in settled and (p.name in usual or p.gap.value in bare)
    ]
    return Space(tuple(p for p in world.catalogue if p.name in set(names)))


def _bare(world: World, report: GapReport | None) -> set[str]:
    """Blamed gaps of which the usual space has no number."""
    return set(blamed(report)) - {p.gap.value for p in world.space}


def _worth(report: GapReport | None, gap: str) -> bool:
    """Whether it costs something for sure, or a good part of what was lost."""
    if report is None:
        return False
    share = report.share(gap)
    return share.low > 0.0 or share.points >= _WELCOME * report.loss


def _joints(world: World, known: Sequence[Estimate]) -> list[JointNormal]:
    """What was identified, as far as the world has it, none of it surer than the floor."""
    found: list[JointNormal] = []
    taken: set[str] = set()
    for estimate in map(in_step, reversed(known)):
        belief = estimate.belief
        told = {f.name for f in estimate.findings if f.verdict != "not told"}
        names = [n for n in belief.names if n in world.catalogue and n in told - taken]
        if names:
            taken |= set(names)
            own = sober(belief.marginal(names), world.catalogue)
            found.append(_varied(_floored(own, world.catalogue), estimate.varies))
    return found


def _varied(belief: JointNormal, varies: Mapping[str, float]) -> JointNormal:
    """The belief of what a number is at any moment, where it varies."""
    more = np.diag([varies.get(name, 0.0) ** 2 for name in belief.names])
    return JointNormal(belief.names, belief.mean, belief.covariance + more)


def _floored(belief: JointNormal, catalogue: Space) -> JointNormal:
    widths = np.array([usual_width(catalogue[name]) for name in belief.names])
    return JointNormal(
        belief.names, belief.mean, belief.covariance + np.diag((FLOOR * widths) ** 2)
    )


def scaled(p: Parameter, width: float) -> Prior:
    """The prior, so many times as wide around nominal, and inside the bounds."""
    low, high = support(p)
    if p.fixed or low == high:
        return p.belief
    if p.scale == "log" and low > 0 < p.nominal:
        ends = [p.nominal * (end / p.nominal) ** width for end in (low, high)]
        return LogUniform(max(p.low, ends[0]), min(p.high, ends[1]))
    ends = [p.nominal + width * (end - p.nominal) for end in (low, high)]
    return Uniform(max(p.low, ends[0]), min(p.high, ends[1]))


def _with_usual(p: Parameter, heard: Prior) -> Prior:
    """What was heard; where that is only how much a number may be at most, no more than usual.

    Who listens to a noisy sensor cannot rule out a drift; that is no reason to train for one.
    """
    if not isinstance(heard, Uniform):
        return heard
    (low, high), usual = heard.support(p.low, p.high), support(p)
    if not low <= p.nominal <= high:
        return heard
    low, high = max(low, usual[0]), min(high, usual[1])
    return Uniform(low, high) if low < high else heard


def _fits(space: Space, name: str, prior: Prior) -> bool:
    try:
        prior.check(name, space[name].low, space[name].high)
    except TrueupError:
        return False
    return True


def _sentence(
    gap: Gap, space: Space, settled: set[str], width: float, report: GapReport | None
) -> str:
    names = [p.name for p in space if p.gap is gap]
    if not names and str(gap) in blamed(report):
        return (
            f"{str(gap).capitalize()}{_costs(gap, report)}, which may be chance: no number is "
            "usual there, and none is drawn."
        )
    if not names:
        return ""
    own = sum(name in settled for name in names)
    parts = []
    if own:
        parts.append(f"{_numbers(own)} as recordings say")
    if len(names) > own:
        wide = "" if f"{width:.1f}" == "1.0" else f"{width:.1f} times "
        parts.append(f"{_numbers(len(names) - own)} {wide}as wide as usual")
    return f"{str(gap).capitalize()}{_costs(gap, report)}: {', '.join(parts)}."


def _costs(gap: Gap, report: GapReport | None) -> str:
    if report is None:
        return ""
    if str(gap) not in blamed(report):
        return " is not blamed"
    return f" costs {report.share(str(gap)).points:.0f} points"


def _short(settled: set[str], widths: Mapping[Gap, float], rest: Space, near: bool) -> str:
    wider = [
        f"{gap} {widths[gap]:.1f} times as wide"
        for gap in Gap
        if widths[gap] > 1.0 and any(p.gap is gap for p in rest)
    ]
    told = f"{_numbers(len(settled))} as identified"
    if wider:
        return f"{told}; {', '.join(wider)}"
    return f"{told}, the rest {'near nominal' if near else 'as usual'}"


def _numbers(n: int) -> str:
    return f"{n} number{'' if n == 1 else 's'}"
