"""A robot identified from all that was recorded of it, in every way there is, one after another."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from trueup.diagnose.hearing import doubts_of
from trueup.effects.human import Reaction
from trueup.effects.latency import ActionDelay
from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.identify import HOLLOW, Estimate, chosen_from, identify
from trueup.identify.choose import WORTH
from trueup.identify.cutting import settled
from trueup.identify.probing import identify_contact, identify_hand_eye, identify_stops
from trueup.identify.probing.contact import STRANGE
from trueup.identify.probing.open_minded import open_minded
from trueup.identify.probing.probes import kind_of, moves_freely
from trueup.identify.residual import LearnedResidual, learn_residual
from trueup.identify.trembling import trembling
from trueup.identify.tremor import tremor_readings
from trueup.identify.wandering import wander_rate
from trueup.loop.settings import FITTED
from trueup.loop.truing import scaled
from trueup.space import Point, Space
from trueup.worlds import World

FILES = ("estimate.json", "stops.json", "hand_eye.json", "contact.json")
RESIDUAL = "residual"
_LATEST = 0.97  # of the longest delay
_ANSWERED_S = 1.0  # after a recording began, nothing is done any more that was told before
_DOUBTED = 2.0  # times the usual prior: trials have shown that this robot is not a usual one
_ZEROS = "sensing/*/bias"
_MISREAD = 20.0  # the same of encoders: one that was calibrated wrongly is off by anything


@dataclass(frozen=True, kw_only=True)
class Identified:
    """What recordings and trials say of a robot.

    Attributes:
        arm: What moves freely; none where a fit predicts nothing.
        stops: Where the jaw's zero is, from its stops.
        hand_eye: What makes hand and eye agree.
        contact: What probes say of what is touched.
        residual: What the arm does beside all numbers; none where that was not needed, or refused.
        told: All of it in a line.
    """

    arm: Estimate | None = None
    stops: Estimate | None = None
    hand_eye: Estimate | None = None
    contact: Estimate | None = None
    residual: LearnedResidual | None = None
    told: str = ""

    def save(self, folder: Path) -> None:
        """A file for each; those of before that are not found again go."""
        for name, estimate in zip(FILES, self._every, strict=True):
            if estimate is None:
                (folder / name).unlink(missing_ok=True)
            else:
                estimate.save(folder / name)
        if self.residual is not None:
            self.residual.save(folder / RESIDUAL)
        elif (folder / RESIDUAL).is_dir():
            shutil.rmtree(folder / RESIDUAL)

    @staticmethod
    def load(folder: Path) -> Identified:
        """What `save` wrote, as far as it is there."""
        arm, stops, hand_eye, contact = (
            Estimate.load(folder / name) if (folder / name).exists() else None for name in FILES
        )
        residual = LearnedResidual.load(folder / RESIDUAL) if (folder / RESIDUAL).exists() else None
        return Identified(
            arm=arm, stops=stops, hand_eye=hand_eye, contact=contact, residual=residual
        )

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Of the arm, its stops, hand and eye, and what it touches; the last of them counts."""
        return tuple(estimate for estimate in self._every if estimate is not None)

    @property
    def _every(self) -> tuple[Estimate | None, ...]:
        return self.arm, self.stops, self.hand_eye, self.contact


