"""Small good files of every kind, made by our own code: what mutants come from."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

__all__ = ["EXTERNAL_DATA", "mxnet_params", "mxnet_symbol", "onnx_models", "seeds_of"]

EXTERNAL_DATA = np.arange(432, dtype="<f4").tobytes()


@cache
def seeds_of(parser: str) -> tuple[bytes, ...]:
    """The seed files of a parser."""
    return tuple(_MAKERS[parser]())


@cache
def onnx_models() -> tuple[bytes, ...]:
    """A float network, a quantised one, one whose shapes are computed, and one with data in another file."""
    return tuple(model.SerializeToString() for model in (_float_net(), _quantized_net(), _shaped_net(), _external_net()))


def _onnx(nodes: list[Any], outputs: list[str], initializers: dict[str, Any], shape: tuple[int, ...] = (1, 3, 8, 8)) -> Any:
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in initializers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _weights(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def _float_net() -> Any:
    from onnx.helper import make_node

    nodes = [
        make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        make_node("Relu", ["c"], ["r"], name="relu"),
        make_node("MaxPool", ["r"], ["m"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        make_node("Flatten", ["m"], ["f"], name="flatten"),
        make_node("Gemm", ["f", "g", "h"], ["y"], name="gemm", transB=1),
    ]
    return _onnx(nodes, ["y"], {"w": _weights(4, 3, 3, 3), "b": _weights(4), "g": _weights(5, 64), "h": _weights(5)})


def _quantized_net() -> Any:
    from onnx.helper import make_node

    nodes = [
        make_node("QuantizeLinear", ["x", "s", "z"], ["q"], name="quantize"),
        make_node("DequantizeLinear", ["q", "s", "z"], ["d"], name="dequantize"),
        make_node("DequantizeLinear", ["w", "t", "u"], ["v"], name="weights", axis=0),
        make_node("Conv", ["d", "v"], ["c"], name="conv", kernel_shape=[1, 1]),
        make_node("QuantizeLinear", ["c", "s", "z"], ["e"], name="requantize"),
        make_node("DequantizeLinear", ["e", "s", "z"], ["y"], name="out"),
    ]
    zero = np.zeros((), np.uint8)
    values = {
        "s": np.float32(0.1), "z": zero, "w": np.arange(12, dtype=np.int8).reshape(4, 3, 1, 1),
        "t": np.full(4, 0.02, np.float32), "u": np.zeros(4, np.int8),
    }  # fmt: skip
    return _onnx(nodes, ["y"], values)


def _shaped_net() -> Any:
    from onnx.helper import make_node

    nodes = [
        make_node("Shape", ["x"], ["n"], name="shape"),
        make_node("Gather", ["n", "i"], ["k"], name="gather"),
        make_node("Concat", ["k", "j"], ["l"], name="concat", axis=0),
        make_node("Reshape", ["x", "l"], ["a"], name="reshape"),
        make_node("Tile", ["a", "p"], ["t"], name="tile"),
        make_node("ConstantOfShape", ["l"], ["o"], name="fill"),
        make_node("Expand", ["t", "e"], ["q"], name="expand"),
        make_node("Add", ["q", "o"], ["r"], name="add"),
        make_node("Pad", ["r", "g"], ["v"], name="pad"),
        make_node("Slice", ["v", "b", "e"], ["w"], name="slice"),
        make_node("Transpose", ["w"], ["y"], name="transpose", perm=[1, 0]),
    ]
    values = {
        "i": np.array([0]), "j": np.array([-1]), "p": np.array([1, 1]), "e": np.array([1, 192]), "g": np.array([0, 1, 0, 1]),
        "b": np.array([0, 0]),
    }  # fmt: skip
    return _onnx(nodes, ["y"], values)


def _external_net() -> Any:
    from onnx import TensorProto
    from onnx.helper import make_node

    model = _onnx([make_node("Conv", ["x", "w"], ["y"], name="conv")], ["y"], {})
    tensor = model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[4, 3, 3, 3])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", "432")):
        tensor.external_data.add(key=key, value=value)
    return model


def _tflite() -> list[bytes]:
    from vta.testing.parser_fuzz.tflite_seed import tflite_model

    return [tflite_model()]


_PLAIN_NODES: tuple[tuple[str, str, dict[str, str], list[list[int]]], ...] = (
    ("null", "data", {}, []),
    ("null", "conv_weight", {}, []),
    ("Convolution", "conv", {"kernel": "(3, 3)", "num_filter": "4", "pad": "(1, 1)", "no_bias": "True"}, [[0, 0, 0], [1, 0, 0]]),
    ("Activation", "relu", {"act_type": "relu"}, [[2, 0, 0]]),
    ("Pooling", "pool", {"kernel": "(2, 2)", "stride": "(2, 2)", "pool_type": "max"}, [[3, 0, 0]]),
    ("Flatten", "flatten", {}, [[4, 0, 0]]),
    ("null", "fc_weight", {}, []),
    ("null", "fc_bias", {}, []),
    ("FullyConnected", "fc", {"num_hidden": "5"}, [[5, 0, 0], [6, 0, 0], [7, 0, 0]]),
)


def mxnet_symbol() -> bytes:
    """A network of five layers."""
    nodes = [{"op": op, "name": name, "attrs": attrs, "inputs": inputs} for op, name, attrs, inputs in _PLAIN_NODES]
    nodes[0]["attrs"] = {"__shape__": "(1, 3, 8, 8)"}
    document = {"nodes": nodes, "arg_nodes": [0, 1, 6, 7], "heads": [[8, 0, 0]], "attrs": {"mxnet_version": ["int", 10500]}}
    return json.dumps(document).encode()


def mxnet_params() -> bytes:
    """The parameters of the symbol."""
    from vta.frontend.mxnet.params import encode_params

    return encode_params({"arg:conv_weight": _weights(4, 3, 3, 3), "arg:fc_weight": _weights(5, 64), "arg:fc_bias": _weights(5)})


def _vta() -> list[bytes]:
    from vta.compiler.compile import compile_model
    from vta.config.hardware import HardwareConfig
    from vta.runtime import save

    files = []
    with TemporaryDirectory() as folder:
        for index, model in enumerate(onnx_models()[:2]):
            source, target = Path(folder) / f"{index}.onnx", Path(folder) / f"{index}.vta"
            source.write_bytes(model)
            save(compile_model(source, HardwareConfig.named("sim")), target)
            files.append(target.read_bytes())
    return files


def _vta_run() -> list[bytes]:
    from dataclasses import replace

    from vta.compiler.compile import compile_model
    from vta.config.hardware import HardwareConfig
    from vta.host.llvm.target import host_target
    from vta.runtime import save
    from vta.runtime.host_library.build import build_host_library

    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "net.onnx", Path(folder) / "net.vta"
        source.write_bytes(onnx_models()[0])
        module = compile_model(source, HardwareConfig.named("sim"))
        save(replace(module, host=build_host_library(module, host_target())), target)
        return [target.read_bytes()]


def _configs() -> list[bytes]:
    from vta.config.files import shipped_configs

    return [path.read_bytes() for path in list(shipped_configs().values())[:3]]


def _timing() -> list[bytes]:
    from vta.config.timing import TimingParameters

    return [json.dumps(TimingParameters().to_json()).encode()]


def _technology() -> list[bytes]:
    from vta.config.technology import Technology

    return [json.dumps(Technology().to_json()).encode()]


def _boards() -> list[bytes]:
    from vta.boards.files import shipped_boards

    files = [path.read_bytes() for path in list(shipped_boards().values())[:2]]
    import yaml

    return [*files, json.dumps(yaml.safe_load(files[0])).encode()]


_SWEEP = b"""\
base: sim
config:
  LOG_BLOCK: [4, 5]
  LOG_ACC_BUFF_SIZE: [17, 18]
