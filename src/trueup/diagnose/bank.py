"""Simulated trials of one policy in many bent worlds: what each gap looks like, and costs.

It is made once for a policy and kept beside it; every diagnosis of that policy reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trueup.diagnose.grading import SCREENED, costly, graded
from trueup.diagnose.planted import GAPS, Bends, bends
from trueup.diagnose.playing import Player
from trueup.errors import TrueupError
from trueup.evaluate import Begin
from trueup.files import whole
from trueup.space import Space
from trueup.worlds import World

Told = Callable[[str], None]

FORMAT = "trueup/bank 2"
"""Of the file: a bank of another one is made again."""
WAY = 2
"""In which worlds are chosen: a bank that was made in another one is made again."""
_OFF = 1e-9  # of a parameter's range
_COSTLY = 0.7  # of the bends that hold together: such as cost something


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is simulated.

    Attributes:
        screened: Bends of each gap that are looked at.
        kept: Of these, how many are played in full: half of them the most costly.
        pairs: Worlds in which two gaps are bent.
        triples: Worlds in which three are.
        trials: Trials in each world.
        nominal: Trials in the nominal world.
    """

    screened: int = 100
    kept: int = 40
    pairs: int = 320
    triples: int = 40
    trials: int = 20
    nominal: int = 400

    def times(self, factor: int) -> Size:
        """So many times as many worlds, with as many trials in each."""
        grown = {n: factor * getattr(self, n) for n in ("screened", "kept", "pairs", "triples")}
        return replace(self, **grown)


@dataclass(frozen=True, kw_only=True, eq=False)
class Bank:
    """What was simulated: N worlds.

    Attributes:
        world: The world's name.
        policy: The mark of the policy's network.
        features: Names of a signature's numbers.
        signatures: (N, F) by number of trials.
        parameters: Names of what may be bent.
        bent: (N, P) which of them are off.
        gaps: (N, 8) which gaps were bent.
        alone: (N, 8) success lost to each gap where it alone is bent, as shares of 1.
        shares: (N, 8) each gap's Shapley value, as shares of 1.
        noise: (N, 8) standard error of these, from the number of trials.
        success: (N,) share of trials.
        nominal: Success in the nominal world.
        nominal_trials: Of so many trials.
    """

    world: str
    policy: str
    features: tuple[str, ...]
    signatures: dict[int, np.ndarray]
    parameters: tuple[str, ...]
    bent: np.ndarray
    gaps: np.ndarray
    alone: np.ndarray
    shares: np.ndarray
    noise: np.ndarray
    success: np.ndarray
    nominal: float
    nominal_trials: int

    def __len__(self) -> int:
        return len(self.gaps)

    def save(self, path: Path | str) -> None:
        """Write as a .npz."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {f"signatures{k}": values for k, values in self.signatures.items()}
        arrays |= {
            "format": np.array(FORMAT),
            "world": np.array(self.world),
            "policy": np.array(self.policy),
            "features": np.array(self.features),
            "parameters": np.array(self.parameters),
            "nominal": np.array([self.nominal, self.nominal_trials]),
        }
        with whole(path) as partial, partial.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @staticmethod
    def load(path: Path | str) -> Bank:
        """Read what `save` wrote; nothing in the file is executed."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                if str(stored["format"]) != FORMAT:
                    raise _of_another_version(path)
                counts = [int(n[10:]) for n in stored.files if n.startswith("signatures")]
                return Bank(
                    world=str(stored["world"]),
                    policy=str(stored["policy"]),
                    features=tuple(stored["features"].tolist()),
                    parameters=tuple(stored["parameters"].tolist()),
                    signatures={k: stored[f"signatures{k}"] for k in sorted(counts)},
                    **{name: stored[name] for name in _ARRAYS},
                    nominal=float(stored["nominal"][0]),
                    nominal_trials=int(stored["nominal"][1]),
                )
        except TrueupError:
            raise
        except Exception as error:  # a broken archive fails in a dozen ways
            raise TrueupError(
                f"The bank {path} could not be read: it is damaged, or no bank.",
                fix=_MADE_AGAIN,
            ) from error


_MADE_AGAIN = (
    "Delete it, and it is made again when it is needed; in a run folder, do `trueup run --out "
    "FOLDER --from bank`."
)


def _of_another_version(path: Path | str) -> TrueupError:
    return TrueupError(
        f"The bank {path} was written by another version of trueup.", fix=_MADE_AGAIN
    )


_ARRAYS = ("bent", "gaps", "alone", "shares", "noise", "success")


