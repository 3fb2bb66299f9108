"""The circle as one resumable job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from trueup.errors import TrueupError
from trueup.loop.circle import index_of, stages
from trueup.loop.folder import Origin, differing, holds_run
from trueup.loop.job import Job
from trueup.loop.journal import Entry, Journal, State
from trueup.loop.lock import locked
from trueup.loop.marks import MISSING, marks_of
from trueup.loop.readiness import check_ready
from trueup.loop.settings import Settings
from trueup.loop.stage import Stage
from trueup.loop.stopping import Stop, Why, stop_after

_ANY_TIME = (
    "controls",
    "films",
    "insist",
    "target",
)  # settings that change nothing that is done already


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a run.

    Attributes:
        folder: Where it is.
        journal: What was done.
        stop: Why it ended.
    """

    folder: Path
    journal: Journal
    stop: Stop

    @property
    def told(self) -> tuple[str, ...]:
        """What came of it: the success on the way, then why it ended."""
        shown = ("train", "before", "after")
        entries = {n: e for n, e in self.journal.stages.items() if e.found}
        lines = [f"{name}: {entries[name].found}." for name in shown if name in entries]
        return (*lines, self.stop.words)


def run(
    job: Job,
    *,
    begin: str | None = None,
    accept: bool = False,
    command: str = "",
    on_stage: Callable[[str, Entry], None] = lambda name, entry: None,
) -> Result:
    """Go round once: on from where the folder stands, to the same result as without a pause.

    Args:
        job: Where, what, and whom to talk to.
        begin: Do this stage and all after it again.
        accept: Use artefacts that were changed by hand; what rests on them is done again.
        command: What was typed, for the record.
        on_stage: Told of every stage that ends, is there already, or is left out.
    """
    _check(job, begin)  # before a folder is made
    with locked(job.folder):
        origin, journal, changed = _opened(job, begin)
        turn = _Turn(job, journal, on_stage)
        turn.check(accept, begin)
        commands = (*origin.commands, command)
        replace(origin, settings=job.settings, commands=commands).save(job.folder)
        turn.redo(begin, changed)
        return turn.go()


def _check(job: Job, begin: str | None) -> None:
    """Refuse what cannot be done, while nothing has been trained, removed or written."""
    _, journal, _ = _opened(job, begin)
    found = stages(job.settings)
    if begin is None:
        left = [s for s in found if s.name not in journal.stages or journal.running(s.name)]
    else:
        left = found[index_of(begin, job.settings) :]
    check_ready(job, left)


def _opened(job: Job, begin: str | None) -> tuple[Origin, Journal, Sequence[str]]:
    """Where the run comes from, what was done, and which settings are others than before."""
    settings, folder = job.settings, job.folder
    if begin is not None:
        index_of(begin, settings)
    elif not holds_run(folder):
        return Origin(settings=settings), Journal(), ()
    origin, journal = Origin.load(folder), Journal.load(folder)
    changed = [n for n in differing(origin.settings, settings) if n not in _ANY_TIME]
    _check_change(job, journal, changed, origin.settings, begin)
    return origin, journal, changed


def _check_change(
    job: Job, journal: Journal, changed: Sequence[str], stored: Settings, begin: str | None
) -> None:
    """Changed settings are for stages that are yet to be done; others would make the folder lie."""
    wanted = job.settings
    kept = stages(wanted)[: None if begin is None else index_of(begin, wanted)]
    for stage in kept:
        name = next((n for n in changed if n in stage.reads), None)
        if name and journal.done(stage.name):
            raise TrueupError(
                f"{job.folder} holds a run whose {_apart(name, stored, wanted)}, and the stage "
                f"{stage.name!r} rests on it.",
                fix=f"Do it again from there (--from {stage.name}), leave the option out, or "
                "choose another --out.",
            )


def _apart(name: str, stored: Settings, wanted: Settings) -> str:
    """What a setting was and is; of settings within it, those that differ."""
    was, now = (s.to_json()[name] for s in (stored, wanted))
    if not isinstance(was, dict):
        return f"{name} is {was!r}; here it is {now!r}"
    differ = [key for key in was if was[key] != now[key]]
    return "; ".join(f"{name}.{key} is {was[key]!r}; here it is {now[key]!r}" for key in differ)


@dataclass(frozen=True, kw_only=True)
class _Changed:
    """An artefact that is not what its stage wrote; its mark is empty where it is gone."""

    stage: str
    name: str
    mark: str


def _refusal(folder: Path, changed: Sequence[_Changed]) -> TrueupError:
    first, *more = changed
    gone = first.mark == MISSING
    others = f" Neither {'is' if len(more) == 1 else 'are'} {', '.join(c.name for c in more)}."
    meant = "" if gone else ", or say that the change is meant (--accept)"
    return TrueupError(
        f"{folder / first.name} is not what the stage {first.stage!r} wrote: it was "
        f"{'removed' if gone else 'changed'} since.{others if more else ''}",
        fix=f"Do the stage again (--from {first.stage}){meant}.",
    )


