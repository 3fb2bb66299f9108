"""From contact probes to friction, mass, size and grip force, and how sure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from time import perf_counter
from typing import Any

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.identify.descent import usual_size
from trueup.identify.estimate import Estimate, Finding, belief_of, findings_of
from trueup.identify.posterior import prior_spread, unseen_of
from trueup.identify.probing.cloud import Belief, Settled, settle
from trueup.identify.probing.joined import Joined, part_of
from trueup.identify.probing.open_minded import open_minded
from trueup.identify.probing.probes import FORCE, kind_of, noise_of, probed, rested, signals_of
from trueup.identify.problem import Problem, Residual
from trueup.identify.usable import Split
from trueup.space import Space
from trueup.versions import versions
from trueup.worlds import World

TOLD_BY: Mapping[str, tuple[str, ...]] = {
    "contact/object-*/sliding": ("drag", "push"),
    "contact/fingertip-object/sliding": ("tilt",),
    "object/*/mass": ("tilt", "drop"),
    "object/*/com_*": ("tilt", "drop", "push"),
    "object/*/size_*": ("squeeze", "drag", "push"),
    "actuation/gripper/force_limit": ("squeeze",),
}
"""Parameters that contact shows, by pattern, and the probes that show them."""

_GAIN = "sensing/current/gain"  # what currents say of torque is known to a factor alone
STRANGE = 2.0
"""Of the noise: a joint that stays off by more is not the model's."""
_BEGINNINGS = 12  # different ones among the points of a cloud

Told = Callable[[str], None]


def identify_contact(
    world: World,
    episodes: Sequence[Episode],
    space: Space | None = None,
    *,
    arm: Estimate | Mapping[str, float] | None = None,
    signals: Sequence[str] | None = None,
    window_s: float | None = None,
    threads: int = 0,
    seed: int = 0,
    on_progress: Told | None = None,
) -> Estimate:
    """Fit what touching shows to recorded probes, and say how sure.

    The arm must be known before: a thing's weight is read off how far the servos give way, so that
    a stiffness that is wrong by a tenth makes the mass wrong by a tenth.

    Args:
        world: Where the probes are replayed.
        episodes: Probes, as `trueup record --motion probes` writes them. The last of each kind
            that was recorded more than once is kept out of the fit and judges it.
        space: The parameters to fit; by default friction, mass, centre of mass, size and grip
            force, and the gain of the current readings where there are some, each anywhere between
            its bounds.
        arm: What was identified of the arm; as nominal by default. An estimate counts with its
            uncertainty and as far as this world has its parameters, values count as exact.
        signals: What to compare; by default joints, currents and the poses of things.
        window_s: Begin anew at the measured state after each so many seconds. Open loop by default:
            a window that begins inside a grasp begins wrong by what the tracker is off.
        threads: CPU threads; 0 takes all.
        seed: Of the search.
        on_progress: Told in a line how it stands.
    """
    began = perf_counter()
    split = probed(world, episodes)
    compared = tuple(signals or signals_of(world, (*split.fitted, *split.held)))
    setting = _Setting(
        world=world,
        free=_free(world, space, compared),
        arm={} if arm is None else arm,
        options={"signals": compared, "window_s": window_s, "threads": threads},
    )
    problem = setting.weighed(split.fitted)
    tell = on_progress or (lambda _: None)
    best = _settled(setting, split, problem, np.random.default_rng(seed), tell)
    found = _estimate(setting, split, problem, best)
    seconds = round(perf_counter() - began, 2)
    return replace(found, made={"seconds": seconds, **found.made})


# ------------------------------------------------------------------------------------------------


def _settled(
    setting: _Setting,
    split: Split,
    problem: Joined,
    generator: np.random.Generator,
    tell: Told,
) -> Settled:
    """Where clouds of points close in, each replayed from beginnings a little elsewhere."""
    prior = setting.prior
    others = [setting.joined(split.fitted, generator) for _ in range(_BEGINNINGS)]
    tell(f"{len(split.fitted)} probes, {len(setting.free)} parameters: looking everywhere")
    return settle(
        problem,
        prior,
        generator,
        shaken=Shaken(others, problem.scale),
        on_round=lambda k, now: tell(
            f"cloud {k}: {100 * np.median(now.spread / prior.spread):.0f} % of the prior is left"
        ),
    )


def _estimate(setting: _Setting, split: Split, problem: Joined, best: Settled) -> Estimate:
    """What clouds settled on, with what it leaves of the probes and what no probe tells."""
    free, prior, u = setting.free, setting.prior, best.belief.mean
    covariance, judge = best.belief.covariance, setting.weighed(split.held)
    findings = findings_of(free, u, covariance, best.belief.spread / prior.spread)
    kinds = {kind_of(episode) for episode in split.fitted}
    unseen = unseen_of(free, covariance, prior.spread)
    arm_off = _arm_off(problem, u)
    return Estimate(
        world=setting.world.name,
        belief=belief_of(free, u, covariance),
        findings=findings,
        unseen=(*map(str, unseen), *_advice(findings, kinds)),
        fitted=problem.misfit(prior.mean, u, len(split.fitted)),
        held=judge.misfit(prior.mean, u, len(split.held)),
        noise=problem.sizes(u),
        notes=(*split.notes, *_strange(arm_off)),
        made={
            "replays": best.points * len(split.fitted),
            "clouds": best.clouds,
            "still": best.still,
            "probes": sorted(kinds),
            "arm_off": max(arm_off.values(), default=0.0),
            "window_s": setting.options["window_s"],
            "signals": list(setting.options["signals"]),
            "versions": versions("mujoco", "numpy", "scipy"),
        },
    )


