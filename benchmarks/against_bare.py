"""Control steps of `simulate` against `mujoco.batch` that only steps the same physics.

The other side is a Batch of its own with the same model, the same per-world fields, states and
controls. It advances; it reads no sensor, applies no filter and knows no task. At the end both must
be in the same state, bit for bit, or the comparison would be of different work.
"""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco.batch import Batch

from benchmarks.measure import Effort, Measure, Target, Turns
from benchmarks.workload import Commands, randomized, spaces
from trueup.simulate import CpuWorlds
from trueup.space import Space

_STEPS_PER_TURN = 4
_VELOCITY = mujoco.mjtStage.mjSTAGE_VEL.value
_NO_STAGE = mujoco.mjtStage.mjSTAGE_NONE.value


def measure(effort: Effort) -> list[Measure]:
    order = ("every model-stage effect", "whole catalogue", "default space")
    return [line for name in order for line in _lines(name, spaces()[name], effort)]


def twin(worlds: CpuWorlds, *, threads: int = 0) -> Batch:
    """A batch in the same state, with the same per-world fields, and nothing else."""
    batch = Batch(worlds.compiled.model, worlds.n, threads)
    for name in worlds.compiled.fields:
        batch.expand(name)[:] = worlds.batch.expanded(name)
    if worlds.compiled.needs_set_const:
        batch.set_const()
    batch.state[:] = worlds.batch.state
    return batch


def _lines(name: str, space: Space, effort: Effort) -> list[Measure]:
    worlds = randomized(space, effort.worlds)
    compiled, commands, turns = worlds.compiled, Commands(worlds), Turns()
    # the second twin also brings its readings up to date with the state: nobody can do without
    sides = {"bare": (twin(worlds), _NO_STAGE), "reading": (twin(worlds), _VELOCITY)}
    sides["reading"][0].bind("sensordata")
    total = effort.turns(16) * _STEPS_PER_TURN
    for k in range(total):
        with turns.of("ours"):
            worlds.step(commands(k))
        ctrl = worlds.batch.bind("ctrl")
        for side, (batch, stage) in sides.items():
            for field in compiled.step_elements:
                batch.expand(field)[:] = worlds.batch.expanded(field)
            with turns.of(side):
                batch.bind("ctrl")[:] = ctrl
                batch.step(nstep=compiled.substeps, stage=stage)
        if (k + 1) % _STEPS_PER_TURN == 0:
            turns.end()
    rate = _STEPS_PER_TURN * effort.worlds / turns.seconds("ours")
    details = {
        "worlds": effort.worlds,
        "control_steps": total,
        "parameters": len(space),
        "fields": compiled.fields,
        "diverged": len(worlds.divergences),
        "steps_per_s": float(np.median(rate)),
        "per_cpu_second": float(np.median(turns.cpu_seconds("bare") / turns.cpu_seconds("ours"))),
        "same_state_at_the_end": [
            bool(np.array_equal(batch.state, worlds.batch.state)) for batch, _ in sides.values()
        ],
    }
    same = "same" if all(details["same_state_at_the_end"]) else "NOT the same"
    judged = Target(side="≥", value=0.85) if name == "every model-stage effect" else None
    return [
        Measure.of(
            f"control steps/s against bare mujoco.batch, {name}",
            turns.ratio("bare", "ours"),
            unit="of bare",
            target=judged,
            note=f"{np.median(rate):,.0f} steps/s; {len(space)} parameters; {same} final state; "
            f"got {turns.cores('ours'):.2f} cores",
            details=details,
        ),
        Measure.of(
            f"the same against mujoco.batch with current readings, {name}",
            turns.ratio("reading", "ours"),
            unit="of bare",
        ),
    ]
