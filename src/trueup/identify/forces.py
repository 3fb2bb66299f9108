"""What a force sensor reads for a force: its gain, its offset and its noise, once the arm is known.

Motions tell which torques an arm needs; a current that reads twice as much reads wrong, and one
that leaps from reading to reading is noisy.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from scipy.optimize import least_squares

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.identify.estimate import Estimate, Finding
from trueup.replay import Track, replayed
from trueup.space import Prior, Uniform
from trueup.worlds import World

FORCES = "joint_force"
_GAIN = "sensing/current/gain"
_OWN = (_GAIN, "sensing/current/offset")
_NOISE = "sensing/current/noise"
_JOINTS = 2  # that say the same, at least
_FEWEST = 50  # readings of one joint
_SURE = 1.645  # standard deviations to either side of a 90 % interval
_LEAST = (0.02, 0.01)  # of gain and of N·m: no model of an arm is truer than that
_DOUBTED = (0.12, 0.06)  # where joints do what the model does not
_NOTICED = 0.002  # rad that a joint is off by: less is no reason to doubt a model
_ORDER = 4  # of differences: what is smooth drops out of them


def force_readings(
    world: World, episodes: Sequence[Episode], arm: Estimate | None, *, threads: int = 0
) -> dict[str, Prior]:
    """Gain, offset and noise of the world's force sensors; nothing where they are not told.

    Only joints count whose stiffness is pinned down: what a stiffer servo would need is otherwise
    taken for what a sensor reads.

    Args:
        world: The arm without its task.
        episodes: Free motions.
        arm: What they were identified as; its own gain and offset are not heeded. The simulator's
            own arm where there is none.
        threads: CPU threads; 0 takes all.
    """
    having = [episode for episode in episodes if FORCES in episode.signals]
    if not having or _GAIN not in world.catalogue:
        return {}
    at = arm.point if arm else {}
    known = {n: v for n, v in at.items() if n in world.catalogue and n not in _OWN}
    tracks = replayed(world, having, known, signals=[FORCES], threads=threads).tracks
    every = _joints([track[FORCES] for track in tracks])
    vague = {f.name.split("/")[1] for f in (arm.findings if arm else ()) if _vague(f)}
    joints = [pair for name, pair in every.items() if name.removesuffix("_force") not in vague]
    if len(joints) < _JOINTS:
        return {}
    whole = _line(joints)
    without = np.array([_line([*joints[:j], *joints[j + 1 :]]) for j in range(len(joints))])
    spread = np.sqrt((len(joints) - 1) * ((without - without.mean(axis=0)) ** 2).mean(axis=0))
    least = _DOUBTED if arm is not None and _strange(arm) else _LEAST
    found: dict[str, Prior] = _noise(world, joints, whole)
    for name, value, off in zip(_OWN, whole, _SURE * np.maximum(spread, least), strict=True):
        low, high = world.catalogue[name].low, world.catalogue[name].high
        if value - off < high and value + off > low:
            found[name] = Uniform(max(float(value - off), low), min(float(value + off), high))
    return found


def _strange(arm: Estimate) -> bool:
    """Whether joints do what the model does not, by more than is minded, or hands shake them."""
    check = arm.check
    if check is None:
        return False
    off = [size for name, size in arm.fitted.after.items() if name.startswith(f"{JOINTS}/")]
    shaken = check.tremor is not None and check.tremor.told
    return shaken or (not check.inside and max(off, default=np.inf) > _NOTICED)


def _noise(
    world: World, joints: Sequence[tuple[np.ndarray, np.ndarray]], line: np.ndarray
) -> dict[str, Prior]:
    """How noisy readings are at most, by how they leap from one to the next; what lasts drops out.

    Hands that tremble and noisy commands make forces leap as well: where readings leap more than
    those of a usual sensor, nothing is said.
    """
    if _NOISE not in world.catalogue:
        return {}
    leaps = [np.diff(y - line[0] * x - line[1], _ORDER) for x, y in joints]
    size = float(np.median([np.median(np.abs(each)) for each in leaps]))
    high = 1.1 * size / (0.6745 * comb(2 * _ORDER, _ORDER) ** 0.5) + 1e-6
    usual = float(world.catalogue[_NOISE].quantile(np.array([1.0]))[0])
    return {_NOISE: Uniform(0.0, high)} if high <= usual else {}


def _vague(finding: Finding) -> bool:
    return finding.name.endswith("/kp") and finding.verdict != "pinned"


def _joints(tracks: Sequence[Track]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Simulated and measured forces of each joint, where both are known and there are enough."""
    found = {}
    for j, name in enumerate(tracks[0].names):
        x = np.concatenate([track.simulated[0][:, j] for track in tracks])
        y = np.concatenate([track.measured[:, j] for track in tracks])
        there = np.isfinite(x) & np.isfinite(y)
        if there.sum() >= _FEWEST:
            found[name] = x[there], y[there]
    return found


def _line(joints: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """(2,) gain and offset of all joints together, unmoved by moments at which a model is off."""
    x, y = (np.concatenate(side) for side in zip(*joints, strict=True))
    scale = max(1.5 * float(np.median(np.abs(y - np.median(y)))), 1e-6)
    found = least_squares(
        lambda p: (p[0] * x + p[1] - y) / (0.1 * scale), [1.0, 0.0], loss="soft_l1"
    )
    return found.x
