"""The network as a file: the same numbers as the one that was trained, whoever stands beside."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from tensordict import TensorDict

from tests.train.rigs import learned, trained
from trueup.errors import TrueupError
from trueup.policies import Layer, Network, network_bytes, network_layers
from trueup.train.environment import ACTOR
from trueup.train.learner import actor_bytes


@pytest.fixture(scope="module")
def inputs() -> np.ndarray:
    """Inputs far wider than any that occur."""
    k = trained().contract.inputs
    return np.random.default_rng(1).normal(0.0, 3.0, (500, k)).astype(np.float32)


def planted(*sizes: int, seed: int = 0) -> bytes:
    generator = np.random.default_rng(seed)
    layers = [
        Layer(generator.normal(size=(b, a)), generator.normal(size=b)) for a, b in pairwise(sizes)
    ]
    mean, scale = generator.normal(size=sizes[0]), generator.uniform(0.5, 2.0, sizes[0])
    return network_bytes(mean=mean, scale=scale, layers=layers)


def test_it_answers_as_the_trained_network_does(inputs):
    actor = learned().ppo.get_policy()
    mean, std = (actor.obs_normalizer.state_dict()[name] for name in ("_mean", "_std"))
    assert float(mean.abs().max()) > 0.01  # the normalizer has learned: it must be in the file
    assert float((std - 1.0).abs().max()) > 0.01
    with torch.inference_mode():
        answer = actor(TensorDict({ACTOR: torch.from_numpy(inputs)}, batch_size=[len(inputs)]))
    wanted = np.clip(answer.numpy(), -1.0, 1.0)
    network = trained().network
    np.testing.assert_allclose(network(inputs), wanted, rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(network(inputs[:1]), wanted[:1], rtol=0.0, atol=1e-5)
    assert np.abs(wanted).max() == 1.0 and np.abs(wanted).min() < 0.9  # clipped ones and others


@pytest.mark.parametrize("size", [1, 2, 3, 15, 16, 17, 33, 500])
def test_an_answer_does_not_depend_on_the_others(inputs, size):
    network = trained().network
    together = network(inputs)
    parts = [network(inputs[i : i + size]) for i in range(0, len(inputs), size)]
    np.testing.assert_array_equal(np.concatenate(parts), together)


@pytest.mark.parametrize("hidden", [(7,), (128, 128), (64, 32, 16)])
def test_nor_does_it_in_networks_of_other_widths(hidden):
    sizes = (21, *hidden, 6)
    network = Network(planted(*sizes), inputs=21, outputs=6, where="here")
    inputs = np.random.default_rng(2).normal(size=(100, 21)).astype(np.float32)
    together = network(inputs)
    alone = np.concatenate([network(inputs[i : i + 1]) for i in range(100)])
    np.testing.assert_array_equal(alone, together)


def test_it_is_what_the_formula_says():
    stored = planted(3, 5, 2)
    mean, scale, (first, last) = network_layers(stored)
    x = np.random.default_rng(3).normal(size=(8, 3)).astype(np.float32)
    hidden = ((x - mean) / scale) @ first.weight.T + first.bias
    hidden = np.where(hidden > 0, hidden, np.expm1(hidden))
    wanted = np.clip(hidden @ last.weight.T + last.bias, -1.0, 1.0)
    answer = Network(stored, inputs=3, outputs=2, where="here")(x)
    np.testing.assert_allclose(answer, wanted, rtol=0.0, atol=1e-5)


def test_layers_come_back_bit_for_bit():
    mean, scale, layers = network_layers(trained().stored)
    assert network_bytes(mean=mean, scale=scale, layers=layers) == trained().stored
    assert actor_bytes(learned().ppo) == trained().stored


def refused(model: onnx.ModelProto | bytes, *, inputs: int = 3, outputs: int = 2) -> str:
    stored = model if isinstance(model, bytes) else model.SerializeToString()
    with pytest.raises(TrueupError) as told:
        Network(stored, inputs=inputs, outputs=outputs, where="lost/policy.onnx")
    assert told.value.what.startswith("lost/policy.onnx ")
    assert told.value.fix
    return str(told.value)


@pytest.mark.parametrize(("inputs", "outputs"), [(4, 2), (3, 1), (2, 3)])
def test_other_sizes_are_refused_with_both_sides(inputs, outputs):
    told = refused(planted(3, 5, 2), inputs=inputs, outputs=outputs)
    assert f"input [{inputs}], answer [{outputs}]" in told
    assert "input [3], answer [2]" in told


@pytest.mark.parametrize("stored", [b"", b"\x00" * 64, b"no network", b"PK\x03\x04" * 20])
def test_what_is_no_network_is_refused(stored):
    assert "not a network that onnxruntime can read" in refused(stored)


def test_a_network_of_doubles_or_other_names_is_refused():
    def model(kind: int, name: str) -> onnx.ModelProto:
        ports = [
            helper.make_tensor_value_info(port, kind, ["n", size])
            for port, size in ((name, 3), ("answer", 3))
        ]
        node = helper.make_node("Identity", [name], ["answer"])
        graph = helper.make_graph([node], "policy", ports[:1], ports[1:])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    Network(model(TensorProto.FLOAT, "input").SerializeToString(), inputs=3, outputs=3, where="a")
    assert "does not fit its contract" in refused(model(TensorProto.DOUBLE, "input"), outputs=3)
    assert "x [3]" in refused(model(TensorProto.FLOAT, "x"), outputs=3)


def test_a_network_for_one_at_a_time_is_refused_when_it_is_read():
    model = onnx.load_model_from_string(planted(3, 5, 2))
    for port in (*model.graph.input, *model.graph.output):
        port.type.tensor_type.shape.dim[0].Clear()
        port.type.tensor_type.shape.dim[0].dim_value = 1
    refused(model)


def test_numbers_kept_in_another_file_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = onnx.load_model_from_string(planted(3, 5, 2))
    weight = next(number for number in model.graph.initializer if number.name == "weight_0")
    values = numpy_helper.to_array(weight)
    (tmp_path / "elsewhere").write_bytes(values.tobytes())
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="elsewhere")
    refused(model)


def test_a_network_of_somebody_else_runs_but_is_not_trained_further():
    model = onnx.load_model_from_string(planted(3, 5, 2))
    for number in model.graph.initializer:
        if number.name == "mean":
            number.name = "centre"
    for node in model.graph.node:
        node.input[:] = ["centre" if name == "mean" else name for name in node.input]
    stored = model.SerializeToString()
    Network(stored, inputs=3, outputs=2, where="here")(np.zeros((1, 3), np.float32))
    with pytest.raises(TrueupError, match="was not made by trueup: it has no 'mean'"):
        network_layers(stored)
