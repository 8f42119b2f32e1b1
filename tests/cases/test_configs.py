"""Configs: each is refused when loaded, or everything works on it; and programs meet devices that they do not fit."""

import json

import numpy as np
import pytest

from tests.cases._nets import NARROW, SHIPPED, assert_all_on_vta, config, crc, int8_data, narrowed, run_verified
from tests.cases.test_shapes import BATCH, CASES
from vta.cli.main import main
from vta.compiler.compile import compile_graph
from vta.config.hardware import load_config
from vta.config.targets import MemoryType
from vta.devices.sim import SimDevice
from vta.errors import ArtifactError, ConfigError, DeviceError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.runtime import Module, save

FOUR_BY_EIGHT = {
    "LOG_BATCH": 2,
    "LOG_BLOCK": 3,
    "LOG_INP_BUFF_SIZE": 16,
    "LOG_WGT_BUFF_SIZE": 16,
    "LOG_ACC_BUFF_SIZE": 18,
}
TINY = {"LOG_INP_BUFF_SIZE": 10, "LOG_WGT_BUFF_SIZE": 12, "LOG_ACC_BUFF_SIZE": 12}
GOOD = {
    "K0": ({}, (2048, 1024, 2048, 8192)),
    "K1": (FOUR_BY_EIGHT, (2048, 1024, 2048, 8192)),
    "K2": ({"LOG_BLOCK": 5}, (1024, 256, 1024, 8192)),
    "K3": ({"LOG_BLOCK": 6}, (512, 64, 512, 8192)),
    "K9": (TINY, (64, 16, 64, 8192)),
    "K11": ({"LOG_BATCH": 1}, (1024, 1024, 1024, 8192)),
    "K12": ({"LOG_UOP_BUFF_SIZE": 6}, (2048, 1024, 2048, 16)),
}
K10_DEPTHS = (2048, 1024, 2048, 8192)
REFUSED = {
    "K4": ({"LOG_UOP_BUFF_SIZE": 16}, [("gemm_low", 65, 64)]),
    "K5": ({"LOG_ACC_BUFF_SIZE": 18}, [("uop_word", 34, 32), ("gemm_high", 66, 64), ("alu_high", 68, 64)]),
    "K6": ({"LOG_BLOCK": 3}, [("uop_word", 36, 32), ("gemm_high", 72, 64), ("alu_high", 68, 64)]),
    "K7": ({"LOG_WGT_WIDTH": 2}, [("uop_word", 33, 32), ("gemm_high", 66, 64)]),
    "K7b": ({"LOG_WGT_WIDTH": 2, "LOG_WGT_BUFF_SIZE": 17}, []),
    "K8": ({"LOG_WGT_WIDTH": 1, "LOG_WGT_BUFF_SIZE": 16}, []),
}
"""Changes of the config `sim`, and the words that then need more bits than they have."""
STRIDE_2 = next(case for case in CASES if case.id == "1x1-stride-2-odd")


def depths(hw):
    return tuple(hw.depth(memory) for memory in (MemoryType.INP, MemoryType.WGT, MemoryType.ACC, MemoryType.UOP))


@pytest.mark.parametrize(("changes", "overflows"), REFUSED.values(), ids=REFUSED)
def test_configs_that_cannot_work_are_refused_when_loaded(changes, overflows, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**config("sim").to_json(), **changes}))
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    for word, bits, limit in overflows:
        assert f"{word} needs {bits} bits and has {limit}" in text
    for key, value in changes.items():
        if overflows or key == "LOG_WGT_WIDTH":
            assert f"{key} = {value}" in text
    if "LOG_WGT_WIDTH" in changes:
        assert "is out of range; allowed: 3" in text


