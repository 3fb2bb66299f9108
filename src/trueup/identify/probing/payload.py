"""What a hand carries: the mass of a payload, and the arm as it is without it.

Encoders see a weight only through how far servos give way, so gravity tells mass times lever over
stiffness. What sets the scale is the arm's own weight, which the same servos carry: a payload is
weighed against the links, and is as right as their masses are. The same motion without the payload
tells the stiffness by itself; then only what changed is put down to the payload.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.identify.estimate import Estimate, belief_of, findings_of
from trueup.identify.posterior import prior_spread, unseen_of
from trueup.identify.probing.weighing import Setting, bottom, fitted, starts, unknowns
from trueup.identify.usable import cleaned, usable
from trueup.space import Point, Space
from trueup.versions import versions
from trueup.worlds import World

_DRAWS = 4000
_EDGE = 0.49  # from the middle between the bounds: what lies there is beyond them
_TOLD = 0.2  # of the mass: a wider 90 % interval is not a weighing

Told = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Payload:
    """A weighed payload.

    Attributes:
        mass_kg: How heavy.
        low_kg: Lower end of the 90 % interval.
        high_kg: Upper end.
        place_m: (3,) its centre of mass from that of the bare link, in the link's frame.
        place_std_m: (3,) how uncertain.
        told: Whether the recordings tell the mass at all.
        sentence: The same in words, and what it rests on.
        loaded: The arm with the payload, as the rest of trueup takes it.
        bare: The arm without it: the edit that takes the payload away.
    """

    mass_kg: float
    low_kg: float
    high_kg: float
    place_m: np.ndarray
    place_std_m: np.ndarray
    told: bool
    sentence: str
    loaded: Estimate
    bare: Point

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "mass_kg": self.mass_kg,
            "interval_kg": [self.low_kg, self.high_kg],
            "place_m": self.place_m.tolist(),
            "place_std_m": self.place_std_m.tolist(),
            "told": self.told,
            "sentence": self.sentence,
            "loaded": self.loaded.to_json(),
            "bare": self.bare.to_json(),
        }


def identify_payload(
    world: World,
    loaded: Sequence[Episode],
    bare: Sequence[Episode] = (),
    space: Space | None = None,
    *,
    link: str = "gripper",
    masses_known: float = 0.0,
    signals: Sequence[str] = ("joint_position",),
    threads: int = 0,
    on_progress: Told | None = None,
) -> Payload:
    """Weigh what a link carries, from motions with it and, better, without it too.

    The last part of the recordings judges a first fit; then all of them are fitted.

    Args:
        world: Where the episodes are replayed.
        loaded: Recorded with the payload.
        bare: The same motions without it; none where nobody recorded them.
        space: What else is unknown; by default stiffness, damping, friction and armature of the
            joints that carry the link, and the delay.
        link: The body that carries it; without the payload it is as the model has it.
        masses_known: How well the masses of the links are known: standard deviation, as a share. If
            all were heavier by a tenth, and so the payload, no encoder would see it.
        signals: What to compare.
        threads: CPU threads; 0 takes all.
        on_progress: Told in a line how it stands.
    """
    if not 0.0 <= masses_known < 1.0:
        raise TrueupError(
            f"Masses cannot be known to {masses_known:g} of themselves.",
            fix="Give a share from 0 (exactly) to below 1, such as 0.05.",
        )
    free, hand = unknowns(world, space, link)
    setting = Setting(world=world, free=free, hand=hand, signals=tuple(signals), threads=threads)
    made = {"recordings": {"loaded": len(loaded), "bare": len(bare)}, "link": link}
    found = _fitted(setting, [some for some in (loaded, bare) if len(some)], made, on_progress)
    return _weighed(setting, found, masses_known=masses_known, bare=bool(len(bare)))


# ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Fitted:
    """The arm with what it carries, in the unit cube and as an estimate."""

    u: np.ndarray
    covariance: np.ndarray
    estimate: Estimate


def _fitted(
    setting: Setting,
    sides: Sequence[Sequence[Episode]],
    made: dict[str, Any],
    on_progress: Told | None,
) -> _Fitted:
    """A first fit, which is judged, and from there one of all recordings: with and without load."""
    began, tell = perf_counter(), on_progress or (lambda _: None)
    free, splits = setting.free, [usable(some) for some in sides]
    tell("a first fit, without what judges it")
    _, first = fitted(setting, [s.fitted for s in splits], starts(free), tell)
    judge = setting.joined([s.held for s in splits])
    tell("all recordings")
    everything = [cleaned(some).episodes for some in sides]
    problem, u = fitted(setting, everything, [first], tell)
    u, covariance = bottom(problem, u, free)
    spread, centre = prior_spread(free), free.encode(free.nominal())[0]
    estimate = Estimate(
        world=setting.world.name,
        belief=belief_of(free, u, covariance),
        findings=findings_of(free, u, covariance, np.sqrt(np.diag(covariance)) / spread),
        unseen=tuple(map(str, unseen_of(free, covariance, spread))),
        fitted=problem.misfit(centre, u, sum(map(len, everything))),
        held=judge.misfit(centre, first, sum(len(s.held) for s in splits)),
        noise=problem.sizes(u),
        notes=tuple(note for split in splits for note in split.notes),
        made={
            "seconds": round(perf_counter() - began, 2),
            **made,
            "versions": versions("mujoco", "numpy", "scipy"),
        },
    )
    return _Fitted(u=u, covariance=covariance, estimate=estimate)


def _weighed(setting: Setting, found: _Fitted, *, masses_known: float, bare: bool) -> Payload:
    """What is the payload's of a loaded link, and how sure that is."""
    free, hand, u = setting.free, setting.hand, found.u
    columns = [free.index(name) for name in hand.names]
    part = found.covariance[np.ix_(columns, columns)]
    generator = np.random.default_rng(0)
    draws = generator.multivariate_normal(u[columns], part, _DRAWS)
    masses, places = _parted(hand, np.concatenate([u[None, columns], draws]))
    scales = 1.0 + masses_known * generator.standard_normal(_DRAWS)
    low, high = np.quantile(masses[1:] * scales, (0.05, 0.95))
    beyond = [n for n, at in zip(hand.names, u[columns], strict=True) if abs(at - 0.5) > _EDGE]
    told = bool(0.0 < high - low < _TOLD * masses[0]) and not beyond
    point = {n: v for n, v in found.estimate.point.items() if n not in hand}
    return Payload(
        mass_kg=float(masses[0]),
        low_kg=float(low),
        high_kg=float(high),
        place_m=places[0],
        place_std_m=1.4826 * np.median(np.abs(places[1:] - np.median(places[1:], axis=0)), axis=0),
        told=told,
        sentence=_beyond(beyond) or _sentence(masses[0], low, high, told=told, bare=bare),
        loaded=found.estimate,
        bare=Point({**point, **hand.nominal()}),
    )


