"""The Verilog text: ports, multipliers and memories."""

import re

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.back.verilog import convert as verilog_of
from amaranth.hdl import Module
from amaranth.lib.wiring import Component, Out, connect, flipped

from tests.hardware.programs import small_config
from vta.config.timing import TimingParameters
from vta.hardware.core.core import Core
from vta.hardware.emit import TOP_MODULE, emit_verilog
from vta.hardware.fabric import Fabric

HALVES = 3
"""Products of halves in a lane of the ALU: what lies above the 32 bits of its result is left out."""


@pytest.fixture(scope="module")
def verilog():
    return emit_verilog(small_config(0, 2, 5), TimingParameters(bus_bits=128))


def module(text, name):
    return re.search(rf"^module {name}\(.*?^endmodule", text, re.MULTILINE | re.DOTALL).group()


def test_ports(verilog):
    top = module(verilog, TOP_MODULE)
    ports = re.findall(r"^  (?:input|output) (?:\[(\d+):0\] )?(\w+);", top, re.MULTILINE)
    found = {name: int(high or 0) + 1 for high, name in ports}
    expected = {
        "clk": 1,
        "rst": 1,
        "irq": 1,
        "s_axil_awaddr": 16,
        "s_axil_rdata": 32,
        "m_axi_araddr": 32,
        "m_axi_arlen": 8,
        "m_axi_arid": 2,
        "m_axi_rdata": 128,
        "m_axi_wdata": 128,
        "m_axi_wstrb": 16,
        "m_axi_bready": 1,
    }
    assert {name: found.get(name) for name in expected} == expected
    assert all(name in ("clk", "rst", "irq") or name.startswith(("s_axil_", "m_axi_")) for name in found)


def test_every_port_has_the_direction_of_its_side(verilog):
    top = module(verilog, TOP_MODULE)
    found = {name: way for way, name in re.findall(r"^  (input|output) (?:\[\d+:0\] )?(\w+);", top, re.MULTILINE)}
    answers = {"awready", "wready", "bvalid", "bresp", "arready", "rvalid", "rdata", "rresp", "rlast", "rid"}
    for name, way in found.items():
        side, _, signal = name.rpartition("_")
        if side == "s_axil":
            assert (way == "output") == (signal in answers), name
        elif side == "m_axi":
            assert (way == "input") == (signal in answers), name
        else:
            assert (way == "output") == (name == "irq"), name


def test_one_multiplier_for_each_mac(verilog):
    gemm = next(text for text in re.findall(r"^module .*?^endmodule", verilog, re.MULTILINE | re.DOTALL) if "product_0_0" in text)
    assert len(re.findall(r" \* ", gemm)) == 4 * 4
    assert len(re.findall(r" \* ", verilog)) - 16 == 4 * HALVES


def test_one_multiplier_for_two_macs_on_xilinx():
    text = emit_verilog(small_config(0, 2, 5), TimingParameters(), Fabric(dsp48=True))
    gemm = next(text for text in re.findall(r"^module .*?^endmodule", text, re.MULTILINE | re.DOTALL) if "pair_0_0" in text)
    assert len(re.findall(r" \* ", gemm)) == 4 * 4 // 2
    assert len(re.findall(r" \* ", text)) == 4 * 4 // 2 + 4 * HALVES


def test_no_latches(verilog):
    assert "latch" not in verilog.lower()


def test_memories_are_zeroed_in_loops(verilog):
    memories = re.findall(r"^  reg (?:\[\d+:0\] )?(\w+) \[(\d+):0\];", verilog, re.MULTILINE)
    loops = re.findall(
        r"^  initial for \((\w+) = 0; \1 <= (\d+); \1 = \1 \+ 1\) (\w+)\[\1\] = \d+'[hd]0+;", verilog, re.MULTILINE
    )
    assert memories
    assert sorted(memories) == sorted((name, last) for _, last, name in loops)


def test_the_core_is_a_component_of_larger_designs():
    """Its master goes out through an interface of the design around it; its registers are driven there."""
    core = Core(small_config(0, 2, 5), TimingParameters())

    class Design(Component):
        def __init__(self):
            super().__init__({"memory": Out(core.m_axi.signature), "done": Out(1)})

        def elaborate(self, platform):
            m = Module()
            m.submodules.core = core
            connect(m, core.m_axi, flipped(self.memory))
            m.d.comb += [self.done.eq(core.irq), core.s_axil.awvalid.eq(1)]
            return m

    top = module(verilog_of(Design(), name="around", emit_src=False), "around")
    ports = re.findall(r"^  (?:input|output) (?:\[\d+:0\] )?(\w+);", top, re.MULTILINE)
    assert {"memory__read__araddr", "memory__write__wdata", "done"} <= set(ports)
    assert not any("s_axil" in name for name in ports)
