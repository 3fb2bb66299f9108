"""From an estimate to the motions that would narrow it most, for each second of the robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.identify.design.candidates import candidates, chirp
from trueup.identify.design.knowledge import Knowledge
from trueup.identify.design.safety import Safety
from trueup.identify.design.search import Search
from trueup.identify.design.touching import probes
from trueup.identify.design.words import motion_words, opened, untold
from trueup.identify.estimate import Estimate
from trueup.record import Body, Motion, Series
from trueup.worlds import World

_DRAWS = 3
_PIECES = 5  # motions in the time asked for, about
_SHORTEST_S = 2.5
_HELPS = 0.05  # of a parameter's doubt: a design that removes less of each does not help
_SURFACE = "environment/surface/height"

Told = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One motion of a design, and why.

    Attributes:
        motion: What to do.
        seconds: How long it takes, without the way there.
        gain: How much smaller it makes the posterior's volume, as a natural logarithm, after those
            before it.
        what: What it is, in words.
        why: The doubts that it removes most of, in words.
    """

    motion: Motion
    seconds: float
    gain: float
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}; {self.why}"


@dataclass(frozen=True, kw_only=True)
class Design:
    """What to record next.

    Attributes:
        world: Where it was designed.
        choices: The motions, in order.
        seconds: Of all, with the ways from the ready pose, between them, and back to it.
        gain: How much smaller the posterior's volume is expected to become: its logarithm.
        chirp_gain: What a chirp of all joints would do in the same time.
        now: Spread of each parameter as a share of its prior's.
        then: The same once this is recorded, as expected.
        untold: Sentences: what no motion tells, and what would.
        joints: The robot it was made for.
    """

    world: str
    choices: tuple[Choice, ...]
    seconds: float
    gain: float
    chirp_gain: float
    now: Mapping[str, float]
    then: Mapping[str, float]
    untold: tuple[str, ...]
    joints: tuple[str, ...]

    @property
    def helps(self) -> bool:
        """Whether any parameter gets noticeably surer by it."""
        return any(self.then[name] < (1.0 - _HELPS) * left for name, left in self.now.items())

    @property
    def narrowing(self) -> float:
        """How many times narrower intervals are expected to become, in the geometric mean."""
        return float(np.exp(self.gain / len(self.now)))

    @property
    def chirp_narrowing(self) -> float:
        """The same of a chirp."""
        return float(np.exp(self.chirp_gain / len(self.now)))

    @property
    def series(self) -> Series:
        """The motions, to be recorded or saved."""
        return Series(
            motions=tuple(choice.motion for choice in self.choices),
            about="Designed from an estimate.",
            joints=self.joints,
            name="design",
        )

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "world": self.world,
            "seconds": self.seconds,
            "gain": self.gain,
            "chirp_gain": self.chirp_gain,
            "narrowing": self.narrowing,
            "chirp_narrowing": self.chirp_narrowing,
            "helps": self.helps,
            "choices": [
                {
                    "motion": choice.motion.to_json(),
                    "seconds": choice.seconds,
                    "gain": choice.gain,
                    "what": choice.what,
                    "why": choice.why,
                }
                for choice in self.choices
            ],
            "now": dict(self.now),
            "then": dict(self.then),
            "untold": list(self.untold),
        }


