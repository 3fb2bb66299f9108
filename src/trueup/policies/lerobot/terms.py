"""What a checkpoint leaves out: joints, order, units and rate, from the dataset it learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup.episodes import Dataset
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.episodes.packing import ENVIRONMENT as PACKED
from trueup.episodes.packing import parts_of
from trueup.episodes.storage.features import UNSTATED, Signal
from trueup.episodes.units import SO101, JointUnits, to_radians
from trueup.errors import TrueupError
from trueup.policies.contract import Contract
from trueup.policies.interface import Feature, Interface
from trueup.policies.lerobot.checkpoint import ACTION, ENVIRONMENT, STATE, Checkpoint
from trueup.space import Space

_LOOKED_AT = 16  # episodes, for how fast commands move
_FULL_TURN = 2.0 * np.pi


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Under which terms LeRobot's numbers become ours, and back.

    Attributes:
        contract: Ours: radians, joints by name, signals by name.
        state: (scale, offset) of each joint that is read: reading × scale + offset is in rad.
        action: The same of each joint that is commanded.
    """

    contract: Contract
    state: tuple[np.ndarray, np.ndarray]
    action: tuple[np.ndarray, np.ndarray]


def terms_of(checkpoint: Checkpoint, dataset: Path | str | None = None) -> Terms:
    """The terms of a checkpoint, from its dataset; by default the one that its training names."""
    folder = dataset or checkpoint.dataset
    if folder is None:
        raise TrueupError(
            f"{checkpoint.folder} does not say which joints it moves, in which units and how "
            "often: LeRobot keeps that in the dataset, which is not here.",
            fix="Say where it is: lerobot:FOLDER@DATASET.",
        )
    opened = Dataset.open(folder)
    if not len(opened):
        raise TrueupError(f"{folder} has no episodes.", fix="Give the dataset it was trained on.")
    signals = {signal.name: signal for signal in opened.info.features.signals}
    sides = ((COMMAND, ACTION), (JOINTS, STATE), (PACKED, ENVIRONMENT))
    read = {name: _fitting(signals, name, key, checkpoint, opened) for name, key in sides}
    command, state, environment = (read[name] for name, _ in sides)
    assert command is not None and state is not None
    joints, measured = (_joints(signal, opened) for signal in (command, state))
    features = [Feature(name=JOINTS, size=len(measured), unit="rad")]
    if environment is not None:
        features += [
            Feature(name=part.name, size=part.size, unit=part.unit)
            for part in parts_of(environment.names, environment.unit)
        ]
    action = _radians(command, joints, opened)
    contract = Contract(
        world=str(opened.about(0).origin.get("world", "")),
        task=opened.task(0) or checkpoint.kind,
        interface=_interface(joints, measured, features, opened.info.fps),
        history=1,
        lead=(_FULL_TURN,) * len(joints),
        rate=_rate(opened, action),
        space=Space(()),
    )
    return Terms(contract=contract, state=_radians(state, measured, opened), action=action)


def _interface(
    joints: tuple[str, ...], measured: tuple[str, ...], features: list[Feature], fps: float
) -> Interface:
    return Interface(
        observations=tuple(features),
        commands=joints,
        unit=("rad",) * len(joints),
        low=(-np.inf,) * len(joints),
        high=(np.inf,) * len(joints),
        period_s=1.0 / fps,
        measured=JOINTS if measured == joints else None,
    )


def _fitting(
    signals: dict[str, Signal], name: str, key: str, checkpoint: Checkpoint, dataset: Dataset
) -> Signal | None:
    """The signal of the dataset that lies under one of LeRobot's keys, of the size that is read."""
    wanted, signal = checkpoint.size(key), signals.get(name)
    if wanted is None:
        return None
    there = None if signal is None else len(signal.names)
    if there != wanted:
        has = "has none" if there is None else f"has {there}"
        raise TrueupError(
            f"{checkpoint.folder} takes {wanted} numbers as {key!r}, and the dataset "
            f"{dataset.folder} {has}.",
            fix="Give the dataset it was trained on: lerobot:FOLDER@DATASET.",
        )
    return signal


def _joints(signal: Signal, dataset: Dataset) -> tuple[str, ...]:
    joints = tuple(name.removesuffix(".pos") for name in signal.names)
    numbered = [f"{signal.name}_{i}" for i in range(len(joints))]
    if list(joints) == numbered:
        raise TrueupError(
            f"{dataset.folder} does not name the columns of {signal.key!r}, so nobody knows which "
            "joint is which.",
            fix="Name them in the features of meta/info.json, as LeRobot's recorder does.",
        )
    return joints


def _radians(
    signal: Signal, joints: Sequence[str], dataset: Dataset
) -> tuple[np.ndarray, np.ndarray]:
    units = JointUnits.of(signal.unit)
    if units is None:
        said = "does not say" if signal.unit == UNSTATED else f"says {signal.unit!r}"
        raise TrueupError(
            f"{dataset.folder} {said} in which unit {signal.key!r} is.",
            fix="State it, and name the copy: `trueup episodes convert DATASET --out COPY "
            "--read-as degrees --units degrees`, then lerobot:FOLDER@COPY.",
        )
    return to_radians(units, joints, SO101)


def _rate(dataset: Dataset, action: tuple[np.ndarray, np.ndarray]) -> tuple[float, ...]:
    """How fast its commands may move, rad/s: as fast as they ever did in what it learned from."""
    fastest = np.full(len(action[0]), 1e-3)
    for i in range(min(_LOOKED_AT, len(dataset))):
        told = dataset[i][COMMAND].values.astype(float) * action[0] + action[1]
        steps = np.abs(np.diff(told, axis=0)) * dataset.info.fps
        fastest = np.maximum(fastest, np.nanmax(steps, axis=0, initial=0.0))
    return tuple(fastest.tolist())
