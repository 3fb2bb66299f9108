"""A payload weighed on hidden robots, and the edit test: the fitted arm without it, where is it?

Each robot is drawn from the space, carries 20 to 80 g one to three centimetres beyond the middle of
its hand, and is recorded for 10 s at 50 Hz with and without it. In a last group the links are not
as heavy as modelled either, which no encoder can see. Sim-to-sim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from benchmarks.hidden_robots import WORLD, HiddenRobot, fitted_space, recorded
from benchmarks.measure import Effort, Measure, Target
from trueup.episodes import Channel, Episode
from trueup.identify.probing import Payload, identify_payload
from trueup.record import Excitation, Series
from trueup.record import get as get_motions
from trueup.replay import replayed
from trueup.space import Space
from trueup.worlds import World, get

_SECONDS = 10.0
_HAND = "actuation/gripper/mass"
_MASSES_KNOWN = 0.055  # standard deviation of the catalogue's usual masses: ± 10 %, evenly
_ROBOTS, _OTHERS = (20, 3), (10, 2)  # robots of each kind: in full, and for a quick look


@dataclass(frozen=True, kw_only=True)
class _Weighing:
    """One robot: what it carries, and what came of it."""

    truth_kg: float
    found: Payload
    tcp_mm: float
    seconds: float

    @property
    def error(self) -> float:
        """Per cent."""
        return 100.0 * abs(self.found.mass_kg / self.truth_kg - 1.0)

    @property
    def covers(self) -> bool:
        return self.found.low_kg <= self.truth_kg <= self.found.high_kg


def measure(effort: Effort) -> list[Measure]:
    world = get(WORLD)
    arm = fitted_space(world).without("actuation/*/zero_offset", "latency/encoder_delay")
    masses = world.catalogue.select("actuation/*/mass")
    count, others = (row[effort.quick] for row in (_ROBOTS, _OTHERS))
    both = [_weighed(world, arm, k) for k in range(count)]
    alone = [_weighed(world, arm, k, bare=False) for k in range(others)]
    heavy = [_weighed(world, arm, 100 + k, links=masses) for k in range(others)]
    return [
        *_lines("10 s with the payload and 10 s without", both, targets=True),
        *_lines("10 s with it alone", alone),
        *_lines("10 s each, links off by ± 10 % in mass", heavy),
        Measure.of("payload: wall time a robot", [w.seconds for w in both], unit="s"),
    ]


def _lines(what: str, found: list[_Weighing], *, targets: bool = False) -> list[Measure]:
    wanted = [Target(side="≤", value=v) if targets else None for v in (1.0, 0.2)]
    covered = 100.0 * np.mean([w.covers for w in found])
    note = f"{len(found)} robots, sim-to-sim"
    return [
        Measure.of(
            f"{what}: error of the mass",
            [w.error for w in found],
            unit="%",
            target=wanted[0],
            note=note,
        ),
        Measure.of(
            f"{what}: TCP of the arm without it",
            [w.tcp_mm for w in found],
            unit="mm",
            target=wanted[1],
            note="RMS over 10 s",
        ),
        Measure(what=f"{what}: 90 % interval covers", value=float(covered), unit="%", note=note),
    ]


def _weighed(
    world: World, space: Space, number: int, *, bare: bool = True, links: Space | None = None
) -> _Weighing:
    generator = np.random.default_rng([560_000, number])
    arm = dict(next(iter(space.sample(generator, 1))))
    if links is not None:
        arm |= dict(next(iter(links.sample(generator, 1))))
    mass = float(generator.uniform(0.02, 0.08))
    place = generator.uniform((-0.005, -0.005, -0.03), (0.005, 0.005, -0.01))
    own = arm.get(_HAND, world.catalogue[_HAND].nominal)
    loaded = _wave(number, {**arm, **_carrying(own, mass, place)})
    empty = _wave(number, arm)
    began = perf_counter()
    found = identify_payload(
        world,
        [loaded],
        [empty] if bare else [],
        space,
        masses_known=0.0 if links is None else _MASSES_KNOWN,
    )
    seconds = perf_counter() - began
    off = _tcp(world, empty, found.bare) - _tcp(world, empty, arm)
    rms = float(np.sqrt((off**2).sum(axis=1).mean()))
    return _Weighing(truth_kg=mass, found=found, tcp_mm=1e3 * rms, seconds=seconds)


def _carrying(own: float, mass: float, place: np.ndarray) -> dict[str, float]:
    """Mass and centre of mass of a hand with a payload at a place from its own centre."""
    shift = mass / (own + mass) * place
    centre = {f"actuation/gripper/com_{a}": float(x) for a, x in zip("xyz", shift, strict=True)}
    return {_HAND: own + mass, **centre}


def _wave(number: int, truth: Mapping[str, float]) -> Episode:
    """Ten seconds of one motion, without the way there and back."""
    waves = [m for m in get_motions("multisine").motions if isinstance(m, Excitation)]
    series = Series(motions=(replace(waves[0], duration_s=_SECONDS),))
    episode = recorded(HiddenRobot(number=number, truth=truth), series)[0]
    (wave,) = (p for p in episode.origin["phases"] if p["name"] == waves[0].kind)

    def cut(channel: Channel) -> Channel:
        rows = (channel.time_s >= wave["begin_s"]) & (channel.time_s <= wave["end_s"])
        return replace(channel, values=channel.values[rows], time_s=channel.time_s[rows])

    return replace(episode, signals={n: cut(c) for n, c in episode.signals.items()})


def _tcp(world: World, episode: Episode, point: Mapping[str, float]) -> np.ndarray:
    """(m, 3) where the fingertips go when a robot is told what an episode was told."""
    replay = replayed(world, [episode], dict(point), signals=["tcp_position"])
    return replay.tracks[0]["tcp_position"].simulated[0]
