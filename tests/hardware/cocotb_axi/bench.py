"""What cocotb runs inside the simulator: a program on the core, with cocotbext-axi's masters and slaves at its ports."""

import os
import random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlave
from cocotbext.axi.address_space import MemoryRegion

from vta.hardware.registers import REGISTERS, ControlBit, ErrorBit

LIMIT_READS = 2000


class Dram(MemoryRegion):
    """Memory of which one page, unless that is the first, cannot be reached."""

    def __init__(self, size, bad_page):
        super().__init__(size)
        self.bad_page = bad_page

    def check(self, address):
        if self.bad_page and address >> 12 == self.bad_page:
            raise ValueError("no memory there")

    async def _read(self, address, length, **kwargs):
        self.check(address)
        return await super()._read(address, length, **kwargs)

    async def _write(self, address, data, **kwargs):
        self.check(address)
        await super()._write(address, data, **kwargs)


def pauses(seed, permille):
    rng = random.Random(seed)
    while True:
        yield rng.randrange(1000) < permille


def hold_back(reads, writes, permille):
    """Let every channel pause at random."""
    for interface, names in (reads, writes):
        for seed, name in enumerate(names):
            getattr(interface, f"{name}_channel").set_pause_generator(pauses(seed, permille))


@cocotb.test(timeout_time=200, timeout_unit="us")
async def run_a_program(dut):
    given = np.load(os.environ["VTA_BENCH"])
    dram, expected, permille, bad_page = given["dram"], given["expected"], int(given["permille"]), int(given["bad_page"])
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.rst.value = 1
    # What nobody drives yet would spread from the ports.
    for name in ("arvalid", "araddr", "awvalid", "awaddr", "wvalid", "wdata", "wstrb", "rready", "bready"):
        getattr(dut, f"s_axil_{name}").value = 0
    for name in ("arready", "rvalid", "rid", "rdata", "rlast", "rresp", "awready", "wready", "bvalid", "bresp"):
        getattr(dut, f"m_axi_{name}").value = 0
    await ClockCycles(dut.clk, 3)
    host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    memory = Dram(len(dram), bad_page)
    memory.mem[:] = dram.tobytes()
    hold_back((host.read_if, ("ar", "r")), (host.write_if, ("aw", "w", "b")), permille)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)

    async def write(name, value):
        await host.write_dword(REGISTERS[name].offset, value)

    async def read(name):
        return await host.read_dword(REGISTERS[name].offset)

    await write("instruction_count", int(given["instructions"]))
    await write("instruction_base", int(given["stream"]))
    await write("control", 1 << ControlBit.LAUNCH)
    await RisingEdge(dut.m_axi_arvalid)
    slave = AxiSlave(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, target=memory)
    hold_back((slave.read_if, ("ar", "r")), (slave.write_if, ("aw", "w", "b")), permille)
    for _ in range(LIMIT_READS):
        if await read("control") >> ControlBit.DONE & 1:
            break
    else:
        raise AssertionError("the run does not end")
    errors = await read("errors")
    if bad_page:
        assert errors & (1 << ErrorBit.READ_FAILED | 1 << ErrorBit.WRITE_FAILED), f"errors {errors:#x}"
        return
    assert errors == 0, f"errors {errors:#x}"
    assert bytes(memory.mem[:]) == expected.tobytes(), "memory differs"