class _Turn:
    """A run while it runs."""

    def __init__(self, job: Job, journal: Journal, on_stage: Callable[[str, Entry], None]) -> None:
        self.job, self.journal, self.on_stage = job, journal, on_stage
        self.stages = stages(job.settings)

    def check(self, accept: bool, begin: str | None) -> None:
        """Refuse artefacts that are not what a stage wrote; use them where that was said.

        Stages that are done again write theirs anew, so what became of those does not matter.
        """
        changed = self._changes(begin)
        refused = [c for c in changed if not accept or c.mark == MISSING]
        if refused:
            raise _refusal(self.job.folder, refused)
        if changed:
            self._accept(changed)

    def _changes(self, begin: str | None) -> list[_Changed]:
        found: list[_Changed] = []
        end = None if begin is None else index_of(begin, self.job.settings)
        for stage in self.stages[:end]:
            if self.journal.done(stage.name):
                stored = self.journal.stages[stage.name].outputs
                now = marks_of(self.job.folder, stored)
                differ = [name for name in stored if stored[name] != now[name]]
                found += [_Changed(stage=stage.name, name=n, mark=now[n]) for n in differ]
        return found

    def _accept(self, changed: Sequence[_Changed]) -> None:
        known = dict(self.journal.stages)
        for one in changed:
            outputs = {**known[one.stage].outputs, one.name: one.mark}
            known[one.stage] = replace(known[one.stage], outputs=outputs)
        names = [one.name for one in changed]
        accepted = tuple(dict.fromkeys((*self.journal.accepted, *names)))
        self._write(replace(self.journal, stages=known, accepted=accepted))
        self.job.say(f"Accepted as changed by hand: {', '.join(names)}.")

    def redo(self, begin: str | None, changed: Sequence[str]) -> None:
        """Forget a stage and all after it, and what was begun with other settings."""
        end = len(self.stages) if begin is None else index_of(begin, self.job.settings)
        for place, stage in enumerate(self.stages):
            begun = stage.name in self.journal.stages and set(stage.reads) & set(changed)
            if place >= end or begun:
                self._forget(stage)

    def go(self) -> Result:
        """Every stage that is not done, or rests on something else than it did."""
        stop: Stop | None = None
        for stage in self.stages:
            control = stage.name.startswith("control-")
            over = stop is not None and not (control and self.journal.done("after"))
            if over and stage.name != "report":
                self._leave_out(stage)
                continue
            self._one(stage)
            found = stop_after(stage.name, self.job)
            if found and (stage.name == "after" or not self.job.settings.insist):
                stop = found
                self._write(replace(self.journal, ended=(str(found.why), found.words)))
        end = stop or Stop(why=Why.OPEN, words="One turn is done.")
        return Result(folder=self.job.folder, journal=self.journal, stop=end)

    def _one(self, stage: Stage) -> None:
        inputs = marks_of(self.job.folder, stage.inputs)
        entry = self.journal.stages.get(stage.name)
        if entry and entry.state is State.DONE and dict(entry.inputs) == inputs:
            self.on_stage(stage.name, entry)
            return
        if entry is None or entry.state is not State.RUNNING or dict(entry.inputs) != inputs:
            self._forget(stage)
        elif not stage.resumes:
            stage.clear(self.job.folder)
        before_s = entry.seconds if entry and entry.state is State.RUNNING else 0.0
        self._enter(stage, Entry(state=State.RUNNING, inputs=inputs, seconds=before_s))
        began = perf_counter()
        found = stage.do(self.job)
        done = Entry(
            state=State.DONE,
            seconds=round(before_s + perf_counter() - began, 2),
            inputs=inputs,
            outputs=marks_of(self.job.folder, stage.outputs),
            found=found,
        )
        self._enter(stage, done)
        self.on_stage(stage.name, done)

    def _leave_out(self, stage: Stage) -> None:
        if self.journal.done(stage.name):
            self._forget(stage)
        self._enter(stage, Entry(state=State.LEFT_OUT))
        self.on_stage(stage.name, self.journal.stages[stage.name])

    def _forget(self, stage: Stage) -> None:
        stage.clear(self.job.folder)
        kept = {name: e for name, e in self.journal.stages.items() if name != stage.name}
        self._write(replace(self.journal, stages=kept, ended=None))

    def _enter(self, stage: Stage, entry: Entry) -> None:
        self._write(replace(self.journal, stages={**self.journal.stages, stage.name: entry}))

    def _write(self, journal: Journal) -> None:
        self.journal = journal
        journal.save(self.job.folder)
