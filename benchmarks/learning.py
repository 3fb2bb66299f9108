"""Trainings that the rows share: each in a folder of its own, begun once, never done twice."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

import trueup
from trueup import worlds
from trueup.cli.train import Teller
from trueup.errors import TrueupError
from trueup.files import whole
from trueup.randomize import Plan
from trueup.space import Space
from trueup.train import Run, Settings
from trueup.versions import versions

_PACKAGES = ("mujoco", "numpy", "torch", "rsl-rl-lib", "onnxruntime")


@dataclass(kw_only=True)
class Record:
    """One training that is over, as its JSON file keeps it.

    Attributes:
        task: The world.
        plan: How points were drawn, by name.
        space: Mark of the space they were drawn from.
        settings: Every setting.
        ended: Why it ended: "target" or "steps".
        steps: Control steps learned from.
        wall_s: Seconds on the clock, from opening the world to the stored policy; of an
            interrupted training, those of its updates and looks.
        got_cores: Processor seconds by seconds on the clock; None if it was interrupted.
        policy: Where the policy is.
        claimed: Success as the training itself measured it at its end.
        evaluation: What a row measured afterwards.
        date: When it ended.
        cores: Of the machine.
        versions: Of what computed.
        source: Mark of the package's code.
    """

    task: str
    plan: str
    space: str
    settings: dict[str, Any]
    ended: str
    steps: int
    wall_s: float
    got_cores: float | None
    policy: str
    claimed: dict[str, Any]
    evaluation: dict[str, Any] = field(default_factory=dict)
    date: str = ""
    cores: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    source: str = ""

    @property
    def seed(self) -> int:
        """The seed it was trained with."""
        return self.settings["seed"]

    def save(self, folder: Path) -> None:
        """Write beside the folder of the training."""
        with whole(_file(folder)) as partial:
            text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
            partial.write_text(text + "\n", encoding="utf-8")


def trained(
    folder: Path, task: str, plan_of: Callable[[Space], Plan], settings: Settings
) -> Record:
    """The record of a training: found, gone on with, or made now.

    Args:
        folder: The run folder; the record is a JSON file of that name beside it.
        task: The world.
        plan_of: From the world's default space to the plan.
        settings: How to train.
    """
    if _file(folder).exists():
        record = _load(folder)
        _check(record, task, plan_of(worlds.get(task).space), settings, _file(folder))
        return record
    record = _train(folder, task, plan_of, settings)
    record.save(folder)
    return record


def _train(folder: Path, task: str, plan_of: Callable[[Space], Plan], settings: Settings) -> Record:
    resumed = (folder / "checkpoint.pt").exists()
    clock_s, processor_s = time.perf_counter(), time.process_time()
    world = worlds.get(task)
    plan = plan_of(world.space)
    run = Run(folder=folder, world=world, plan=plan, settings=settings)
    with Teller(quiet=False) as teller:
        result = run.run(resume=resumed, on_progress=teller.tell)
    if result.why == "interrupted":
        raise KeyboardInterrupt
    clock_s, processor_s = time.perf_counter() - clock_s, time.process_time() - processor_s
    return Record(
        task=task,
        plan=plan.name,
        space=_mark(plan.space),
        settings=_plain(settings),
        ended=result.why,
        steps=result.steps,
        wall_s=result.wall_s if resumed else clock_s,
        got_cores=None if resumed else processor_s / clock_s,
        policy=str(result.policy.name),
        claimed={name: success.to_json() for name, success in result.success.items()},
        date=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        cores=os.cpu_count(),
        versions=versions(*_PACKAGES),
        source=source_mark(),
    )


def source_mark() -> str:
    """A short mark of the code that trains, so that a record of other code can be told."""
    root = Path(trueup.__file__).parent
    mark = hashlib.sha256()
    for path in sorted(set(root.rglob("*.py")) - set((root / "cli").rglob("*.py"))):
        mark.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return mark.hexdigest()[:12]


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch use one thread and its own random numbers, as a training run does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_num_threads(before)


def _file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")


def _load(folder: Path) -> Record:
    path = _file(folder)
    try:
        return Record(**json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise TrueupError(
            f"{path} is not the record of a training: {error}.",
            fix="Remove it, or choose another folder with --out.",
        ) from error


def _check(record: Record, task: str, plan: Plan, settings: Settings, path: Path) -> None:
    """Refuse the record of another training: its numbers would be passed off as these."""
    wanted = {"task": task, "plan": plan.name, "space": _mark(plan.space), **_plain(settings)}
    found = {"task": record.task, "plan": record.plan, "space": record.space, **record.settings}
    for name, value in wanted.items():
        if found.get(name) != value:
            raise TrueupError(
                f"{path} is of another training: its {name} is {found.get(name)!r}, and {value!r} "
                "was asked for.",
                fix="Choose another folder with --out, or move that one away.",
            )


def _mark(space: Space) -> str:
    return hashlib.sha256(json.dumps(space.to_json(), sort_keys=True).encode()).hexdigest()[:12]


def _plain(settings: Settings) -> dict[str, Any]:
    """Settings as they come back from a file."""
    return json.loads(json.dumps(settings.to_json()))