def networks():
    """Inputs and networks: two convolutions, a matrix product of 64 x 64, and one row of such a product."""
    found = {}
    for label, case in (("stride-2", STRIDE_2), ("batch-5", BATCH)):
        data = graph_input("x", case.x, "int8")
        outputs = [narrowed(case.accumulator(data, name), case.shift, name, name == "near") for name in ("low", "near")]
        found[label] = (case.arrays()[0], Graph((data,), tuple(outputs)), [case.floor, case.half_up])
    for label, rows, shift in (("product", 64, None), ("gemm", 1, 8)):
        a, b = int8_data((64, 64), seed=1)[:rows], int8_data((64, 64), seed=2)
        data = graph_input("x", a.shape, "int8")
        node = call("nn.dense", [data, constant(b)], "dense")
        exact = a.astype(np.int32) @ b.T.astype(np.int32)
        assert shift or crc(exact) == 0x83A29959
        if shift:
            node, exact = narrowed(node, shift, "dense", low=0), np.clip(exact >> shift, 0, 127).astype(np.int8)
        found[label] = (a, Graph((data,), (node,)), [crc(exact)])
    return found


NETWORKS = networks()


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(("changes", "expected"), GOOD.values(), ids=GOOD)
def test_everything_works_on_a_config_that_loads(changes, expected, network):
    hw = config("sim", **changes)
    assert depths(hw) == expected
    x, graph, checksums = NETWORKS[network]
    compiled = compile_graph(graph, hw)
    assert_all_on_vta(compiled)
    for report in run_verified(compiled, {"x": x}):
        assert [crc(output) for output in report.outputs] == checksums


@pytest.mark.parametrize("network", NETWORKS)
def test_16_bit_accumulators_wrap_alike_everywhere(network):
    """The sums exceed 16 bits, so that the result is the interpreter's on the compiled graph, which states the wrap."""
    hw = config("sim", **NARROW)
    assert depths(hw) == K10_DEPTHS
    x, graph, _ = NETWORKS[network]
    compiled = compile_graph(graph, hw)
    expected = evaluate(compiled.graph, {"x": x})
    for report in run_verified(compiled, {"x": x}):
        for output, wanted in zip(report.outputs, expected, strict=True):
            np.testing.assert_array_equal(output, wanted)
    if graph.outputs[0].dtype == "int8":
        assert_all_on_vta(compiled)
    else:
        assert compiled.placements[0].where == "host"
        assert compiled.placements[0].reason == "The result must be int8, or int32 with 32-bit accumulators: int32, with 16 bits"


@pytest.mark.parametrize("network", ["stride-2", "batch-5"])
def test_16_bit_results_are_those_of_16_bit_arithmetic(network):
    case = {"stride-2": STRIDE_2, "batch-5": BATCH}[network]
    x, graph, _ = NETWORKS[network]
    exact = evaluate(Graph(graph.inputs, (case.accumulator(graph.inputs[0], "acc"),)), {"x": x})[0]
    wrapped = exact.astype(np.int16)
    near = (wrapped + np.int16(1 << (case.shift - 1))).astype(np.int16)
    outputs = run_verified(compile_graph(graph, config("sim", **NARROW)), {"x": x}, seeds=(None,))[0].outputs
    for output, value in zip(outputs, (wrapped, near), strict=True):
        np.testing.assert_array_equal(output, np.clip(value >> case.shift, -128, 127))


def test_a_layer_that_fits_no_schedule_runs_on_the_host_and_names_the_limit():
    """Two accumulator rows hold no tile next to a bias and two limits for each channel."""
    hw = config("sim", LOG_ACC_BUFF_SIZE=7)
    assert hw.depth(MemoryType.ACC) == 2
    data = graph_input("x", STRIDE_2.x, "int8")
    node = STRIDE_2.accumulator(data, "conv")
    limits = np.arange(STRIDE_2.w[0], dtype=np.int32).reshape(1, -1, 1, 1) - 32
    node = narrowed(call("maximum", [node, constant(limits * 1000)], "conv"), STRIDE_2.shift, "conv")
    graph = Graph((data,), (node,))
    compiled = compile_graph(graph, hw)
    assert compiled.regions == ()
    for entry in compiled.placements:
        assert entry.where == "host"
        assert "accumulator buffer: 3 rows needed, 2 there" in entry.reason
    x = STRIDE_2.arrays()[0]
    (report,) = run_verified(compiled, {"x": x}, seeds=(None,))
    np.testing.assert_array_equal(report.outputs[0], evaluate(graph, {"x": x})[0])
    assert report.device_runs == 0


