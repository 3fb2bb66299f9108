"""Controls: the same training steps, spent without what the loop found out.

A method that does not beat them is not a method.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from trueup import train
from trueup.files import whole_folder
from trueup.loop.estimates import identified_in
from trueup.loop.job import Job
from trueup.loop.stages.training import kept, taught, tuned
from trueup.loop.stages.trying import told, tried
from trueup.space import Space


def _nominal(job: Job) -> Space:
    return Space(())


def _uniform(job: Job) -> Space:
    return job.world.space


def _mean(job: Job) -> Space:
    world, values = identified_in(job, job.world)
    return world.catalogue.select(*values).pinned(values)


CONTROLS: Mapping[str, tuple[str, Callable[[Job], Space]]] = {
    "nominal": ("more training in the nominal world", _nominal),
    "uniform": ("everything randomized as widely as the catalogue says", _uniform),
    "mean": ("the identified values without their uncertainty", _mean),
}
"""By name: what it is in words, and the space it is trained in."""
_OF_NO_ROBOT = ("nominal", "uniform")


def of(name: str) -> Callable[[Job], str]:
    """What the stage of a control does."""
    return partial(_controlled, name)


def _controlled(name: str, job: Job) -> str:
    words, space_of = CONTROLS[name]
    steps = job.policy("retrain/policy").provenance.steps
    settings = replace(job.settings.tune, steps=steps, target=1.0, target_nominal=1.0)
    _train(name, job, space_of(job), settings)
    found = tried(job, f"controls/{name}/policy", f"controls/{name}", check=False)
    return f"{words}: {told(found)}"


def _train(name: str, job: Job, space: Space, settings: train.Settings) -> None:
    """What knows nothing of the robot serves every robot: it is trained once, and kept."""
    folder = job.path(f"controls/{name}")
    if name not in _OF_NO_ROBOT or not taught(job, space):
        tuned(job, folder, space, settings)
        return
    policy = kept(job, space, settings)
    with whole_folder(folder / "policy") as partial:
        shutil.copytree(policy.name, partial, dirs_exist_ok=True)
