"""A policy from demonstrations: read them, learn from them, keep what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from trueup.errors import TrueupError
from trueup.one_thread import one_thread
from trueup.policies import Contract, Policy
from trueup.train.imitation.demonstrations import Shown, offered, shown
from trueup.train.imitation.pictures import Encoder
from trueup.train.imitation.result import Cloned, Progress
from trueup.train.imitation.settings import Cloning, Portion
from trueup.train.imitation.terms import terms
from trueup.train.imitation.work import Work
from trueup.worlds import World


def clone(
    world: World,
    portions: Sequence[Portion],
    settings: Cloning | None = None,
    folder: Path | str = "out/clone",
    *,
    start: Policy | None = None,
    resume: bool = False,
    threads: int = 0,
    encoders: Sequence[Encoder] = (),
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Cloned:
    """Learn a policy from demonstrations, and keep it in `folder/policy`.

    Ctrl-C keeps the best so far, which can be used, and a checkpoint to go on from.

    Args:
        world: Whose robot, rate and observations; where the policy is tried at the end.
        portions: Which demonstrations, and how often each dataset is drawn from.
        settings: How to learn.
        folder: The run folder.
        start: A policy to begin from; it keeps its shape, its normalizer and what it observes.
        resume: Go on with what is in the folder.
        threads: CPU threads of the physics; 0 takes all. Learning takes one.
        encoders: What makes numbers of the datasets' pictures, for the policy to read beside the
            rest. It then needs them wherever it plays: `seeing`.
        on_progress: Called after each look at the held-out episodes.
    """
    settings = shaped(settings or Cloning(), start)
    contract, found = prepared(world, portions, settings, start, encoders)
    return learned(
        world,
        found,
        contract,
        settings,
        Path(folder),
        start=start,
        resume=resume,
        threads=threads,
        encoders=encoders,
        on_progress=on_progress,
    )


def prepared(
    world: World,
    portions: Sequence[Portion],
    settings: Cloning,
    start: Policy | None,
    encoders: Sequence[Encoder] = (),
) -> tuple[Contract, list[Shown]]:
    """The contract of a policy from these portions, and their demonstrations, read once."""
    if not portions:
        raise TrueupError("There are no demonstrations.", fix="Give at least one dataset.")
    contract = terms(world, portions, offered(portions, world, encoders), settings, start)
    features = contract.interface.observations
    return contract, [shown(portion, world, features, encoders) for portion in portions]


def learned(
    world: World,
    found: Sequence[Shown],
    contract: Contract,
    settings: Cloning,
    folder: Path,
    *,
    start: Policy | None = None,
    resume: bool = False,
    threads: int = 0,
    encoders: Sequence[Encoder] = (),
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Cloned:
    """As `clone`, from demonstrations that were read."""
    work = Work(world, found, contract, settings, folder, start, encoders)
    with torch.random.fork_rng(devices=[]), one_thread():
        why = work.run(resume, on_progress)
    return work.ended(why, threads)


def shaped(settings: Cloning, start: Policy | None) -> Cloning:
    """The settings that a policy to begin from leaves open: a network keeps its shape."""
    if start is None:
        return settings
    chunk = start.contract.chunk
    return replace(
        settings,
        history=start.contract.history,
        chunk=chunk.length if chunk else 1,
        forget=chunk.forget if chunk else settings.forget,
    )
