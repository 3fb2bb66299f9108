"""Learning from demonstrations in a folder: it can be watched, stopped, and gone on with."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from trueup.errors import TrueupError
from trueup.files import whole
from trueup.policies import Contract, Policy, Provenance
from trueup.space import Space
from trueup.train.beginning import parent_of
from trueup.train.imitation.checkpoint import Checkpoint
from trueup.train.imitation.demonstrations import Shown
from trueup.train.imitation.learner import Learner
from trueup.train.imitation.lessons import Lessons
from trueup.train.imitation.pictures import Encoder, seeing
from trueup.train.imitation.result import Cloned, Progress
from trueup.train.imitation.settings import Cloning
from trueup.train.imitation.terms import held_out
from trueup.train.look import Success, success_of
from trueup.versions import versions
from trueup.worlds import World

POLICY, CHECKPOINT, CONFIGURATION, METRICS = (
    "policy",
    "checkpoint.pt",
    "configuration.json",
    "metrics.jsonl",
)
METHOD = "cloning"


class Work:
    """A cloning while it runs.

    Args:
        world: Where the policy is tried.
        found: Demonstrations, portion by portion.
        contract: What the policy sees and answers.
        settings: How to learn.
        folder: The run folder.
        start: A policy to begin from.
        encoders: What makes numbers of pictures where it is played.
    """

    def __init__(
        self,
        world: World,
        found: Sequence[Shown],
        contract: Contract,
        settings: Cloning,
        folder: Path,
        start: Policy | None,
        encoders: Sequence[Encoder] = (),
    ) -> None:
        self.world, self.shown, self.contract = world, found, contract
        self.settings, self.folder, self.start = settings, folder, start
        self.encoders = encoders
        self.portions = [one.portion for one in found]
        self.taught, self.judges = _divided(self.shown, settings, self.contract)
        self.wall_s, self.waited = 0.0, 0
        self.best = (float("inf"), b"")

    def run(self, resume: bool, tell: Callable[[Progress], None]) -> str:
        """Learn until the steps are used up, nothing gets better, or somebody interrupts."""
        self.learner = Learner(self.taught, self.contract, self.settings, self.start)
        self._take_up(resume)
        self._write_configuration()
        why = "steps"
        try:
            while self.learner.step < self.settings.steps:
                self._stretch(tell)
                if self.waited >= self.settings.patience:
                    why = "patience"
                    break
        except KeyboardInterrupt:
            why = "interrupted"
        if not self.best[1]:
            self.best = (self.learner.error(self.judges), self.learner.stored())
        return why

    def _stretch(self, tell: Callable[[Progress], None]) -> None:
        """Learn, look, keep."""
        began, s = perf_counter(), self.settings
        done = self.learner.step
        error = self.learner.learn(min(s.look_every, s.steps - done))
        found = self.learner.error(self.judges)
        self.waited = 0 if found < self.best[0] else self.waited + 1
        if found < self.best[0]:
            self.best = (found, self.learner.stored())
        self.wall_s += perf_counter() - began
        self._checkpoint().save(self.folder / CHECKPOINT)
        left = (s.steps - self.learner.step) * self.wall_s / self.learner.step
        progress = Progress(
            step=self.learner.step, steps=s.steps, error=error, held_out=found, left_s=left
        )
        with (self.folder / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(vars(progress)) + "\n")
        tell(progress)

    def ended(self, why: str, threads: int) -> Cloned:
        """Store the best, and play it where that was asked for."""
        policy = self._policy({"ended": why}).save(self.folder / POLICY)
        success = {} if why == "interrupted" else self._success(policy, threads)
        outcome = {"ended": why, **{name: s.to_json() for name, s in success.items()}}
        return Cloned(
            policy=self._policy(outcome).save(self.folder / POLICY),
            why=why,
            error=self.best[0],
            success=success,
            steps=self.learner.step,
            demonstrations=self._demonstrations(),
            passed_over={str(s.portion.dataset): s.passed_over for s in self.shown},
            clipped=self.taught.clipped,
            wall_s=self.wall_s,
        )

    def _success(self, policy: Policy, threads: int) -> dict[str, Success]:
        n, seed = self.settings.confirm_episodes, self.settings.seed
        if not n:
            return {}
        spaces = {"nominal": Space(())}
        spaces |= {"randomized": self.contract.space} if len(self.contract.space) else {}
        begin = seeing(policy, self.encoders) if self.encoders else None
        return {
            name: success_of(
                policy, self.world, space, n, [seed, 0, i + 1], threads=threads, begin=begin
            )
            for i, (name, space) in enumerate(spaces.items())
        }

    def _policy(self, outcome: dict[str, Any]) -> Policy:
        return Policy(
            stored=self.best[1],
            contract=self.contract,
            provenance=Provenance(
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                method=METHOD,
                seed=self.settings.seed,
                steps=self.learner.step * self.settings.batch,
                wall_s=self.wall_s,
                configuration={
                    **self.settings.to_json(),
                    "portions": [portion.to_json() for portion in self.portions],
                    "demonstrations": self._demonstrations(),
                },
                versions=versions("mujoco", "numpy", "torch"),
                outcome={
                    "label": "sim-to-sim",
                    "held_out_error": self.best[0],
                    "clipped": self.taught.clipped,
                    **outcome,
                },
                parent=None if self.start is None else parent_of(self.start),
            ),
        )

    def _demonstrations(self) -> dict[str, int]:
        return {str(s.portion.dataset): len(s.episodes) for s in self.shown}

    def _take_up(self, resume: bool) -> None:
        path = self.folder / CHECKPOINT
        if resume:
            stored = Checkpoint.load(path, self._identity())
            self.learner.restore(stored.learner)
            self.best, self.waited, self.wall_s = stored.best, stored.waited, stored.wall_s
        elif path.exists():
            raise TrueupError(
                f"{self.folder} already holds a training.",
                fix="Go on with it (--resume), or choose another folder (--out).",
            )

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            learner=self.learner.state(),
            best=self.best,
            waited=self.waited,
            wall_s=self.wall_s,
            identity=self._identity(),
        )

    def _identity(self) -> dict[str, Any]:
        settings = self.settings.to_json()
        del settings["confirm_episodes"], settings["patience"]
        names = [encoder.name for encoder in self.encoders]
        return {
            **({"encoders": names} if names else {}),
            "world": self.world.name,
            "start": None if self.start is None else parent_of(self.start)["sha256"],
            "portions": [portion.to_json() for portion in self.portions],
            "frames": len(self.taught),
            **settings,
        }

    def _write_configuration(self) -> None:
        with whole(self.folder / CONFIGURATION) as partial:
            partial.write_text(json.dumps(self._identity(), indent=1) + "\n", encoding="utf-8")


def _divided(
    found: Sequence[Shown], settings: Cloning, contract: Contract
) -> tuple[Lessons, Lessons]:
    """What is learned from, and what is judged by."""
    out = [held_out(one, settings, only=len(found) == 1) for one in found]
    if not any(out):  # few of each: the largest gives one
        largest = max(range(len(found)), key=lambda i: len(found[i].episodes))
        out[largest] = held_out(found[largest], settings, only=True)
    left = [tuple(i for i in one.episodes if i not in o) for one, o in zip(found, out, strict=True)]
    weights = [one.portion.weight for one in found]
    taught = Lessons(
        [one.of(kept) for one, kept in zip(found, left, strict=True)], weights, contract
    )
    judged = [(one.of(o), w) for one, o, w in zip(found, out, weights, strict=True) if o]
    judges, shares = zip(*judged, strict=True)
    silent = not any(w is None or w > 0 for w in shares)  # nothing that is learned is held out
    return taught, Lessons(judges, [None] * len(judges) if silent else shares, contract)
