"""Where two runs first differ, and what made it: equal runs, faults in files, engines and passes."""

from dataclasses import replace

import numpy as np
import pytest

import vta
from benchmarks.planted_faults import ENGINE_FAULTS, ENGINES, engine_faults, pass_faults
from tests.integer_graphs import BASELINE
from vta.compiler.compile import compile_graph, compile_model
from vta.devices.cycle import CycleDevice
from vta.devices.sim import SimDevice
from vta.errors import UsageError
from vta.isa.instruction import AluOp, Opcode
from vta.runtime.evaluation.random_inputs import any_value, random_inputs


def with_program(module, **changes):
    (region,) = module.regions
    return replace(module, regions=(replace(region, program=replace(region.program, **changes)),))


@pytest.fixture(scope="module")
def inputs(demo_plain):
    return random_inputs(demo_plain.graph, 0, any_value)


def test_engines_and_the_reference_agree(demo_plain):
    found = vta.diff((demo_plain, CycleDevice(demo_plain.hw)), demo_plain)
    assert found.equal
    assert found.compared > 4
    assert found.to_json()["first"] is None
    assert "the same" in repr(found)


def test_a_wrong_instruction_of_a_file_is_named(demo_plain):
    (region,) = demo_plain.regions
    rows = region.program.instructions.copy()
    index = int(np.flatnonzero((rows["opcode"] == Opcode.ALU) & (rows["alu_opcode"] == AluOp.MIN))[1])
    rows["imm"][index] -= 64
    wrong = with_program(demo_plain, instructions=rows)
    found = vta.diff((wrong, SimDevice(wrong.hw)), demo_plain)
    made_by = found.first.made_by
    assert (made_by.kind, made_by.region, made_by.index) == ("instruction", region.name, index)
    assert made_by.name.startswith("alu min")
    assert "compiling now gives alu min" in made_by.detail
    first = found.to_json()["first"]
    assert set(first) == {"layer", "tensor", "index", "left", "right", "differing", "total", "made_by", "why_not"}
    assert first["made_by"]["index"] == index


def test_a_wrong_constant_of_a_file_is_named(demo_plain):
    (region,) = demo_plain.regions
    image = region.program.image.copy()
    symbol = next(symbol for symbol in region.program.symbols if symbol.kind.value == "constant")
    image[symbol.offset + 16 : symbol.offset + symbol.nbytes] ^= 0x55
    wrong = with_program(demo_plain, image=image)
    made_by = vta.diff((wrong, SimDevice(wrong.hw)), demo_plain).first.made_by
    assert (made_by.kind, made_by.name) == ("constant", symbol.name)


def test_two_devices_that_run_one_program(demo_plain):
    (region,) = demo_plain.regions
    rows = region.program.instructions
    chosen, change = ENGINE_FAULTS["clips too high"]
    device = ENGINES["sim"](demo_plain.hw)
    device.change, device.index, device.opcodes = change, int(np.flatnonzero(chosen(rows))[0]), rows["opcode"]
    found = vta.diff((demo_plain, SimDevice(demo_plain.hw)), (demo_plain, device))
    assert found.first.made_by.index == device.index


def test_faults_in_engines_are_named(demo_plain, inputs):
    planted = engine_faults(demo_plain, inputs, np.random.default_rng(0))
    found = [fault for fault, _ in zip(planted, range(8), strict=False)]
    assert [fault.named for fault in found] == [fault.wanted for fault in found]


def test_faults_in_passes_are_named(shared):
    pytest.importorskip("ai_edge_litert")
    model = shared / "models/mlperf_tiny/kws_ref_model.tflite"
    inputs = random_inputs(vta.load_model(model), 0, any_value)
    planted = pass_faults(model, BASELINE, inputs, np.random.default_rng(0))
    found = [fault for fault, _ in zip(planted, range(5), strict=False)]
    assert [fault.named for fault in found] == [fault.wanted for fault in found]


def test_a_file_that_was_compiled_in_another_way(shared, tmp_path):
    pytest.importorskip("ai_edge_litert")
    model = shared / "models/mlperf_tiny/kws_ref_model.tflite"
    options = vta.quantization.QuantizeConfig(requantize="shift")
    compile_model(model, BASELINE, quantize=options).save(tmp_path / "net.vta")
    found = vta.diff(tmp_path / "net.vta", model)
    assert found.first.made_by.kind == "file"


def test_networks_that_have_nothing_in_common(demo_plain):
    other = vta.load_model("resnet8")
    with pytest.raises(UsageError, match="have no layer or output in common"):
        vta.diff(demo_plain, compile_graph(type(other)(demo_plain.graph.inputs, (), "none"), BASELINE))


def test_words_for_sides(demo_plain, tmp_path):
    path = tmp_path / "net.vta"
    demo_plain.save(path)
    assert vta.diff(f"{path}@cycle", path).equal
    for text, words in (
        (f"{path}@gpu", "no device 'gpu'; allowed: reference, sim, cycle, rtl, opencl, a board, or HOST:PORT"),
        ("resnet8@sim", "a model runs by its framework or its reference, not on sim"),
        (f"{path}@127.0.0.1:1", "devices of other machines are not to be had here"),
        ("net.mxnet@framework", "no framework runs such a file here"),
    ):
        with pytest.raises(UsageError, match=words):
            vta.diff(text, path)
