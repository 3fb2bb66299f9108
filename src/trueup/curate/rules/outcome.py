"""Did it succeed? As whoever recorded it said, and as its world sees it."""

from __future__ import annotations

import numpy as np

from trueup.curate.look import Look
from trueup.curate.rules.rule import Check, Sight
from trueup.episodes import Episode, Outcome

_REACHED = "next.success"  # LeRobot's column for it


def outcome_of(episode: Episode) -> Outcome | None:
    """How an episode ended: as it says, or by LeRobot's column where it has one."""
    if episode.outcome is not None or _REACHED not in episode.signals:
        return episode.outcome
    reached = episode[_REACHED].values
    return Outcome.SUCCESS if reached.size and reached.any() else Outcome.FAILURE


class Success(Check):
    """What was labelled a failure teaches a policy to fail."""

    name = "success"
    summary = "labelled a failure, or stopped before its end"

    def blind(self, sight: Sight) -> str:
        return "" if sight.judged else "no episode says how it ended"

    def fault(self, look: Look) -> str:
        outcome = outcome_of(look.episode)
        if outcome in (None, Outcome.SUCCESS):
            return ""
        return f"it is labelled {outcome!s}"


class Unseen(Check):
    """A success that its world does not see, where it sees those of the others."""

    name = "verdict"
    summary = "a success in which the task is never done, by the recorded states"
    habit = 0.12
    advice = "where objects were seen to be is too inaccurate to judge by, so outcomes are believed"

    def blind(self, sight: Sight) -> str:
        return "" if sight.world is not None else sight.blind

    def fault(self, look: Look) -> str:
        if outcome_of(look.episode) is not Outcome.SUCCESS:
            return ""
        if look.touch is None or look.touch.done is not False:
            return ""
        return "it is called a success, but by the recorded states the task is never done"


class Missing(Check):
    """A number that is not one."""

    name = "missing"
    summary = "readings that are NaN or infinite"

    def fault(self, look: Look) -> str:
        for name, channel in look.episode.signals.items():
            if np.issubdtype(channel.values.dtype, np.floating):
                bad = np.argwhere(~np.isfinite(channel.values))
                if len(bad):
                    row, column = bad[0]
                    return (
                        f"{len(bad)} numbers of {name} are missing, the first at "
                        f"{channel.time_s[row] - channel.time_s[0]:.2f} s in "
                        f"{channel.names[column]}"
                    )
        return ""


class Footage(Check):
    """A camera whose pictures are gone."""

    name = "videos"
    summary = "a video file that is missing"

    def fault(self, look: Look) -> str:
        for name, video in look.episode.videos.items():
            if video.path is not None and not video.path.is_file():
                return f"the video of the camera {name} is missing: there is no {video.path.name}"
        return ""
