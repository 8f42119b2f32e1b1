"""The core's AXI ports against cocotbext-axi, which holds back handshakes at random and answers with errors."""

import re
import shutil

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")
pytest.importorskip("cocotb", reason="needs cocotb: pip install '.[cocotb]'")
pytest.importorskip("cocotbext.axi", reason="needs cocotbext-axi: pip install '.[cocotb]'")
if shutil.which("iverilog") is None:
    pytest.skip("needs Icarus Verilog: apt-get install iverilog", allow_module_level=True)

from cocotb_tools.runner import get_results, get_runner

from tests.hardware.programs import LOADED, STREAM_ADDRESS, Programs, in_order, small_config
from vta.config.timing import TimingParameters
from vta.hardware.emit import emit_verilog
from vta.isa import encode
from vta.testing.isa_reference import IsaReference

HW = small_config(0, 2, 5)
TIMING = TimingParameters(burst_beats=8, load_fifo=16, acc_fifo=16, fetch_fifo=16, queue_depth=4)


def bench_verilog(core):
    """The core with the ids that AXI4 has for writes: always 0."""
    lines = (line.strip().rstrip(";").split() for line in core[core.index("\nmodule vta(") :].split("endmodule")[0].splitlines())
    ports = [words for words in lines if words and words[0] in ("input", "output")]
    names = [words[-1] for words in ports]
    declared = [" ".join([words[0], "wire", *words[1:]]) for words in ports]
    declared += ["output wire [1:0] m_axi_awid", "input wire [1:0] m_axi_bid"]
    joined = ", ".join(f".{name}({name})" for name in names)
    return f"module bench({', '.join(declared)});\n  assign m_axi_awid = 0;\n  vta core({joined});\nendmodule\n"


@pytest.fixture(scope="module")
def simulator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("axi")
    # What depends on nothing that changes, Icarus computes only if this changes once all is set up.
    core = re.sub(r"(?m)^  reg (\\\S+dump_module\S+ ) = 0;", r"  reg \1;\n  initial \1 <= 0;", emit_verilog(HW, TIMING))
    (folder / "core.v").write_text(core + bench_verilog(core), encoding="utf-8")
    runner = get_runner("icarus")
    runner.build(
        sources=[folder / "core.v"], hdl_toplevel="bench", build_dir=folder, timescale=("1ns", "1ps"), build_args=["-g2012"]
    )
    return runner, folder


def run(simulator, *, permille, bad_page=0, seed=1):
    runner, folder = simulator
    programs = Programs(HW, np.random.default_rng(seed))
    dram = programs.dram()
    body = np.concatenate([programs.fill(memory) for memory in LOADED[:4]] + [programs.any() for _ in range(5)])
    stream = encode(in_order(body), HW)
    dram[STREAM_ADDRESS : STREAM_ADDRESS + stream.size] = stream.reshape(-1)
    reference = IsaReference(HW, dram.copy(), checks=False)
    reference.run(stream)
    np.savez(
        folder / "given.npz",
        dram=dram,
        expected=reference.dram,
        permille=permille,
        bad_page=bad_page,
        instructions=len(stream),
        stream=STREAM_ADDRESS,
    )
    results = runner.test(
        hdl_toplevel="bench",
        test_module="tests.hardware.cocotb_axi.bench",
        build_dir=folder,
        test_dir=folder,
        extra_env={"VTA_BENCH": str(folder / "given.npz")},
        results_xml=str(folder / "results.xml"),
    )
    return get_results(results)


@pytest.mark.parametrize("permille", [0, 400])
def test_a_program_behind_back_pressure(simulator, permille):
    assert run(simulator, permille=permille) == (1, 0)


def test_memory_that_answers_with_errors(simulator):
    """The data lie in the second page: their loads fail, and the run ends and says so."""
    assert run(simulator, permille=200, bad_page=1) == (1, 0)
