"""What a force sensor reads for a force: its gain and its offset, once the arm is known.

Motions tell which torques an arm needs; a current that reads twice as much reads wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

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
_JOINTS = 2  # that say the same, at least
_FEWEST = 50  # readings of one joint
_SURE = 1.645  # standard deviations to either side of a 90 % interval
_LEAST = (0.02, 0.01)  # of gain and of N·m: no model of an arm is truer than that
_DOUBTED = (0.12, 0.06)  # where joints do what the model does not
_NOTICED = 0.002  # rad that a joint is off by: less is no reason to doubt a model


def force_readings(
    world: World, episodes: Sequence[Episode], arm: Estimate | None, *, threads: int = 0
) -> dict[str, Prior]:
    """Gain and offset of the world's force sensors; nothing where they are not told.

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
    found: dict[str, Prior] = {}
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
