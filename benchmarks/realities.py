"""Rehearsal realities drawn at random, and how a policy fares in them. All of it is sim-to-sim.

Trials are played by the bodies that a rehearsal robot has in its own process, here in ours, because
hundreds of them are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.outside import effect_of
from trueup.diagnose.planted import GAPS, bends
from trueup.diagnose.signature import Traces
from trueup.evaluate import evaluate, piloted
from trueup.hardware.reality import Reality, reality_from
from trueup.hardware.rehearsal.cells import MujocoCells
from trueup.policies import Policy
from trueup.space import Parameter, Points, Space
from trueup.streams import seeds_from
from trueup.worlds import World

_QUICK = 40  # episodes: to see that it costs something
_LOOK, _TRUTH = 200, 500  # that it costs enough, and what it truly costs
_ROUNDS, _WEAKEST = 6, 1.0 / 32.0  # of a search for how strong it has to be


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A reality of which everything is known here.

    Attributes:
        file: What a reality file would hold.
        gaps: The gaps that were bent; none where the cause is outside the space.
        simulated: Success of the policy at nominal, as a share of 1.
        measured: Its success in this reality, over many episodes.
        shares: The true Shapley value of each bent gap, as shares of 1.
        alone: What each costs where it alone is bent.
    """

    file: Mapping[str, Any]
    gaps: tuple[str, ...]
    simulated: float
    measured: float
    shares: Mapping[str, float]
    alone: Mapping[str, float]

    @property
    def lost(self) -> float:
        return self.simulated - self.measured


def bent(
    world: World,
    policy: Policy,
    gaps: Sequence[str],
    generator: np.random.Generator,
    *,
    least: float = 0.2,
    tries: int = 40,
    space: Space | None = None,
) -> Drawn | None:
    """A reality bent in these gaps that costs enough; with several, each at least a quarter of it.

    Robots seldom lose everything: bends that do are weakened until they cost so much as was drawn
    before. None where so many tries do not find one.
    """
    space = space or world.catalogue.select(*(f"{gap}/*" for gap in gaps))
    begin = piloted(policy)
    most = 0.95 if len(gaps) == 1 else 0.6
    for _ in range(tries):
        off = bend(world, gaps, generator, space)
        quick = _won(world, begin, [off], seeds_from(generator, _QUICK))
        if quick.mean() > 1.0 - least + 0.05:
            continue
        off = {
            name: value
            for gap in gaps
            for name, value in _graded(
                world, begin, _of(gap, off), generator.uniform(least, most), generator
            ).items()
        }
        drawn = weighed(world, policy, off, gaps, seeds_from(generator, _LOOK))
        if _tells(drawn, least):
            return weighed(world, policy, off, gaps, seeds_from(generator, _TRUTH))
    return None


def _graded(
    world: World, begin, off: Mapping[str, float], wanted: float, generator: np.random.Generator
) -> dict[str, float]:
    """The same values, weakened to where they cost about as much as is wanted, if they do."""
    weak, strong, strength = np.log(_WEAKEST), 0.0, 1.0
    for _ in range(_ROUNDS):
        weaker = weakened(world.catalogue, off, strength)
        lost = 1.0 - _won(world, begin, [weaker], seeds_from(generator, _QUICK)).mean()
        if lost >= wanted:
            strong = np.log(strength)
        elif strength < 1.0:
            weak = np.log(strength)
        else:
            break
        strength = float(np.exp(0.5 * (weak + strong)))
    return weakened(world.catalogue, off, strength)


def _of(gap: str, off: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in off.items() if name.split("/")[0] == gap}


def _tells(drawn: Drawn, least: float) -> bool:
    each = 0.0 if len(drawn.gaps) == 1 else 0.25 * drawn.lost
    return drawn.lost >= least and min(drawn.shares.values()) >= each


def weighed(
    world: World,
    policy: Policy,
    off: Mapping[str, float],
    gaps: Sequence[str],
    seeds: np.ndarray,
) -> Drawn:
    """What values that are off in these gaps cost, over so many episodes."""
    shares, alone, simulated, measured = _shapley(world, piloted(policy), off, gaps, seeds)
    return Drawn(
        file=file_of(world, off, []),
        gaps=tuple(gaps),
        simulated=simulated,
        measured=measured,
        shares=shares,
        alone=alone,
    )


