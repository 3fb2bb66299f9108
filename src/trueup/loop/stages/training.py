"""Train, retrain, and the controls: policies from reward."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from trueup import train
from trueup.errors import TrueupError
from trueup.evaluate import Evaluation, check_fit, evaluate, piloted, trials
from trueup.files import whole, whole_folder
from trueup.loop.estimates import world_of
from trueup.loop.job import Job
from trueup.loop.lock import locked
from trueup.policies import Policy
from trueup.randomize import plan_named
from trueup.simulate import CpuWorlds, Worlds
from trueup.simulate.advice import advised
from trueup.simulate.rollout import Controller
from trueup.space import Space
from trueup.train import Progress, Trained
from trueup.train.run import CHECKPOINT, POLICY
from trueup.versions import versions
from trueup.worlds.scripted_expert import expert_of

_DONE, _LONGER = "done.json", "longer.json"
_ASKED = 64  # episodes
_TEACHES = 0.5  # of them: who fails more often does not know how it is done there
_ENOUGH = 0.9  # of simulated episodes: who succeeds less often goes on
_MEND = "Mend the world's expert()."


def start(job: Job) -> str:
    """The starting policy: the user's own, or one trained in the nominal world."""
    own = job.settings.policy
    policy = given(job) if own else _cached(job)
    with whole_folder(job.path("train/policy")) as partial:
        shutil.copytree(policy.name, partial, dirs_exist_ok=True)
    found = evaluated(job, policy, Space(()))
    found.save(job.path("train/evaluation.npz"))
    whose = "your policy" if own else f"after {policy.provenance.steps:,} steps"
    return f"{percent(found)} in the nominal simulator, {whose}"


def retrain(job: Job) -> str:
    """A policy for the narrowed space: begun anew, or, where that came to less, tuned."""
    space, settings = Space.load(job.path("narrow/space.json")), job.settings.tune
    start = cache(lambda: _started(job, space).success_share)
    trained, found = _long_enough(tuned, job, job.path("retrain"), space, settings, start)
    anew = trained.policy.provenance.parent is None
    if anew and found.success_share < start():
        folder = job.path("retrain/tuned")
        trained, found = _long_enough(_tuned, job, folder, space, settings, lambda: 0.0)
        with whole_folder(job.path("retrain/policy")) as partial:
            shutil.copytree(folder / POLICY, partial, dirs_exist_ok=True)
        anew = False
    found.save(job.path("retrain/evaluation.npz"))
    how = "" if anew else " of tuning"
    return f"{percent(found)} in the trued-up simulator after {trained.steps:,} steps{how}"


def _long_enough(
    training: Callable[[Job, Path, Space, train.Settings], Trained],
    job: Job,
    folder: Path,
    space: Space,
    settings: train.Settings,
    least: Callable[[], float],
) -> tuple[Trained, Evaluation]:
    """Train, and where that is not enough, by as many steps again; how it went in the end.

    Some robots are hard to drive even for who knows them. Who came to less than the `least` share
    of success is not gone on with. That it goes on is stored, so that a kill changes nothing.
    """
    longer = folder / _LONGER
    if not longer.exists():
        trained = training(job, folder, space, settings)
        found = evaluated(job, trained.policy, space)
        if found.success_share >= _ENOUGH or found.success_share < least():
            return trained, found
        with whole(longer) as partial:
            partial.write_text(json.dumps({"success": found.success_share}) + "\n", "utf-8")
        job.tell(f"{percent(found)} is not enough: as many steps again")
    trained = training(job, folder, space, replace(settings, steps=2 * settings.steps))
    return trained, evaluated(job, trained.policy, space)


def tuned(job: Job, folder: Path, space: Space, settings: train.Settings) -> Trained:
    """Train for a space; goes on where a kill stopped it.

    Where the world has an expert, its lessons in that space are quicker than to teach a policy that
    has learned another one, so the training begins anew. A policy of the user's own is tuned, and
    so is any for a space in which the expert fails itself.
    """
    if not taught(job, space):
        return _tuned(job, folder, space, settings)
    return _trained(job, folder, space, replace(settings, seed=job.settings.seed))


