"""An arm, fitted until its readings leave nothing that a number of the catalogue would make."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from trueup.diagnose.hearing import doubts_of
from trueup.effects.actuation import SupplyVoltage
from trueup.effects.human import Reaction
from trueup.effects.latency import ActionDelay
from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.identify import Estimate, chosen_from, identify
from trueup.identify.choose import WORTH, Chosen
from trueup.identify.cutting import settled
from trueup.identify.probing import identify_hand_eye
from trueup.identify.probing.agreement import READ_LATE
from trueup.identify.probing.open_minded import open_minded
from trueup.identify.suspect import Suspect
from trueup.identify.trembling import trembling
from trueup.identify.tremor import tremor_readings
from trueup.loop.truing import scaled
from trueup.space import Prior, Space, Uniform
from trueup.worlds import World

_LATEST = 0.97  # of the longest delay
_ON_TIME_S = 0.01  # later than that, a policy notices
_ANSWERED_S = 1.5  # after a recording began, nothing is done any more that was told before
_CLEARLY = 0.5  # of what is left: an effect that would explain so much is there
_DOUBTED = 2.0  # times the usual prior: trials have shown that this robot is not a usual one
_HIDDEN = (SupplyVoltage.name, "actuation/*/load_friction")
_ZEROS, _GAINS = "sensing/*/bias", "actuation/*/kp"
_MISREAD = 20.0  # the same of encoders: one that was calibrated wrongly is off by anything


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """How an arm is fitted.

    Attributes:
        world: What the policy is to do.
        bare: The robot without its task, in which free motions are replayed.
        fitted: Which parameters, as patterns.
        wander: How fast encoders wander, rad/√s. No replay tells their zeros then.
        check: Whether to ask what the fitted simulator still misses.
        threads: CPU threads; 0 takes all.
        tell: Told in a line how it stands.
    """

    world: World
    bare: World
    fitted: Sequence[str]
    wander: float
    check: bool
    threads: int
    tell: Callable[[str], None]

    def of(self, free: Sequence[Episode], every: Sequence[Episode]) -> Estimate:
        """The usual numbers; where they leave more than sensors do, effects that explain it too.

        Args:
            free: Free motions.
            every: All that was recorded; held things among it tell how late encoders are.
        """
        world, free, space, fit = self._delayed(free, every)
        apart = apart_by(self.wander, free)
        if doubts_of((fit,), wander=apart) and not _trembles(fit):  # that always leaves something
            space, fit = self._instead(world, free, space, fit)
        if not doubts_of((fit,), wander=apart):
            return self._cleared(world, free, space, fit)
        if _held_back(fit, space):
            self.tell("numbers lie beyond what was believed of them: asking again, openly")
            anywhere = self._fit(world, free, open_minded(space))
            if not doubts_of((anywhere,), wander=apart):
                return anywhere
        if _likeliest(fit, WORTH) is None:
            return fit
        self.tell("the usual numbers do not explain this arm: trying other effects")
        more = chosen_from(world, free, space, fit.point, **self._told)
        if not any(choice.taken for choice in more.choices):
            return replace(fit, choices=more.choices)
        return identify(world, free, space, chosen=more, check=self.check, **self._told)

    def _delayed(
        self, free: Sequence[Episode], every: Sequence[Episode]
    ) -> tuple[World, Sequence[Episode], Space, Estimate]:
        """The usual fit, commands late for whatever reason there is; in what, and of what.

        Free motion does not tell a bus from late encoders, nor from a person who passes commands
        on. Held things tell the encoders; a person is later than any bus, or trembles.
        """
        usual = [p for p in self.fitted if not (self.wander and fnmatchcase(p, _ZEROS))]
        world, space = self.bare, self._space(usual)
        fit = self._fit(world, free, space)
        if (late := self._read_late(every, fit)) is not None:
            self.tell("encoders are late beside the eye: fitting the arm that is read so late")
            space = self._space([*usual, READ_LATE]).narrowed({READ_LATE: late})
            fit = self._fit(world, free, space)
        too_late, trembles = _too_late(fit, world), _trembles(fit)
        if too_late or (trembles and self._answers_late(fit)):
            self.tell("a person passes commands on: fitting how late")
            without = [p for p in usual if p != ActionDelay.delay]  # no data part the two
            space = self._space([*without, Reaction.name])
            free = [settled(episode, _ANSWERED_S, driven=True) for episode in free]
            if too_late:
                fit = self._fit(world, free, space)
                trembles = _trembles(fit)
        if trembles:
            self.tell("a hand trembles: fitting the arm that it shakes")
            heard = tremor_readings(world, free, fit.point, threads=self.threads)
            world = trembling(world, space, heard)
            fit = self._fit(world, free, space)
        return world, free, space, fit

    def _cleared(
        self, world: World, free: Sequence[Episode], space: Space, fit: Estimate
    ) -> Estimate:
        """The fit with an effect that clearly is there, too, however little it moves the joints.

        A zero that is off moves an arm by less than a milliradian, for all that its weight shows,
        and the hand by a centimetre.
        """
        suspect = _likeliest(fit, _CLEARLY)
        if suspect is None:
            return fit
        self.tell(f"fitting it as well: {suspect}")
        return self._with(suspect.parameters, world, free, space, fit)[1]

    def _instead(
        self, world: World, free: Sequence[Episode], space: Space, fit: Estimate
    ) -> tuple[Space, Estimate]:
        """The fit with what the usual numbers have taken over, so that nobody would suspect it.

        A low supply makes servos soft, and weak as well: soft ones fit nearly all of it. Gears that
        rub under load look like stiffer friction and softer servos.
        """
        if not any(fnmatchcase(name, _GAINS) for name in space.names):
            return space, fit
        for name in _HIDDEN:
            self.tell(f"something is left: fitting {name} as well")
            found = self._with((name,), world, free, space, fit)
            if found[1] is not fit:
                return found
        return space, fit

    def _with(
        self,
        names: Sequence[str],
        world: World,
        free: Sequence[Episode],
        space: Space,
        fit: Estimate,
    ) -> tuple[Space, Estimate]:
        """The fit with some more numbers, from the start; without, if they explain too little.

        Most are tried in vain: how sure they would be is asked of those that are not.
        """
        more = self._space([*space.names, *names])
        more = more.narrowed({p.name: p.belief for p in space})
        tried = identify(world, free, more, sure=False, check=False, **self._told)
        if _off(tried) >= _CLEARLY * _off(fit):
            return space, fit
        there = Chosen(space=more, u=more.encode(tried.point)[0], choices=())
        return more, self._fit(world, free, more, there)

    def _fit(
        self, world: World, free: Sequence[Episode], space: Space, chosen: Chosen | None = None
    ) -> Estimate:
        return identify(world, free, space, chosen=chosen, check=self.check, **self._told)

    @property
    def _told(self) -> dict:
        return {"wander": self.wander, "threads": self.threads, "on_progress": self.tell}

    def _answers_late(self, fit: Estimate) -> bool:
        """Whether commands of a person who is there anyway are later than a usual bus makes them.

        Where the bus is late as well, there would be two causes.
        """
        if ActionDelay.delay not in fit.point or Reaction.name not in self.bare.catalogue:
            return False
        return READ_LATE not in fit.point and fit.point[ActionDelay.delay] > _ON_TIME_S

    def _read_late(self, episodes: Sequence[Episode], arm: Estimate) -> Prior | None:
        """How late encoders are read beside the eye; none where they are not, or nothing is seen.

        Free motion tells the sum of that and of how late commands act, and nothing else.
        """
        if arm.point.get(ActionDelay.delay, 0.0) < _ON_TIME_S:
            return None
        try:
            found = identify_hand_eye(self.world, episodes, arm=arm, read_late=True)
        except TrueupError:
            return None
        late = next((f for f in found.findings if f.name == READ_LATE), None)
        if late is None or not _ON_TIME_S <= late.low <= arm.point[ActionDelay.delay]:
            return None
        return Uniform(late.low, max(late.high, late.low + _ON_TIME_S))

    def _space(self, patterns: Sequence[str]) -> Space:
        names = self.bare.catalogue.names
        known = [p for p in patterns if any(fnmatchcase(name, p) for name in names)]
        if not known:
            raise TrueupError(
                f"The world {self.bare.name!r} has no parameter such as {patterns[0]!r}.",
                fix="`trueup space WORLD --all` lists what can be identified.",
            )
        space = self.bare.catalogue.select(*known)
        return space.narrowed({p.name: scaled(p, _wider(p.name)) for p in space})


def apart_by(wander: float, free: Sequence[Episode]) -> float:
    """How far encoders that wander so fast take joints from where a replay has them, in rad."""
    return wander * math.sqrt(float(np.mean([episode.duration_s for episode in free])) / 2.0)


def _wider(name: str) -> float:
    return _MISREAD if fnmatchcase(name, _ZEROS) else _DOUBTED


def _too_late(estimate: Estimate, world: World) -> bool:
    """Whether commands are as late as a bus may be in the world, and a person may be later."""
    if ActionDelay.delay not in estimate.point or Reaction.name not in world.catalogue:
        return False
    return estimate.point[ActionDelay.delay] > _LATEST * world.catalogue[ActionDelay.delay].high


def _trembles(estimate: Estimate) -> bool:
    check = estimate.check
    return check is not None and check.tremor is not None and check.tremor.told


def _held_back(estimate: Estimate, space: Space) -> bool:
    """Whether some number was fitted to beyond what was believed of it, which pulls it back."""
    ends = {p.name: p.quantile(np.array([0.0, 1.0])) for p in space}
    return any(
        not ends[f.name][0] <= f.value <= ends[f.name][1]
        for f in estimate.findings
        if f.name in ends
    )


def _likeliest(estimate: Estimate, least: float) -> Suspect | None:
    """The effect outside the fit that would explain most of what it leaves, if so much."""
    suspects = estimate.check.suspects if estimate.check is not None else ()
    worth = [suspect for suspect in suspects if suspect.gain > least]
    return max(worth, key=lambda suspect: suspect.gain, default=None)


def _off(estimate: Estimate) -> float:
    """How far joints are off in recordings that judge the fit, in rad."""
    return float(np.linalg.norm(list(estimate.held.after.values())))
