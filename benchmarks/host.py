"""Kernels of the host part beside onnxruntime and LiteRT, one thread, in one run.

    python -m benchmarks.host [--models DIR] [--json]

Single layers (the ten distinct convolutions of ResNet-18, its first one and its classifier, depthwise and pointwise layers of
MobileNet) are float32 and random; onnxruntime runs each as a network of one node. With --models, whole networks of DIR are
compared with onnxruntime or LiteRT, which both run with all their optimisations. Seconds are the least of several runs, of the
thread's own time, so that what else the machine does counts little. Of cases with 3x3 convolutions that Winograd's transforms
make faster it is said what they take, too, in turns with the other side again; only those get them who ask for them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.frontend import load_model
from vta.frontend.onnx import import_onnx
from vta.ir.graph import Graph, Node
from vta.passes.canonicalize import canonicalize
from vta.runtime import Module
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_part.host_options import HostOptions

Array = NDArray[Any]
Run = Callable[[], Any]
_SECONDS = 0.5
"""For each side of each case."""
_FEWEST = 5


@dataclass(frozen=True)
class Layer:
    """A convolution, or a dense layer where `size` is 0."""

    name: str
    channels: int
    outputs: int
    size: int
    kernel: int = 1
    stride: int = 1
    groups: int = 1


LAYERS = (
    Layer("resnet18 first", 3, 64, 224, 7, 2),
    Layer("resnet18 C2", 64, 64, 56, 3),
    Layer("resnet18 C3", 64, 64, 56),
    Layer("resnet18 C4", 64, 128, 56, 3, 2),
    Layer("resnet18 C5", 64, 128, 56, 1, 2),
    Layer("resnet18 C6", 128, 128, 28, 3),
    Layer("resnet18 C7", 128, 256, 28, 3, 2),
    Layer("resnet18 C8", 128, 256, 28, 1, 2),
    Layer("resnet18 C9", 256, 256, 14, 3),
    Layer("resnet18 C10", 256, 512, 14, 3, 2),
    Layer("resnet18 C11", 256, 512, 14, 1, 2),
    Layer("resnet18 C12", 512, 512, 7, 3),
    Layer("resnet18 classifier", 512, 1000, 0),
    Layer("mobilenet depthwise 112", 32, 32, 112, 3, 1, 32),
    Layer("mobilenet depthwise 56", 128, 128, 56, 3, 1, 128),
    Layer("mobilenet depthwise 56 / 2", 144, 144, 56, 3, 2, 144),
    Layer("mobilenet depthwise 14", 512, 512, 14, 3, 1, 512),
    Layer("mobilenet pointwise 112", 32, 64, 112),
    Layer("mobilenet pointwise 28", 256, 256, 28),
    Layer("mobilenet pointwise 14", 512, 512, 14),
)
NETWORKS = (
    "onnx/version-RFB-320.onnx",
    "onnx/light_resnet50.onnx",
    "mobilenet/mobilenet_v1_0.25_224_float.tflite",
    "mlperf_tiny/vww_96_float.tflite",
    "mlperf_tiny/kws_ref_model_float32.tflite",
)


@dataclass(frozen=True)
class Row:
    """One case."""

    case: str
    peer: str
    seconds: float
    peer_seconds: float
    macs: int
    difference: float
    """The largest one between the outputs, in parts of the largest output."""
    winograd_seconds: float | None = None
    """By Winograd's transforms; None where the kernels are the same."""
    winograd_difference: float | None = None

    @property
    def ratio(self) -> float:
        """Our time in parts of the peer's."""
        return self.seconds / self.peer_seconds


