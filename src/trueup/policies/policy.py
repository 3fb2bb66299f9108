"""The artefact: `policy.onnx`, `contract.json`, `provenance.json` in one folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from trueup.errors import TrueupError
from trueup.files import whole_folder
from trueup.policies.chunks import Ahead
from trueup.policies.contract import Contract
from trueup.policies.interface import Interface
from trueup.policies.network import Network
from trueup.policies.provenance import Provenance

NETWORK, CONTRACT, PROVENANCE = "policy.onnx", "contract.json", "provenance.json"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A network with its contract and its provenance.

    Attributes:
        stored: The ONNX file.
        contract: The terms it was trained under.
        provenance: Where it comes from.
        name: What to call it in messages: its folder.
    """

    stored: bytes
    contract: Contract
    provenance: Provenance
    name: str = "the policy"

    @cached_property
    def network(self) -> Network:
        """The network, ready to answer."""
        return Network(
            self.stored,
            inputs=self.contract.inputs,
            outputs=self.contract.outputs,
            where=f"{self.name}/{NETWORK}",
        )

    @property
    def mark(self) -> str:
        """What tells its network from others: a SHA-256; empty where it was never stored."""
        return str(self.provenance.files.get(NETWORK, {}).get("sha256", ""))

    def check(self, body: Interface, *, of: str = "the world") -> None:
        """Refuse a body that it was not trained for, naming both sides."""
        self.contract.interface.check(body, policy=f"policy {self.name}", of=of)

    def pilot(self, n: int = 1) -> Pilot:
        """Something that drives n bodies, each with a memory of its own."""
        return Pilot(self, n)

    def save(self, folder: Path | str) -> Policy:
        """Write the folder, whole or not at all; returns the policy as it is stored there."""
        folder = Path(folder)
        files = {NETWORK: self.stored, CONTRACT: self.contract.to_json().encode()}
        provenance = replace(
            self.provenance, files={name: _mark(content) for name, content in files.items()}
        )
        with whole_folder(folder) as partial:
            for name, content in (*files.items(), (PROVENANCE, provenance.to_json().encode())):
                (partial / name).write_bytes(content)
        return replace(self, provenance=provenance, name=str(folder))

    @classmethod
    def load(cls, folder: Path | str) -> Policy:
        """Read a folder that `save` wrote. Nothing in it is executed or unpickled."""
        folder = Path(folder)
        read = {name: _read(folder, name) for name in (NETWORK, CONTRACT, PROVENANCE)}
        provenance = Provenance.from_json(
            _text(read[PROVENANCE], folder / PROVENANCE), str(folder / PROVENANCE)
        )
        for name in (NETWORK, CONTRACT):
            _check_mark(folder / name, read[name], provenance.files.get(name))
        policy = cls(
            stored=read[NETWORK],
            contract=Contract.from_json(
                _text(read[CONTRACT], folder / CONTRACT), str(folder / CONTRACT)
            ),
            provenance=provenance,
            name=str(folder),
        )
        _ = policy.network  # a network that does not fit is told now, not on the robot
        return policy


