"""A checkpoint of LeRobot as a policy of ours: same contract, same doors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Never

import numpy as np

from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.policies.interface import Interface
from trueup.policies.lerobot.checkpoint import ENVIRONMENT, STATE, WEIGHTS, Checkpoint
from trueup.policies.lerobot.queue import queue_for
from trueup.policies.lerobot.running import Chunks
from trueup.policies.lerobot.terms import Terms, terms_of
from trueup.policies.policy import Pilot, Policy
from trueup.policies.provenance import Provenance


@dataclass(frozen=True, kw_only=True)
class LerobotPolicy(Policy):
    """A policy that LeRobot trained and that LeRobot's own code runs.

    Attributes:
        checkpoint: What it says of itself.
        terms: How its numbers become ours.
    """

    checkpoint: Checkpoint
    terms: Terms

    @classmethod
    def load(cls, folder: Path | str, dataset: Path | str | None = None) -> LerobotPolicy:
        """Read a checkpoint; its dataset says which joints, units and rate it was trained with."""
        checkpoint = Checkpoint.read(folder)
        terms = terms_of(checkpoint, dataset)
        policy = cls(
            stored=b"",
            contract=terms.contract,
            provenance=_provenance(checkpoint),
            name=str(folder),
            checkpoint=checkpoint,
            terms=terms,
        )
        _ = policy.chunks  # what LeRobot cannot load is told now, not on the robot
        return policy

    @cached_property
    def chunks(self) -> Chunks:
        """LeRobot's policy, ready to answer."""
        return Chunks(self.checkpoint, self.contract.task)

    @property
    def mark(self) -> str:
        return str(self.provenance.files[WEIGHTS]["sha256"])

    def check(self, body: Interface, *, of: str = "the world") -> None:
        """As every policy's; LeRobot keeps no limits of commands, so the body's own hold."""
        face = self.contract.interface
        offered = {feature.name: feature for feature in body.observations}
        known = tuple(
            replace(feature, unit=offered[feature.name].unit)
            if feature.unit == "unstated" and feature.name in offered
            else feature
            for feature in face.observations
        )
        face = replace(face, observations=known, low=body.low, high=body.high)
        face.check(body, policy=f"policy {self.name}", of=of)

    def pilot(self, n: int = 1) -> Pilot:
        return LerobotPilot(self, n)

    def save(self, folder: Path | str) -> Never:
        raise TrueupError(
            f"{self.name} is LeRobot's and is not written as one of ours.",
            fix="Copy its folder, or load it with LeRobot and save it there.",
        )


class LerobotPilot(Pilot):
    """A checkpoint at work: from what is observed now to the next commands.

    Args:
        policy: The policy.
        n: How many bodies it drives at once.
    """

    def __init__(self, policy: LerobotPolicy, n: int = 1) -> None:
        self.n, self._terms, self._chunks = n, policy.terms, policy.chunks
        face = policy.contract.interface
        self._sizes = {feature.name: feature.size for feature in face.observations}
        self._queue = queue_for(policy.checkpoint.config, n, len(face.commands))
        self._begun = False

    def begin(
        self,
        observation: Mapping[str, np.ndarray],
        hold: np.ndarray,
        rows: np.ndarray | slice = slice(None),
    ) -> None:
        self._flat(observation)
        self._queue.begin(rows)
        self._begun = True

    def __call__(self, observation: Mapping[str, np.ndarray]) -> np.ndarray:
        if not self._begun:
            raise TrueupError(
                "The pilot was asked for commands before its episode began.",
                fix="Call begin(observation, hold) first.",
            )
        inputs = self._inputs(self._flat(observation))
        scale, offset = self._terms.action
        answered = self._queue.following(
            lambda rows: self._chunks({key: values[rows] for key, values in inputs.items()})
        )
        commands = answered * scale + offset
        single = np.ndim(observation[next(iter(self._sizes))]) == 1
        return commands[0] if single else commands

    def _inputs(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        """Readings (n, width) under LeRobot's keys, in its units."""
        scale, offset = self._terms.state
        joints = self._sizes[JOINTS]
        inputs = {STATE: (flat[:, :joints] - offset) / scale}
        if flat.shape[1] > joints:
            inputs[ENVIRONMENT] = flat[:, joints:]
        return inputs


def _provenance(checkpoint: Checkpoint) -> Provenance:
    made = (checkpoint.folder / WEIGHTS).stat().st_mtime
    try:
        versions = {"lerobot": metadata.version("lerobot")}
    except metadata.PackageNotFoundError:
        versions = {}
    return Provenance(
        created=datetime.fromtimestamp(made, UTC).isoformat(timespec="seconds"),
        method=f"lerobot/{checkpoint.kind}",
        seed=int(checkpoint.training.get("seed") or 0),
        steps=int(checkpoint.training.get("steps") or 0),
        wall_s=0.0,
        configuration=dict(checkpoint.config),
        versions=versions,
        files=checkpoint.marks,
    )
