"""From recordings to a learnt residual, or to the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from time import perf_counter

import numpy as np

from trueup.episodes import Episode
from trueup.errors import TrueupError, UnknownName
from trueup.identify.residual.artefact import LearnedResidual
from trueup.identify.residual.effect import SHARE, ResidualEffect
from trueup.identify.residual.judgement import Judgement, judged
from trueup.identify.residual.motions import Motions
from trueup.identify.residual.network import Network, drawn
from trueup.identify.residual.readout import answers, readouts
from trueup.identify.usable import usable
from trueup.space import Point
from trueup.versions import versions
from trueup.worlds import World

_ROUNDS = 4
_STEPS = (1.0, 0.4)  # of the way that the linear problem says
_GAIN = 0.01  # of a joint's first error on the motions aside; less is not worth a step

Told = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What came of learning.

    Attributes:
        residual: What was learnt; none where it was refused.
        judgement: How it did on motions that were kept out.
        notes: Recordings that were left out, and why, in sentences.
    """

    residual: LearnedResidual | None
    judgement: Judgement
    notes: tuple[str, ...] = ()

    def accepted(self) -> LearnedResidual:
        """What was learnt, or a refusal as an error."""
        if self.residual is None:
            raise TrueupError(
                self.judgement.sentence,
                fix="Use the world as identified; or record more and longer motions, of the kind "
                "that it is to get right, and learn again.",
            )
        return self.residual


def learn_residual(
    world: World,
    episodes: Sequence[Episode],
    point: Point,
    *,
    joints: Sequence[str] = ("*",),
    seed: int = 0,
    threads: int = 0,
    on_progress: Told | None = None,
) -> Lesson:
    """Learn what an identified simulator still misses, and judge it on motions kept out.

    The recordings fall into three: some to learn from, some to say when to stop, and some that only
    judge. The last are the ones that `identify` keeps out too.

    Args:
        world: The simulator.
        episodes: What was recorded.
        point: What was identified: `estimate.point`.
        joints: Which joints are corrected, by pattern.
        seed: Of the first layer.
        threads: CPU threads; 0 takes all.
        on_progress: Told in a line how it stands.
    """
    began, tell = perf_counter(), on_progress or (lambda _: None)
    point = Point({name: value for name, value in point.items() if name != SHARE})
    chosen = _chosen(world, joints)
    outer = usable(episodes)
    inner = usable(outer.fitted)
    motions = Motions(world, point, (*inner.fitted, *inner.held), threads=threads)
    course = _Course(motions=motions, learnt=len(inner.fitted), chosen=chosen)
    network, rounds = _learnt(course, np.random.default_rng(seed), tell)
    corrected = [world.commands[i] for i in chosen]
    effect = ResidualEffect(network=network)
    judgement = judged(world, point, effect, outer.held, corrected, threads=threads)
    split = (("learnt", inner.fitted), ("aside", inner.held), ("held", outer.held))
    residual = LearnedResidual(
        world=world.name,
        point=point,
        network=network,
        judgement=judgement.to_json(),
        made={
            "seconds": round(perf_counter() - began, 2),
            "rounds": rounds,
            "seed": seed,
            "motions": {name: len(some) for name, some in split},
            "period_s": motions.episodes[0].period_s,
            "versions": versions("mujoco", "numpy", "scipy"),
        },
    )
    return Lesson(
        residual=residual if judgement.accepted else None, judgement=judgement, notes=outer.notes
    )


def _chosen(world: World, joints: Sequence[str]) -> np.ndarray:
    """(k,) columns of the commands that are corrected."""
    found = set()
    for pattern in joints:
        some = [i for i, name in enumerate(world.commands) if fnmatchcase(name, pattern)]
        if not some:
            raise UnknownName(f"command of {world.name!r}", pattern, world.commands)
        found.update(some)
    if not found:
        raise TrueupError("No joint is to be corrected.", fix="Name at least one, or '*'.")
    return np.array(sorted(found))


@dataclass(frozen=True, kw_only=True)
class _Course:
    """Motions to learn from, motions that say when to stop, and the joints it is about.

    Attributes:
        motions: All of them, replayed together.
        learnt: How many are learnt from; the others are aside.
        chosen: (k,) the joints.
    """

    motions: Motions
    learnt: int
    chosen: np.ndarray

    @property
    def inputs(self) -> list[np.ndarray]:
        """Of the motions that are learnt from."""
        return self.motions.inputs[: self.learnt]

    def change(self, network: Network, missed: list[np.ndarray], answer: np.ndarray) -> np.ndarray:
        """(joints, features) of the readout, as the linear problem says."""
        change = readouts(network, self.motions.inputs, missed, answer, self.learnt)
        change[np.setdiff1d(np.arange(len(change)), self.chosen)] = 0.0
        return change

    @cached_property
    def plain(self) -> list[np.ndarray]:
        """What is missed (k, joints) of each motion before anything was learnt."""
        return self.motions.missed()

    def left(self, missed: Sequence[np.ndarray]) -> np.ndarray:
        """(joints,) error on the motions aside as a share of what it was, each motion alike."""
        sizes = [
            [_size(some) for some in motions] for motions in (missed, self.plain[self.learnt :])
        ]
        now, before = np.array(sizes)
        return np.mean(np.where(before > 0, now / np.where(before > 0, before, 1.0), 1.0), axis=0)

    def steps(self, network: Network, change: np.ndarray, left: np.ndarray) -> np.ndarray:
        """(joints,) how far to go along a change; as replays of the motions aside say."""
        found = [left - _GAIN]
        for step in _STEPS:
            tried = network.moved(step * change, self.inputs)
            found.append(self.left(self.motions.missed(tried, aside=self.learnt)))
        return np.array([0.0, *_STEPS])[np.argmin(found, axis=0)]


def _size(missed: np.ndarray) -> np.ndarray:
    """(joints,) root mean square of what is missed (k, joints); zero where nothing was read."""
    there = np.isfinite(missed).sum(axis=0)
    return np.sqrt(np.nansum(missed**2, axis=0) / np.maximum(there, 1))


def _learnt(course: _Course, generator: np.random.Generator, tell: Told) -> tuple[Network, int]:
    """A network for all joints, stopped where the motions aside gain no more, and rounds taken."""
    motions, chosen = course.motions, course.chosen
    network = drawn(motions.world.commands, np.concatenate(course.inputs), generator)
    tell("pushing the joints, to see how they answer")
    answer = answers(motions, generator)
    missed, left = course.plain, np.ones(len(network.joints))
    for number in range(_ROUNDS):
        change = course.change(network, missed, answer)
        steps = course.steps(network, change, left) * change.any(axis=1)
        tell(
            f"round {number + 1}: {100 * left[chosen].mean():.0f} % of the error left on motions "
            f"aside, {(steps > 0).sum()} of {len(chosen)} joints can gain"
        )
        if not steps.any():
            return network, number
        better = network.moved(steps[:, None] * change, course.inputs)
        missed = motions.missed(better)
        now = course.left(missed[course.learnt :])
        if now[chosen].mean() > left[chosen].mean() - _GAIN / len(chosen):
            return network, number
        network, left = better, now
    return network, _ROUNDS
