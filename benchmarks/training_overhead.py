"""What training spends outside physics and network: in our code, and in rsl_rl's bookkeeping.

A real training, update after update. Every moment counts towards one of the calls below, the
innermost, or else to the rest of the loop, so the shares add up to all of the time. Looks at the
success and checkpoints come between updates, and are not part of it. The critic learns on a thread
of its own while others go on, so that only waiting for it is counted.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.learning import one_torch_thread
from benchmarks.measure import Effort, Measure, Target
from benchmarks.stopwatch import Watched, watching
from benchmarks.workload import WORLD
from trueup import worlds
from trueup.randomize import FromPrior
from trueup.simulate import cpu
from trueup.space import Space
from trueup.train import Settings, Trainer

PHYSICS, NETWORK = "physics", "network"
_UPDATES = 30
_WARM_UP = 2  # updates in which buffers are allocated for the first time


def measure(effort: Effort) -> list[Measure]:
    space = worlds.get(WORLD).space
    return [
        _line(f"default space, {len(space)} parameters", space, effort, Target(side="≤", value=15)),
        _line("nominal", Space(()), effort, None),
    ]


def _line(name: str, space: Space, effort: Effort, target: Target | None) -> Measure:
    settings = Settings(lessons=0)
    with one_torch_thread():
        trainer = Trainer(worlds.get(WORLD), FromPrior(space), settings)
        for _ in range(_WARM_UP):
            trainer.learn()
        laps, processor_s = _laps(trainer, effort.turns(_UPDATES))
    total = np.array([sum(lap.values()) for lap in laps])
    parts = {label: np.array([lap.get(label, 0.0) for lap in laps]) for label in _labels(laps)}
    shares = {label: 100.0 * float(s.sum() / total.sum()) for label, s in parts.items()}
    ours = 100.0 * (1.0 - (parts[PHYSICS] + parts[NETWORK]) / total)
    overhead = [label for label in shares if label not in (PHYSICS, NETWORK)]
    return Measure.of(
        f"share of training time outside physics and network, {WORLD}, {name}",
        ours,
        unit="%",
        target=target,
        note=f"physics {shares[PHYSICS]:.0f} %, network {shares[NETWORK]:.0f} %; of the rest "
        + ", ".join(f"{label} {shares[label]:.1f} %" for label in overhead)
        + f"; {settings.update / np.median(total):,.0f} steps/s",
        details={
            "updates": len(laps),
            "steps_per_update": settings.update,
            "shares_percent": shares,
            "seconds": float(total.sum()),
            "got_cores": processor_s / float(total.sum()),
        },
    )


def _laps(trainer: Trainer, updates: int) -> tuple[list[dict[str, float]], float]:
    """Seconds by label of each update, and processor seconds of all."""
    with watching(_watched(trainer), rest="the loop itself") as clock:
        processor_s = time.process_time()
        laps = []
        for _ in range(updates):
            trainer.learn()
            laps.append(clock.lap())
        return laps, time.process_time() - processor_s


def _watched(trainer: Trainer) -> Watched:
    environment, ppo = trainer.environment, trainer.ppo
    batch, memory = environment.worlds.batch, environment._memory
    return {
        PHYSICS: [(batch, name) for name in ("step", "forward", "reset", "set_const")],
        NETWORK: [(ppo, name) for name in ("act", "update", "compute_returns")],
        "rsl_rl's storage": [(ppo, "process_env_step")],
        "effects and signals": [(environment.worlds, "step")],
        "rewards and verdicts": [
            (environment, "_reward"),
            (cpu, "reward_of"),
            (cpu, "verdict_of"),
        ],
        "resets": [(environment, "_reset"), (environment.worlds, "reset")],
        "plan": [(trainer.plan, "draw"), (trainer.plan, "learn")],
        "memory and views": [
            *((memory, name) for name in ("see", "begin")),
            *((environment, name) for name in ("get_observations", "_observed", "_commands")),
        ],
    }


def _labels(laps: list[dict[str, float]]) -> list[str]:
    """All labels, those with the most seconds first."""
    total: dict[str, float] = {}
    for lap in laps:
        for label, seconds in lap.items():
            total[label] = total.get(label, 0.0) + seconds
    return sorted(total, key=lambda label: -total[label])
