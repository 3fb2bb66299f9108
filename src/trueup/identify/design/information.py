"""How much a recording would tell, before it is made: Fisher's information by replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.episodes import Channel, Episode, Take
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.errors import TrueupError
from trueup.identify.design.knowledge import Knowledge
from trueup.identify.problem import Problem
from trueup.record import Body, Plan, Player, Probe, Situation
from trueup.replay import Replayer
from trueup.simulate import CpuWorlds
from trueup.worlds import Compiled, World

_NONSENSE = 300.0  # units of a signal for the whole range of a parameter: a world broke down


def information(
    world: World,
    episodes: Sequence[Episode],
    known: Knowledge,
    signals: Sequence[str],
    *,
    wary: bool = False,
    threads: int = 0,
) -> np.ndarray:
    """(draws, episodes, d, d) what each recording tells if a draw is the truth.

    Readings count by the noise that was identified. A recording in which a world breaks down tells
    nothing.

    Args:
        world: Where they are replayed.
        episodes: The recordings.
        known: What is known before.
        signals: What is compared.
        wary: Count how much slopes differ between the draws as noise. Touching makes things jump
            this way or that, and a reading that jumps tells less than its slope seems to say.
        threads: CPU threads; 0 takes all.
    """
    problem = Problem(
        world, episodes, known.space, signals=signals, window_s=known.window_s, threads=threads
    )
    found = [problem.jacobian(u) for u in known.draws]
    here = found[0][0]
    slopes = np.stack([part for _, part in found]) * problem.scale[here.column, None]
    noise = np.array([known.noise.get(name, np.inf) for name in problem.columns])
    variance = np.broadcast_to(noise[here.column] ** 2, slopes.shape[:2])
    if wary:
        doubt = np.diag(np.linalg.inv(known.precision))
        variance = variance + (slopes.var(axis=0) @ doubt)
    told = np.zeros((len(slopes), len(episodes), *known.precision.shape))
    for e in range(len(episodes)):
        mine = here.episode == e
        for k, part in enumerate(slopes[:, mine]):
            if np.abs(part).max(initial=0.0) < _NONSENSE:
                told[k, e] = (part / variance[k, mine, None]).T @ part
    return told


def rehearsed(
    world: World, plans: Sequence[Plan], known: Knowledge, signals: Sequence[str], threads: int = 0
) -> list[Episode]:
    """Recordings of plans in free air, were the robot as the estimate says.

    Each begins at rest where it ends: an arm that begins exactly where it is told to be would fall
    into its servos' springs first, and seem to tell more than it does.
    """
    told = [_told(plan, world, known, signals) for plan in plans]
    point = known.space.decode(known.draws[:1])
    replay = Replayer(world, told, known.space, signals=signals, threads=threads)(point)
    return [
        replace(
            episode,
            signals={
                **episode.signals,
                **{
                    name: replace(episode[name], values=_at_rest_first(track.simulated[0]))
                    for name, track in tracks.items()
                },
            },
        )
        for episode, tracks in zip(told, replay.tracks, strict=True)
    ]


def rehearsed_probe(
    world: World, probe: Probe, body: Body, known: Knowledge, *, seed: int = 0
) -> Episode:
    """A recording of a probe where an episode of the world begins.

    Its movements end by what is felt, so it is played turn by turn.
    """
    worlds = CpuWorlds(Compiled(world, known.space), 1, threads=1)
    worlds.reset(known.space.decode(known.draws[:1]), seeds=seed)
    take = Take(world.control_period_s, task=probe.title)
    take.declare(COMMAND, "rad", world.commands)
    for signal in world.observations:
        size = worlds.observation[signal.name].shape[1]
        take.declare(signal.name, signal.unit, _names(world, known, signal.name, size))
    player = Player(probe.planned(_seen(world, probe, body, worlds)))
    while not player.done:
        now, seen = float(worlds.time_s[0]), worlds.observation
        for name, values in seen.items():
            take.add(name, now, values[0])
        command = player(seen)
        take.add(COMMAND, now, command[0])
        worlds.step(command)
    return take.episode()


def _seen(world: World, probe: Probe, body: Body, worlds: CpuWorlds) -> Situation:
    """Where the arm and the probed thing are."""
    known = {**worlds.observation, **worlds.privileged}
    parts = [known.get(f"{probe.object}_{word}") for word in ("position", "orientation")]
    pose = np.concatenate([part for part in parts if part is not None], axis=1)
    return Situation(
        world=world,
        body=body,
        period_s=world.control_period_s,
        start=worlds.hold,
        objects={probe.object: pose} if pose.shape[1] == 7 else {},
    )


def _names(world: World, known: Knowledge, signal: str, size: int) -> tuple[str, ...]:
    """The columns of a signal: as the estimate calls them, or the joints, or numbers."""
    columns = known.columns(signal)
    if len(columns) == size:
        return columns
    return world.commands if size == len(world.commands) else tuple(map(str, range(size)))


def _told(plan: Plan, world: World, known: Knowledge, signals: Sequence[str]) -> Episode:
    """Commands of a plan, and signals still to be simulated."""
    path = plan.path[:, 0]
    time_s = plan.period_s * np.arange(len(path))
    command = Channel(values=path, time_s=time_s, unit="rad", names=world.commands)
    units = {signal.name: signal.unit for signal in (*world.observations, *world.privileged)}
    empty = {}
    for name in signals:
        if name not in units:
            raise TrueupError(
                f"The estimate compared the signal {name!r}, which the world {world.name!r} does "
                "not have.",
                fix="Design in the world of the estimate (--world).",
            )
        columns = known.columns(name)
        values = np.zeros((len(path), len(columns)))
        empty[name] = Channel(values=values, time_s=time_s, unit=units[name], names=columns)
    # where the joints are is always said: a replay begins there
    return Episode(signals={**empty, JOINTS: command, COMMAND: command}, period_s=plan.period_s)


def _at_rest_first(values: np.ndarray) -> np.ndarray:
    """Readings (k, size) whose first two are the last."""
    values = np.nan_to_num(values)
    values[:2] = values[-1]
    return values
