"""Recorded episodes as sources: which can be carried elsewhere, and why others cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trueup.episodes import Dataset, JointUnits, Outcome
from trueup.episodes.consent import Covered, people_in
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.episodes.matching import check_robot, in_radians
from trueup.errors import TrueupError
from trueup.generate.motion.cutting import cut
from trueup.generate.motion.legs import Source
from trueup.generate.motion.senses import Things
from trueup.generate.motion.track import track
from trueup.worlds import World

MOST = 64
"""Sources beyond this many add little, and each takes memory."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What a dataset offers.

    Attributes:
        sources: What can be used.
        passed_over: Why other episodes cannot, counted.
    """

    sources: tuple[Source, ...]
    passed_over: dict[str, int]


def recorded(
    folder: Path | str,
    world: World,
    *,
    episodes: Sequence[int] | None = None,
    read_as: JointUnits | None = None,
    infer: bool = False,
    allowed: Covered | None = None,
) -> Recorded:
    """Sources from a dataset of the same robot.

    Args:
        folder: The dataset.
        world: Where they are to be performed.
        episodes: Which; by default the first that succeeded, up to `MOST`.
        read_as: The units of joints, where the dataset does not say.
        infer: Take objects to be where the hand closed, where they were not recorded.
        allowed: What consent covers, where people are in it; the rest is passed over unread.
    """
    dataset, things = Dataset.open(folder), Things.of(world)
    check_robot(dataset, world.commands, (COMMAND, JOINTS), of=f"the world {world.name!r}")
    wanted = range(len(dataset)) if episodes is None else episodes
    sources: list[Source] = []
    passed_over: Counter[str] = Counter()
    for i in wanted:
        if len(sources) == MOST:
            break
        if allowed is not None and i in allowed.why:
            passed_over[allowed.why[i]] += 1
            continue
        about = dataset.about(i)
        if about.outcome not in (None, Outcome.SUCCESS):
            passed_over["did not succeed"] += 1
            continue
        try:
            source = _source(dataset, i, world, things, read_as, infer)
            sources.append(replace(source, people=people_in(about.labels)))
        except TrueupError as error:
            if episodes is not None or (not sources and i == wanted[-1]):
                raise
            passed_over[_why(error)] += 1
    if not sources:
        raise _none(dataset, passed_over)
    return Recorded(sources=tuple(sources), passed_over=dict(passed_over))


def _source(
    dataset: Dataset,
    i: int,
    world: World,
    things: Things,
    read_as: JointUnits | None,
    infer: bool,
) -> Source:
    name = f"episode {i} of {dataset.folder}"
    episode = in_radians(dataset[i], name, read_as)
    return cut(track(episode, world, things), world, things, name=name, infer=infer)


def _none(dataset: Dataset, passed_over: Counter[str]) -> TrueupError:
    n = len(dataset)
    if passed_over and set(passed_over) == {"did not succeed"}:
        return TrueupError(
            f"None of the {n} episodes of {dataset.folder} succeeded, and failures cannot be "
            "carried elsewhere.",
            fix="Record a success, or start from a scripted expert: --source script.",
        )
    reasons = "; ".join(f"{count} × {why}" for why, count in passed_over.most_common())
    return TrueupError(
        f"None of the {n} episodes of {dataset.folder} can be carried elsewhere: {reasons}.",
        fix="Give others, or start from a scripted expert: --source script.",
    )


def _why(error: TrueupError) -> str:
    """The reason without the episode's own name, so that like ones are counted together."""
    text = error.what.rstrip(".")
    return text.partition(" of ")[2].partition(" ")[2] or text