def designed(
    world: World,
    estimate: Estimate,
    *,
    seconds: float = 20.0,
    generator: np.random.Generator,
    body: Body | None = None,
    period_s: float | None = None,
    joints: Sequence[str] = (),
    objects: Mapping[str, np.ndarray] | None = None,
    rounds: int = 2,
    threads: int = 0,
    on_progress: Told | None = None,
) -> Design:
    """The motions that are expected to narrow an estimate most in some seconds.

    Candidates are all kinds of excitation about several poses, and probes where the world has
    things that were seen and the estimate asks about touching. All keep inside the safe envelope.
    Each is replayed with every parameter moved a little, at a few points that are still possible.
    What that tells is added up, and the sequence whose expected posterior has the smallest volume
    is chosen one by one, by what each brings per second; then its numbers are searched.

    Args:
        world: Whose model describes the robot.
        estimate: What is known of it.
        seconds: For all motions and ways, from the ready pose and back to it.
        generator: Same seed, same design.
        body: The robot's servos, by default the model's.
        period_s: Time between commands; the world's by default.
        joints: Move these only; all by default.
        objects: (7,) poses of things that were seen, by body.
        rounds: How long to search after the choice; each is about as long as the choice itself.
        threads: CPU threads; 0 takes all.
        on_progress: Told in a line how it stands.
    """
    tell = on_progress or (lambda _: None)
    if not (np.isfinite(seconds) and _SHORTEST_S <= seconds <= 600):
        raise TrueupError(
            f"A design of {seconds} s cannot be made.", fix=f"Give {_SHORTEST_S:g} to 600 s."
        )
    body = body or Body.of(world)
    known = Knowledge.of(world, estimate, generator, _DRAWS)
    safety = Safety(
        world,
        body,
        period_s or world.control_period_s,
        objects=objects,
        floor_m=max(0.0, estimate.point.get(_SURFACE, 0.0)),
    )
    search = Search(
        world=world,
        known=known,
        safety=safety,
        seconds=seconds,
        generator=generator,
        threads=threads,
    )
    tell("looking for motions that are safe")
    piece = max(_SHORTEST_S, seconds / _PIECES)
    pool = candidates(safety, piece, generator, joints=_groups(body, known, tuple(joints)))
    if not pool:
        raise TrueupError(
            f"No motion of {', '.join(joints) or 'any joint'} has room in {world.name!r}.",
            fix="Name other joints, or a world whose ready pose leaves room around the arm.",
        )
    tell(f"replaying {len(pool)} motions at {len(known.draws)} points")
    search.choose(pool, probes(world, known, safety, threads=threads))
    for k in range(rounds):
        tell(f"improving {len(search.chosen)} motions, {k + 1} of {rounds}")
        search.improve()
    search.fill()
    return _design(world, known, search, pool[0].centre, tuple(joints))


def _groups(body: Body, known: Knowledge, joints: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Joints that may move together: all, and those that the estimate names."""
    if joints:
        body.columns(joints)
        return (joints,)
    named = tuple(j for j in body.joints if any(f"/{j}/" in name for name in known.space.names))
    return ((), named) if 0 < len(named) < body.size else ((),)


def _design(
    world: World,
    known: Knowledge,
    search: Search,
    centre: np.ndarray,
    joints: tuple[str, ...],
) -> Design:
    choices, precision = [], known.precision
    for candidate, told in zip(search.chosen, search.told, strict=True):
        after = precision + told.mean(axis=0)
        choices.append(
            Choice(
                motion=candidate.motion,
                seconds=candidate.seconds,
                gain=_volume(precision) - _volume(after),
                what=motion_words(candidate.motion, candidate.plan, search.safety.body.joints),
                why=", ".join(map(str, opened(known, precision, told.mean(axis=0)))),
            )
        )
        precision = after
    return Design(
        world=world.name,
        choices=tuple(choices),
        seconds=search.taken_s(),
        gain=search.gain(search.told),
        chirp_gain=_chirp_gain(search, centre, joints),
        now=_left(known, known.precision),
        then=_left(known, precision),
        untold=untold(known, precision),
        joints=search.safety.body.joints,
    )


def _chirp_gain(search: Search, centre: np.ndarray, joints: tuple[str, ...]) -> float:
    """What one chirp about the first pose would bring in the same time."""
    if not search.chosen:
        return 0.0
    ways = 2.0 * search.safety.way_s(np.array(search.safety.body.ready), centre)
    usual = chirp(search.safety, centre, max(search.taken_s() - ways, _SHORTEST_S), joints)
    return search.gain(search.tell([usual])) if usual is not None else 0.0


def _left(known: Knowledge, precision: np.ndarray) -> dict[str, float]:
    spread = np.sqrt(np.diag(np.linalg.inv(precision))) / known.spread
    return dict(zip(known.space.names, spread.tolist(), strict=True))


def _volume(precision: np.ndarray) -> float:
    """Logarithm of the volume that a precision leaves, but for a constant."""
    return -0.5 * float(np.linalg.slogdet(precision)[1])
