"""How fast recorded commands are replayed at many points, and what of that is not MuJoCo.

Identification replays thousands of times: 64 points and 4 episodes of 10 s in one batch, parameters
of actuation and latency, open loop and in windows of half a second.
"""

from __future__ import annotations

import time

import numpy as np
from mujoco.batch import Batch

from benchmarks.measure import Effort, Measure
from benchmarks.stopwatch import watching
from trueup.episodes import Channel, Episode
from trueup.replay import Replayer
from trueup.worlds import get
from trueup.worlds.so101 import HOME, JOINTS

_POINTS, _EPISODES, _SECONDS, _PERIOD_S = 64, 4, 10.0, 0.02


def measure(effort: Effort) -> list[Measure]:
    world = get("so101/arm")
    space = world.space.select("actuation", "latency/action_delay", "latency/encoder_delay")
    points = space.sample(np.random.default_rng(0), _POINTS)
    found = []
    for name, window_s in (("open loop", None), ("windows of 0.5 s", 0.5)):
        replayer = Replayer(
            world, _episodes(), space, window_s=window_s, signals=["joint_position"]
        )
        replayer(points)
        speeds, shares = [], []
        for _ in range(effort.turns(15)):
            with watching({"mujoco": [(Batch, "rollout")]}) as watch:
                start = time.perf_counter()
                replayer(points)
                whole_s = time.perf_counter() - start
                mujoco_s = watch.lap()["mujoco"]
            speeds.append(_POINTS * _EPISODES * _SECONDS / whole_s)
            shares.append(100.0 * (whole_s - mujoco_s) / whole_s)
        what = f"replay of {_EPISODES} episodes at {_POINTS} points, {name}"
        found += [
            Measure.of(what, speeds, unit="s/s", note="recorded seconds a second"),
            Measure.of(f"{what}: share outside MuJoCo", shares, unit="%"),
        ]
    return found


def _episodes() -> list[Episode]:
    """Commands and readings of an arm that follows a smooth motion at once."""
    generator = np.random.default_rng(1)
    time_s = _PERIOD_S * np.arange(round(_SECONDS / _PERIOD_S))
    episodes = []
    for _ in range(_EPISODES):
        rate, phase = generator.uniform(1.0, 6.0, 6), generator.uniform(0.0, 6.3, 6)
        wave = HOME + 0.3 * (np.sin(np.outer(time_s, rate) + phase) - np.sin(phase))
        channel = Channel(values=wave, time_s=time_s, unit="rad", names=JOINTS)
        signals = {"command": channel, "joint_position": channel}
        episodes.append(Episode(signals=signals, period_s=_PERIOD_S))
    return episodes