def _parted(hand: Space, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Masses (p,) of what was added to a link, and where (p, 3), for points (p, 4) of the link."""
    whole = hand.decode(np.clip(u, 0.0, 1.0)).values
    own = hand.parameters[0].nominal
    masses = whole[:, 0] - own
    safe = np.where(np.abs(masses) < 1e-4 * own, 1e-4 * own, masses)
    return masses, whole[:, 1:] * (whole[:, :1] / safe[:, None])


def _beyond(names: Sequence[str]) -> str:
    """A sentence where the catalogue ends before the payload does."""
    if not names:
        return ""
    return (
        f"The payload is heavier, or sits further out, than {names[0]} may be in this world's "
        "catalogue: use a lighter one, or one nearer to the link."
    )


def _sentence(mass: float, low: float, high: float, *, told: bool, bare: bool) -> str:
    grams = f"{1e3 * mass:.4g} g (90 %: {1e3 * low:.4g} to {1e3 * high:.4g} g)"
    against = "weighed against the arm's own links: it is as right as their masses are"
    if told:
        return f"The payload has {grams}, {against}."
    if low <= 0.0:
        return f"These recordings cannot tell whether there is a payload: {grams}, {against}."
    more = (
        "record longer, and with the arm stretched out"
        if bare
        else "record the same motion without the payload, which tells the stiffness by itself"
    )
    return f"These recordings tell the payload only roughly: {grams}; {more}."
