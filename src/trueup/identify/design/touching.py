"""Probes as candidates: what the hand would learn by touching a thing that was seen."""

from __future__ import annotations

import numpy as np

from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.identify.design.candidates import Candidate
from trueup.identify.design.information import information, rehearsed_probe
from trueup.identify.design.knowledge import Knowledge
from trueup.identify.design.safety import Safety
from trueup.record import Motion, Probe
from trueup.space import Gap
from trueup.worlds import World

_TOUCHING = (Gap.CONTACT, Gap.OBJECT)
_STARTS = 4  # of the world that are tried: a thing may lie out of reach


def probes(
    world: World, known: Knowledge, safety: Safety, *, threads: int = 0
) -> list[tuple[Candidate, np.ndarray]]:
    """Every safe kind of probe of every thing seen, and (draws, d, d) what it tells.

    None where the estimate does not ask about touching, or nothing was seen.
    """
    if not any(parameter.gap in _TOUCHING for parameter in known.space):
        return []
    kinds = [kind for kind in Motion.kinds.values() if issubclass(kind, Probe)]
    found: list[tuple[Candidate, Episode]] = []
    for probe in (kind(object=thing) for thing in safety.objects for kind in kinds):
        candidate, episode = _candidate(probe, safety), _episode(world, probe, safety, known)
        if candidate is not None and episode is not None:
            found.append((candidate, episode))
    if not found:
        return []
    episodes = [episode for _, episode in found]
    told = information(world, episodes, known, known.signals(), wary=True, threads=threads)
    return [(found[e][0], told[:, e]) for e in range(len(found))]


def _candidate(probe: Probe, safety: Safety) -> Candidate | None:
    """A probe from the ready pose and back to it; none where it has no safe way."""
    ready = np.array(safety.body.ready)
    situation = safety.at(ready)
    try:
        plan = probe.planned(situation)
    except TrueupError:
        return None
    if safety.envelope.findings(plan, situation):
        return None
    return Candidate(motion=probe, plan=plan, centre=ready, seconds=plan.duration_s)


def _episode(world: World, probe: Probe, safety: Safety, known: Knowledge) -> Episode | None:
    """What it would record where the world's own episodes begin; none where it never can."""
    for seed in range(_STARTS):
        try:
            return rehearsed_probe(world, probe, safety.body, known, seed=seed)
        except TrueupError:
            continue
    return None
