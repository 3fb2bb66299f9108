"""One recording over its replay, in the simulator as it was and as it is now."""

from __future__ import annotations

from collections.abc import Mapping

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.replay import Panel, panels_of, replayed
from trueup.worlds import World


def overlaid(
    world: World,
    episode: Episode,
    point: Mapping[str, float],
    *,
    window_s: float | None = None,
    threads: int = 0,
) -> tuple[list[Panel], list[Panel]]:
    """Panels before, at the nominal point, and after, at this one; a panel for each joint.

    Args:
        world: Where it is replayed.
        episode: What was measured; best one that had no part in a fit.
        point: What is believed now, such as `Estimate.point`; names that the world does not know
            are passed over.
        window_s: Begin anew at the measured state after each so many seconds.
        threads: CPU threads; 0 takes all.
    """
    known = {name: value for name, value in point.items() if name in world.catalogue}

    def panels(at: Mapping[str, float]) -> list[Panel]:
        found = replayed(world, [episode], at, window_s=window_s, signals=[JOINTS], threads=threads)
        return panels_of(episode, found.tracks[0], [JOINTS])

    return panels({}), panels(known)
