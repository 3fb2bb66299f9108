"""What to record, and recording it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from trueup.diagnose import GapReport
from trueup.episodes import Dataset, Episode, Outcome, Writer
from trueup.errors import TrueupError
from trueup.files import whole_folder
from trueup.hardware import Robot, RobotLost
from trueup.loop.estimates import DATA as DATA
from trueup.loop.job import Job
from trueup.plan import Costs, Kind, Protocol, planned
from trueup.record import Ask, Body, Keyboard, Motion, NotWritten, Recorder, Stops, get
from trueup.record.motions.probe import Probe
from trueup.streams import seeds_from

_TRIED = 2  # times that a motion may be cut short
_PLACES = 6  # where a thing may be put before its probe is left out
_AGAIN = (
    "Run the same command again: what was recorded is kept, and a motion that was cut short twice "
    "is left out."
)
_ELSEWISE = (
    "If you stopped it, run the same command again; else this rehearsal robot cannot follow, and "
    "would not again. What its trials say is in look/gaps.json, and --episodes FOLDER takes other "
    "recordings."
)


def plan(job: Job) -> str:
    """What gives back most for its minutes."""
    report = GapReport.load(job.path("look/gaps.json"))
    protocol = planned(report, world=job.world, seed=job.settings.seed)
    protocol.save(job.path("plan/protocol.json"))
    if not protocol.items:
        return "nothing that can be done is worth its minutes"
    first = protocol.items[0]
    others = len(protocol.items) - 1
    more = f", and {others} more {'item' if others == 1 else 'items'}" if others else ""
    return f"{first.title}: {first.recovery}{more}"


def record(job: Job) -> str:
    """Motions of the robot, as the plan asks; a minute or two."""
    given = job.settings.episodes
    if given:
        _copied(Path(given), job.path(DATA))
    else:
        _recorded(job)
    data = Dataset.open(job.path(DATA))
    seconds = sum(episode.duration_s for episode in data)
    whose = "yours" if given else "recorded"
    cut = sum(data.about(i).outcome is Outcome.ABORTED for i in range(len(data)))
    short = f", {cut} of them cut short" if cut else ""
    return f"{len(data)} motions, {seconds:.0f} s, {whose}{short}"


def asked(protocol: Protocol, always: Sequence[str]) -> tuple[str, ...]:
    """Names of motions, what matters most first, for time is short.

    Those that every run records, then what the plan wants beside them. Where the plan begins with
    probes, nothing but the first of the former is worth more: what is touched, probes alone tell.
    """
    items = [i for i in protocol.items if i.recordable and not i.work.conditions]
    first = items[0].work.motions if items and items[0].kind is Kind.PROBES else ()
    wanted = dict.fromkeys((*always[:1], *first, *always[1:]))
    for kind in (Kind.MOTIONS, Kind.PROBES):
        for item in items:
            if item.kind is kind:
                wanted |= dict.fromkeys(item.work.motions)
    return tuple(wanted)


def _copied(source: Path, target: Path) -> None:
    Dataset.open(source)  # said now where it is none
    with whole_folder(target) as partial:
        shutil.copytree(source, partial, dirs_exist_ok=True)


def _recorded(job: Job) -> None:
    protocol = Protocol.load(job.path("plan/protocol.json"))
    with job.robot() as robot:
        motions = _motions(job, robot, asked(protocol, job.settings.motions))
        if robot.real:  # what it has done once it need not do again
            _play(job, robot, _left(motions, job.path(DATA)), job.path(DATA))
            return
        with whole_folder(job.path(DATA)) as partial:
            _play(job, robot, motions, partial)


def _motions(job: Job, robot: Robot, names: Sequence[str]) -> list[Motion]:
    """As many of the motions as the time allows, in their order."""
    body = Body.of(job.world).fitted(robot.interface, name=robot.name)
    found: list[Motion] = []
    left, lasting = job.settings.seconds, Costs.usual().motion_s
    for name in names:
        motions = get(name, body).adapted(body).motions
        for motion in motions:
            if motion in found or not _possible(motion, robot):
                continue
            left -= lasting[name] / len(motions) if name in lasting else _seconds(motion)
            if left >= 0:
                found.append(motion)
    if not found:
        raise TrueupError(
            f"No motion of {', '.join(names)} is as short as {job.settings.seconds:g} s.",
            fix="Allow more seconds.",
        )
    return found


def _possible(motion: Motion, robot: Robot) -> bool:
    """Whether the robot has the joint, or sees the thing, that a motion is about."""
    if isinstance(motion, Stops) and motion.joint not in robot.interface.commands:
        return False
    seen = {feature.name for feature in robot.interface.observations}
    return not motion.needs or f"{motion.needs}_position" in seen


def _seconds(motion: Motion) -> float:
    """About how long a motion takes, the way there and back included."""
    return float(getattr(motion, "duration_s", 0.0) or 8.0) + 3.0


def _left(motions: Sequence[Motion], folder: Path) -> list[Motion]:
    if not (folder / "meta" / "info.json").is_file():
        return list(motions)
    data = Dataset.open(folder)
    about = [data.about(i) for i in range(len(data))]
    done = [a.origin.get("motion") for a in about if a.outcome is not Outcome.ABORTED]
    cut = [a.origin.get("motion") for a in about if a.outcome is Outcome.ABORTED]

    def times_cut(motion: Motion) -> int:
        return cut.count(motion.to_json())

    left = [m for m in motions if m.to_json() not in done and times_cut(m) < _TRIED]
    return sorted(left, key=times_cut)


def _play(job: Job, robot: Robot, motions: Sequence[Motion], folder: Path) -> None:
    """Free motions in one go; then probes one by one, of which any may fail for itself."""
    free = [motion for motion in motions if not motion.needs]
    probes = [motion for motion in motions if motion.needs]
    if not motions:
        return
    generator = np.random.default_rng([job.settings.seed, 8])
    seeds = seeds_from(generator, robot.n * (1 + _PLACES * len(probes))).reshape(-1, robot.n)
    with Writer(folder, robot_type=robot.kind) as writer, Keyboard(job.say) as keys:
        recorder = Recorder(
            robot=robot,
            world=job.world,
            writer=writer,
            control=keys,
            arm=job.arm,
            seeds=seeds[0],
            on_progress=lambda now: job.tell(f"{now.motion}: {now.time_s:.0f} s"),
        )
        ended = _freely(job, recorder, free) or _touching(job, recorder, probes, seeds[1:])
    if ended:
        raise TrueupError(
            f"The recording ended early: {ended.rstrip('.')}.",
            fix=_AGAIN if robot.real else _ELSEWISE,
        )


def _freely(job: Job, recorder: Recorder, motions: Sequence[Motion]) -> str:
    """Record motions; why that ended early, if it did.

    Where the guard stops one of them, the others are recorded without it, if that may be.
    """
    left, whole = list(motions), 0
    while left:
        found = recorder.record(left)
        if not found.ended:
            return ""
        begun = len(found.plans)
        whole += begun - 1
        if not _may_go_on(recorder) or (begun == len(left) and not whole):
            return found.ended
        job.say(f"The motion {left[begun - 1].title!r} was left out: {found.ended}")
        left = left[begun:]
    return ""


def _touching(job: Job, recorder: Recorder, probes: Sequence[Motion], seeds: np.ndarray) -> str:
    """Record probes, one by one; why that ended early, if it did.

    Where one missed its thing, those of its kind that follow go about it otherwise.
    """
    missed: set[type[Motion]] = set()
    for k, probe in enumerate(probes):
        if isinstance(probe, Probe) and type(probe) in missed:
            probe = probe.otherwise()
        starts = [replace(recorder, seeds=start) for start in seeds[k :: len(probes)]]
        found, ended = _probed(job, starts, probe)
        if ended:
            return ended
        if isinstance(probe, Probe) and any(map(probe.missed, found)):
            missed.add(type(probe))
            job.say(f"The probe {probe.title!r} did not get hold of the {probe.needs}.")
    return ""


def _probed(
    job: Job, recorders: Sequence[Recorder], probe: Motion
) -> tuple[Sequence[Episode], str]:
    """Record a probe, or leave it out and say why; its episodes, and why the recording ended.

    Where a thing stands so that it cannot be probed, it is put elsewhere: one recorder each.
    """
    why = ""
    for recorder in recorders:
        try:
            found = recorder.record([probe])
        except (NotWritten, RobotLost):
            raise
        except TrueupError as error:  # a thing out of reach, or seen where it is not
            why = error.what
            elsewhere = f"{why} Put the {probe.needs} elsewhere."
            if recorder.robot.real and not recorder.control.ready(elsewhere):
                break
            continue
        if found.ended and _may_go_on(recorder):
            why = found.ended
            break
        return found.episodes, found.ended
    job.say(f"The probe {probe.title!r} was left out: {why}")
    return (), ""


def _may_go_on(recorder: Recorder) -> bool:
    """Whether to record on after a stop: nobody asked for it, and nobody has to look first."""
    return not recorder.robot.real and recorder.control.asked() not in (Ask.ABORT, Ask.STOP)
