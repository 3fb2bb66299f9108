"""What recordings say beside a fit: the noise of sensors and clocks, and what shakes commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.effects.actuation import CommandNoise
from trueup.effects.human import Reaction, Tremor
from trueup.effects.latency import ActionDelay
from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.identify.estimate import Estimate
from trueup.identify.forces import force_readings
from trueup.identify.noise import noise_model
from trueup.identify.probing.probes import moves_freely
from trueup.identify.shaking import shaking_readings
from trueup.identify.tremor import tremor_readings
from trueup.space import Fixed, Joint, Prior, Space, Uniform
from trueup.worlds import World

_DRIFT = "sensing/encoder/drift"


@dataclass(frozen=True, kw_only=True)
class Heard:
    """Noise as a belief, as identification returns one.

    Attributes:
        priors: What is believed, by parameter.
    """

    priors: Mapping[str, Prior]

    @property
    def joints(self) -> Sequence[Joint]:
        """None: each of these numbers is known by itself."""
        return ()


def heard(
    world: World,
    bare: World,
    episodes: Sequence[Episode],
    arm: Estimate | None,
    *,
    threads: int = 0,
) -> Mapping[str, Prior]:
    """Noise of sensors, clocks and of what is tracked, by parameter of a world.

    What force sensors read for a force is among it, and what shakes commands, by the arm as it was
    identified; by the simulator's where that explains it as well.

    Args:
        world: That the policy was trained in.
        bare: The robot without its task, in which motions are replayed.
        episodes: What was recorded.
        arm: What the arm was identified as; none where that was left aside.
        threads: CPU threads; 0 takes all.
    """
    noise = noise_in(world, episodes)
    free = [episode for episode in episodes if moves_freely(episode)]
    if not free:
        return noise
    forces = force_readings(bare, free, arm, threads=threads)
    found = {**noise, **forces, **_shaken(bare, free, arm, threads)}
    return {name: prior for name, prior in found.items() if name in world.catalogue}


def noise_in(world: World, episodes: Sequence[Episode]) -> Mapping[str, Prior]:
    """What is heard without any model of the arm."""
    try:
        return noise_model(episodes, signals=_signals(episodes)).within(world.catalogue)
    except TrueupError:  # recordings without a rest: nothing is heard
        return {}


def _shaken(
    bare: World, free: Sequence[Episode], arm: Estimate | None, threads: int
) -> dict[str, Prior]:
    """What a person at the controls adds: a tremor, and no more delay than all of it.

    Without a tremor, noise that commands have otherwise.
    """
    at = arm.point if arm else {}
    found = tremor_readings(bare, free, at, threads=threads)
    if Tremor.frequency not in found:
        found |= shaking_readings(bare, free, at, threads=threads)
    late = [f.high for f in (arm.findings if arm else ()) if f.name == ActionDelay.delay]
    if late and Reaction.name in bare.catalogue and Reaction.name not in at:
        found[Reaction.name] = Uniform(0.0, late[0])
    return found


def wander_of(noise: Mapping[str, Prior], episodes: Sequence[Episode]) -> float:
    """How far encoders that drift take a joint from where a replay has it, in rad; 0 if none do.

    A random walk from the beginning of each recording, by the end of its interval.
    """
    drift = noise.get(_DRIFT)
    free = [episode.duration_s for episode in episodes if moves_freely(episode)]
    if not isinstance(drift, Uniform) or not free:
        return 0.0
    low, high = drift.support(0.0, np.inf)
    return high * float(np.sqrt(np.mean(free) / 2.0)) if low > 0.0 else 0.0


def completed(
    known: Sequence[Estimate], noise: Mapping[str, Prior], space: Space
) -> tuple[Estimate | Heard, ...]:
    """What was identified, and the noise beside it that is surely not nominal.

    A gap of which only noise is known is not known, but for what shakes commands: recordings would
    show whatever else is off there.

    Args:
        known: What was identified.
        noise: What was heard.
        space: The catalogue.
    """
    names = {name for estimate in known for name in estimate.belief.names}
    gaps = {name.split("/")[0] for name in (*names, Tremor.amplitude, CommandNoise.name)}
    priors = {
        name: prior
        for name, prior in noise.items()
        if name not in names and name.split("/")[0] in gaps and _differs(prior, space, name)
    }
    return (*((Heard(priors=priors),) if priors else ()), *known)


def as_usual(noise: Mapping[str, Prior], space: Space) -> tuple[str, ...]:
    """What was heard and is as a usual sensor has it: it costs nobody anything.

    What is only known to be less than much is not among it.
    """
    return tuple(
        name
        for name, prior in noise.items()
        if isinstance(prior, (Uniform, Fixed))
        and not _differs(prior, space, name)
        and _inside(prior, space, name)
    )


def _inside(prior: Uniform | Fixed, space: Space, name: str) -> bool:
    p = space[name]
    low, high = prior.support(p.low, p.high)
    least, most = p.quantile(np.array([0.0, 1.0]))
    return bool(least <= low and high <= most)


def _differs(prior: Prior, space: Space, name: str) -> bool:
    p = space[name]
    if not isinstance(prior, (Uniform, Fixed)):
        return False
    low, high = prior.support(p.low, p.high)
    return not low <= p.nominal <= high


def _signals(episodes: Sequence[Episode]) -> list[str]:
    """Joint signals: where a tracked object is says more about the object than about noise."""
    return [n for n in episodes[0].signals if n.startswith("joint_")]
