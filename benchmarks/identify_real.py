"""A real SO-101 identified: from CSV files to an estimate, judged on motions it has not seen.

Fifteen motions are handed over: ten are fitted, five choose between models. All others but a
stall judge the result, replayed open loop over their full length. The recordings are not part of
the repository: `TRUEUP_DATA`, or `../shared/data`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.measure import Effort, Measure, Target
from benchmarks.nominal import data_folder
from trueup import worlds
from trueup.episodes import Dataset, Episode, import_recordings, load_mapping
from trueup.identify import BASE, Estimate, identify
from trueup.identify.cutting import shortened
from trueup.identify.usable import cleaned
from trueup.replay import replayed

FITTED = (
    *("prbs_excitation", "friction_gravity", "multisine", "frequency_sweep", "static_holding"),
    *("single_joint_elbow", "slow_precision", "trapezoidal_profile", "boundary_exploration"),
    "circular_motion",
)
CHOOSING = (
    *("step_response", "oscillation_low_freq", "single_joint_wrist_pitch", "hover_positions"),
    "staircase_motion",
)
TOUCHING = {
    *("boundary_exploration", "center_workspace", "hover_positions", "hold_under_gravity"),
    *("reach_and_return", "oscillation_low_freq", "oscillation_med_freq"),
    *("single_joint_elbow", "dual_joint_elbow_wrist"),
}
"""Motions in which the gripper reaches the table."""
STALL = "single_joint_wrist_roll"
ARM = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")


def measure(effort: Effort) -> list[Measure]:
    folder = data_folder()
    if not folder.is_dir():
        note = "no recordings: set TRUEUP_DATA to their folder"
        return [Measure(what="a real SO-101 identified", value=None, note=note)]
    with tempfile.TemporaryDirectory() as scratch:
        began = time.perf_counter()
        motions = imported(folder, Path(scratch) / "motions")
        imported_s = time.perf_counter() - began
        estimate, fitted_s = identified(motions, _ordered(FITTED, CHOOSING), effort)
    estimate.save(effort.out / "estimate-real.json")
    unseen = [n for n in motions if n not in {*FITTED, *CHOOSING, STALL}]
    errors = errors_of(motions, unseen, estimate)
    free = {n: e for n, e in errors.items() if n not in TOUCHING}
    return [
        _line("motions free of table contact", free, 0.0038),
        _line("all motions but the stall", errors, 0.0053),
        Measure(
            what="wall time from CSV files to the estimate of a real SO-101",
            value=imported_s + fitted_s,
            unit="s",
            target=Target(side="≤", value=120.0),
            note=f"import {imported_s:.0f} s; {len(estimate.findings)} parameters; "
            + "; ".join(str(choice) for choice in estimate.choices),
        ),
    ]


def errors_of(
    motions: dict[str, Episode], names: list[str], estimate: Estimate
) -> dict[str, float]:
    """Root mean square over the five arm joints of each motion, open loop, full length, in rad."""
    world = worlds.get("so101/arm")
    some = cleaned([motions[n] for n in names]).episodes
    replay = replayed(world, some, estimate.point, signals=["joint_position"])
    found = {}
    for episode, tracks in zip(some, replay.tracks, strict=True):
        track = tracks["joint_position"]
        columns = [track.names.index(joint) for joint in ARM]
        left = track.residual[0][:, columns]
        found[str(episode.task)] = float(np.sqrt(np.nanmean(left**2)))
    return found


def imported(folder: Path, out: Path) -> dict[str, Episode]:
    """All motions by name."""
    import_recordings(folder, load_mapping("so101-sage"), out)
    return {str(episode.task): episode for episode in Dataset.open(out)}


def identified(
    motions: dict[str, Episode], names: Sequence[str], effort: Effort
) -> tuple[Estimate, float]:
    """An estimate from some motions, every third of which chooses between models, and seconds."""
    began = time.perf_counter()
    episodes = [motions[name] for name in names]
    if effort.quick:
        episodes = [shortened(episode, 8.0) for episode in episodes]
    world = worlds.get("so101/arm")
    estimate = identify(
        world,
        episodes,
        world.catalogue.select(*BASE),
        choose=True,
        on_progress=lambda line: print(
            f"{time.perf_counter() - began:5.0f} s  {line}", file=sys.stderr, flush=True
        ),
    )
    return estimate, time.perf_counter() - began


def _ordered(fitted: tuple[str, ...], judges: tuple[str, ...]) -> list[str]:
    """So that every third, which is kept out of a fit, is a judge."""
    pairs = zip(fitted[::2], fitted[1::2], judges, strict=True)
    return [name for group in pairs for name in group]


def _line(which: str, errors: dict[str, float], target: float) -> Measure:
    values = list(errors.values())
    return Measure(
        what=f"open-loop error of an identified real SO-101, {which}",
        value=float(np.mean(values)),
        unit="rad",
        target=Target(side="≤", value=target),
        spread=(min(values), max(values)),
        note=f"five arm joints, {len(values)} motions with no part in the fit, full length",
        details=errors,
    )
