"""A training as a folder: it can be watched, stopped, and gone on with."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trueup.errors import TrueupError
from trueup.files import whole
from trueup.one_thread import one_thread
from trueup.policies import Policy
from trueup.randomize import Plan
from trueup.train.checkpoint import Checkpoint
from trueup.train.look import Success
from trueup.train.progress import Progress
from trueup.train.settings import Settings
from trueup.train.trainer import Trainer
from trueup.worlds import World

POLICY, CHECKPOINT, CONFIGURATION, SPACE, METRICS, LOGS = (
    "policy",
    "checkpoint.pt",
    "configuration.json",
    "space.json",
    "metrics.jsonl",
    "logs",
)


@dataclass(frozen=True, kw_only=True)
class Trained:
    """How a training ended.

    Attributes:
        policy: The best policy, as stored.
        why: "target", "steps" or "interrupted".
        success: Of the stored policy on fresh episodes, by "randomized" and "nominal"; empty where
            the training was interrupted.
        steps: Control steps learned from.
        wall_s: Time it took, pauses not counted.
    """

    policy: Policy
    why: str
    success: dict[str, Success]
    steps: int
    wall_s: float


@dataclass(frozen=True, kw_only=True)
class Run:
    """Trains a policy in a folder of its own.

    The folder holds `policy/` (the best so far), `checkpoint.pt`, `configuration.json`,
    `metrics.jsonl` and TensorBoard's `logs/`. Ctrl-C ends the current update, saves both and
    returns; a second one ends at once and leaves what was last saved.

    Args:
        folder: Where.
        world: The world.
        plan: What differs between episodes.
        settings: How to train.
        start: A policy to begin from.
        threads: CPU threads; 0 takes all.
    """

    folder: Path
    world: World
    plan: Plan
    settings: Settings
    start: Policy | None = None
    threads: int = 0

    def run(
        self,
        *,
        resume: bool = False,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> Trained:
        """Train until the target is reached, the steps are used up, or somebody interrupts."""
        with torch.random.fork_rng(devices=[]), one_thread():
            trainer = self._trainer(resume)
            self._write_configuration(trainer)
            with (
                _Log(self.folder, trainer.update, self.settings.update) as log,
                _interruption() as stopped,
            ):
                return self._loop(trainer, log, stopped, on_progress)

    def _loop(
        self,
        trainer: Trainer,
        log: _Log,
        stopped: threading.Event,
        on_progress: Callable[[Progress], None],
    ) -> Trained:
        looking = trainer.untouched  # what is tuned is looked at first, and stays if it is the best
        while not trainer.done and not stopped.is_set():
            if not looking:
                progress = trainer.learn()
                log.add(progress)
                on_progress(progress)
            found = self._look(trainer, log) if looking or trainer.due else {}
            looking = False
            if found and trainer.judge.reached(found):
                return self._ended(trainer, "target", found)
            if trainer.update and trainer.keepable and not trainer.done:
                trainer.checkpoint().save(self.folder / CHECKPOINT)
        if not trainer.done:
            return self._ended(trainer, "interrupted", {})
        trainer.snapshot().save(self.folder / CHECKPOINT)
        return self._ended(trainer, "steps", trainer.confirm(), kept=True)

    def _look(self, trainer: Trainer, log: _Log) -> dict[str, Success]:
        """Look at the policy and keep the best; what a closer look found, if one was worth it."""
        log.look(trainer, "look", trainer.look())
        trainer.policy().save(self.folder / POLICY)
        early = trainer.update * self.settings.update < self.settings.least
        if early or not trainer.judge.promising:
            return {}
        found = trainer.confirm(whole=False)
        for name, success in found.items():
            log.look(trainer, name, success)
        return found

    def _ended(
        self, trainer: Trainer, why: str, found: dict[str, Success], *, kept: bool = False
    ) -> Trained:
        outcome: dict[str, Any] = {"ended": why, "label": "sim-to-sim"}
        outcome |= {name: success.to_json() for name, success in found.items()}
        if not kept:
            trainer.snapshot().save(self.folder / CHECKPOINT)
        policy = trainer.policy(outcome=outcome).save(self.folder / POLICY)
        return Trained(
            policy=policy,
            why=why,
            success=found,
            steps=trainer.update * self.settings.update,
            wall_s=trainer.wall_s,
        )

    def _trainer(self, resume: bool) -> Trainer:
        path = self.folder / CHECKPOINT
        if not resume:
            if path.exists():
                raise TrueupError(
                    f"{self.folder} already holds a training.",
                    fix="Go on with it (--resume), or choose another folder (--out).",
                )
            return Trainer(
                self.world, self.plan, self.settings, start=self.start, threads=self.threads
            )
        checkpoint = Checkpoint.load(path)
        return Trainer(
            self.world,
            self.plan,
            self.settings,
            start=self.start,
            threads=self.threads,
            checkpoint=checkpoint,
            where=str(path),
        )

    def _write_configuration(self, trainer: Trainer) -> None:
        stored = {
            "world": self.world.name,
            "plan": self.plan.name,
            "settings": self.settings.to_json(),
            "start": None if self.start is None else self.start.name,
            "identity": trainer.identity(),
        }
        with whole(self.folder / CONFIGURATION) as partial:
            partial.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        self.plan.space.save(self.folder / SPACE)


class _Log:
    """Metrics as they come: lines of JSON, and TensorBoard's own files."""

    def __init__(self, folder: Path, update: int, each: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        path = folder / METRICS
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _keep_lines(path, update)
            self._lines = path.open("a", encoding="utf-8")
            _wait_for_a_later_name(folder / LOGS)
            self._board = SummaryWriter(folder / LOGS, purge_step=update * each + 1)
        except OSError as error:
            raise TrueupError(
                f"{folder} could not be written: {error.strerror or error}.",
                fix="Choose another place with --out.",
            ) from error

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._board.close()

    def add(self, progress: Progress) -> None:
        """One update."""
        numbers = {
            "success/exploring": progress.exploring,
            "reward": progress.reward,
            "spread": progress.spread,
            "steps_per_s": progress.steps_per_s,
            "learning_rate": progress.learning_rate,
            **{f"loss/{name}": value for name, value in progress.losses.items()},
        }
        self._write(progress.update, progress.steps, numbers)

    def look(self, trainer: Trainer, name: str, success: Success) -> None:
        """One look at the policy without exploration."""
        steps = trainer.update * trainer.settings.update
        self._write(trainer.update, steps, {f"success/{name}": success.share})

    def _write(self, update: int, steps: int, numbers: dict[str, float]) -> None:
        known = {name: value for name, value in numbers.items() if np.isfinite(value)}
        self._lines.write(json.dumps({"update": update, "steps": steps, **known}) + "\n")
        self._lines.flush()
        for name, value in known.items():
            self._board.add_scalar(name, value, steps)


def _wait_for_a_later_name(folder: Path) -> None:
    """Until no file of TensorBoard's has the present second in its name.

    Files are read in the order of their names, which says nothing of two in one second: the older
    one may then be taken for what follows the newer.
    """
    stamps = (path.name.split(".")[3] for path in folder.glob("events.out.tfevents.*"))
    newest = max((int(stamp) for stamp in stamps if stamp.isdigit()), default=0)
    while 0.0 < (left := newest + 1.0 - time.time()) <= 1.0:
        time.sleep(left)


def _keep_lines(path: Path, update: int) -> None:
    """Drop what was logged after the checkpoint that is gone on from: it is done again."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line.endswith("\n") and json.loads(line)["update"] <= update]
    with whole(path) as partial:
        partial.write_text("".join(kept), encoding="utf-8")


@contextmanager
def _interruption() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; the second one interrupts as usual."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(signum: int, frame: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {kind: signal.signal(kind, stop) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
