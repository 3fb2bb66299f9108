"""The network itself: written as ONNX, run by onnxruntime. Nothing here needs the trainer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnxruntime

from trueup.errors import TrueupError

INPUT, OUTPUT = "input", "answer"
_OPSET, _IR_VERSION = 17, 8  # old enough for every onnxruntime of the last years
_ROWS = 16
_QUIET = 3  # onnxruntime's word for "errors only"


@dataclass(frozen=True)
class Layer:
    """One linear layer.

    Attributes:
        weight: (outputs, inputs)
        bias: (outputs,)
    """

    weight: np.ndarray
    bias: np.ndarray


def network_bytes(*, mean: np.ndarray, scale: np.ndarray, layers: Sequence[Layer]) -> bytes:
    """An ONNX file: (input - mean) / scale, then linear layers with ELU between, clipped to ±1.

    Args:
        mean: (k,) of the normalizer.
        scale: (k,) what it divides by.
        layers: From the input to the answer.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def stored(name: str, values: np.ndarray) -> onnx.TensorProto:
        return numpy_helper.from_array(np.asarray(values, np.float32), name)

    numbers = [stored("mean", mean), stored("scale", scale)]
    nodes = [
        helper.make_node("Sub", [INPUT, "mean"], ["centred"]),
        helper.make_node("Div", ["centred", "scale"], ["hidden_0"]),
    ]
    for i, layer in enumerate(layers):
        numbers += [stored(f"weight_{i}", layer.weight), stored(f"bias_{i}", layer.bias)]
        last = i == len(layers) - 1
        linear = "unclipped" if last else f"linear_{i}"
        nodes.append(
            helper.make_node(
                "Gemm", [f"hidden_{i}", f"weight_{i}", f"bias_{i}"], [linear], transB=1
            )
        )
        if not last:
            nodes.append(helper.make_node("Elu", [linear], [f"hidden_{i + 1}"]))
    numbers += [stored("least", np.array(-1.0)), stored("most", np.array(1.0))]
    nodes.append(helper.make_node("Clip", ["unclipped", "least", "most"], [OUTPUT]))
    shapes = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])
        for name, size in ((INPUT, len(mean)), (OUTPUT, len(layers[-1].bias)))
    ]
    graph = helper.make_graph(nodes, "policy", shapes[:1], shapes[1:], numbers)
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="trueup",
    )
    onnx.checker.check_model(model)
    return model.SerializeToString(deterministic=True)


def network_layers(stored: bytes) -> tuple[np.ndarray, np.ndarray, list[Layer]]:
    """Mean, scale and layers of what `network_bytes` made, to learn on from there."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_model_from_string(stored).graph
    found = {number.name: numpy_helper.to_array(number) for number in graph.initializer}
    count = sum(name.startswith("weight_") for name in found)
    try:
        if count < 2:
            raise KeyError("hidden layer")
        layers = [Layer(found[f"weight_{i}"], found[f"bias_{i}"]) for i in range(count)]
        return found["mean"], found["scale"], layers
    except KeyError as error:
        raise TrueupError(
            f"This network was not made by trueup: it has no {error}.",
            fix="It can be run, but not trained further; train a new one.",
        ) from error


class Network:
    """A network that answers to inputs, many at a time.

    An answer does not depend, to the last bit, on how many others are asked for beside it: an
    episode among thousands can be seen again alone. For that, inputs go in groups of 16.

    Args:
        stored: What `network_bytes` made.
        inputs: How many numbers it should take.
        outputs: How many it should answer with.
        where: Its file, for messages.
    """

    def __init__(self, stored: bytes, *, inputs: int, outputs: int, where: str) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = _QUIET
        # a network is one file: it may not read others from wherever we happen to be
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", "/dev/null/none"
        )
        try:
            self._session = onnxruntime.InferenceSession(
                stored, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime has a dozen kinds, none of them public
            raise TrueupError(
                f"{where} is not a network that onnxruntime can read: {_line(error)}.",
                fix="Take the whole policy folder again from where it was trained.",
            ) from error
        self._check(inputs, outputs, where)
        self._inputs = inputs

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Answers (n, nu) to inputs (n, k), both float32."""
        n = len(inputs)
        rows = -(-n // _ROWS) * _ROWS
        padded = inputs
        if rows != n:
            padded = np.zeros((rows, self._inputs), np.float32)
            padded[:n] = inputs
        (answer,) = self._session.run([OUTPUT], {INPUT: padded})
        return np.asarray(answer)[:n]

    def _check(self, inputs: int, outputs: int, where: str) -> None:
        found = [
            (port.name, tuple(port.shape), port.type)
            for port in (*self._session.get_inputs(), *self._session.get_outputs())
        ]
        wanted = [
            (INPUT, ("n", inputs), "tensor(float)"),
            (OUTPUT, ("n", outputs), "tensor(float)"),
        ]
        if found != wanted:
            raise TrueupError(
                f"{where} does not fit its contract: the contract speaks of {_ports(wanted)}, the "
                f"network has {_ports(found)}.",
                fix="Take the whole policy folder again from where it was trained.",
            )


def _ports(ports: list) -> str:
    """Names and sizes; the axis of many rows goes without saying."""
    sizes = ((name, [size for size in shape if size != "n"]) for name, shape, _ in ports)
    return ", ".join(f"{name} {size}" for name, size in sizes)


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")