class Pilot:
    """A policy at work: from what is observed now to the next commands.

    Args:
        policy: The policy.
        n: How many bodies it drives at once.
    """

    def __init__(self, policy: Policy, n: int = 1) -> None:
        contract = policy.contract
        self.n, self._contract = n, contract
        self._network, self._drive = policy.network, contract.drive()
        self._sizes = {feature.name: feature.size for feature in contract.interface.observations}
        self._memory = contract.memory(n)
        servos = len(contract.interface.commands)
        self._ahead = None if contract.chunk is None else Ahead(n, servos, contract.chunk)
        self._begun, self._fresh = False, np.zeros(n, bool)

    def begin(
        self,
        observation: Mapping[str, np.ndarray],
        hold: np.ndarray,
        rows: np.ndarray | slice = slice(None),
    ) -> None:
        """Start episodes: what was before is forgotten.

        Args:
            observation: What all n bodies observe now, (n, size) by name.
            hold: (n, nu) the commands that keep every servo where it is.
            rows: Which bodies; all by default.
        """
        flat = self._flat(observation)
        self._memory.begin(rows, flat[rows], np.atleast_2d(hold)[rows])
        if self._ahead is not None:
            self._ahead.begin(rows)
        self._fresh[rows] = True
        self._begun = True

    def __call__(self, observation: Mapping[str, np.ndarray]) -> np.ndarray:
        """Commands (n, nu) for what is observed now, (n, size) by name; call it once a period.

        For one body, arrays without the leading axis will do, and are answered in kind.
        """
        if not self._begun:
            raise TrueupError(
                "The pilot was asked for commands before its episode began.",
                fix="Call begin(observation, hold) first.",
            )
        flat = self._flat(observation)
        self._memory.see(flat)
        if self._fresh.any():  # the first observation was already taken in by begin
            rows = np.flatnonzero(self._fresh)
            self._memory.begin(rows, flat[rows], self._memory.targets[rows])
            self._fresh[:] = False
        answer = self._network(self._memory.input)
        if self._ahead is not None:
            answer = self._ahead(answer)
        measured = self._contract.interface.measured
        joints = self._memory.targets
        if measured is not None:
            joints = np.reshape(observation[measured], (self.n, -1))
        self._memory.targets = self._drive.moved(self._memory.targets, answer, joints)
        single = np.ndim(observation[next(iter(self._sizes))]) == 1
        commands = self._memory.targets.copy()
        return commands[0] if single else commands

    def _flat(self, observation: Mapping[str, np.ndarray]) -> np.ndarray:
        missing = [name for name in self._sizes if name not in observation]
        if missing:
            raise TrueupError(
                f"The observation has no {missing[0]!r}, which the policy reads.",
                fix="Check the body with policy.check before the first step.",
            )
        parts = [self._part(name, size, observation[name]) for name, size in self._sizes.items()]
        return np.concatenate(parts, axis=1)

    def _part(self, name: str, size: int, values: np.ndarray) -> np.ndarray:
        """One signal of all bodies (n, size); without the leading axis where there is one body."""
        given = np.asarray(values)
        if given.shape != (self.n, size) and not (self.n == 1 and given.shape == (size,)):
            raise TrueupError(
                f"The observation {name!r} has the shape {given.shape}; the policy reads "
                f"{(self.n, size)}: {self.n} × {size} numbers.",
                fix="Give one row for each body, in the order of the policy's contract.",
            )
        return given.reshape(self.n, size)


def _mark(content: bytes) -> dict[str, str | int]:
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def _check_mark(path: Path, content: bytes, mark: dict | None) -> None:
    """Refuse a file that is not the one that was saved."""
    found = _mark(content)
    if mark == found:
        return
    if mark is None:
        what = f"{path} is not mentioned in {PROVENANCE}."
    elif mark.get("bytes") != found["bytes"]:
        what = f"{path} has {found['bytes']} bytes, but {mark.get('bytes')} were saved."
    else:
        what = f"{path} is not the file that was saved: its content has changed."
    raise TrueupError(what, fix="Take the whole policy folder again from where it was trained.")


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except FileNotFoundError:
        there = folder.is_dir()
        what = f"The policy folder {folder} has no {name}." if there else f"No policy at {folder}."
        raise TrueupError(
            what, fix=f"A policy is a folder with {NETWORK}, {CONTRACT} and {PROVENANCE}."
        ) from None
    except OSError as error:
        raise TrueupError(
            f"{folder / name} could not be read: {error.strerror or error}.",
            fix=f"A policy is a folder with {NETWORK}, {CONTRACT} and {PROVENANCE}.",
        ) from error


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TrueupError(
            f"{path} is not text.",
            fix="Take the whole policy folder again from where it was trained.",
        ) from error
