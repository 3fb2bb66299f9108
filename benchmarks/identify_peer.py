"""The same fit with `mujoco.sysid`: same recordings, same free parameters, same run.

Each robot is a rehearsal robot with gains, damping and friction of its own, drawn from the space
and hidden behind its process (sim-to-sim). Three motions are recorded at 50 Hz; both sides fit the
first two from the nominal arm, and the third judges both in the same replay. The peer is used as
its documentation has it: parameters with modifiers, `build_residual_fn`, `optimize` with its
defaults. Joint positions are given as state, whose times are not a step late as those of its
sensors are. Commands are given in two ways: as they were sent, which the peer joins by straight
lines, and as they were held, physics step by physics step, which is its best case: its rollout at
the truth then agrees with our replay to 1e-12 rad. The peer returns a point: the same fit is ours
for the point alone. What the whole takes, with a posterior, which the peer does not have, and with
judging, but without the predictive check, is stated beside it.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging
from mujoco import sysid

from benchmarks.measure import Effort, Measure, Target, Turns
from trueup import worlds
from trueup.episodes import Episode
from trueup.hardware import open_robot
from trueup.identify import identify
from trueup.identify.fitting import fitted
from trueup.identify.problem import Problem
from trueup.record import Body, Motion, get, record
from trueup.replay import replayed
from trueup.space import Point, Space
from trueup.worlds import World
from trueup.worlds.answers import spec_of

_WORLD = "so101/arm"
_FREE = ("actuation/*/kp", "actuation/*/damping", "actuation/*/frictionloss")
_QUANTUM = 2.0 * np.pi / 4096.0
_PERIOD_S = 0.02
_MOTIONS = {"multisine": 10.0, "triangle": 10.0, "chirp": 8.0}  # s; every third judges
_ROBOTS = 8
_SIDES = {
    "whole": "identify, posterior included",
    "fit": "identify, the point alone",
    "held": "mujoco.sysid given commands as held",
    "sent": "mujoco.sysid given commands as sent",
}
_EQUAL, _FASTER = Target(side="≤", value=1.0), Target(side="<", value=1.0)


def measure(effort: Effort) -> list[Measure]:
    logging.set_verbosity(logging.ERROR)
    world, turns = worlds.get(_WORLD), Turns()
    space = world.catalogue.select(*_FREE)
    truths = list(space.sample(np.random.default_rng(0), 2 if effort.quick else _ROBOTS))
    errors: dict[str, list[float]] = defaultdict(list)
    judged: dict[str, list[float]] = defaultdict(list)
    for truth in truths:
        episodes = recorded(truth)
        for side, fit in _fits(world, episodes, space).items():
            with turns.of(side), contextlib.redirect_stdout(io.StringIO()):
                point = fit()
            errors[side].append(_error(point, truth))
            judged[side].append(_rmse(world, episodes[2], point))
        turns.end()
    seconds = {side: turns.seconds(side).tolist() for side in _SIDES}
    cpu = {side: turns.cpu_seconds(side).tolist() for side in _SIDES}
    who = f"{len(space)} parameters, {len(truths)} robots (sim-to-sim)"
    return [
        _line(f"median relative error of {who}", errors, ("fit", "held"), "%", _EQUAL),
        _line("error on a motion that was not fitted", judged, ("fit", "held"), "mrad", _EQUAL),
        _line("wall time", seconds, ("fit", "held"), "s", _FASTER, cpu),
        _line("median relative error", errors, ("whole", "held"), "%", None),
        _line("wall time", seconds, ("whole", "held"), "s", None, cpu),
        _line("median relative error", errors, ("whole", "sent"), "%", None),
        _line("error on a motion that was not fitted", judged, ("whole", "sent"), "mrad", None),
    ]


def _fits(
    world: World, episodes: Sequence[Episode], space: Space
) -> dict[str, Callable[[], Point]]:
    return {
        "whole": lambda: identify(world, episodes, space, check=False).point,
        "fit": lambda: our_fit(world, episodes[:2], space),
        "held": lambda: peer_fit(world, episodes[:2], space, held=True),
        "sent": lambda: peer_fit(world, episodes[:2], space, held=False),
    }


def our_fit(world: World, episodes: Sequence[Episode], space: Space) -> Point:
    """The best point as `identify` finds it, before it asks how sure it is."""
    problem = Problem(world, episodes, space)
    best = fitted(problem, lambda said: None)
    return space.decode(best.u[None])[0]


def recorded(truth: Point) -> tuple[Episode, ...]:
    """What a rehearsal robot with this truth says of the motions."""
    values = {**truth, "sensing/encoder/quantum": _QUANTUM}
    with tempfile.TemporaryDirectory() as folder:
        reality = Path(folder) / "hidden.json"
        story = {"story": "Drawn for a benchmark.", "world": _WORLD, "grade": 1}
        reality.write_text(json.dumps({"trueup_reality": 1, **story, "values": values}))
        with open_robot(f"rehearsal:{reality}@{_WORLD}", period_s=_PERIOD_S) as robot:
            return record(robot, _motions(), world=worlds.get(_WORLD)).episodes


def _motions() -> list[Motion]:
    body = Body.of(worlds.get(_WORLD))
    return [
        motion
        for name, seconds in _MOTIONS.items()
        for motion in get(name).adapted(body, duration_s=seconds).motions
    ]


def peer_fit(world: World, episodes: Sequence[Episode], space: Space, *, held: bool) -> Point:
    """The best point by `mujoco.sysid`, given commands as held or as sent."""
    parameters = sysid.ParameterDict()
    for p in space:
        known = sysid.Parameter(p.name, p.nominal, p.low, p.high, modifier=_modifier(p.name))
        parameters.add(known)
    spec = spec_of(world)
    model = spec.compile()
    parts = [_sequence(world, model, episode, held) for episode in episodes]
    start, control, measured = zip(*parts, strict=True)
    names = [f"motion {k}" for k in range(len(parts))]
    sequences = sysid.ModelSequences(
        "arm", spec, names, start, control, measured, allow_missing_sensors=True
    )
    residual = sysid.build_residual_fn(models_sequences=[sequences])
    best, _ = sysid.optimize(parameters, residual, verbose=False)
    return Point({name: float(best[name].value[0]) for name in space.names})


def _modifier(name: str) -> Callable[[Any, Any], None]:
    """How the peer writes one of our parameters into its spec."""
    _, joint, quantity = name.split("/")

    def modify(spec: Any, parameter: Any) -> None:
        value = float(parameter.value[0])
        if quantity == "kp":
            sysid.apply_pgain(spec, joint, value)
        elif quantity == "damping":
            spec.joint(joint).damping = [value, 0.0, 0.0]
        else:
            spec.joint(joint).frictionloss = value

    return modify


def _sequence(
    world: World, model: Any, episode: Episode, held: bool
) -> tuple[np.ndarray, Any, Any]:
    """Initial state, commands and joint positions, by a clock that begins at the first reading."""
    joints, speed, command = (
        episode[name] for name in ("joint_position", "joint_velocity", "command")
    )
    begin = joints.time_s[0]
    start = sysid.create_initial_state(model, joints.values[0], speed.values[0])
    times, values = command.time_s - begin, command.values
    if held:
        times, values = _held(times, values, joints.time_s[-1] - begin, model.opt.timestep)
    control = sysid.TimeSeries.from_control_names(times, values, model, list(world.commands))
    names = [(joint, sysid.SignalType.MjStateQPos) for joint in joints.names]
    measured = sysid.TimeSeries.from_names(joints.time_s - begin, joints.values, model, names)
    return start, control, measured


def _held(
    times: np.ndarray, values: np.ndarray, end_s: float, step_s: float
) -> tuple[np.ndarray, np.ndarray]:
    """What is told at every physics step."""
    grid = np.arange(round(end_s / step_s) + 1) * step_s
    told = sysid.TimeSeries(times - 0.5 * step_s, values).resample(grid, method="zoh").data
    grid[-1] -= 1e-9  # else rounding makes the peer resample to one step more, between commands
    return grid, told


def _error(found: Point, truth: Point) -> float:
    """Median relative error of the parameters."""
    return float(np.median([abs(found[name] / value - 1.0) for name, value in truth.items()]))


def _rmse(world: World, episode: Episode, point: Point) -> float:
    """Open-loop error over all joints of a motion that was not fitted, rad."""
    track = replayed(world, [episode], point, signals=["joint_position"]).tracks[0]
    return float(np.sqrt(np.nanmean(track["joint_position"].residual ** 2)))


def _line(
    what: str,
    values: Mapping[str, Sequence[float]],
    sides: tuple[str, str],
    unit: str,
    target: Target | None,
    more: Mapping[str, Sequence[float]] | None = None,
) -> Measure:
    """Robot by robot, the first side over the second."""
    first, second = (np.asarray(values[side]) for side in sides)
    times = {"%": 100.0, "mrad": 1e3}.get(unit, 1.0)
    return Measure.of(
        f"{what}: {_SIDES[sides[0]]}, over {_SIDES[sides[1]]}",
        first / second,
        unit="×",
        target=target,
        note=f"{times * np.median(first):.3g} against {times * np.median(second):.3g} {unit}",
        details={side: list((more or values)[side]) for side in sides},
    )
