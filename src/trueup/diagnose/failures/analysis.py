"""Every trial of a series, read: where it failed, how, and what goes along with that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from trueup.diagnose.failures.event import Event, Happened
from trueup.diagnose.failures.events import happened, main_event
from trueup.diagnose.failures.grasp import Hold, holds
from trueup.diagnose.failures.labels.labels import LabelAnalysis, labelled
from trueup.diagnose.failures.labels.table import JUDGED, Table
from trueup.diagnose.failures.phases import Handling, Phase, Span, Story, handling_of
from trueup.diagnose.failures.trace import Reader
from trueup.episodes import Episode, Outcome
from trueup.errors import TrueupError
from trueup.evaluate import wilson
from trueup.evaluate.words import percent
from trueup.worlds import World

FORMAT, VERSION = "trueup/failures", 1
_SHUT_RAD = 0.15  # above the jaw's low end, where no hold shows how wide the object is
_NARROWER_RAD = 0.07  # than where it holds the object: then nothing is in it


@dataclass(frozen=True, kw_only=True)
class EpisodeFailure:
    """One trial, told.

    Attributes:
        episode: Its number among those given.
        outcome: How it ended.
        phase: Where it failed; for a success, the last phase it was in.
        event: How it failed; none for a success.
        time_s: When; none for a success.
        evidence: Why we think so, as a sentence with numbers; empty for a success.
        spans: All its phases.
        events: Everything that went wrong on the way, also in successes.
        labels: Its words.
    """

    episode: int
    outcome: Outcome
    phase: Phase
    event: Event | None
    time_s: float | None
    evidence: str
    spans: tuple[Span, ...]
    events: tuple[Happened, ...]
    labels: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class FailureAnalysis:
    """Where and how the trials of a series failed.

    Attributes:
        world: The world's name.
        real: Whether a real robot took part; if not, it is sim-to-sim.
        handling: What the task does with its object.
        episodes: Every judged trial, in order.
        labels: What goes along with failure; none where trials carry no labels.
        sentences: The answer in words.
        notes: What was left out, and why.
    """

    world: str
    real: bool
    handling: Handling
    episodes: tuple[EpisodeFailure, ...]
    labels: LabelAnalysis | None
    sentences: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def failures(self) -> tuple[EpisodeFailure, ...]:
        """The trials that failed."""
        return tuple(e for e in self.episodes if e.outcome is Outcome.FAILURE)

    @property
    def by_phase(self) -> dict[str, int]:
        """How many failed in each phase."""
        return _counted(Phase, [e.phase for e in self.failures])

    @property
    def by_event(self) -> dict[str, int]:
        """How many failed by each event."""
        return _counted(Event, [e.event for e in self.failures if e.event is not None])

    @property
    def by_both(self) -> dict[str, dict[str, int]]:
        """Failures by event, then by phase; events that did not happen are left out."""
        pairs = Counter((str(e.event), str(e.phase)) for e in self.failures)
        return {
            str(event): {str(phase): pairs[str(event), str(phase)] for phase in Phase}
            for event in Event
            if self.by_event[event]
        }

    @property
    def by_label(self) -> dict[str, dict[str, dict[str, int]]]:
        """Failures by label, by its word, by event, for the labels that were tested."""
        tested = self.labels.labels if self.labels is not None else ()
        made: dict[str, dict[str, dict[str, int]]] = {}
        for name in (label.name for label in tested):
            pairs = Counter((e.labels.get(name, ""), str(e.event)) for e in self.failures)
            words = sorted({word for word, _ in pairs})
            made[name] = {
                w: {str(k): pairs[w, str(k)] for k in Event if pairs[w, str(k)]} for w in words
            }
        return made

    def to_json(self) -> dict[str, Any]:
        """A JSON object: counts, sentences, and every trial with its phases and evidence."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "world": self.world,
            "label": "real" if self.real else "sim-to-sim",
            "handling": str(self.handling),
            "trials": len(self.episodes),
            "failed": len(self.failures),
            "by_phase": self.by_phase,
            "by_event": self.by_event,
            "by_event_and_phase": self.by_both,
            "by_label_and_event": self.by_label,
            "sentences": list(self.sentences),
            "notes": list(self.notes),
            "labels": None if self.labels is None else self.labels.to_json(),
            "episodes": [_plain(asdict(e)) for e in self.episodes],
        }


