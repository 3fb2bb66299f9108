"""Where the time of some code goes, by the calls in it that are watched."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

Watched = Mapping[str, Sequence[tuple[Any, str]]]
"""By label: the owner (an object, a class or a module) and the name of each call."""


class Stopwatch:
    """Seconds by label, every moment counted once: towards the innermost call that is watched.

    So the parts add up to the whole, and a call that is watched inside another one is not also
    counted there.

    Args:
        rest: The label of what happens outside every watched call.
    """

    def __init__(self, rest: str) -> None:
        self._open = [rest]
        self._seconds: dict[str, float] = defaultdict(float)
        self._since = time.perf_counter()

    def enter(self, label: str) -> None:
        """A call of this label begins."""
        self._charge()
        self._open.append(label)

    def leave(self) -> None:
        """The innermost call is over."""
        self._charge()
        self._open.pop()

    def lap(self) -> dict[str, float]:
        """Seconds by label since the last lap."""
        self._charge()
        seconds, self._seconds = dict(self._seconds), defaultdict(float)
        return seconds

    def _charge(self) -> None:
        now = time.perf_counter()
        self._seconds[self._open[-1]] += now - self._since
        self._since = now


@contextmanager
def watching(watched: Watched, *, rest: str = "rest") -> Iterator[Stopwatch]:
    """A stopwatch on these calls, which are as they were afterwards."""
    clock = Stopwatch(rest)
    places = [(label, *place) for label, calls in watched.items() for place in calls]
    own = [(owner, name, vars(owner).get(name)) for _, owner, name in places]
    for label, owner, name in places:
        setattr(owner, name, _timed(clock, label, getattr(owner, name)))
    try:
        yield clock
    finally:
        for owner, name, before in own:
            if before is None:  # it belongs to the class, and only hid behind ours
                delattr(owner, name)
            else:
                setattr(owner, name, before)


def _timed(clock: Stopwatch, label: str, call: Any) -> Any:
    @wraps(call)
    def timed(*args: Any, **options: Any) -> Any:
        clock.enter(label)
        try:
            return call(*args, **options)
        finally:
            clock.leave()

    return timed