timing:
  bus_bits: [64, 128]
nets:
  - model: resnet18_v1
    start: nn.max_pool2d
    random_weights: 3
workloads: []
tuner: random
trials: 7
time_limit: 5
"""


def _sweeps() -> list[bytes]:
    import yaml

    return [_SWEEP, json.dumps(yaml.safe_load(_SWEEP)).encode()]


def _logs() -> list[bytes]:
    from vta.records.log import read_log, to_line, to_pickled_line
    from vta.records.shipped import shipped_folder

    folder = shipped_folder()
    if folder is None:
        return [b"\n"]
    lines = (line.record for line in read_log(sorted(folder.glob("*.log"))[0]))
    records = [record for record in lines if record is not None][:4]
    return ["".join(map(to_line, records)).encode(), "".join(map(to_pickled_line, records)).encode()]


def _tables() -> list[bytes]:
    from vta.sweep.table import COLUMNS

    row = "0,sim_1x16_i8w8a32_15_15_18_17,64,8,w,ok,1000,900,5000,65536,256,77,88,7,30,40,0,\n"
    return [(",".join(COLUMNS) + "\n" + row + row.replace("0,sim", "1,sim").replace("ok", "failed")).encode()]


def _assembly() -> list[bytes]:
    from vta.isa.assembly import disassemble
    from vta.runtime import load

    with TemporaryDirectory() as folder:
        path = Path(folder) / "net.vta"
        path.write_bytes(seeds_of("vta")[0])
        return [disassemble(region.program).encode() for region in load(path).regions]


def _tile_texts() -> list[bytes]:
    from vta.codegen.tile_text import print_region
    from vta.compiler.compile import graph_regions, quantize_model
    from vta.config.hardware import HardwareConfig
    from vta.frontend import load_model
    from vta.passes.canonicalize import canonicalize
    from vta.schedule.choose import choose_schedule

    hw = HardwareConfig.named("sim")
    graph = quantize_model(canonicalize(load_model("resnet8", None)), hw)
    texts = []
    for region in graph_regions(graph, hw):
        scheduled = (operator.scheduled for operator in region.operators)
        schedules = [None if operator is None else choose_schedule(operator, hw) for operator in scheduled]
        texts.append(print_region(region, schedules, hw).encode())
    return texts


def _npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _inputs() -> list[bytes]:
    return [_npz(x=_weights(2, 3, 4, 4)), _npz(a=_weights(2, 3), b=np.arange(4))]


def _datasets() -> list[bytes]:
    return [_npz(x=_weights(5, 3, 4, 4), y=np.arange(5)), _npz(x=_weights(5, 4), y=np.arange(5, dtype=np.uint8)[:, None])]


def _bit_files() -> list[bytes]:
    def text(letter: bytes, words: str) -> bytes:
        content = words.encode() + b"\0"
        return letter + len(content).to_bytes(2, "big") + content

    head = bytes.fromhex("00090ff00ff00ff00ff000") + b"\0\1"
    fields = text(b"a", "vta") + text(b"b", "7z020clg400") + text(b"c", "2020/01/01") + text(b"d", "10:00:00")
    return [head + fields + b"e" + (64).to_bytes(4, "big") + bytes(64)]


def _manifests() -> list[bytes]:
    entry = {
        "board": "pynq-z1", "design": "core", "config": "1x16_i8w8a32_15_15_18_17", "hw_version": "0.0.2", "file": "a.bit",
        "sha256": "0" * 64, "source": "made here",
    }  # fmt: skip
    return [json.dumps({"version": 1, "bitstreams": [entry, {**entry, "design": "hls"}]}).encode()]


def _certificates() -> list[bytes]:
    from vta.rpc.certificates import write_certificates

    with TemporaryDirectory() as folder:
        write_certificates(Path(folder))
        return [(Path(folder) / "client.key").read_bytes(), (Path(folder) / "client.pem").read_bytes()]


def _archives_of_torch() -> list[bytes]:
    document = {"graph": {"expr_str": "s0 + 1"}, "config": {"w": {"path_name": "weight_0", "use_pickle": False}}}
    members = {
        "net/archive_format": b"pt2",
        "net/models/model.json": json.dumps(document).encode(),
        "net/data/weight_0": bytes(64),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return [out.getvalue()]


_MAKERS: dict[str, Callable[[], Any]] = {
    "onnx": onnx_models,
    "tflite": _tflite,
    "mxnet-symbol": lambda: [mxnet_symbol()],
    "mxnet-params": lambda: [mxnet_params()],
    "pt2": _archives_of_torch,
    "vta": _vta,
    "vta-run": _vta_run,
    "config": _configs,
    "timing": _timing,
    "technology": _technology,
    "board": _boards,
    "sweep": _sweeps,
    "records": _logs,
    "sweep-table": _tables,
    "assembly": _assembly,
    "tile-text": _tile_texts,
    "inputs": _inputs,
    "dataset": _datasets,
    "bit": _bit_files,
    "manifest": _manifests,
    "certificates": _certificates,
}
