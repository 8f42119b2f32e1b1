"""Builds a bitstream in a folder of its own, stage by stage."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from vta.bitstream.arrange import Step, arranging_programs, arranging_steps, place_route_steps, placing_programs
from vta.bitstream.constraints import constraints_text
from vta.bitstream.dram import controller_command, generator_settings, read_controller
from vta.bitstream.ethernet import board_settings, network_command, network_digest
from vta.bitstream.plan import Plan
from vta.bitstream.report import Report, check_cells, read_report
from vta.bitstream.script import (
    pack_arguments,
    packing_arguments,
    synthesis_script,
    whole_script,
)
from vta.bitstream.stages import LOGS, PART, Stage, Stages, run_tool
from vta.bitstream.tools import Toolset
from vta.bitstream.top import TOP, top_verilog
from vta.boards.bit_file import PACKAGE_FILE
from vta.boards.controller import ControllerSetup
from vta.boards.manifest import checksum
from vta.boards.package import BuildRecord, Package
from vta.errors import DeviceError
from vta.files.atomic_file import make_folder, write_whole
from vta.hardware.sources import hardware_digest
from vta.hardware.synthesis.core import without_first_contents
from vta.support.dataclass import dataclass
from vta.support.folder_lock import alone_in

__all__ = ["Built", "build_bitstream"]

_SYSTEM, _TOP, _CONTROLLER, _PLACES = "system.v", "top.v", "controller.v", "board.lpf"
_SETUP, _GENERATOR = "setup.json", "controller.json"
_NETWORK, _NETWORK_SETTINGS = "network.v", "network.json"
_SYNTHESIS, _MAPPED, _CELLS, _SCRIPT = "synth.ys", "mapped.json", "cells.json", "build.sh"
_NETLIST, _BETWEEN = "netlist.json", ".json"
_REPORT, _ROUTED = "report.json", "board.config"
"""Of each seed, in a folder of its own."""


@dataclass(frozen=True)
class Built:
    """A bitstream and what is known of it."""

    bitstream: Path
    seconds: dict[str, float]
    """Of each stage, when it last ran."""
    report: Report
    seed: int

    @property
    def fits(self) -> bool:
        """Whether every clock may be as fast as it is; a design that is too large is not built at all."""
        return not self.report.missed


def build_bitstream(plan: Plan, directory: Path, tools: Toolset, on_stage: Callable[[str], None] = lambda _: None) -> Built:
    """Build the bitstream of `plan` in `directory`, where what an earlier build completed is not made again.

    `on_stage` is told the name of each stage that runs. Raises `DeviceError` with a tool's own words if it fails, or if another
    process builds there, and `UsageError` with the numbers if the design is too large for the FPGA. The folder then has what is
    complete, and its logs.
    """
    make_folder(directory)
    with ExitStack() as entered:
        try:
            entered.enter_context(alone_in(directory, wait=False))
        except BlockingIOError:
            raise DeviceError(f"{directory}: another process builds there; wait for it, or name another folder") from None
        return _built(plan, directory, tools, on_stage)


def _built(plan: Plan, directory: Path, tools: Toolset, on_stage: Callable[[str], None]) -> Built:
    build = _Build(plan, directory, tools)
    stages = Stages(directory)
    seconds = {stage.name: stages.run(stage, on_stage) for stage in (build.rtl(), build.system(), build.synth())}
    if plan.board.capacity is not None:
        check_cells(directory / _CELLS, plan.board.capacity, f"{plan.hw.bitstream} on board {plan.board.name}, {plan.board.part}")
    arrange = build.arrange()
    seconds[arrange.name] = stages.run(arrange, on_stage)
    attempt = _best_attempt(plan, build, stages, on_stage)
    pack = build.pack(attempt.seed)
    seconds |= {"place_route": attempt.seconds, pack.name: stages.run(pack, on_stage)}
    built = Built(directory / plan.file, seconds, attempt.report, attempt.seed)
    _describe(plan, directory, built, tools)
    return built


def _describe(plan: Plan, directory: Path, built: Built, tools: Toolset) -> None:
    """Write beside the bitstream what it is."""
    setup = json.loads((directory / _SETUP).read_text(encoding="utf-8"))
    record = BuildRecord(
        sha256=checksum(built.bitstream),
        clock_mhz=plan.design.clock_mhz,
        seed=built.seed,
        tools=tools.versions,
        seconds=built.seconds,
        resources=asdict(built.report.resources),
        fmax_mhz={name: clock.mhz for name, clock in built.report.clocks.items()},
        fits=built.fits,
    )
    package = Package(
        board=plan.board.name,
        design=plan.design.name,
        config=plan.hw,
        timing=plan.timing,
        bitstream=plan.file,
        build=record,
        controller=ControllerSetup.from_json(setup, str(directory / _SETUP)) if setup else None,
        network=plan.network,
    )
    write_whole(directory / PACKAGE_FILE, json.dumps(package.to_json(), indent=2) + "\n", "the bitstream's description")


@dataclass(frozen=True)
class _Attempt:
    """What came of a seed."""

    seed: int
    seconds: float
    report: Report


def _best_attempt(plan: Plan, build: _Build, stages: Stages, on_stage: Callable[[str], None]) -> _Attempt:
    """Try seeds, `plan.jobs` of them at once, until one meets the clocks; the best of those that were tried."""

    def attempt(seed: int) -> _Attempt:
        make_folder(build.directory / f"seed-{seed}")
        seconds = stages.run(build.place_route(seed), on_stage)
        return _Attempt(seed, seconds, read_report(build.directory / _of_seed(seed, _REPORT)))

    made: list[_Attempt] = []
    seeds = range(plan.seed, plan.seed + plan.attempts)
    for first in range(0, len(seeds), plan.jobs):
        with ThreadPoolExecutor(plan.jobs) as pool:
            made += pool.map(attempt, seeds[first : first + plan.jobs])
        if any(not found.report.missed for found in made):
            break
    return max(made, key=lambda found: found.report.slack)


def _of_seed(seed: int, name: str) -> str:
    return f"seed-{seed}/{name}"


class _Build:
    """The stages of one build."""

    def __init__(self, plan: Plan, directory: Path, tools: Toolset) -> None:
        self._plan = plan
        self.directory = directory
        self._tools = tools
        generated = {_CONTROLLER: plan.fpga.dram, _NETWORK: plan.network}
        self._sources = (_SYSTEM, _TOP, *(name for name, there in generated.items() if there))

    def rtl(self) -> Stage:
        """Core, link and block memories as Verilog."""
        plan = self._plan
        settings = json.dumps([repr(plan.hw), repr(plan.timing), repr(plan.parameters), plan.fpga.baud, hardware_digest()])

        def run() -> None:
            from vta.hardware.system.board_system import system_verilog

            text = system_verilog(plan.hw, plan.timing, plan.parameters, baud=plan.fpga.baud)
            self._write(_SYSTEM, without_first_contents(text))

        return Stage("rtl", "", (), (_SYSTEM,), settings, run)

    def system(self) -> Stage:
        """Top module, memory controller, constraints, and the scripts."""
        plan, fpga = self._plan, self._plan.fpga
        programs = arranging_programs(fpga) | placing_programs(fpga)
        outputs = (*self._sources[1:], _PLACES, _SETUP, _SYNTHESIS, _SCRIPT, *programs)
        generators = [self._tools.versions.get("litedram", "") if fpga.dram else ""]
        if plan.network:
            generators += [self._tools.versions.get("liteeth", ""), repr(plan.network), network_digest()]
        written = {
            _TOP: top_verilog(fpga, bus_bits=plan.timing.bus_bits, address_bits=plan.address_bits, pll=plan.pll),
            _PLACES: constraints_text(fpga),
            _SYNTHESIS: synthesis_script(self._sources, _MAPPED, _CELLS),
            _SCRIPT: self._whole_script(),
            **programs,
        }
        settings = json.dumps([repr(fpga), plan.design.clock_mhz, plan.timing.bus_bits, generators, written])

        def run() -> None:
            setup = self._make_controller() if fpga.dram else {}
            if plan.network:
                self._make_network()
            for name, text in written.items():
                make_folder((self.directory / name).parent)
                self._write(name, text)
            self._write(_SETUP, json.dumps(setup, indent=2) + "\n")

        return Stage("system", "", (), outputs, settings, run)

    def synth(self) -> Stage:
        """The netlist of the FPGA's cells."""

        def run() -> None:
            script = synthesis_script(self._sources, f"{_MAPPED}{PART}", f"{_CELLS}{PART}")
            make_folder(self.directory / LOGS)
            write_whole(self.directory / LOGS / _SYNTHESIS, script)
            self._call([*self._tools.yosys, f"{LOGS}/{_SYNTHESIS}"], "synth", "the synthesis")

        return Stage("synth", "", (*self._sources, _SYNTHESIS), (_MAPPED, _CELLS), self._tools.versions["yosys"], run)

    def arrange(self) -> Stage:
        """The netlist with registers, memories and multipliers where they are to be."""
        between = f"{_BETWEEN}{PART}"
        steps = self._arranging(f"{_NETLIST}{PART}", between)

        def run() -> None:
            try:
                self._run_steps(steps, "arrange-{}", "arranging the netlist")
            finally:
                for path in self.directory.glob(f"*{between}"):
                    if path.name != f"{_NETLIST}{PART}":
                        path.unlink()

        programs = tuple(arranging_programs(self._plan.fpga))
        settings = json.dumps([self._tools.versions["nextpnr-ecp5"], *(step.arguments for step in steps)])
        return Stage("arrange", "", (_MAPPED, _PLACES, *programs), (_NETLIST,), settings, run)

    def _arranging(self, netlist: str, between: str) -> list[Step]:
        fpga = self._plan.fpga
        return arranging_steps(
            fpga, TOP, mapped=_MAPPED, packing=packing_arguments(fpga, _PLACES), netlist=netlist, between=between
        )

    def place_route(self, seed: int) -> Stage:
        """Where each cell is, how they are joined, and how fast each clock may be."""
        report, result = _of_seed(seed, _REPORT), _of_seed(seed, _ROUTED)
        between = f"{_BETWEEN}{PART}"
        steps = self._placing(seed, f"{report}{PART}", f"{result}{PART}", between)

        def run() -> None:
            try:
                self._run_steps(steps, f"place_route-{seed}-{{}}", "place and route")
            finally:
                for path in (self.directory / _of_seed(seed, "")).glob(f"*{between}"):
                    if path.name != f"{_REPORT}{PART}":
                        path.unlink()

        programs = tuple(placing_programs(self._plan.fpga))
        settings = self._settings_of("nextpnr-ecp5", [repr(step) for step in steps])
        return Stage("place_route", str(seed), (_NETLIST, _PLACES, *programs), (report, result), settings, run)

    def _placing(self, seed: int, report: str, result: str, between: str) -> list[Step]:
        return place_route_steps(
            self._plan.fpga,
            seed,
            netlist=_NETLIST,
            places=_PLACES,
            report=report,
            result=result,
            folder=_of_seed(seed, ""),
            between=between,
        )

    def _run_steps(self, steps: list[Step], log: str, what: str) -> None:
        tools = {"python": self._tools.python, "nextpnr": self._tools.nextpnr}
        for number, step in enumerate(steps):
            inner = [] if step.runs_nextpnr is None else [*self._tools.nextpnr, *step.runs_nextpnr]
            self._call([*tools[step.tool], *step.arguments, *inner], log.format(number), what)

    def pack(self, seed: int) -> Stage:
        """The bitstream."""
        result, bitstream = _of_seed(seed, _ROUTED), self._plan.file
        arguments = pack_arguments(result=result, bitstream=f"{bitstream}{PART}")

        def run() -> None:
            self._call([*self._tools.ecppack, *arguments], "pack", "packing")

        return Stage("pack", "", (result,), (bitstream,), self._settings_of("ecppack", arguments), run)

    def _settings_of(self, tool: str, arguments: list[str]) -> str:
        return json.dumps([self._tools.versions[tool], arguments])

    def _make_controller(self) -> dict[str, object]:
        plan, dram = self._plan, self._plan.fpga.dram
        assert dram is not None, "called where there is one"
        settings = generator_settings(dram, plan.board.part, clock_mhz=plan.design.clock_mhz, oscillator_mhz=plan.fpga.clock_mhz)
        write_whole(self.directory / _GENERATOR, settings)
        self._call([*self._tools.python, *controller_command(_GENERATOR)], "system", "the generator of the memory controller")
        made = read_controller(self.directory)
        plan.check_memory(made.memory_bytes)
        self._write(_CONTROLLER, made.verilog)
        return made.setup.to_json()

    def _make_network(self) -> None:
        ethernet, network = self._plan.fpga.ethernet, self._plan.network
        assert ethernet is not None, "called where there is one"
        assert network is not None, "it goes with the board's Ethernet"
        settings = board_settings(ethernet, network, clock_mhz=self._plan.design.clock_mhz)
        write_whole(self.directory / _NETWORK_SETTINGS, settings)
        command = network_command(_NETWORK_SETTINGS, f"{_NETWORK}{PART}")
        self._call([*self._tools.python, *command], "network", "the generator of the network's cores")

    def _whole_script(self) -> str:
        seed = self._plan.seed
        report, result = _of_seed(seed, _REPORT), _of_seed(seed, _ROUTED)
        steps = [*self._arranging(_NETLIST, _BETWEEN), *self._placing(seed, report, result, _BETWEEN)]
        return whole_script(
            (
                ("YOSYS", ["-q", "-s", _SYNTHESIS], None),
                *((step.tool.upper(), step.arguments, step.runs_nextpnr) for step in steps),
                ("ECPPACK", pack_arguments(result=result, bitstream=self._plan.file), None),
            ),
            _of_seed(seed, ""),
        )

    def _write(self, name: str, text: str) -> None:
        write_whole(self.directory / f"{name}{PART}", text)

    def _call(self, command: list[str], log: str, what: str) -> None:
        run_tool(self.directory, command, log, what)