def built(
    world: World,
    begin: Begin,
    space: Space,
    generator: np.random.Generator,
    *,
    policy: str = "",
    size: Size | None = None,
    threads: int = 0,
    on_progress: Told | None = None,
) -> Bank:
    """Simulate a bank.

    Bends of single gaps are looked at first, and the costly ones preferred: a world that costs
    nothing teaches little. Most of these are weakened to about where they cost half, for one that
    costs everything teaches little more. Pairs and triples are made of them, so that what each gap
    costs alone is known for every world, and Shapley values follow.

    Args:
        world: Where.
        begin: The policy at the controls, as `evaluate` takes it.
        space: What may be bent.
        generator: Where chance comes from.
        policy: The mark of the policy's network.
        size: How much.
        threads: CPU threads; 0 takes all.
        on_progress: Told in a line how it stands.
    """
    size, tell = size or Size(), on_progress or (lambda _: None)
    player = Player(world, begin, space, generator, threads)
    tell("the nominal world")
    nominal_u = space.encode(space.nominal())
    nominal = float(player.success(np.repeat(nominal_u, size.nominal, axis=0), 1).mean())
    kept, dear = _kept(player, space, size, nominal, generator, tell)
    sets = _sets(kept, dear, size, generator)
    tell(f"{len(sets)} bent worlds, {size.trials} trials each")
    points = np.array([kept.joined(rows) for rows in sets])
    played = player.played(points, size.trials)
    return Bank(
        world=world.name,
        policy=policy,
        features=played.features,
        signatures=played.signatures,
        parameters=space.names,
        bent=np.abs(points - nominal_u) > _OFF,
        success=played.success,
        nominal=nominal,
        nominal_trials=size.nominal,
        **_labelled(kept, sets, played.success, nominal, size.trials),
    )


def _kept(
    player: Player,
    space: Space,
    size: Size,
    nominal: float,
    generator: np.random.Generator,
    tell: Told,
) -> tuple[Bends, np.ndarray]:
    """Bends of each gap, and (n,) which of them are costly.

    Half of them are the most costly that were seen, half as they come.
    """
    drawn = bends(space, size.screened, generator)
    tell(f"{len(drawn)} bends, {SCREENED} trials each")
    lost = nominal - player.success(drawn.u, SCREENED)
    chosen: list[int] = []
    for gap in np.unique(drawn.gap):
        rows = np.flatnonzero(drawn.gap == gap)
        order = rows[np.argsort(-lost[rows] + 1e-3 * generator.random(len(rows)))]
        first, rest = order[: size.kept // 2], order[size.kept // 2 :]
        chosen += [*first, *generator.choice(rest, size.kept - len(first), replace=False)]
    dear = costly(lost[chosen], nominal)
    tell(f"{dear.sum()} of {len(chosen)} bends are costly: how strong they need to be")
    return graded(player, drawn.some(np.array(chosen)), lost[chosen], nominal, generator), dear


def _sets(
    kept: Bends, dear: np.ndarray, size: Size, generator: np.random.Generator
) -> list[tuple[int, ...]]:
    """Which bends hold together: each alone, then pairs and triples of different gaps.

    Half of these are of gaps that cost something, where there are enough.
    """
    sets: list[tuple[int, ...]] = [(i,) for i in range(len(kept))]
    present, felt = np.unique(kept.gap), np.unique(kept.gap[dear])
    for many, count in ((2, size.pairs), (3, size.triples)):
        for k in range(count if len(present) >= many else 0):
            among = felt if k % 2 and len(felt) >= many else present
            gaps = generator.choice(among, many, replace=False)
            sets.append(tuple(_some(kept, dear, gap, generator) for gap in gaps))
    return sets


def _some(kept: Bends, dear: np.ndarray, gap: int, generator: np.random.Generator) -> int:
    """A bend of a gap, more often a costly one."""
    own = np.flatnonzero(kept.gap == gap)
    costing = own[dear[own]]
    taken = costing if len(costing) and generator.random() < _COSTLY else own
    return int(generator.choice(taken))


def _labelled(
    kept: Bends,
    sets: list[tuple[int, ...]],
    success: np.ndarray,
    nominal: float,
    trials: int,
) -> dict[str, np.ndarray]:
    """What each gap costs in each world, by its success (N,).

    With v the success: of one gap all of the loss; of two, φ_a = ½ (v₀ − v_a + v_b − v_ab). Of
    three, the loss beyond what each costs alone is shared out evenly: pairs of these three were not
    played.
    """
    n = len(sets)
    gaps, alone = np.zeros((n, len(GAPS)), bool), np.zeros((n, len(GAPS)))
    shares, noise = np.zeros((n, len(GAPS))), np.zeros((n, len(GAPS)))
    lost = nominal - success
    error = np.sqrt(np.clip(success * (1 - success), 0.02, None) / trials)
    for row, members in enumerate(sets):
        columns, m = kept.gap[list(members)], len(members)
        each = lost[list(members)]
        gaps[row, columns], alone[row, columns] = True, each
        shares[row, columns] = each + (lost[row] - each.sum()) / m
        own, rest = error[list(members)] ** 2, (error[list(members)] ** 2).sum()
        spread = own * (1 - 1 / m) ** 2 + (rest - own) / m**2 + error[row] ** 2 / m**2
        noise[row, columns] = error[row] if m == 1 else np.sqrt(spread)
    return {"gaps": gaps, "alone": alone, "shares": shares, "noise": noise}
