"""How closely the nominal SO-101 follows a real one, beside other published gains.

Motions of a real arm are replayed open loop: each command is held for one frame, no contact, no
delay, one shared set of numbers for all joints. This is the starting point of identification, not
its result. Only motions count that had no part in the search for our numbers. The recordings are
not part of the repository: `TRUEUP_DATA`, or `../shared/data`.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path

import mujoco
import numpy as np

from benchmarks.measure import Effort, Measure
from trueup.worlds import so101
from trueup.worlds.so101 import JOINTS

SEARCHED = {"chirp_sweep", "friction_gravity", "multisine", "prbs_excitation", "step_response"}
"""Our nominal numbers were searched on these: they would flatter us."""
OUT_OF_SCOPE = {
    *("boundary_exploration", "center_workspace", "hover_positions", "hold_under_gravity"),
    *("reach_and_return", "oscillation_low_freq", "oscillation_med_freq"),  # these touch a table
    *("single_joint_wrist_roll", "gripper_cycles"),  # a stall, and no arm joint at all
}
SETS = {
    "ours": {},
    "a published bench fit": dict(kp=14.5, damping=1.179, loss=0.1143, armature=0.0259, limit=5.5),
    "a published servo model": dict(kp=17.8, damping=0.6, loss=0.052, armature=0.028, limit=3.35),
    "the stock model": dict(
        kp=998.22, kv=2.731, damping=0.6, loss=0.052, armature=0.028, soft=True
    ),
}


def measure(effort: Effort) -> list[Measure]:
    folder = data_folder()
    if not folder.is_dir():
        return [
            Measure(
                what="open-loop replay of a real SO-101",
                value=None,
                note="no recordings: set TRUEUP_DATA to their folder",
            )
        ]
    seconds = 20.0 if effort.quick else 60.0
    motions = unseen_motions(folder)
    found = {
        name: [replay_error(folder / motion, seconds=seconds, **numbers) for motion in motions]
        for name, numbers in SETS.items()
    }
    return [
        Measure(
            what=f"open-loop error against a real SO-101, {name}",
            value=float(np.mean(errors)),
            unit="rad",
            spread=(min(errors), max(errors)),
            note=f"five arm joints, {len(motions)} unseen motions, up to {seconds:.0f} s each",
            details=dict(zip(motions, errors, strict=True)),
        )
        for name, errors in found.items()
    ]


def data_folder() -> Path:
    """Where recordings of the real arm are, if anywhere."""
    named = os.environ.get("TRUEUP_DATA")
    root = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    return root / "so101-real-motions"


def unseen_motions(folder: Path) -> list[str]:
    """The motions that had no part in choosing our numbers, by name."""
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    return [name for name in names if name not in SEARCHED | OUT_OF_SCOPE]


def replay_error(
    motion: Path,
    *,
    seconds: float,
    kp: float | None = None,
    kv: float = 0.0,
    damping: float = 0.0,
    loss: float = 0.0,
    armature: float = 0.0,
    limit: float = 3.35,
    soft: bool = False,
) -> float:
    """Root mean square error of the five arm joints, rad; without `kp`, of the nominal arm."""
    commands, period_s = _columns(motion / "control.csv.gz", seconds)
    states, _ = _columns(motion / "state_motor.csv.gz", seconds)
    spec = so101.so101(visual=False)
    spec.option.timestep = period_s / 4
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for name in JOINTS if kp is not None else ():
        joint, servo = spec.joint(name), spec.actuator(name)
        joint.damping, joint.frictionloss, joint.armature = [damping, 0.0, 0.0], loss, armature
        if soft:
            joint.solref_friction, joint.solimp_friction = [0.02, 1], [0.9, 0.95, 0.001, 0.5, 2]
        servo.set_to_position(kp=kp, kv=kv)
        servo.forcerange = [-limit, limit]
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = _jaw_in_rad(model, states[:1])[0]
    simulated = np.empty((len(commands), 5))
    for k, command in enumerate(_jaw_in_rad(model, commands)):
        simulated[k] = data.qpos[:5]
        data.ctrl[:] = command
        mujoco.mj_step(model, data, nstep=4)
    return float(np.sqrt(np.mean((simulated - states[: len(simulated), :5]) ** 2)))


def _columns(file: Path, seconds: float) -> tuple[np.ndarray, float]:
    with gzip.open(file, "rt") as lines:
        rows = list(csv.DictReader(lines))
    times = np.array([float(row["timestamp"]) for row in rows]) * 1e-6
    period_s = float(np.diff(times).mean())
    kept = rows[: round(seconds / period_s)]
    return np.array([json.loads(row["positions"]) for row in kept]), period_s


def _jaw_in_rad(model: mujoco.MjModel, positions: np.ndarray) -> np.ndarray:
    """Logs have the jaw as a share of its range; the model has it in rad."""
    low, high = model.joint("gripper").range
    return np.concatenate([positions[:, :5], low + positions[:, 5:] * (high - low)], axis=1)
