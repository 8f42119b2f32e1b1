"""The accelerator of a board behind device files: registers and memory in a file, the simulator behind them."""

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.demo_network import demo_image
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.devices.device import RunOptions
from vta.devices.sim import SimDevice
from vta.hardware.identification import identification
from vta.hardware.registers import REGISTERS, ControlBit
from vta.isa.instruction import INSTRUCTION_BYTES
from vta.runtime import Module
from vta.runtime.host_part.host_options import HostOptions

REGISTER_BASE, MEMORY, SIZE, SPAN = 0x10000, 0x100000, 0x100000, 4096
BLOCKS = {"core": ("core",), "vcr": ("core",), "hls": ("fetch", "load", "compute", "store")}


class Fabric(threading.Thread):
    """Physical memory in a file. A thread does what the accelerator does when it is started."""

    def __init__(self, path: Path, kind: str, hw: HardwareConfig, answers: bool = True) -> None:
        super().__init__(daemon=True)
        path.write_bytes(bytes(MEMORY + SIZE))
        self.words = np.memmap(path, "<u4", "r+")
        self.kind, self.answers, self.runs, self.stopped = kind, answers, 0, False
        dram = np.memmap(path, np.uint8, "r+", offset=MEMORY, shape=(SIZE,))
        self.device = SimDevice(hw, dram=dram)
        self.dram = dram
        if kind == "core":
            for name, value in identification(hw, 64).items():
                self.set(0, REGISTERS[name].offset, value)
        if kind == "hls":
            self.set(0, 0, 4)

    def at(self, block, offset):
        return int(self.words[(REGISTER_BASE + block * SPAN + offset) // 4])

    def set(self, block, offset, value):
        self.words[(REGISTER_BASE + block * SPAN + offset) // 4] = value

    def run(self):
        while not self.stopped:
            if self.answers and self.at(0, 0) & 1:
                getattr(self, f"run_{self.kind}")()
            time.sleep(1e-4)

    def execute(self, address, count):
        self.runs += 1
        code = np.array(self.dram[address - MEMORY : address - MEMORY + count * INSTRUCTION_BYTES]).reshape(
            count, INSTRUCTION_BYTES
        )
        self.device.run(rebased(code, self.device.hw), RunOptions(checks=False))

    def run_core(self):
        self.execute(self.at(0, 0x0C), self.at(0, 0x08))
        self.set(0, REGISTERS["errors"].offset, 0)  # ones that are written clear it
        self.set(0, 0, 1 << ControlBit.DONE)

    def run_vcr(self):
        self.execute(self.at(0, 0x0C), self.at(0, 0x08))
        self.set(0, 0, 2)

    def run_hls(self):
        count = self.at(0, 0x10)
        self.set(2, 0x18, 0)
        self.execute(self.at(0, 0x18), count)
        self.set(2, 0x18, int(count > 1))
        self.set(0, 0, 4)


def rebased(code, hw):
    """The stream with addresses that count from the start of the memory."""
    from vta.config.targets import MemoryType
    from vta.isa.encoding import decode, encode
    from vta.isa.instruction import Opcode

    rows = decode(code, hw)
    moves = ((rows["opcode"] == Opcode.LOAD) | (rows["opcode"] == Opcode.STORE)) & (rows["x_size"] > 0)
    sizes = np.array([hw.elem_bytes(memory) for memory in MemoryType])
    rows["dram_base"][moves] -= MEMORY // sizes[rows["memory_type"][moves]]
    return encode(rows, hw)


@pytest.fixture
def board(tmp_path, demo_compiled):
    """Describes a board with a design of a kind, and starts what is behind it."""
    started = []

    def make(kind="core", target="rtl", answers=True, **changes):
        path = tmp_path / f"mem{len(started)}"  # one that is mapped must not be written anew
        fabric = Fabric(path, kind, demo_compiled.hw, answers)
        fabric.start()
        started.append(fabric)
        bases = {name: REGISTER_BASE + SPAN * at for at, name in enumerate(BLOCKS[kind])}
        design = {"registers": kind, "target": target, "clock_mhz": 100, "bus_bits": 64, "coherent": True, "bases": bases}
        memory = {"start": MEMORY, "end": MEMORY + SIZE}
        described = {"name": "stand-in", "driver": "de10nano", "memory": memory, "default": kind, "designs": {kind: design}}
        (tmp_path / "board.json").write_text(json.dumps({**described, **changes}))
        files = ("--registers", path, "--buffer", path)
        return fabric, ("--device", tmp_path / "board.json", *files)

    yield make
    for fabric in started:
        fabric.stopped = True
        fabric.join()


@pytest.mark.parametrize(("kind", "target"), [("core", "rtl"), ("vcr", "sim"), ("hls", "sim")])
def test_regions_run_on_the_board(vta_run, artifact, board, demo_compiled, tmp_path, kind, target):
    fabric, options = board(kind, target)
    given = ("--input", artifact.with_name("image.npy"), "--output", tmp_path / "out.npy", "--repeat", 3)
    status, printed, complaint = vta_run(artifact, *options, *given, "--json")
    assert (status, complaint) == (0, "")
    assert json.loads(printed)["device"] == "board"
    assert fabric.runs == (5 if kind == "hls" else 3)  # one more before each run but the first takes down done
    with Module(demo_compiled, SimDevice(demo_compiled.hw), host=HostOptions(compiled=True)) as module:
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), module.run({"image": demo_image()}).outputs[0])


def refused(vta_run, artifact, options, *more):
    status, _, complaint = vta_run(artifact, *options, "--input", artifact.with_name("image.npy"), *more)
    assert status == 1
    assert len(complaint.splitlines()) == 1
    return complaint


def test_a_board_that_does_not_answer_is_waited_for_so_long(vta_run, artifact, board):
    _, options = board(answers=False)
    assert "time limit: not done after 0.1" in refused(vta_run, artifact, options, "--limit", "0.1")


def test_another_core_in_the_fabric_is_refused(vta_run, artifact, board):
    fabric, options = board()
    fabric.set(0, REGISTERS["geometry"].offset, identification(HardwareConfig.named("sim_1x8"), 64)["geometry"])
    wanted = "the core in the fabric was built for LOG_BLOCK = 3; this network was compiled for 4"
    assert wanted in refused(vta_run, artifact, options)
    fabric.set(0, REGISTERS["identity"].offset, 0)
    assert "does not hold this core: its register identity is 0x00000000" in refused(vta_run, artifact, options)


def test_a_design_that_does_not_run_the_program_is_refused(vta_run, artifact, board):
    _, options = board(target="pynq")
    complaint = refused(vta_run, artifact, options)
    assert "compiled for TARGET = sim, cycle, rtl" in complaint
    assert "of board stand-in has TARGET = pynq" in complaint


def test_memory_that_is_too_small_is_said(vta_run, artifact, board, tmp_path):
    _, options = board(memory={"start": MEMORY, "end": MEMORY + 0x8000})
    assert "out of device memory: " in refused(vta_run, artifact, options)
    _, options = board(memory={"start": MEMORY, "end": MEMORY + 4 * SIZE})
    assert f"{4 * SIZE} bytes at 0x100000 cannot be mapped" in refused(vta_run, artifact, options)
    none = ("--device", tmp_path / "board.json", "--registers", tmp_path / "none", "--buffer", tmp_path / "none")
    assert "none: cannot be opened: No such file or directory; it takes the rights of root" in refused(vta_run, artifact, none)


def test_boards_that_are_badly_described_are_refused(vta_run, artifact, board):
    for changes, message in (
        ({"driver": "jtag"}, ".driver = 'jtag'; allowed: pynq, de10nano"),
        ({"memory": {"start": 5, "end": MEMORY}}, ".memory.start = 5 is no multiple of 4096"),
        ({"default": "none"}, "no design 'none'"),
        ({"designs": {"core": {}}}, ".designs.core has no field registers"),
    ):
        assert message in refused(vta_run, artifact, board(**changes)[1])


def test_uio_and_contiguous_buffers_of_the_kernel(vta_run, artifact, board, tmp_path, monkeypatch):
    fabric, options = board()
    monkeypatch.setenv("VTA_SYSFS", str(tmp_path / "sys"))
    for name in ("uio0", "udmabuf0"):
        (tmp_path / name).symlink_to(options[3])
    files = ("--device", options[1], "--registers", tmp_path / "uio0", "--buffer", tmp_path / "udmabuf0")
    assert "cannot be read: is the driver loaded?" in refused(vta_run, artifact, files)
    buffer = tmp_path / "sys/class/u-dma-buf/udmabuf0"
    buffer.mkdir(parents=True)
    (buffer / "phys_addr").write_text(f"{MEMORY:#x}\n")
    (buffer / "size").write_text(f"{4 * SIZE}\n")
    assert "its memory at 0x100000 is outside of the window of board stand-in" in refused(vta_run, artifact, files)
    (buffer / "size").write_text(f"{SIZE}\n")
    assert "has no map at 0x10000" in refused(vta_run, artifact, files)
    registers = tmp_path / "sys/class/uio/uio0/maps/map0"
    registers.mkdir(parents=True)
    (registers / "addr").write_text(f"{REGISTER_BASE:#x}\n")
    (registers / "size").write_text("0x1000\n")
    # The map of a UIO device begins at its file's start: here that is no register, but it is mapped.
    assert "does not hold this core: its register identity is 0x00000000" in refused(vta_run, artifact, files)
    assert fabric.runs == 0


def test_descriptions_of_shipped_boards_are_read(vta_run, artifact, tmp_path):
    yaml = pytest.importorskip("yaml")
    for name in ("pynq-z1", "de10-nano", "kv260"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(yaml.safe_load(Path(find_board(name).source).read_text())))
        none = ("--device", path, "--design", "core", "--registers", tmp_path / "none", "--buffer", tmp_path / "none")
        assert "none: cannot be opened" in refused(vta_run, artifact, none)
