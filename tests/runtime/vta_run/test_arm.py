"""Networks on ARM processors, under qemu, give the bytes that they give here.

Building the program for another processor takes minutes, so that it is done once, by hand:
`vta runtime build -o DIR/aarch64 --mtriple aarch64-linux-gnu` and the same with armv7 and armv7-linux-gnueabihf; VTA_ARM_PROGRAMS
is DIR then.
"""

import os
import platform
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.demo_network import demo_image
from tests.integer_graphs import BASELINE
from tests.state_nets import frames, streaming_net
from vta.compiler.compile import compile_graph, compile_model
from vta.devices.sim import SimDevice
from vta.frontend import load_model
from vta.host.llvm.target import cpu_target
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.runtime import Module, save
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.evaluation.random_inputs import any_value, random_inputs
from vta.runtime.host_library.build import build_host_library
from vta.runtime.host_options import HostOptions

TRIPLES = {"aarch64": "aarch64-linux-gnu", "armv7": "armv7-linux-gnueabihf"}
EMULATORS = {"aarch64": "qemu-aarch64-static", "armv7": "qemu-arm-static"}
BOUND = 2e-5
"""Of floats, relative to the largest: sums of the same terms, with or without products that are rounded."""


@pytest.fixture(params=TRIPLES)
def on_arm(request, tmp_path):
    """Runs a module on one of the processors; returns its outputs."""
    name = request.param
    folder = os.environ.get("VTA_ARM_PROGRAMS")
    program = Path(folder or "", name, "vta-run")
    if not folder or not program.is_file():
        pytest.skip(f"needs VTA_ARM_PROGRAMS with {name}/vta-run: see the head of this file")
    emulator = [] if platform.machine() == cpu_target(TRIPLES[name]).architecture.machine else [EMULATORS[name]]
    if emulator and shutil.which(*emulator) is None:
        pytest.skip(f"needs {emulator[0]}: apt-get install qemu-user-static")

    def run(module, inputs, *options):
        save(replace(module, host=build_host_library(module, cpu_target(TRIPLES[name]))), tmp_path / "net.vta")
        given = []
        for index, (key, value) in enumerate(inputs.items()):
            np.save(tmp_path / f"{index}.npy", value)
            given.append(f"--input={key}={tmp_path / str(index)}.npy")
        command = [*emulator, program, tmp_path / "net.vta", *given, f"--output={tmp_path / 'out.npz'}", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        with np.load(tmp_path / "out.npz") as found:
            return [found[key] for key in found.files]

    return run


def same(found, wanted):
    """Integers are equal, floats within the bound."""
    for got, want in zip(found, wanted, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=0, atol=BOUND * max(1.0, np.abs(want).max()))
        else:
            np.testing.assert_array_equal(got, want)


def here(module, inputs):
    with Module(module, SimDevice(module.hw), host=HostOptions(compiled=True)) as loaded:
        return list(loaded.run(inputs).outputs)


def test_a_stream(on_arm):
    rng = np.random.default_rng(3)
    module = compile_graph(streaming_net(rng), BASELINE)
    x = frames(rng, module.graph, 4)
    with Module(module, SimDevice(module.hw)) as loaded:
        same(on_arm(module, {"x": x}, "--frames"), list(loaded.run_frames(x=x).outputs))


def test_the_demo(on_arm, demo_plain):
    inputs = {"image": demo_image()}
    same(on_arm(demo_plain, inputs), here(demo_plain, inputs))


@pytest.mark.parametrize("kind", ["quant", "float"])
def test_mobilenet(shared, on_arm, kind):
    graph = load_model(shared / "models" / "mobilenet" / f"mobilenet_v1_0.25_224_{kind}.tflite")
    module = compile_model(graph, BASELINE, **({} if kind == "quant" else {"calibration": None}))
    inputs = random_inputs(module.graph, 0, any_value)
    same(on_arm(module, inputs), here(module, inputs))


def unary(op, **attributes):
    return lambda x: call(op, [x], "y", **attributes)


def weighted(op, shape, **attributes):
    def make(x):
        rng = np.random.default_rng(1)
        weight = constant(rng.standard_normal(shape).astype(np.float32))
        return call("nn.bias_add", [call(op, [x, weight], "y", **attributes), constant(np.float32(range(shape[0])))], "biased")

    return make


KERNELS = {
    "relu": ((1, 5, 7, 9), unary("nn.relu")),
    "clip": ((3, 11), unary("clip", a_min=-0.5, a_max=0.5)),
    "sigmoid": ((2, 13), unary("sigmoid")),
    "tanh": ((2, 13), unary("tanh")),
    "exp": ((2, 13), unary("exp")),
    "quantize": ((1, 6, 5, 5), unary("qnn.quantize", scale=0.05, zero_point=3)),
    "max pool": ((1, 9, 8, 8), unary("nn.max_pool2d", pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1))),
    "average pool": ((1, 9, 8, 8), unary("nn.avg_pool2d", pool_size=(2, 2), strides=(2, 2))),
    "convolution": ((1, 6, 9, 11), weighted("nn.conv2d", (10, 6, 3, 3), strides=(2, 1), padding=(1, 1, 1, 1))),
    "depthwise": ((1, 10, 9, 7), weighted("nn.conv2d", (10, 1, 3, 3), groups=10, padding=(1, 1, 1, 1))),
    "dense": ((3, 37), weighted("nn.dense", (11, 37))),
}


@pytest.mark.parametrize("kind", KERNELS)
def test_kernels(on_arm, kind):
    shape, make = KERNELS[kind]
    x = graph_input("x", shape, "float32")
    graph = Graph((x,), (make(x),))
    inputs = {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    same(on_arm(CompiledModule(graph, BASELINE, (), (), 0), inputs), evaluate(graph, inputs))
