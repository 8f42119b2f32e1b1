"""The core in Amaranth's simulator, with the memory of the timing contract behind its AXI ports."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from vta.hardware.core.core import Core
from vta.hardware.fabric import PLAIN
from vta.hardware.registers import REGISTERS, UNIT_STATES, UNITS, ControlBit
from vta.isa import encode

LIMIT_CYCLES = 20_000


@dataclass
class Run:
    """What a run left: the registers by name, and the memory."""

    registers: dict[str, int]
    dram: np.ndarray
    units: dict[str, dict[str, int]] = field(init=False)

    def __post_init__(self):
        self.units = {unit: {state: self.registers[f"{unit}_{state}"] for state in UNIT_STATES} for unit in UNITS}


class Memory:
    """Delivers and takes beats as TIMING.md says; `stalls`, a generator of numbers, makes it slower and out of order instead."""

    def __init__(self, core, timing, dram, stalls=None):
        self.ports = core.ports
        self.timing = timing
        self.dram = dram
        self.stalls = stalls
        self.reads = deque()
        self.read_free = 0
        self.write = None
        self.waiting_data = deque()
        self.responses = deque()
        self.beats = 0

    def drive(self, ctx, cycle):
        """Set the inputs of this cycle."""
        p = self.ports
        for name in ("arready", "awready", "wready"):
            ctx.set(p[f"m_axi_{name}"], 1 if self.stalls is None else int(self.stalls.integers(0, 3) == 0))
        beat = self._next_beat(cycle)
        ctx.set(p["m_axi_rvalid"], beat is not None)
        if beat is not None:
            client, address, last = beat
            word = int.from_bytes(self.dram[address : address + self.timing.bus_bytes].tobytes(), "little")
            ctx.set(p["m_axi_rdata"], word)
            ctx.set(p["m_axi_rid"], client)
            ctx.set(p["m_axi_rlast"], last)
        answers = bool(self.responses) and self.responses[0] <= cycle
        if answers:
            self.responses.popleft()
        ctx.set(p["m_axi_bvalid"], answers)

    def _next_beat(self, cycle):
        if self.stalls is not None and len(self.reads) > 1:
            other = int(self.stalls.integers(0, len(self.reads)))
            clients = [burst[1] for burst in list(self.reads)[:other]]
            if self.reads[other][1] not in clients:
                self.reads.rotate(-other)
                burst = self.reads.popleft()
                self.reads.rotate(other)
                self.reads.appendleft(burst)
        if not self.reads or self.reads[0][0] > cycle or (self.stalls is not None and self.stalls.integers(0, 2)):
            return None
        burst = self.reads[0]
        _, client, address, left = burst
        burst[0] += self.timing.beat_interval
        burst[2] += self.timing.bus_bytes
        burst[3] -= 1
        if burst[3] == 0:
            self.reads.popleft()
        return client, address, left == 1

    def observe(self, ctx, cycle):
        """Take the outputs of this cycle."""
        p, t = self.ports, self.timing
        assert ctx.get(p["m_axi_rready"])
        if ctx.get(p["m_axi_arvalid"]) and ctx.get(p["m_axi_arready"]):
            beats, address = ctx.get(p["m_axi_arlen"]) + 1, ctx.get(p["m_axi_araddr"])
            self._check(address, beats)
            start = max(cycle + t.read_latency, self.read_free)
            self.read_free = start + beats * t.beat_interval
            self.reads.append([start, ctx.get(p["m_axi_arid"]), address, beats])
        if ctx.get(p["m_axi_awvalid"]) and ctx.get(p["m_axi_awready"]):
            assert self.write is None
            self.write = [ctx.get(p["m_axi_awaddr"]), ctx.get(p["m_axi_awlen"]) + 1]
            self._check(*self.write)
        if ctx.get(p["m_axi_wvalid"]) and ctx.get(p["m_axi_wready"]):
            word = ctx.get(p["m_axi_wdata"]).to_bytes(t.bus_bytes, "little")
            self.waiting_data.append((word, ctx.get(p["m_axi_wstrb"]), ctx.get(p["m_axi_wlast"])))
        self._land(cycle)

    def _land(self, cycle):
        while self.write and self.waiting_data:
            word, strobe, last = self.waiting_data.popleft()
            for lane in range(self.timing.bus_bytes):
                if strobe >> lane & 1:
                    self.dram[self.write[0] + lane] = word[lane]
            self.write = [self.write[0] + self.timing.bus_bytes, self.write[1] - 1]
            assert last == (self.write[1] == 0)
            if last:
                self.write = None
                self.responses.append(cycle + self.timing.write_latency)

    def _check(self, address, beats):
        size = self.timing.burst_beats * self.timing.bus_bytes
        assert address % self.timing.bus_bytes == 0
        assert address // size == (address + beats * self.timing.bus_bytes - 1) // size


class Bench:
    """One core that runs streams one after the other."""

    def __init__(self, hw, timing, fabric=PLAIN):
        self.hw, self.timing = hw, timing
        self.core = Core(hw, timing, fabric)

    def run(self, instructions, dram, stream_address, stalls=None, setup=(), runs=1):
        """Run decoded `instructions`, put at `stream_address` of a copy of `dram`; returns the last run."""
        stream = encode(instructions, self.hw)
        dram = dram.copy()
        dram[stream_address : stream_address + stream.size] = stream.reshape(-1)
        writes = {"instruction_count": len(stream), "instruction_base": stream_address, **dict(setup)}
        memory = Memory(self.core, self.timing, dram, stalls)
        registers = {}

        async def process(ctx):
            host = Host(ctx, self.core, memory)
            for _ in range(runs):
                for name, value in writes.items():
                    await host.write(name, value)
                await host.write("control", 1 << ControlBit.LAUNCH)
                while not await host.read("control") >> ControlBit.DONE & 1:
                    assert host.cycle < LIMIT_CYCLES, "the run does not end"
            for name in REGISTERS:
                registers[name] = await host.read(name)

        simulator = Simulator(self.core)
        simulator.add_clock(1e-6)
        simulator.add_testbench(process)
        simulator.run()
        return Run(registers, dram)


class Host:
    """Accesses registers while the memory goes on."""

    def __init__(self, ctx, core, memory):
        self.ctx, self.ports, self.memory = ctx, core.ports, memory
        self.cycle = 0

    async def tick(self):
        self.memory.observe(self.ctx, self.cycle)
        await self.ctx.tick()
        self.cycle += 1
        self.memory.drive(self.ctx, self.cycle)

    def _set(self, **values):
        for name, value in values.items():
            self.ctx.set(self.ports[f"s_axil_{name}"], value)

    def _get(self, name):
        return self.ctx.get(self.ports[f"s_axil_{name}"])

    async def write(self, name, value):
        self._set(awvalid=1, awaddr=REGISTERS[name].offset, wvalid=1, wdata=value, wstrb=15, bready=1)
        while not (self._get("awready") and self._get("wready")):
            await self.tick()
        await self.tick()
        self._set(awvalid=0, wvalid=0)
        while not self._get("bvalid"):
            await self.tick()
        await self.tick()

    async def read(self, name):
        self._set(arvalid=1, araddr=REGISTERS[name].offset, rready=1)
        while not self._get("arready"):
            await self.tick()
        await self.tick()
        self._set(arvalid=0)
        while not self._get("rvalid"):
            await self.tick()
        value = self._get("rdata")
        await self.tick()
        return value
