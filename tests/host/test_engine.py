"""The host part of whole networks by compiled kernels."""

import json
import sys

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from vta.cli.main import main
from vta.compiler.compile import compile_model
from vta.devices.sim import SimDevice
from vta.errors import DeviceError
from vta.frontend import load_model
from vta.host.engine import describe_host
from vta.host.llvm.target import host_target
from vta.ir.interpreter import evaluate
from vta.passes.canonicalize import canonicalize
from vta.runtime import Module
from vta.runtime.host_part.host_options import HostOptions

FLOAT_NETS = ("onnx/version-RFB-320.onnx", "mlperf_tiny/vww_96_float.tflite", "mlperf_tiny/kws_ref_model_float32.tflite")


def random_inputs(graph, seed=0):
    rng = np.random.default_rng(seed)
    return {node.name: rng.standard_normal(node.shape).astype(node.dtype) for node in graph.inputs}


@pytest.mark.parametrize("threads", [1, 3])
def test_a_module_gives_what_its_references_give(threads):
    compiled = compile_model("resnet18_v1", BASELINE, shapes={"data": (1, 3, 64, 64)})
    inputs = random_inputs(compiled.graph)
    with Module(compiled, SimDevice(BASELINE)) as plain:
        want = plain.run(inputs)
    with Module(compiled, SimDevice(BASELINE), host=HostOptions(compiled=True, threads=threads)) as module:
        got, check = module.run(inputs), module.check(inputs)
    np.testing.assert_allclose(got.outputs[0], want.outputs[0], rtol=1e-4, atol=1e-4)
    assert got.counters == want.counters
    assert check.bit_exact


@pytest.mark.parametrize("name", FLOAT_NETS)
def test_float_networks(shared, name):
    graph = canonicalize(load_model(shared / "models" / name))
    with Module(compile_all_on_host(graph), SimDevice(BASELINE), host=HostOptions(compiled=True)) as module:
        inputs = random_inputs(graph)
        for got, want in zip(module.run(inputs).outputs, evaluate(graph, inputs), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * np.abs(want).max())


def compile_all_on_host(graph):
    from vta.runtime.compiled_module import CompiledModule

    return CompiledModule(graph, BASELINE, (), (), 0)


def test_every_operator_is_in_one_kernel_at_most():
    graph = canonicalize(load_model("resnet18_v1", {"data": (1, 3, 64, 64)}))
    part = describe_host(graph, graph.calls(), graph.outputs, host_target())
    nodes = [node for kernel in part.kernels for node in kernel.nodes]
    assert len(nodes) == len(set(nodes))
    left = {node.op for node in graph.calls()} - {node.op for node in nodes}
    assert left <= {"nn.batch_flatten", "reshape"}


def test_the_command_runs_the_host_part_compiled(tmp_path, capsys):
    out = tmp_path / "net.vta"
    assert main(["compile", "resnet18_v1", "--input-shape", "data=1,3,64,64", "--config", "sim", "-o", str(out), "--json"]) == 0
    capsys.readouterr()
    assert main(["run", str(out), "--host", "llvm", "--threads", "2", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["host_seconds"] > 0
    assert figures["device_seconds"] > 0
    assert figures["seconds"] == pytest.approx(figures["host_seconds"] + figures["device_seconds"])


def test_the_server_decides_for_remote_devices(tmp_path, capsys):
    out = tmp_path / "net.vta"
    out.write_bytes(b"")
    assert main(["run", str(out), "--host", "llvm", "--remote", "127.0.0.1:1"]) != 0
    assert "computes the host part" in capsys.readouterr().err


def test_a_machine_without_llvm_says_so(monkeypatch):
    compiled = compile_model("resnet18_v1", BASELINE, shapes={"data": (1, 3, 64, 64)})
    monkeypatch.setitem(sys.modules, "vta.runtime.host_part.host_kernels", None)
    with pytest.raises(DeviceError, match="llvmlite, which is missing"):
        Module(compiled, SimDevice(BASELINE), host=HostOptions(compiled=True))
