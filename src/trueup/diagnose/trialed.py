"""Trials as a robot recorded them, brought onto the control clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.diagnose.signature import Traces
from trueup.episodes import Episode, Outcome
from trueup.errors import TrueupError
from trueup.worlds import World

_JUDGED = (Outcome.SUCCESS, Outcome.FAILURE)
_COMMAND, _JOINTS = "command", "joint_position"


@dataclass(frozen=True, kw_only=True)
class Trials:
    """What counts among some recorded episodes.

    Attributes:
        episodes: Those that came to their end.
        success: (n,)
        real: Whether a real robot took part.
        notes: What was left out, and why.
    """

    episodes: tuple[Episode, ...]
    success: np.ndarray
    real: bool
    notes: tuple[str, ...] = ()


def judged(episodes: Sequence[Episode], world: World, policy_mark: str = "") -> Trials:
    """Trials whose outcome is known; those of another world or policy are refused.

    Args:
        episodes: As `trueup deploy` records them.
        world: The world they must be of.
        policy_mark: Hash of the network they must be of; not asked where it is empty.
    """
    if not episodes:
        raise TrueupError("There are no trials.", fix="Run some with `trueup deploy`.")
    for word, wanted in (("world", world.name), ("policy_sha256", policy_mark)):
        found = Counter(str(e.origin[word]) for e in episodes if e.origin.get(word))
        strange = [value for value in found if wanted and value != wanted]
        if strange:
            what = word.removesuffix("_sha256")
            raise TrueupError(
                f"{found[strange[0]]} of {len(episodes)} trials are of another {what}: "
                f"{strange[0][:40]!r}, here it is {wanted[:40]!r}.",
                fix=f"Give the {what} that was tried, or trials of this one.",
            )
    ended = [e for e in episodes if e.outcome in _JUDGED]
    left = len(episodes) - len(ended)
    notes = (f"{left} of {len(episodes)} episodes have no outcome and were left out.",)
    if not ended:
        raise TrueupError(
            f"None of {len(episodes)} episodes says whether it succeeded.",
            fix="Trials need an outcome: `trueup deploy` asks for it.",
        )
    return Trials(
        episodes=tuple(ended),
        success=np.array([e.outcome == Outcome.SUCCESS for e in ended]),
        real=any(bool(e.origin.get("real")) for e in ended),
        notes=notes if left else (),
    )


def traces(trials: Trials, world: World) -> Traces | None:
    """The signals of trials, turn by turn; none where commands or joints were not recorded."""
    wanted = [_COMMAND, *(signal.name for signal in world.observations)]
    shared = [n for n in wanted if all(n in e.signals for e in trials.episodes)]
    if _COMMAND not in shared or _JOINTS not in shared:
        return None
    longest = max(world.steps, *(len(e[_COMMAND].time_s) for e in trials.episodes))
    signals = {name: _stacked(trials.episodes, name, longest, world) for name in shared}
    known = np.isfinite(signals[_COMMAND][:, :, 0])
    for values in signals.values():
        values[~known] = np.nan
    return Traces(signals=signals, success=trials.success, period_s=world.control_period_s)


def _stacked(episodes: Sequence[Episode], name: str, longest: int, world: World) -> np.ndarray:
    """(n, longest, dim) one signal, each reading at the turn that it was read in."""
    width = episodes[0][name].values.shape[1]
    found = np.full((len(episodes), longest, width), np.nan)
    for values, episode in zip(found, episodes, strict=True):
        channel, clock = episode[name], episode[_COMMAND].time_s
        if len(channel.time_s) == len(clock):
            taken = np.asarray(channel.values, float)
        else:  # a signal with a rate of its own: the last reading before each command
            rows = np.searchsorted(channel.time_s, clock, side="right") - 1
            taken = np.asarray(channel.values, float)[np.maximum(rows, 0)]
        values[: len(taken)] = taken
    return found