@dataclass(frozen=True, kw_only=True)
class Identification:
    """How a robot is identified.

    Attributes:
        world: What the policy is to do.
        bare: The robot without its task, in which free motions are replayed.
        fitted: Which parameters of the arm, as patterns.
        check: Whether to ask what the identified simulator still misses.
        seed: Of every draw.
        threads: CPU threads; 0 takes all. Results do not depend on it.
        tell: Told in a line how it stands.
    """

    world: World
    bare: World
    fitted: tuple[str, ...] = FITTED
    check: bool = True
    seed: int = 0
    threads: int = 0
    tell: Callable[[str], None] = lambda _: None

    def of(self, recorded: Sequence[Episode], trials: Sequence[Episode]) -> Identified:
        """All that recordings tell, and what held things in the trials add to it.

        A fit that predicts nothing is left aside, as far as joints make it so.
        """
        free = [episode for episode in recorded if moves_freely(episode)]
        if not free:
            raise TrueupError(
                "There is no recording of free motion to identify the arm from.",
                fix="Record some: `trueup record --motion standard`.",
            )
        wander = wander_rate(recorded)
        fit = self._arm(free, wander)
        arm = fit.solid() if fit.hollow else fit
        stops = self._stopped(recorded)
        residual, learnt = self._learnt(free, fit if arm is None else arm, arm, wander)
        contact, touched = self._touched(recorded, arm, stops)
        hand_eye = self._agreed([*recorded, *trials], arm)
        off = stops is not None and stops.findings[0].differs
        sentences = (
            f"{HOLLOW}, and was left aside" if arm is None else _told(arm),
            learnt,
            touched,
            "its stops say that the jaw's zero is off" if off else "",
            f"hand and eye, {_told(hand_eye)}" if hand_eye else "",
        )
        return Identified(
            arm=arm,
            stops=stops,
            hand_eye=hand_eye,
            contact=contact,
            residual=residual,
            told="; ".join(filter(None, sentences)),
        )

    # The arm --------------------------------------------------------------------------------------

    def _arm(self, free: list[Episode], wander: float) -> Estimate:
        """The usual numbers; where they leave more than sensors do, effects that explain it too.

        Zeros are not among them where encoders wander: no replay tells them then.
        """
        usual_ones = [p for p in self.fitted if not (wander and fnmatchcase(p, _ZEROS))]
        space = self._space(usual_ones)
        told = {"wander": wander, "threads": self.threads, "on_progress": self.tell}
        usual = identify(self.bare, free, space, check=self.check, **told)
        if _too_late(usual, self.bare):
            self.tell("commands are later than any bus: asking whether a person answers late")
            fitted = [p for p in usual_ones if p != ActionDelay.delay]  # no data part the two
            space = self._space([*fitted, Reaction.name])
            free = [settled(episode, _ANSWERED_S) for episode in free]
            usual = identify(self.bare, free, space, check=self.check, **told)
        world = self.bare
        if usual.check is not None and usual.check.tremor is not None and usual.check.tremor.told:
            self.tell("a hand trembles: fitting the arm that it shakes")
            heard = tremor_readings(self.bare, free, usual.point, threads=self.threads)
            world = trembling(self.bare, space, heard)
            usual = identify(world, free, space, check=self.check, **told)
        apart = _apart(wander, free)
        if not doubts_of((usual,), wander=apart):
            return usual
        if _held_back(usual, space):
            self.tell("numbers lie beyond what was believed of them: asking again, openly")
            anywhere = identify(world, free, open_minded(space), check=self.check, **told)
            if not doubts_of((anywhere,), wander=apart):
                return anywhere
        if not _suspected(usual):
            return usual
        self.tell("the usual numbers do not explain this arm: trying other effects")
        more = chosen_from(world, free, space, usual.point, **told)
        if not any(choice.taken for choice in more.choices):
            return replace(usual, choices=more.choices)
        return identify(world, free, space, chosen=more, check=self.check, **told)

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

    # What is beside it ----------------------------------------------------------------------------

    def _learnt(
        self, free: list[Episode], fit: Estimate, arm: Estimate | None, wander: float
    ) -> tuple[LearnedResidual | None, str]:
        """What no number makes the arm do, if motions that it never saw agree."""
        if not doubts_of((fit,), wander=_apart(wander, free)):
            return None, ""
        self.tell("learning what no number explains")
        point = arm.point if arm else Point({})
        told = {"threads": self.threads, "on_progress": self.tell}
        try:
            lesson = learn_residual(self.bare, free, point, **told)
        except TrueupError:  # too little was recorded, or the physics broke down
            return None, ""
        if lesson.residual is None:
            return None, "what no number explains could not be learnt"
        gain = 100 * lesson.judgement.gain
        return lesson.residual, f"of what no number explains, {gain:.0f} % was learnt"

    def _touched(
        self, recorded: Sequence[Episode], arm: Estimate | None, stops: Estimate | None
    ) -> tuple[Estimate | None, str]:
        """What contact shows; probes that tell nothing cost nothing but a sentence."""
        probes = [episode for episode in recorded if kind_of(episode)]
        if arm is None or not probes:
            return None, ""
        try:
            contact = identify_contact(
                self.world,
                probes,
                arm=arm.beside(stops) if stops else arm,
                seed=self.seed,
                threads=self.threads,
                on_progress=self.tell,
            )
        except TrueupError as error:
            return None, f"the probes told nothing: {error.what.rstrip('. ')}"
        if contact.made["arm_off"] > STRANGE:
            return None, "probes were left aside, for the arm is not as modelled"
        return contact, f"from probes, {_told(contact)}"

    def _stopped(self, recorded: Sequence[Episode]) -> Estimate | None:
        """Where the jaw's zero is, from its stops; none where no recording leads it to them."""
        try:
            return identify_stops(self.world, recorded)
        except TrueupError:
            return None

    def _agreed(self, episodes: Sequence[Episode], arm: Estimate | None) -> Estimate | None:
        """What makes hand and eye agree; none where nothing is tracked, or was ever held."""
        self.tell("hand against eye")
        try:
            return identify_hand_eye(self.world, episodes, arm=arm)
        except TrueupError:
            return None


def _wider(name: str) -> float:
    return _MISREAD if fnmatchcase(name, _ZEROS) else _DOUBTED


def _apart(wander: float, free: Sequence[Episode]) -> float:
    """How far encoders that wander so fast take joints from where a replay has them, in rad."""
    return wander * math.sqrt(float(np.mean([episode.duration_s for episode in free])) / 2.0)


def _too_late(estimate: Estimate, world: World) -> bool:
    """Whether commands are as late as a bus may be in the world, and a person may be later."""
    if ActionDelay.delay not in estimate.point or Reaction.name not in world.catalogue:
        return False
    return estimate.point[ActionDelay.delay] > _LATEST * world.catalogue[ActionDelay.delay].high


def _held_back(estimate: Estimate, space: Space) -> bool:
    """Whether some number was fitted to beyond what was believed of it, which pulls it back."""
    ends = {p.name: p.quantile(np.array([0.0, 1.0])) for p in space}
    return any(
        not ends[f.name][0] <= f.value <= ends[f.name][1]
        for f in estimate.findings
        if f.name in ends
    )


def _suspected(estimate: Estimate) -> bool:
    """Whether some effect that is not in the fit is worth a try."""
    check = estimate.check
    return check is not None and any(suspect.gain > WORTH for suspect in check.suspects)


def _told(estimate: Estimate) -> str:
    """The surest departures, in a few words."""
    pinned = [f for f in estimate.findings if f.verdict == "pinned"]
    moved = [f for f in estimate.findings if f.differs]
    return (
        f"{len(moved)} of {len(estimate.findings)} numbers differ from the simulator, "
        f"{len(pinned)} are pinned down"
    )