def taught(job: Job, space: Space) -> bool:
    """Whether a policy for a space begins with nothing but the lessons of an expert."""
    world = world_of(job, space)
    expert = None if job.settings.policy else expert_of(world)
    if expert is None:
        return False

    def begin(worlds: Worlds) -> Controller:
        assert isinstance(worlds, CpuWorlds)  # which tell what is true, too
        return lambda step, seen: advised(expert, worlds, fix=_MEND, shared=True)

    points, seeds = trials(space, _ASKED, job.settings.seed + 1)
    found = evaluate(world, begin, points, seeds, threads=job.threads)
    return found.success_share >= _TEACHES


def evaluated(job: Job, policy: Policy, space: Space) -> Evaluation:
    """A policy on fresh episodes of a space."""
    points, seeds = trials(space, job.settings.simulated, job.settings.seed + 1)
    world = world_of(job, space)
    return evaluate(world, piloted(policy), points, seeds, threads=job.threads)


def percent(found: Evaluation) -> str:
    """Success as people say it."""
    return f"{100 * found.success_share:.0f} %"


def _started(job: Job, space: Space) -> Evaluation:
    """The starting policy on the episodes of a space that others are judged by."""
    return evaluated(job, job.policy("train/policy"), space)


def _tuned(job: Job, folder: Path, space: Space, settings: train.Settings) -> Trained:
    settings = replace(settings, seed=job.settings.seed)
    return _trained(job, folder, space, settings, start=job.policy("train/policy"))


def given(job: Job) -> Policy:
    """The user's own policy, which must fit the world."""
    policy = Policy.load(Path(job.settings.policy))
    check_fit(policy, job.world)
    return policy


def _cached(job: Job) -> Policy:
    """The starting policy: trained in the nominal world once, and kept with its provenance."""
    return kept(job, Space(()), job.settings.start)


def kept(job: Job, space: Space, settings: train.Settings) -> Policy:
    """The policy that these settings train in a space, whatever the robot: made once, and kept."""
    settings = replace(settings, seed=job.settings.seed)
    known = versions("mujoco", "numpy", "torch", "rsl-rl-lib")
    made = {"world": job.settings.world, "settings": settings.to_json(), "versions": known}
    if len(space):
        made["space"] = space.to_json()
    key = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:12]
    folder = job.cache / f"{job.settings.world.replace('/', '-')}-{key}"
    with locked(folder, wait=job.tell):  # another run may be making the same policy
        if not (folder / _DONE).exists():
            trained = _trained(job, folder, space, settings)
            with whole(folder / _DONE) as partial:
                partial.write_text(json.dumps({**made, "steps": trained.steps}) + "\n")
        return Policy.load(folder / POLICY)


def _trained(
    job: Job,
    folder: Path,
    space: Space,
    settings: train.Settings,
    *,
    start: Policy | None = None,
) -> Trained:
    run = train.Run(
        folder=folder,
        world=world_of(job, space),
        plan=plan_named("prior", space),
        settings=settings,
        start=start,
        threads=job.threads,
    )
    resume = (folder / CHECKPOINT).exists()
    trained = run.run(resume=resume, on_progress=lambda progress: job.tell(_line(progress)))
    if trained.why == "interrupted":
        raise KeyboardInterrupt
    if not trained.success:
        raise TrueupError(f"The training in {folder} came to no end.", fix="Run it again.")
    return trained


def _line(progress: Progress) -> str:
    look = "" if progress.look is None else f", success {100 * progress.look.share:.0f} %"
    minutes, seconds = divmod(round(progress.left_s), 60)
    return f"{progress.steps / 1e6:.2f} M steps{look}; {minutes}:{seconds:02d} left at most"