def _free(world: World, space: Space | None, signals: Sequence[str]) -> Space:
    if space is None:
        known = world.catalogue.names
        wanted = [n for n in known for pattern in TOLD_BY if fnmatchcase(n, pattern)]
        if not any(name.startswith(("contact/", "object/")) for name in wanted):
            raise TrueupError(
                f"The world {world.name!r} has no contact that a probe could show.",
                fix="Use one with a thing to touch, such as so101/lift, or give a space.",
            )
        if FORCE in signals and _GAIN in known:
            wanted.append(_GAIN)
        space = open_minded(world.catalogue.select(*wanted))
    free = space.select(*(p.name for p in space if not p.fixed)) if len(space) else space
    if not len(free):
        raise TrueupError(
            "Every parameter of this space is fixed.", fix="Select some that may differ."
        )
    return free


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """What all problems of one fit share."""

    world: World
    free: Space
    arm: Estimate | Mapping[str, float]
    options: Mapping[str, Any]

    @property
    def prior(self) -> Belief:
        """What is thought before any probe."""
        spread = prior_spread(self.free)
        return Belief(mean=self.free.encode(self.free.nominal())[0], covariance=np.diag(spread**2))

    def weighed(self, episodes: Sequence[Episode]) -> Joined:
        """The probes, every column in units of its own noise."""
        found = self.joined(episodes)
        found.residual(self.prior.mean[None])  # which tells the columns
        found.weigh(noise_of(episodes, found.columns))
        return found

    def joined(
        self, episodes: Sequence[Episode], generator: np.random.Generator | None = None
    ) -> Joined:
        """The probes with some parameters free and the arm held; with a generator, by chance.

        Then beginnings and arm are off by as much as they are uncertain.
        """
        held = {n: v for n, v in self._arm(generator).items() if n not in self.free}
        known = self.world.catalogue.select(*held).pinned(held) if held else Space(())
        begun = [rested(self.world, episode, generator) for episode in episodes]
        both = Space((*self.free.parameters, *known.parameters))
        problem = Problem(self.world, begun, both, **self.options)
        at = [held.get(p.name, p.nominal) for p in both]
        return Joined([part_of(problem, self.free, at)], len(self.free))

    def _arm(self, generator: np.random.Generator | None) -> Mapping[str, float]:
        if not isinstance(self.arm, Estimate):
            return self.arm
        names = [name for name in self.arm.belief.names if name in self.world.catalogue]
        if generator is None or not names:
            return {name: self.arm.point[name] for name in names}
        space = self.world.catalogue.select(*names).narrowed(self.arm.belief.marginal(names))
        return next(iter(space.sample(generator, 1)))


class Shaken:
    """One problem many times, each beginning a little elsewhere; rows are dealt out in turn."""

    def __init__(self, problems: Sequence[Joined], scale: np.ndarray) -> None:
        self.problems, self.scale = tuple(problems), scale

    def residual(self, u: np.ndarray) -> Residual:
        """At points (p, d)."""
        turn = np.arange(len(u)) % len(self.problems)
        found = {k: self.problems[k].residual(u[turn == k]) for k in np.unique(turn)}
        like = next(iter(found.values()))
        values = np.empty((len(u), len(like.column)))
        for k, one in found.items():
            values[turn == k] = one.values
        return Residual(
            values=values / self.scale[like.column], column=like.column, episode=like.episode
        )


def _advice(findings: Sequence[Finding], kinds: set[str]) -> Iterator[str]:
    """What to record for what was not told."""
    for finding in findings:
        probes = next((p for n, p in TOLD_BY.items() if fnmatchcase(finding.name, n)), ())
        if finding.verdict == "pinned" or not probes:
            continue
        missing = [probe for probe in probes if probe not in kinds]
        if len(missing) == len(probes):
            yield (
                f"No recording shows {finding.name}, which is told by "
                f"{' or '.join(probes)}: trueup record --motion {probes[0]}."
            )
        elif finding.verdict == "not told":
            seen = " and ".join(probe for probe in probes if probe in kinds)
            yield f"{finding.name} left no trace in {seen}: {_WHY[_pattern(finding.name)]}."


_WHY: Mapping[str, str] = {
    "contact/object-*/sliding": "the thing stuck to the fingers; push it faster, or drag it longer",
    "contact/fingertip-object/sliding": "nothing slipped; use a heavier thing, or a smaller press",
    "object/*/mass": "its weight bends the arm by less than the encoders' noise",
    "object/*/com_*": "it lies too near the middle to turn the thing in the hand; this seldom "
    "matters for the task either",
    "object/*/size_*": "the fingers took it by its other sides; turn it by a quarter, and squeeze "
    "again",
    "actuation/gripper/force_limit": "the fingers never pressed as hard as they can; use a larger "
    "press_rad",
}


def _pattern(name: str) -> str:
    return next(pattern for pattern in TOLD_BY if fnmatchcase(name, pattern))


def _arm_off(problem: Joined, u: np.ndarray) -> dict[str, float]:
    """How far each joint is usually off, in units of its noise."""
    sizes = dict(zip(problem.columns, usual_size(problem.residual(u[None]))[0], strict=True))
    return {name: float(size) for name, size in sizes.items() if name.startswith(f"{JOINTS}/")}


def _strange(joints: Mapping[str, float]) -> Iterator[str]:
    """A sentence where joints do not move as the model's do: contact is read off a wrong arm."""
    worst = max(joints, key=lambda name: joints[name], default="")
    if worst and joints[worst] > STRANGE:
        yield (
            f"The arm is not as it is taken to be: {worst} is usually off by {joints[worst]:.1f} "
            "times its noise, and what touching shows is put down to contact all the same. "
            "Identify the arm first, and give its estimate."
        )