def analysed(world: World, episodes: Iterable[Episode]) -> FailureAnalysis:
    """Tell of each trial in which phase it failed, how and when, and what goes along with it.

    Only what a robot records is looked at: joint positions and commands, loads where there are any,
    and the object where one is tracked. Trials that were aborted, played as a shadow or not judged
    are left out.

    Args:
        world: Whose model says where the hand is.
        episodes: As `trueup deploy` records them.
    """
    kept, notes = _judged(list(episodes))
    reader = Reader(world)
    traces = [reader.trace(episode, number) for number, episode in kept]
    success = [e.outcome is Outcome.SUCCESS for _, e in kept]
    held = [holds(trace) for trace in traces]
    handling = handling_of(traces, held, success)
    shut = _shut(traces[0].shut, [hold for some in held for hold in some])
    stories = [
        Story(trace=trace, handling=handling, held=some, shut=shut)
        for trace, some in zip(traces, held, strict=True)
    ]
    told = tuple(_told(i, e, story) for (i, e), story in zip(kept, stories, strict=True))
    table = Table.of([episode for _, episode in kept])
    labels = labelled(table) if table.columns else None
    real = any(bool(e.origin.get("real")) for _, e in kept)
    made = FailureAnalysis(
        world=world.name,
        real=real,
        handling=handling,
        episodes=told,
        labels=labels,
        sentences=(),
        notes=tuple(notes),
    )
    return _with_sentences(made)


def _judged(episodes: list[Episode]) -> tuple[list[tuple[int, Episode]], list[str]]:
    kept = [(i, e) for i, e in enumerate(episodes) if _counts(e)]
    if not kept:
        raise TrueupError(
            f"None of these {len(episodes)} episodes is a trial that was judged.",
            fix="Give trials with an outcome, as `trueup deploy` records them.",
        )
    left = len(episodes) - len(kept)
    what = "episode was" if left == 1 else "episodes were"
    notes = [f"{left} {what} left out: aborted, a shadow, or not judged."] if left else []
    return kept, notes


def _counts(episode: Episode) -> bool:
    return episode.outcome in JUDGED and episode.origin.get("mode") != "shadow"


def _shut(low: float, held: list[Hold]) -> float:
    """A jaw below this has nothing in it: by where it holds the object in these very trials."""
    wide = [hold.jaw for hold in held if hold.carried is not None]
    return max(float(np.median(wide)) - _NARROWER_RAD, low + 0.02) if wide else low + _SHUT_RAD


def _told(number: int, episode: Episode, story: Story) -> EpisodeFailure:
    assert episode.outcome is not None
    found = happened(story)
    if episode.outcome is Outcome.SUCCESS:
        meant = (Phase.RELEASE, Event.MISS)  # what it let go of was where it should be
        return EpisodeFailure(
            episode=number,
            outcome=episode.outcome,
            phase=story.phase(len(story.trace) - 1),
            event=None,
            time_s=None,
            evidence="",
            spans=story.spans,
            events=tuple(h for h in found[:-1] if (h.phase, h.event) != meant),
            labels=dict(episode.labels),
        )
    main = main_event(story, found)
    return EpisodeFailure(
        episode=number,
        outcome=episode.outcome,
        phase=main.phase,
        event=main.event,
        time_s=main.time_s,
        evidence=main.evidence,
        spans=story.spans,
        events=tuple(found),
        labels=dict(episode.labels),
    )


def _with_sentences(made: FailureAnalysis) -> FailureAnalysis:
    failed, n = made.failures, len(made.episodes)
    label = "" if made.real else ", sim-to-sim"
    low, high = wilson(n - len(failed), n)
    said = [
        f"{len(failed)} of {n} trials failed{label}: success {percent(1 - len(failed) / n)}, 95 % "
        f"interval {100 * low:.0f} – {100 * high:.0f} %."
    ]
    said += _most(made) if failed else ["No trial failed, so there is no failure to tell of."]
    said += made.labels.sentences if made.labels is not None else ()
    return replace(made, sentences=tuple(said))


def _most(made: FailureAnalysis) -> list[str]:
    failed = made.failures
    (event, k), (phase, m) = (
        max(table.items(), key=lambda item: item[1]) for table in (made.by_event, made.by_phase)
    )
    low, high = wilson(k, len(failed))
    first = next(e for e in failed if e.event == event)
    return [
        f"Most often by {event} ({k} of {len(failed)}, 95 % interval {100 * low:.0f} – "
        f"{100 * high:.0f} %), most often in {phase} ({m} of {len(failed)}).",
        f"For example episode {first.episode}: {first.evidence}",
    ]


def _counted(kinds: type[Phase] | type[Event], found: list[Any]) -> dict[str, int]:
    counts = Counter(str(x) for x in found)
    return {str(kind): counts[str(kind)] for kind in kinds}


def _plain(value: Any) -> Any:
    """The same without enums and tuples."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, (Phase, Event, Outcome)) else value
