"""What the robot really is, and the space that follows from it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from trueup.diagnose import GapReport
from trueup.diagnose.hearing import doubts_of
from trueup.effects.human import Reaction
from trueup.effects.latency import ActionDelay
from trueup.episodes import Dataset, Episode
from trueup.errors import TrueupError
from trueup.files import whole
from trueup.identify import HOLLOW, Estimate, chosen_from, identify, readable
from trueup.identify.choose import WORTH
from trueup.identify.cutting import settled
from trueup.identify.probing import identify_contact, identify_hand_eye, identify_stops
from trueup.identify.probing.contact import STRANGE
from trueup.identify.probing.open_minded import open_minded
from trueup.identify.probing.probes import kind_of, moves_freely
from trueup.identify.residual import learn_residual
from trueup.identify.trembling import trembling
from trueup.identify.tremor import tremor_readings
from trueup.identify.wandering import wander_rate
from trueup.loop.estimates import (
    ARM,
    CONTACT,
    HAND_EYE,
    RESIDUAL,
    STOPS,
    estimates,
    heard_in,
    residual_of,
)
from trueup.loop.job import Job
from trueup.loop.stages.recording import DATA
from trueup.loop.truing import scaled, trued_up
from trueup.space import Point, Space
from trueup.worlds import World

_LATEST = 0.97  # of the longest delay
_ANSWERED_S = 1.0  # after a recording began, nothing is done any more that was told before
_DOUBTED = 2.0  # times the usual prior: trials have shown that this robot is not a usual one
_ZEROS = "sensing/*/bias"
_MISREAD = 20.0  # the same of encoders: one that was calibrated wrongly is off by anything


def identified(job: Job) -> str:
    """Parameters from the recordings, and how sure."""
    episodes, unread = readable(Dataset.open(job.path(DATA)))
    free = [episode for episode in episodes if moves_freely(episode)]
    if not free:
        raise TrueupError(
            f"{job.path(DATA)} has no recording of free motion to identify the arm from.",
            fix="Record some: `trueup record --motion standard`, then --from identify.",
        )
    wander = wander_rate(episodes)
    arm = _arm(job, free, wander)
    arm = replace(arm, notes=(*unread, *arm.notes))
    solid = arm.solid() if arm.hollow else arm
    jaw = _stopped(job, episodes)
    stopped = (
        "; its stops say that the jaw's zero is off" if jaw and jaw.findings[0].differs else ""
    )
    if solid is None:
        job.path(ARM).unlink(missing_ok=True)
        learnt = _learnt(job, free, arm, Point({}), wander)
        return f"{HOLLOW}, and was left aside{learnt}{stopped}{_agreed(job, episodes, None)}"
    arm = solid
    arm.save(job.path(ARM))
    probes = [episode for episode in episodes if kind_of(episode)]
    touched = _touched(job, probes, arm.beside(jaw) if jaw else arm) if probes else ""
    learnt = _learnt(job, free, arm, arm.point, wander)
    return f"{_told(arm)}{learnt}{touched}{stopped}{_agreed(job, episodes, arm)}"


def narrowed(job: Job) -> str:
    """The space to train in: what is known as it is known, what is blamed wider than usual."""
    found = trued_up(
        job.world,
        GapReport.load(job.path("diagnose/gaps.json")),
        estimates(job),
        heard_in(job),
        residual_of(job),
    )
    found.space.save(job.path("narrow/space.json"))
    with whole(job.path("narrow/why.json")) as partial:
        partial.write_text(json.dumps({"sentences": found.sentences}, indent=1) + "\n", "utf-8")
    return found.short


def _space(world: World, patterns: tuple[str, ...]) -> Space:
    names = world.catalogue.names
    known = [p for p in patterns if any(fnmatchcase(name, p) for name in names)]
    if not known:
        raise TrueupError(
            f"The world {world.name!r} has no parameter such as {patterns[0]!r}.",
            fix="`trueup space WORLD --all` lists what can be identified.",
        )
    space = world.catalogue.select(*known)
    return space.narrowed({p.name: scaled(p, _wider(p.name)) for p in space})


def _wider(name: str) -> float:
    return _MISREAD if fnmatchcase(name, _ZEROS) else _DOUBTED


def _arm(job: Job, free: list[Episode], wander: float) -> Estimate:
    """The usual numbers; where they leave more than sensors do, effects that explain it as well.

    Zeros are not among them where encoders wander: no replay tells them then.
    """
    usual_ones = [p for p in job.settings.fitted if not (wander and fnmatchcase(p, _ZEROS))]
    space = _space(job.bare, tuple(usual_ones))
    told = {"wander": wander, "threads": job.threads, "on_progress": job.tell}
    usual = identify(job.bare, free, space, check=job.settings.check, **told)
    if _too_late(usual, job.bare):
        job.tell("commands are later than any bus: asking whether a person answers late")
        fitted = (p for p in usual_ones if p != ActionDelay.delay)  # no data part the two
        space = _space(job.bare, (*fitted, Reaction.name))
        free = [settled(episode, _ANSWERED_S) for episode in free]
        usual = identify(job.bare, free, space, check=job.settings.check, **told)
    world = job.bare
    if usual.check is not None and usual.check.tremor is not None and usual.check.tremor.told:
        job.tell("a hand trembles: fitting the arm that it shakes")
        heard = tremor_readings(job.bare, free, usual.point, threads=job.threads)
        world = trembling(job.bare, space, heard)
        usual = identify(world, free, space, check=job.settings.check, **told)
    apart = _apart(wander, free)
    if not doubts_of((usual,), wander=apart):
        return usual
    if _held_back(usual, space):
        job.tell("numbers lie beyond what was believed of them: asking again with an open mind")
        anywhere = identify(world, free, open_minded(space), check=job.settings.check, **told)
        if not doubts_of((anywhere,), wander=apart):
            return anywhere
    if not _suspected(usual):
        return usual
    job.tell("the usual numbers do not explain this arm: trying other effects")
    more = chosen_from(world, free, space, usual.point, **told)
    if not any(choice.taken for choice in more.choices):
        return replace(usual, choices=more.choices)
    return identify(world, free, space, chosen=more, check=job.settings.check, **told)


def _apart(wander: float, free: Sequence[Episode]) -> float:
    """How far encoders that wander so fast take joints from where a replay has them, in rad."""
    return wander * math.sqrt(float(np.mean([episode.duration_s for episode in free])) / 2.0)


def _learnt(job: Job, free: list[Episode], arm: Estimate, point: Point, wander: float) -> str:
    """What no number makes the arm do at a point, if motions that it never saw agree."""
    if not doubts_of((arm,), wander=_apart(wander, free)):
        return ""
    job.tell("learning what no number explains")
    try:
        lesson = learn_residual(job.bare, free, point, threads=job.threads, on_progress=job.tell)
    except TrueupError:  # too little was recorded, or the physics broke down
        return ""
    if lesson.residual is None:
        return "; what no number explains could not be learnt"
    lesson.residual.save(job.path(RESIDUAL))
    return f"; of what no number explains, {100 * lesson.judgement.gain:.0f} % was learnt"


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


def _touched(job: Job, probes: list[Episode], arm: Estimate) -> str:
    """What contact shows; probes that tell nothing cost the run nothing but a sentence."""
    try:
        contact = identify_contact(
            job.world,
            probes,
            arm=arm,
            seed=job.settings.seed,
            threads=job.threads,
            on_progress=job.tell,
        )
    except TrueupError as error:
        return f"; the probes told nothing: {error.what.rstrip('. ')}"
    if contact.made["arm_off"] > STRANGE:
        return "; probes were left aside, for the arm is not as modelled"
    contact.save(job.path(CONTACT))
    return f"; from probes, {_told(contact)}"


def _stopped(job: Job, episodes: list[Episode]) -> Estimate | None:
    """Where the jaw's zero is, from its stops; none where no recording leads it to them."""
    job.path(STOPS).unlink(missing_ok=True)
    try:
        found = identify_stops(job.world, episodes)
    except TrueupError:
        return None
    found.save(job.path(STOPS))
    return found


def _agreed(job: Job, recorded: list[Episode], arm: Estimate | None) -> str:
    """What makes hand and eye agree, from recordings and from the trials themselves."""
    trials = readable(Dataset.open(job.path("before/episodes")))[0]
    job.tell("hand against eye")
    try:
        found = identify_hand_eye(job.world, [*recorded, *trials], arm=arm)
    except TrueupError:  # nothing is tracked, or nothing was ever held
        return ""
    found.save(job.path(HAND_EYE))
    return f"; hand and eye, {_told(found)}"


def _told(estimate: Estimate) -> str:
    """The surest departures, in a few words."""
    pinned = [f for f in estimate.findings if f.verdict == "pinned"]
    moved = [f for f in estimate.findings if f.differs]
    return (
        f"{len(moved)} of {len(estimate.findings)} numbers differ from the simulator, "
        f"{len(pinned)} are pinned down"
    )
