"""What a world's own functions answer, checked.

Users write these functions, so a mistake in them is theirs to mend and must be told as such: by
method, file, line and shape, not as a fault of ours three calls further on.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from trueup.effects import Array, Effect
from trueup.errors import TrueupError
from trueup.worlds.scene import Readings, Scene

if TYPE_CHECKING:
    from trueup.worlds.world import World

_TRUEUP = str(Path(__file__).parents[1])


class WorldMistake(TrueupError):
    """A function of a world that fails, or answers with something that makes no sense."""

    def __init__(self, world: World, method: str, problem: str, fix: str) -> None:
        super().__init__(f"World {world.name!r}: {method}() {problem}.", fix=fix)


class BrokenModel(TrueupError):
    """A model that MuJoCo refuses."""

    def __init__(self, world: str, error: Exception) -> None:
        reason = " ".join(str(error).split()).rstrip(".")
        super().__init__(
            f"World {world!r} does not compile: {reason}.", fix="Mend its MJCF or spec()."
        )


def spec_of(world: World) -> mujoco.MjSpec:
    """A fresh spec."""
    try:
        with _mistakes(world, "spec"):
            spec = world.spec()
    except WorldMistake as mistake:
        if isinstance(mistake.__cause__, (ValueError, OSError)):
            raise BrokenModel(world.name, mistake.__cause__) from mistake
        raise
    if not isinstance(spec, mujoco.MjSpec):
        raise _wrong(world, "spec", spec, "a mujoco.MjSpec")
    return spec


def effects_of(world: World) -> tuple[Effect, ...]:
    """The effects, each one."""
    with _mistakes(world, "effects"):
        effects = world.effects()
        effects = tuple(effects) if isinstance(effects, (tuple, list)) else effects
    if not isinstance(effects, tuple):
        raise _wrong(world, "effects", effects, "a tuple of effects, such as actuation()")
    for effect in effects:
        if not isinstance(effect, Effect):
            raise _wrong(world, "effects", effect, "effects only; perhaps a * is missing before it")
    return effects


def start_of(world: World, model: mujoco.MjModel, scene: Scene) -> dict[str, np.ndarray]:
    """Where joints and mocap bodies begin, (n, k) each, finite."""
    with _mistakes(world, "start"):
        answer = world.start(scene)
    if not isinstance(answer, Mapping):
        raise _wrong(world, "start", answer, "a dict from joint or mocap body names to arrays")
    found = {}
    for name, given in answer.items():
        with _mistakes(world, "start"):
            values = np.asarray(given, float)
        wanted = (scene.n, _width(world, model, name))
        if values.shape != wanted:
            raise WorldMistake(
                world,
                "start",
                f"gives {name!r} the shape {values.shape}",
                f"It needs {wanted}: one row for each world that starts.",
            )
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise WorldMistake(
                world,
                "start",
                f"gives {name!r} a value that is not finite, in row {row}",
                "Check it for divisions by zero.",
            )
        found[name] = values
    return found


def verdict_of(world: World, method: str, s: Readings, n: int) -> Array:
    """`success` or `failure`: (n,) booleans."""
    with _mistakes(world, method):
        answer = getattr(world, method)(s)
    if getattr(answer, "shape", None) != (n,) or "bool" not in str(answer.dtype):
        raise _wrong(world, method, answer, f"booleans of shape ({n},), one for each world")
    return answer


def reward_of(
    world: World, s: Readings, action: Array, alive: np.ndarray, seeds: np.ndarray
) -> Array:
    """(n,) rewards, finite in the worlds that are alive; their seeds are for the message."""
    with _mistakes(world, "reward"):
        answer = world.reward(s, action)
    if getattr(answer, "shape", None) != alive.shape or "float" not in str(answer.dtype):
        raise _wrong(world, "reward", answer, f"floats of shape {alive.shape}, one for each world")
    bad = alive & ~np.isfinite(np.asarray(answer))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise WorldMistake(
            world,
            "reward",
            f"is {float(answer[row])} in world {row} (seed {int(seeds[row])}) at "
            f"{float(s.time[row]):.2f} s",
            "Check it for divisions by zero and roots of negative numbers.",
        )
    return answer


def _width(world: World, model: mujoco.MjModel, name: str) -> int:
    joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT.value, name)
    if joint >= 0:
        return {mujoco.mjtJoint.mjJNT_FREE: 7, mujoco.mjtJoint.mjJNT_BALL: 4}.get(
            mujoco.mjtJoint(model.jnt_type[joint]), 1
        )
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY.value, name)
    if body < 0 or model.body_mocapid[body] < 0:
        raise WorldMistake(
            world,
            "start",
            f"names {name!r}, which is neither a joint nor a mocap body of its model",
            "Use names of joints or mocap bodies.",
        )
    return 3


def _wrong(world: World, method: str, answer: object, wanted: str) -> WorldMistake:
    shape, dtype = getattr(answer, "shape", None), getattr(answer, "dtype", None)
    shown = f"{dtype} of shape {tuple(shape)}" if shape is not None else f"{answer!r:.60}"
    return WorldMistake(world, method, f"answers with {shown}", f"It must return {wanted}.")


@contextmanager
def _mistakes(world: World, method: str) -> Iterator[None]:
    try:
        yield
    except (TrueupError, MemoryError):
        raise
    except Exception as error:
        raise WorldMistake(
            world,
            method,
            f"fails{_where(error)}: {type(error).__name__}: {error}".rstrip("."),
            "Mend it; --traceback shows the way there.",
        ) from error


def _where(error: Exception) -> str:
    """The last place outside trueup that the error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith(_TRUEUP)]
    return f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