def bend(
    world: World, gaps: Sequence[str], generator: np.random.Generator, space: Space | None = None
) -> dict[str, float]:
    """Values that are off in these gaps, whatever they cost."""
    space = space or world.catalogue.select(*(f"{gap}/*" for gap in gaps))
    drawn = bends(space, 1, generator)
    u = drawn.joined([int(np.flatnonzero(drawn.gap == GAPS.index(gap))[0]) for gap in gaps])
    point = dict(space.decode(u[None])[0])
    return {name: v for name, v in point.items() if v != space[name].nominal}


def weakened(space: Space, values: Mapping[str, float], strength: float) -> dict[str, float]:
    """The same values, so much of the way from nominal; in logarithms where the scale is."""

    def between(p: Parameter, value: float) -> float:
        if p.scale == "log" and p.nominal > 0:
            return float(p.nominal * (value / p.nominal) ** strength)
        return float(p.nominal + strength * (value - p.nominal))

    return {name: between(space[name], value) for name, value in values.items()}


def strange(
    world: World,
    policy: Policy,
    kind: str,
    generator: np.random.Generator,
    *,
    least: float = 0.2,
    simulated: float,
    tries: int = 12,
) -> Drawn | None:
    """A reality whose cause lies outside the space and costs enough."""
    for _ in range(tries):
        file = file_of(world, {}, [effect_of(kind, generator)])
        seeds = seeds_from(generator, 60)
        won = tried(world, policy, reality_from(file), seeds).success.mean()
        if simulated - won >= least:
            seeds = seeds_from(generator, _TRUTH)
            won = tried(world, policy, reality_from(file), seeds).success.mean()
            return Drawn(
                file=file, gaps=(), simulated=simulated, measured=float(won), shares={}, alone={}
            )
    return None


def tried(world: World, policy: Policy, reality: Reality, seeds: np.ndarray) -> Traces:
    """Trials of a policy in a reality."""
    cells = MujocoCells(reality, world, len(seeds))
    cells.power(True)
    cells.reset(np.arange(len(seeds)), seeds)
    pilot = policy.pilot(len(seeds))
    pilot.begin(cells.observation, cells.hold)
    rows: list[dict[str, np.ndarray]] = []
    command = cells.hold.copy()
    for _ in range(world.steps):
        open_ = ~cells.over[:, None]
        command = np.where(open_, pilot(cells.observation), command)
        seen = {**cells.observation, "command": command}
        rows.append({name: np.where(open_, x, np.nan) for name, x in seen.items()})
        cells.command(command)
        cells.step()
        if cells.over.all():
            break
    missing = world.steps - len(rows)
    signals = {
        name: np.pad(
            np.stack([row[name] for row in rows], axis=1),
            ((0, 0), (0, missing), (0, 0)),
            constant_values=np.nan,
        )
        for name in rows[0]
    }
    return Traces(signals=signals, success=cells.success.copy(), period_s=world.control_period_s)


def _won(world: World, begin, points: Sequence[Mapping[str, float]], seeds: np.ndarray):
    """(sets, n) success of the same episodes at several points."""
    names = list(dict.fromkeys(name for point in points for name in point))
    if not names:
        names = [world.catalogue.names[0]]
    nominal = {name: world.catalogue[name].nominal for name in names}
    rows = [[{**nominal, **point}[name] for name in names] for point in points]
    values = np.repeat(np.array(rows), len(seeds), axis=0)
    found = evaluate(world, begin, Points(names, values), np.tile(seeds, len(points)))
    return found.success.reshape(len(points), -1)


def _shapley(
    world: World, begin, off: Mapping[str, float], gaps: Sequence[str], seeds: np.ndarray
) -> tuple[dict[str, float], dict[str, float], float, float]:
    """True shares of one or two gaps and their costs alone; success at nominal and in all of it."""
    own = [_of(gap, off) for gap in gaps]
    points = [{}, *own, dict(off)] if len(gaps) > 1 else [{}, dict(off)]
    won = _won(world, begin, points, seeds).mean(axis=1)
    if len(gaps) == 1:
        lost = {gaps[0]: float(won[0] - won[1])}
        return lost, lost, float(won[0]), float(won[1])
    none, a, b, both = won
    shares = {gaps[0]: (none - a + b - both) / 2, gaps[1]: (none - b + a - both) / 2}
    alone = {gaps[0]: float(none - a), gaps[1]: float(none - b)}
    return {gap: float(s) for gap, s in shares.items()}, alone, float(none), float(both)


def file_of(world: World, values: Mapping[str, float], beyond: list[dict[str, Any]]) -> dict:
    return {
        "trueup_reality": 1,
        "story": "Drawn at random.",
        "world": world.name,
        "values": {name: float(value) for name, value in values.items()},
        "beyond": beyond,
    }
