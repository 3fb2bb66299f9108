"""Sources on trial: how often each works elsewhere, before many attempts are spent on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from trueup.errors import TrueupError
from trueup.generate.attempts import Draw
from trueup.generate.drivers import Expert
from trueup.generate.motion.legs import Source
from trueup.generate.motion.senses import Knows
from trueup.generate.stage import Stage
from trueup.space import Space
from trueup.worlds import World

_TRIALS, _LEAST, _MOST = 384, 8, 32
_SEED = 0x747279  # the same attempts for every source, and none of those that are kept


def tried(
    sources: Sequence[Source],
    world: World,
    space: Space,
    *,
    knows: Knows = "sensors",
    threads: int = 0,
) -> tuple[Source, ...]:
    """The sources that work elsewhere at all, with the share of attempts in which each did.

    All are tried in the same worlds. A source that works seldom is used seldom.
    """
    trials = min(_MOST, max(_LEAST, _TRIALS // len(sources)))
    found, failures = [], Counter[str]()
    for source in sources:
        worked, why = _shares(source, world, space, knows, trials, threads)
        failures.update(why)
        if worked:
            found.append(replace(source, works=worked / trials))
    if not found:
        why, times = failures.most_common(1)[0]
        raise TrueupError(
            f"None of the {len(sources)} sources worked in any of {trials} attempts elsewhere; "
            f"{times} times {why}.",
            fix="Give other demonstrations, or start from a scripted expert: --source script.",
        )
    return tuple(found)


def _shares(
    source: Source, world: World, space: Space, knows: Knows, trials: int, threads: int
) -> tuple[int, Counter[str]]:
    stage = Stage(
        world,
        Draw(space, _SEED),
        lambda worlds: Expert(worlds, [source], knows=knows),
        slots=trials,
        threads=threads,
    )
    ended = [attempt for found in stage.run(0, lambda busy: 0) for attempt in found]
    worked = sum(attempt.kept for attempt in ended)
    return worked, Counter(attempt.verdict.why for attempt in ended if not attempt.kept)
