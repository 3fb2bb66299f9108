"""What a second thread brings, to us and to bare `mujoco.batch`."""

from __future__ import annotations

from benchmarks.against_bare import twin
from benchmarks.measure import Effort, Measure, Turns
from benchmarks.workload import Commands, randomized, spaces

_STEPS_PER_TURN = 4


def measure(effort: Effort) -> list[Measure]:
    space, turns = spaces()["default space"], Turns()
    ours = {threads: randomized(space, effort.worlds, threads=threads) for threads in (1, 2)}
    bare = {threads: twin(ours[1], threads=threads) for threads in (1, 2)}
    commands = Commands(ours[1])
    for k in range(effort.turns(25) * _STEPS_PER_TURN):
        action = commands(k)
        for threads in (1, 2):
            with turns.of(f"ours {threads}"):
                ours[threads].step(action)
        for threads in (1, 2):
            with turns.of(f"bare {threads}"):
                bare[threads].bind("ctrl")[:] = action
                bare[threads].step(nstep=ours[1].compiled.substeps)
        if (k + 1) % _STEPS_PER_TURN == 0:
            turns.end()
    return [
        Measure.of(
            f"2 threads against 1, {name}",
            turns.ratio(f"{side} 1", f"{side} 2"),
            unit="×",
            note=f"got {turns.cores(f'{side} 2'):.2f} cores",
            details={"worlds": effort.worlds},
        )
        for side, name in (("ours", "simulate"), ("bare", "bare mujoco.batch"))
    ]
