"""A robot identified from all that was recorded of it, in every way there is, one after another."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueup.diagnose.hearing import doubts_of
from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.identify import HOLLOW, Estimate
from trueup.identify.probing import identify_contact, identify_hand_eye, identify_stops
from trueup.identify.probing.contact import STRANGE
from trueup.identify.probing.probes import kind_of, moves_freely
from trueup.identify.residual import LearnedResidual, learn_residual
from trueup.identify.wandering import wander_rate
from trueup.loop.arm import Fitting, apart_by
from trueup.loop.settings import FITTED
from trueup.space import Point
from trueup.worlds import World

FILES = ("estimate.json", "stops.json", "hand_eye.json", "contact.json")
RESIDUAL = "residual"


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
        fit = Fitting(
            world=self.world,
            bare=self.bare,
            fitted=self.fitted,
            wander=wander,
            check=self.check,
            threads=self.threads,
            tell=self.tell,
        ).of(free, [*recorded, *trials])
        arm = fit.solid() if fit.hollow else fit
        stops = self._stopped(recorded)
        apart = apart_by(wander, free)
        residual, learnt = self._learnt(free, fit if arm is None else arm, arm, apart)
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

    def _learnt(
        self, free: list[Episode], fit: Estimate, arm: Estimate | None, apart: float
    ) -> tuple[LearnedResidual | None, str]:
        """What no number makes the arm do, if motions that it never saw agree."""
        if not doubts_of((fit,), wander=apart):
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


def _told(estimate: Estimate) -> str:
    """The surest departures, in a few words."""
    pinned = [f for f in estimate.findings if f.verdict == "pinned"]
    moved = [f for f in estimate.findings if f.differs]
    return (
        f"{len(moved)} of {len(estimate.findings)} numbers differ from the simulator, "
        f"{len(pinned)} are pinned down"
    )
