"""Answers for steps to come: what is sent is the mean of all that was answered for this step."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.train.rigs import trained
from trueup.errors import TrueupError
from trueup.policies import Ahead, Chunk, Contract, Layer, Policy, network_bytes

LENGTH, SERVOS = 4, 2


def answered(step: int, n: int = 1) -> np.ndarray:
    """Numbers that say when they were answered and for which step: 100 × then + for."""
    ahead = 100.0 * step + step + np.arange(LENGTH)
    return np.tile(np.repeat(ahead, SERVOS), (n, 1))


@pytest.mark.parametrize("forget", [0.0, 0.3, 5.0])
def test_it_is_the_mean_of_what_was_answered_for_the_step(forget):
    ahead = Ahead(1, SERVOS, Chunk(length=LENGTH, forget=forget))
    for step in range(9):
        sent = ahead(answered(step))
        thens = np.arange(max(0, step - LENGTH + 1), step + 1)
        weights = np.exp(-forget * (step - thens))
        wanted = (weights * (100.0 * thens + step)).sum() / weights.sum()
        np.testing.assert_allclose(sent, np.full((1, SERVOS), wanted), rtol=1e-12)


def test_a_row_that_begins_forgets_and_the_others_do_not():
    chunk = Chunk(length=LENGTH, forget=0.2)
    both, fresh = Ahead(2, SERVOS, chunk), Ahead(1, SERVOS, chunk)
    for step in range(3):
        both(answered(step, 2))
    both.begin(np.array([1]))
    sent, alone = both(answered(3, 2)), fresh(answered(3))
    np.testing.assert_array_equal(sent[1], alone[0])
    assert sent[0, 0] != sent[1, 0]


def chunked(chunk: Chunk) -> Policy:
    """A policy with lively answers, so many steps ahead."""
    policy = trained()
    contract = replace(policy.contract, chunk=chunk)
    generator = np.random.default_rng(2)
    layers = [
        Layer(generator.normal(size=(16, contract.inputs)), generator.normal(size=16)),
        Layer(generator.normal(size=(contract.outputs, 16)), np.zeros(contract.outputs)),
    ]
    stored = network_bytes(
        mean=np.zeros(contract.inputs), scale=np.ones(contract.inputs), layers=layers
    )
    return replace(policy, stored=stored, contract=contract)


def flown(policy: Policy, readings: np.ndarray, breaks: list[int]) -> np.ndarray:
    """(steps, n) commands for readings (steps, n, 3); all episodes begin anew at `breaks`."""
    n = readings.shape[1]
    pilot, hold, sent = policy.pilot(n), np.zeros((n, 1)), []
    names = [feature.name for feature in policy.contract.interface.observations]
    for step, now in enumerate(readings):
        seen = {name: now[:, i : i + 1] for i, name in enumerate(names)}
        if step in breaks:
            pilot.begin(seen, hold)
        sent.append(pilot(seen)[:, 0])
    return np.array(sent)


def test_each_body_has_chunks_of_its_own():
    policy = chunked(Chunk(length=5, forget=0.1))
    readings = np.random.default_rng(0).normal(size=(12, 3, 3))
    together = flown(policy, readings, [0, 6])
    for i in range(3):
        alone = flown(policy, readings[:, i : i + 1], [0, 6])
        np.testing.assert_array_equal(together[:, i], alone[:, 0])
    again = flown(policy, readings[6:], [0])
    np.testing.assert_array_equal(together[6:], again)


def test_a_chunk_of_one_is_none():
    whole, one = chunked(Chunk(length=1, forget=0.7)), None
    none = replace(whole, contract=replace(whole.contract, chunk=one))
    readings = np.random.default_rng(1).normal(size=(8, 2, 3))
    np.testing.assert_array_equal(flown(whole, readings, [0]), flown(none, readings, [0]))


def test_it_is_stored_with_the_policy(tmp_path):
    policy = chunked(Chunk(length=5, forget=0.1))
    again = Policy.load(policy.save(tmp_path / "policy").name)
    assert again.contract == policy.contract
    readings = np.random.default_rng(0).normal(size=(6, 2, 3))
    np.testing.assert_array_equal(flown(again, readings, [0]), flown(policy, readings, [0]))


def test_older_contracts_stay_as_they_were():
    contract = trained().contract
    stored = json.loads(contract.to_json())
    assert stored["version"] == 1
    assert "chunk" not in stored
    assert json.loads(replace(contract, chunk=Chunk(length=3, forget=0)).to_json())["version"] == 2
    assert Contract.from_json(contract.to_json()).chunk is None


@pytest.mark.parametrize(("length", "forget"), [(0, 0.1), (4, -0.1), (4, float("inf"))])
def test_a_senseless_chunk_is_refused(length, forget):
    with pytest.raises(TrueupError, match=r"chunk of 0|rate of"):
        Chunk(length=length, forget=forget)


def test_a_network_that_answers_for_fewer_steps_is_refused(tmp_path):
    policy = chunked(Chunk(length=5, forget=0.1))
    wrong = replace(
        policy, contract=replace(policy.contract, chunk=Chunk(length=6, forget=0.1))
    ).save(tmp_path / "policy")
    with pytest.raises(TrueupError, match="does not fit its contract"):
        Policy.load(wrong.name)