def layer_model(layer: Layer, rng: np.random.Generator) -> onnx.ModelProto:
    """A network of one layer, its bias and a ReLU."""
    dense = layer.size == 0
    shape = (layer.outputs, layer.channels // layer.groups, *((layer.kernel,) * 2 if not dense else ()))
    stored = {"w": rng.standard_normal(shape).astype(np.float32), "b": rng.standard_normal(layer.outputs).astype(np.float32)}
    if dense:
        node = helper.make_node("Gemm", ["x", "w", "b"], ["z"], transB=1)
    else:
        node = helper.make_node(
            "Conv",
            ["x", "w", "b"],
            ["z"],
            strides=[layer.stride] * 2,
            pads=[layer.kernel // 2] * 4,
            group=layer.groups,
        )
    data = (1, layer.channels) if dense else (1, layer.channels, layer.size, layer.size)
    graph = helper.make_graph(
        [node, helper.make_node("Relu", ["z"], ["y"])],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, data)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def layer_row(layer: Layer) -> Row:
    """Compare one layer with onnxruntime."""
    rng = np.random.default_rng(1)
    model = layer_model(layer, rng)
    return row_of(layer.name, "onnxruntime", import_onnx(model), lambda feed: onnxruntime_run(model.SerializeToString(), feed))


def network_row(path: Path) -> Row:
    """Compare a network with the interpreter of its file's kind."""
    graph = load_model(path)
    if path.suffix == ".onnx":
        return row_of(path.stem, "onnxruntime", graph, lambda feed: onnxruntime_run(str(path), feed))
    return row_of(path.stem, "LiteRT", graph, lambda feed: litert_run(path, feed))


def row_of(case: str, peer: str, graph: Graph, peer_run: Callable[[dict[str, Array]], Run]) -> Row:
    """Compare a graph with what runs the same network; values are random."""
    from vta.ir.macs import macs_of

    rng = np.random.default_rng(2)
    feed = {node.name: _values(node, rng) for node in graph.inputs}
    whole = canonicalize(graph)
    hw = HardwareConfig.named("sim")
    other = peer_run(feed)
    compiled, device, theirs = CompiledModule(whole, hw, (), (), 0), SimDevice(hw), other()
    with (
        Module(compiled, device, host=HostOptions(compiled=True)) as module,
        Module(compiled, device, host=HostOptions(compiled=True, winograd=True)) as faster,
    ):
        ours, transformed = module.run(feed).outputs, faster.run(feed).outputs
        seconds, peer_seconds = least_seconds(lambda: module.run(feed), other)
        row = Row(case, peer, seconds, peer_seconds, sum(map(macs_of, whole.calls())), _difference(ours, theirs))
        if all(map(np.array_equal, ours, transformed)):
            return row
        winograd_seconds, _ = least_seconds(lambda: faster.run(feed), other)
    return replace(row, winograd_seconds=winograd_seconds, winograd_difference=_difference(transformed, theirs))


def _difference(ours: Sequence[Array], theirs: Sequence[Array]) -> float:
    """The largest one, in parts of the largest value."""
    pairs = [(np.float64(a), np.float64(b)) for a, b in zip(ours, theirs, strict=True)]
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)


def _values(node: Node, rng: np.random.Generator) -> Array:
    """Values for an input: of integers all that there are."""
    if node.dtype.startswith("float"):
        return rng.standard_normal(node.shape).astype(node.dtype)
    limits = np.iinfo(node.dtype)
    return rng.integers(limits.min, limits.max, node.shape, node.dtype, endpoint=True)


def onnxruntime_run(model: str | bytes, feed: dict[str, Array]) -> Run:
    """What runs a model once."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_inputs()]
    given = dict(zip(names, feed.values(), strict=False))
    return lambda: session.run(None, given)


def litert_run(path: Path, feed: dict[str, Array]) -> Run:
    """The same by LiteRT's optimised kernels."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    indices = [item["index"] for item in interpreter.get_output_details()]

    def run() -> list[Array]:
        for item, value in zip(interpreter.get_input_details(), feed.values(), strict=True):
            interpreter.set_tensor(item["index"], value)
        interpreter.invoke()
        return [np.array(interpreter.get_tensor(index)) for index in indices]

    return run


def least_seconds(*runs: Run) -> tuple[float, ...]:
    """The least time of each, in turns."""
    least = [float("inf")] * len(runs)
    end, done = time.perf_counter() + _SECONDS * len(runs), 0
    while done < _FEWEST or time.perf_counter() < end:
        for at, run in enumerate(runs):
            start = time.thread_time()
            run()
            least[at] = min(least[at], time.thread_time() - start)
        done += 1
    return tuple(least)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| case | peer | ours, ms | peer, ms | ours / peer | GMAC/s, ours | difference | by Winograd, ms | difference |"
    yield "|" + "---|" * 9
    for row in rows:
        winograd = "" if row.winograd_seconds is None else f"{row.winograd_seconds * 1e3:.3f}"
        difference = "" if row.winograd_difference is None else f"{row.winograd_difference:.1e}"
        yield (
            f"| {row.case} | {row.peer} | {row.seconds * 1e3:.3f} | {row.peer_seconds * 1e3:.3f} | {row.ratio:.2f} "
            f"| {row.macs / row.seconds / 1e9:.1f} | {row.difference:.1e} "
            f"| {winograd} | {difference} |"
        )


def print_rows(description: str | None, layers: Callable[[], list[Row]], networks: Sequence[str]) -> None:
    """The command line: print `layers` and, where there are models, `networks` as a table, or as JSON."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, help="directory of the networks")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows = layers()
    if options.models:
        rows += [network_row(options.models / name) for name in networks]
    if options.json:
        print(json.dumps([{**asdict(row), "ratio": row.ratio} for row in rows]))
    else:
        print("\n".join(table(rows)))


def main() -> None:
    """Print the table, or one JSON object a case."""
    print_rows(__doc__, lambda: [layer_row(layer) for layer in LAYERS], NETWORKS)


if __name__ == "__main__":
    main()
