"""Simulated time per second against the peer package for the same arm and task.

Both sides get uniformly random commands over the whole range, new at each of their control steps,
give state observations, reward and success, and reset what is done. Drawing the commands is not
timed. Our worlds are reset in turn, a hundredth at each step, as in a long training run; each
reset draws a new point.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import so101_nexus_mujoco  # noqa: F401  (registers its environments)

from benchmarks.measure import Effort, Measure, Target, Turns
from benchmarks.workload import randomized, spaces
from trueup.simulate import CpuWorlds

PEER = "MuJoCoPickCubeLift-v1"
_PEER_ENVIRONMENTS = 8
_PEER_STEPS = 64  # per turn; its episodes last 256
_STEPS = 4  # per turn of ours


def measure(effort: Effort) -> list[Measure]:
    space = spaces()["default space"]
    many = 4 * effort.worlds
    ours = {
        f"2 threads, {many:,} worlds": _Ours(randomized(space, many, threads=2)),
        f"2 threads, {effort.worlds:,} worlds": _Ours(randomized(space, effort.worlds, threads=2)),
        f"1 thread, {effort.worlds:,} worlds": _Ours(randomized(space, effort.worlds, threads=1)),
    }
    peer, turns = _Peer(), Turns()
    for _ in range(effort.turns(24)):
        for name, side in ours.items():
            side.turn(turns, name)
        peer.turn(turns)
        turns.end()
    peer_speed = peer.simulated_s / turns.seconds("peer")
    lines = []
    for name, side in ours.items():
        speed = side.simulated_s / turns.seconds(name)
        cpu = (side.simulated_s / turns.cpu_seconds(name)) / (
            peer.simulated_s / turns.cpu_seconds("peer")
        )
        lines.append(
            Measure.of(
                f"simulated s per s against so101-nexus-mujoco (1 thread), ours on {name}",
                speed / peer_speed,
                unit="×",
                target=Target(side="≥", value=8.0) if side.worlds == many else None,
                note=f"{np.median(speed):,.0f} against {np.median(peer_speed):.1f} s/s; "
                f"{np.median(cpu):.2f} × per second of processor time; "
                f"got {turns.cores(name):.2f} cores",
                details={
                    "worlds": side.worlds,
                    "peer_environments": _PEER_ENVIRONMENTS,
                    "resets": side.resets,
                    "per_cpu_second": float(np.median(cpu)),
                    "control_steps_ratio": float(
                        np.median(speed / peer_speed) * peer.period_s / side.period_s
                    ),
                },
            )
        )
    peer.close()
    return lines


class _Ours:
    def __init__(self, worlds: CpuWorlds) -> None:
        self._worlds, self.worlds = worlds, worlds.n
        self._generator = np.random.default_rng(2)
        self._low, self._high = worlds.compiled.model.actuator_ctrlrange.T
        self.period_s = worlds.world.control_period_s
        self._episode = round(worlds.world.episode_s / self.period_s)
        self._turn_of = np.arange(worlds.n) % self._episode
        self._k, self.resets = 0, 0
        self.simulated_s = _STEPS * worlds.n * self.period_s

    def turn(self, turns: Turns, name: str) -> None:
        for _ in range(_STEPS):
            shape = (self._worlds.n, len(self._low))
            action = self._generator.uniform(self._low, self._high, shape)
            with turns.of(name):
                step = self._worlds.step(action)
                over = np.flatnonzero(step.done | (self._turn_of == self._k % self._episode))
                self._worlds.resample(self._generator, over)
            self._k, self.resets = self._k + 1, self.resets + len(over)


class _Peer:
    def __init__(self) -> None:
        self._envs = gymnasium.vector.SyncVectorEnv(
            [lambda: gymnasium.make(PEER) for _ in range(_PEER_ENVIRONMENTS)]
        )
        self._envs.reset(seed=0)
        self._envs.action_space.seed(0)
        first = self._envs.envs[0].unwrapped
        self.period_s = first._N_SUBSTEPS * first.model.opt.timestep  # type: ignore[attr-defined]
        self.simulated_s = _PEER_STEPS * _PEER_ENVIRONMENTS * self.period_s

    def turn(self, turns: Turns) -> None:
        for _ in range(_PEER_STEPS):
            action = self._envs.action_space.sample()
            with turns.of("peer"):
                self._envs.step(action)

    def close(self) -> None:
        self._envs.close()
