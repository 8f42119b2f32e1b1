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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.demo_network import demo_image
from tests.host.random_kernels import RANDOM_KERNELS, RANDOM_PROCEDURES, graph_of, inputs_of, require_same
from tests.integer_graphs import BASELINE
from tests.state_nets import frames, streaming_net
from vta.compiler.compile import compile_graph, compile_model
from vta.devices.sim import SimDevice
from vta.frontend import load_model
from vta.host.llvm.target import cpu_target
from vta.ir.interpreter import evaluate
from vta.runtime import Module, save
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.evaluation.random_inputs import any_value, random_inputs
from vta.runtime.host_library.build import build_host_library
from vta.runtime.host_part.host_options import HostOptions

TRIPLES = {"aarch64": "aarch64-linux-gnu", "armv7": "armv7-linux-gnueabihf"}
EMULATORS = {"aarch64": "qemu-aarch64-static", "armv7": "qemu-arm-static"}
KINDS = RANDOM_KERNELS | RANDOM_PROCEDURES
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
        require_same(got, want, BOUND)


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


@pytest.mark.parametrize("kind", KINDS)
@given(st.data(), st.integers(0, 99))
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_kernels(on_arm, kind, data, seed):
    graph = graph_of(data.draw(KINDS[kind]))
    inputs = inputs_of(graph, seed)
    (got,) = on_arm(CompiledModule(graph, BASELINE, (), (), 0), inputs)
    require_same(got, evaluate(graph, inputs)[0], BOUND)
