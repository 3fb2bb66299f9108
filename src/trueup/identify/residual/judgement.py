"""Whether a learnt residual may be used: only if motions that it never saw say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.identify.residual.effect import SHARE, ResidualEffect
from trueup.replay import Replayer
from trueup.space import Point, Points, Space
from trueup.worlds import World
from trueup.worlds.added import with_effect

_PIECES = 6  # fewer motions than this are cut, so that there is a spread to speak of
_WORTH = 0.05  # of the error; what gains less is not worth carrying


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Simulated against measured on motions that were kept out, with and without the residual.

    Attributes:
        motions: How many motions were kept out.
        plain: Root mean square by piece of motion without it, mean over the joints, rad.
        corrected: The same with it.
        joints: By joint, over all of them: without and with it, rad.
        real: Whether a real robot took part; else the result is sim-to-sim.
    """

    motions: int
    plain: tuple[float, ...]
    corrected: tuple[float, ...]
    joints: Mapping[str, tuple[float, float]]
    real: bool

    @property
    def gains(self) -> np.ndarray:
        """(pieces,) share of the error that is gone."""
        return 1.0 - np.array(self.corrected) / np.maximum(self.plain, 1e-12)

    @property
    def gain(self) -> float:
        """Of all pieces: their mean, each counting by its error."""
        return float(self.gains @ self._weights)

    @property
    def spread(self) -> float:
        """How much the gain differs from piece to piece: its standard deviation."""
        count = len(self.plain)
        scatter = (self.gains - self.gain) ** 2 @ self._weights
        return float(np.sqrt(scatter * count / max(count - 1, 1)))

    @property
    def _weights(self) -> np.ndarray:
        """(pieces,) where the plain world is good already, a share of its error says little."""
        plain = np.maximum(self.plain, 1e-12)
        return plain / plain.sum()

    @property
    def accepted(self) -> bool:
        """Whether it beats the plain model by more than motions differ."""
        return bool(self.gain > max(self.spread, _WORTH))

    @property
    def sentence(self) -> str:
        """The verdict, for people."""
        before, after = np.mean(self.plain), np.mean(self.corrected)
        seen = (
            f"On {self.motions} motion{'s' * (self.motions != 1)} that it was not learnt from, "
            f"it takes the error from {before:.5f} to {after:.5f} rad: "
            f"{abs(100 * self.gain):.0f} % {'less' if self.gain >= 0 else 'more'} on average, "
            f"± {100 * self.spread:.0f} % from one of {len(self.plain)} pieces to the next"
        )
        if self.accepted:
            return f"{seen}."
        why = (
            "which is no more than the pieces differ"
            if self.gain > _WORTH
            else f"and a gain below {100 * _WORTH:.0f} % is not worth having"
        )
        return f"Refused: the plain model is as good. {seen}, {why}."

    def to_json(self) -> dict[str, Any]:
        """For programs, and for the artefact."""
        return {
            **asdict(self),
            "gain": self.gain,
            "spread": self.spread,
            "accepted": self.accepted,
            "label": "real" if self.real else "sim-to-sim",
            "sentence": self.sentence,
        }


def judged(
    world: World,
    point: Point,
    effect: ResidualEffect,
    episodes: Sequence[Episode],
    joints: Sequence[str],
    *,
    threads: int = 0,
) -> Judgement:
    """Replay motions from end to end in the world as it will be used, without and with it.

    Args:
        world: The plain world.
        point: What was identified.
        effect: The residual.
        episodes: Motions that it was not learnt from.
        joints: Those that count.
        threads: CPU threads; 0 takes all.
    """
    corrected = with_effect(world, effect)
    names = (*(name for name in point if name != SHARE), SHARE)
    space = Space(tuple(corrected.catalogue[name] for name in names))
    values = np.array([[*(point[name] for name in names[:-1]), share] for share in (0.0, 1.0)])
    replayer = Replayer(corrected, episodes, space, signals=(JOINTS,), threads=threads)
    tracks = [tracks[JOINTS] for tracks in replayer(Points(names, values)).tracks]
    columns = [world.commands.index(joint) for joint in joints]
    misses = [track.residual[..., columns] for track in tracks]
    parts = -(-_PIECES // len(misses))
    pieces = [piece for miss in misses for piece in np.array_split(miss, parts, axis=1)]
    by_piece = np.array([np.nanmean(_size(piece), axis=1) for piece in pieces])
    by_joint = _size(np.concatenate(misses, axis=1))
    _check(by_piece)
    return Judgement(
        motions=len(episodes),
        plain=tuple(by_piece[:, 0].tolist()),
        corrected=tuple(by_piece[:, 1].tolist()),
        joints={
            joint: (float(by_joint[0, j]), float(by_joint[1, j])) for j, joint in enumerate(joints)
        },
        real=any(bool(episode.origin.get("real")) for episode in episodes),
    )


def _size(misses: np.ndarray) -> np.ndarray:
    """(2, joints) root mean square over what was read."""
    there = np.isfinite(misses).sum(axis=1)
    return np.sqrt(np.nansum(misses**2, axis=1) / np.where(there, there, np.nan))


def _check(by_piece: np.ndarray) -> None:
    if not np.isfinite(by_piece).all():
        raise TrueupError(
            "The physics broke down on a motion that was kept out, so that nothing can be judged.",
            fix="Look at it with `trueup replay`, and leave the motion out or identify again.",
        )
