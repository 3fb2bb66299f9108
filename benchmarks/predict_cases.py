"""Hidden robots and policies to predict: what each is, and what identification leaves open."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import trueup
from benchmarks.learning import trained
from benchmarks.measure import Effort
from trueup.evaluate import Begin, piloted
from trueup.policies import Policy
from trueup.randomize import FromPrior
from trueup.simulate import Worlds
from trueup.simulate.rollout import Controller
from trueup.space import JointNormal, Point, Space
from trueup.train import Settings
from trueup.worlds import World
from trueup.worlds.scripted import ScriptedLift

WORLD = "so101/lift"

_HIDDEN: dict[str, tuple[float, float, float]] = {
    "latency/action_delay": (0.0, 0.15, 0.002),
    "latency/encoder_delay": (0.0, 0.08, 0.002),
    "actuation/shoulder_lift/kp": (6.0, 24.0, 0.02),
    "actuation/elbow_flex/kp": (6.0, 24.0, 0.02),
    "actuation/wrist_flex/kp": (6.0, 24.0, 0.02),
    "actuation/gripper/force_limit": (0.6, 2.5, 0.01),
    "actuation/shoulder_pan/zero_offset": (-0.1, 0.1, 0.004),
    "actuation/shoulder_lift/zero_offset": (-0.1, 0.1, 0.003),
    "actuation/elbow_flex/zero_offset": (-0.1, 0.1, 0.003),
    "contact/fingertip-object/sliding": (0.3, 1.4, 0.09),
    "contact/object-table/sliding": (0.25, 1.2, 0.01),
    "object/cube/mass": (0.01, 0.1, 0.02),
    "visual/tracker/bias_x": (-0.02, 0.02, 0.001),
    "visual/tracker/bias_y": (-0.02, 0.02, 0.001),
    "environment/table/height": (-0.008, 0.008, 0.0005),
}
"""Lowest and highest truth, and the spread of the posterior: of the logarithm for log scales."""

_UNKNOWN = {
    "actuation/command_noise": (0.0, 0.008),
    "visual/tracker/noise": (0.0, 0.003),
    "visual/tracker/dropout": (0.0, 0.1),
    "actuation/supply_voltage": (0.92, 1.0),
}
"""What no posterior knows of: prediction takes it for nominal."""


@dataclass(frozen=True, kw_only=True)
class Bend:
    """How a policy is made worse, so that there is something to rank.

    Attributes:
        aim: Added to the command of the first joint, rad.
        grip: The jaw never closes further, rad.
        follow: How much of the way to a new command is gone in a step.
    """

    aim: float = 0.0
    grip: float = -1.0
    follow: float = 1.0

    def of(self, begin: Begin) -> Begin:
        """A policy, bent."""

        def begun(worlds: Worlds) -> Controller:
            controller, sent = begin(worlds), worlds.hold.copy()

            def bent(k: int, observation: dict[str, np.ndarray]) -> np.ndarray:
                wanted = np.array(controller(k, observation), float)
                wanted[:, 0] += self.aim
                wanted[:, 5] = np.maximum(wanted[:, 5], self.grip)
                sent[:] += self.follow * (wanted - sent)
                return sent.copy()

            return bent

        return begun


_BENDS = {
    "as it is": Bend(),
    "aiming 0.09 rad off": Bend(aim=0.09),
    "aiming -0.06 rad off": Bend(aim=-0.06),
    "with a weak grip": Bend(grip=0.11),
    "sluggish": Bend(follow=0.15),
}


def policies_of(world: World, effort: Effort) -> dict[str, Begin]:
    sources: dict[str, Begin] = {"script": lambda worlds: ScriptedLift(world, worlds.observation)}
    if not effort.quick:
        given = effort.policy != "script"  # --policy saves a training
        sources["trained"] = piloted(
            Policy.load(effort.policy if given else _trained(effort.out / "training"))
        )
    found: dict[str, Begin] = {}
    for name, begin in sources.items():
        found |= {f"{name}, {how}": bend.of(begin) for how, bend in _BENDS.items()}
    return found


def _trained(folder: Path) -> str:
    """The policy of the row training; trained now if that has not been measured here."""
    return trained(folder / "so101-lift-0", WORLD, FromPrior, Settings(seed=0)).policy


def truth_of(generator: np.random.Generator, world: World) -> Point:
    """A robot that is off in everything, more or less: by anything from little to all it may be."""
    reach = generator.uniform(0.2, 1.0)
    values = {}
    for name, (low, high, *_) in (_HIDDEN | _UNKNOWN).items():
        parameter = world.catalogue[name]
        ends = parameter.encode(np.array([low, high, parameter.nominal]))
        at = ends[2] + reach * (generator.uniform(min(ends[:2]), max(ends[:2])) - ends[2])
        values[name] = float(parameter.decode(np.array([at]))[0])
    return Point(values)


def belief_of(generator: np.random.Generator, world: World, truth: Point) -> Space:
    """What identification would leave: a normal that is off the truth by a draw of its spread."""
    parameters = tuple(world.catalogue[name] for name in world.catalogue.names if name in _HIDDEN)
    spread = np.array([_HIDDEN[p.name][2] for p in parameters])
    at = np.array(
        [np.log(truth[p.name]) if p.scale == "log" else truth[p.name] for p in parameters]
    )
    mean = at + spread * generator.normal(size=len(at))
    low = np.array([np.log(p.low) if p.scale == "log" else p.low for p in parameters])
    high = np.array([np.log(p.high) if p.scale == "log" else p.high for p in parameters])
    names = tuple(p.name for p in parameters)
    normal = JointNormal(names, np.clip(mean, low, high), np.diag(spread**2))
    return Space(parameters).narrowed(normal)


@cache
def source_of_episodes() -> str:
    """A mark of what is played and of the physics; how episodes are judged may change meanwhile."""
    mark = hashlib.sha256(repr((_HIDDEN, _UNKNOWN, _BENDS)).encode())
    for room in ("space", "effects", "worlds", "simulate", "policies"):
        for path in sorted((Path(trueup.__file__).parent / room).rglob("*.py")):
            mark.update(path.read_bytes())
    return mark.hexdigest()[:12]