@pytest.mark.parametrize("name", [name for name in SHIPPED if not config(name).requantize_unit])
def test_a_16_bit_form_of_every_shipped_config(name):
    """Results equal the interpreter's on whatever else the target can or cannot do."""
    hw = config(name)
    narrow = config(name, LOG_ACC_WIDTH=4, LOG_ACC_BUFF_SIZE=hw.log_acc_buff_size - 1)
    x, graph, _ = NETWORKS["batch-5"]
    compiled = compile_graph(graph, narrow)
    expected = evaluate(compiled.graph, {"x": x})
    for report in run_verified(compiled, {"x": x}):
        for output, wanted in zip(report.outputs, expected, strict=True):
            np.testing.assert_array_equal(output, wanted)


TEXT = json.dumps(config("sim").to_json())
BAD_FILES = {
    "missing-key": (TEXT.replace('"LOG_BATCH": 0, ', ""), "key LOG_BATCH is missing"),
    "string": (TEXT.replace('"LOG_BLOCK": 4', '"LOG_BLOCK": "4"'), "LOG_BLOCK = '4' is not an integer"),
    "negative": (TEXT.replace('"LOG_BATCH": 0', '"LOG_BATCH": -1'), "LOG_BATCH = -1 is out of range; allowed: 0 to 6"),
    "fraction": (TEXT.replace('"LOG_BLOCK": 4', '"LOG_BLOCK": 4.5'), r"LOG_BLOCK = 4\.5 is not an integer"),
    "target": (TEXT.replace('"sim"', '"simm"'), "TARGET = 'simm' is unknown; allowed: sim, "),
    "misspelt": (TEXT.replace("LOG_BATCH", "LOG_BACH"), "unknown key LOG_BACH = 0"),
    "duplicate": (TEXT.replace('"LOG_BATCH": 0', '"LOG_BATCH": 0, "LOG_BATCH": 1'), "key LOG_BATCH is given twice: 0 and 1"),
    "trailing-comma": (TEXT.replace("}", ",}"), "not JSON: .*line 1"),
}


@pytest.mark.parametrize(("text", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_refused_by_key(text, words, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        load_config(path)
    assert str(path) in str(caught.value)


class Recorder(SimDevice):
    """A device that notes what is done to it."""

    def __init__(self, hw, memory_bytes=1 << 24):
        super().__init__(hw, memory_bytes)
        self.done = []

    def write(self, address, data):
        self.done.append("write")
        super().write(address, data)

    def run(self, *arguments):
        self.done.append("run")
        return super().run(*arguments)


def test_a_program_for_another_config_is_refused_before_anything_happens():
    compiled = compile_graph(NETWORKS["gemm"][1], config("sim"))
    device = Recorder(config("sim", **FOUR_BY_EIGHT))
    with pytest.raises(ArtifactError, match="compiled for LOG_BATCH = 0, but the device has LOG_BATCH = 2"):
        Module(compiled, device)
    assert device.done == []


@pytest.mark.parametrize("network", NETWORKS)
def test_a_pool_of_16_mib_suffices(network):
    x, graph, checksums = NETWORKS[network]
    device = Recorder(config("sim"), memory_bytes=16 << 20)
    for report in run_verified(compile_graph(graph, config("sim")), {"x": x}, device=device):
        assert [crc(output) for output in report.outputs] == checksums


def test_a_pool_smaller_than_the_model_is_reported_before_execution():
    compiled = compile_graph(NETWORKS["product"][1], config("sim"))
    needed = compiled.regions[0].program.image_bytes
    device = Recorder(config("sim"), memory_bytes=16384)
    words = f"region0 {needed} bytes.*out of device memory: {needed} bytes needed, 12288 available"
    with pytest.raises(DeviceError, match=words):
        Module(compiled, device)
    assert device.done == []


def test_the_command_line_reports_it_too(tmp_path, capsys):
    path = tmp_path / "product.vta"
    compiled = compile_graph(NETWORKS["product"][1], config("sim"))
    save(compiled, path)
    assert main(["run", str(path), "--memory", "16M", "--check"]) == 0
    capsys.readouterr()
    assert main(["run", str(path), "--memory", "16K"]) == 1
    printed = capsys.readouterr()
    needed = compiled.regions[0].program.image_bytes
    assert f"out of device memory: {needed} bytes needed, 12288 available" in printed.err
    assert printed.out == ""
