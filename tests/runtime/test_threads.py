"""Threads that share a device or a module get what each would have got alone, or are told why not."""

import os
import re
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from tests.engines import open_engine, require_rtl
from tests.integer_graphs import random_inputs
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.devices.device import DeviceState, RunOptions
from vta.devices.engine.cycle_engine import CycleEngine
from vta.devices.rtl import RtlDevice
from vta.errors import DeviceError
from vta.hardware.verilator.library import Stalls
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.isa.program import PAGE_BYTES
from vta.runtime.compiled_module import save
from vta.runtime.module import Module
from vta.testing.boards.bench import make_stand_in
from vta.testing.fuzz.points import default_points

SIM = HardwareConfig.named("sim")
POINT = default_points()[6]
BOARDS = {"pynq": ("pynq-z1", "hls", HardwareConfig.named("pynq")), "de10nano": ("de10-nano", "core", SIM)}
ENGINES = ("sim", "cycle", "opencl", "rtl", "rtl, stalled", *BOARDS)
RUNS = {"sim": 60, "cycle": 60}
FEW_RUNS = 8
LIMIT_SECONDS = 120.0


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture
def device(engine, tmp_path):
    return open_one(engine, tmp_path)


def open_one(engine, tmp_path):
    if engine in BOARDS:
        return make_stand_in(*BOARDS[engine], tmp_path).open()
    if not engine.startswith("rtl"):
        return open_engine(engine, SIM)
    require_rtl()
    stalls = Stalls(200, 7) if "stalled" in engine else None
    return RtlDevice(POINT.hw, POINT.timing, 1 << 20, stalls=stalls)


def net(offset, channels, size=6):
    """Adds `offset` to int8 values, saturating."""
    data = graph_input("data", (1, channels, size, size), "int8")
    wide = call("add", [call("cast", [data], "wide", dtype="int32"), constant(np.int32(offset))], "sum")
    clipped = call("clip", [wide], "bound", a_min=-128, a_max=127)
    return Graph((data,), (call("cast", [clipped], "narrow", dtype="int8"),))


def compiled_for(device, offset, channels=8):
    module = compile_graph(net(offset, channels), device.hw)
    assert module.regions
    return module


def samples(compiled, count):
    """`count` different inputs, each with the output that it must give."""
    drawn = [random_inputs(compiled.graph, seed) for seed in range(count)]
    return [(inputs, evaluate(compiled.graph, inputs)[0]) for inputs in drawn]


def together(*works):
    """Call all at the same moment, each in a thread of its own; returns what they returned, or raises what one raised."""
    barrier = threading.Barrier(len(works))

    def start(work):
        barrier.wait(LIMIT_SECONDS)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(start, work) for work in works]
        return [future.result(LIMIT_SECONDS) for future in futures]


def wrong_runs(module, cases, runs, seed=None):
    """How many of `runs` runs gave something else than they must."""
    wrong = 0
    for index in range(runs):
        inputs, expected = cases[index % len(cases)]
        wrong += not np.array_equal(module.run(inputs, seed=seed).outputs[0], expected)
    return wrong


def test_two_modules_on_one_device(engine, device):
    runs = RUNS.get(engine, FEW_RUNS)
    first, second = compiled_for(device, 5), compiled_for(device, -70, channels=20)
    ours, theirs = samples(first, 4), samples(second, 4)
    with Module(first, device) as one, Module(second, device) as other:
        assert together(lambda: wrong_runs(one, ours, runs), lambda: wrong_runs(other, theirs, runs, seed=3)) == [0, 0]
    assert device.status().runs == 2 * runs


def test_one_module_in_many_threads(engine, device):
    runs = RUNS.get(engine, FEW_RUNS)
    compiled = compiled_for(device, 9)
    cases = samples(compiled, 8)
    with Module(compiled, device) as module:
        works = [lambda part=part: wrong_runs(module, cases[part::4], runs // 2) for part in range(4)]
        assert together(*works) == [0, 0, 0, 0]


def test_checks_beside_runs_and_batches(engine, device):
    runs = RUNS.get(engine, FEW_RUNS)
    compiled = compiled_for(device, 9)
    cases = samples(compiled, 4)
    batch = {"data": np.concatenate([inputs["data"] for inputs, _ in cases])}
    expected = np.concatenate([output for _, output in cases])
    with Module(compiled, device) as module:

        def check():
            return sum(not module.check(cases[index % 4][0]).bit_exact for index in range(runs // 2))

        def batches():
            return sum(not np.array_equal(module.run_batches(batch).outputs[0], expected) for _ in range(runs // 4))

        assert together(check, batches, lambda: wrong_runs(module, cases, runs)) == [0, 0, 0]


def test_modules_come_and_go_beside_runs(engine, device):
    rounds = RUNS.get(engine, FEW_RUNS) // 4
    compiled = [compiled_for(device, offset, channels) for offset, channels in ((3, 4), (-90, 20), (60, 40))]
    cases = [samples(module, 2) for module in compiled]

    def live(index):
        wrong = 0
        for _ in range(rounds):
            with Module(compiled[index], device) as module:
                wrong += wrong_runs(module, cases[index], 2)
        return wrong

    assert together(*(lambda index=index: live(index) for index in (0, 1, 2, 0))) == [0] * 4


def test_memory_is_handed_out_once(device):
    """Each thread finds in its memory what it wrote there, and all of it is free in the end."""
    most = device.memory_bytes // 64

    def work(number):
        rng = np.random.default_rng(number)
        for _ in range(30):
            held = [(device.allocate(size), size) for size in rng.integers(1, min(most, 4 * PAGE_BYTES), 4).tolist()]
            for address, size in held:
                device.write(address, np.full(size, number, np.uint8))
            found = [device.read(address, size) for address, size in held]
            for address, _ in held:
                device.free(address)
            if any(set(data.tolist()) != {number} for data in found):
                return 1
        return 0

    assert together(*(lambda number=number: work(number) for number in range(4))) == [0] * 4
    device.free(device.allocate(min(device.memory_bytes // 2, 1 << 22)))


def run_until_closed(module, cases, started):
    """Run again and again, each time right; returns what the error says that ends it."""
    try:
        while True:
            assert wrong_runs(module, cases, 1) == 0
            started.set()
    except DeviceError as error:
        return str(error)


@pytest.mark.parametrize("victim", ["device", "module"])
def test_closing_waits_for_what_others_do(engine, tmp_path, victim):
    for _ in range(6 if engine in RUNS else 2):
        device = open_one(engine, tmp_path)
        compiled = compiled_for(device, 17)
        cases = samples(compiled, 4)
        module = Module(compiled, device)
        started = threading.Event()

        def close(closed=module if victim == "module" else device, started=started):
            started.wait(LIMIT_SECONDS)
            closed.close()

        work = partial(run_until_closed, module, cases, started)
        *errors, _ = together(work, work, close)
        assert all(re.fullmatch(f"the (.* )?{victim} is closed", error) for error in errors)
        module.close()
        device.close()
        assert device.status().state is DeviceState.CLOSED


def test_a_block_keeps_others_away(device):
    compiled = compiled_for(device, 17)
    cases = samples(compiled, 2)
    with Module(compiled, device) as module, ThreadPoolExecutor(1) as pool:
        with device.exclusive():
            waiting = pool.submit(wrong_runs, module, cases, 1)
            runs = device.status().runs
            assert wrong_runs(module, cases, 2) == 0
            assert device.status().runs == runs + 2
            assert not waiting.done()
        assert waiting.result(LIMIT_SECONDS) == 0


def test_threads_share_a_cycle_engine():
    engine = CycleEngine(SIM)
    streams = []
    for offset, channels in ((1, 16), (2, 64), (3, 160)):
        program = compile_graph(net(offset, channels), SIM).regions[0].program
        streams.append(program.encoded(PAGE_BYTES))
    expected = [engine.run(stream, RunOptions(timeline=True)) for stream in streams]

    def work(index):
        wrong = 0
        for _ in range(40):
            found = engine.run(streams[index], RunOptions(timeline=True))
            wrong += found.cycles != expected[index].cycles
            wrong += not np.array_equal(found.times.completed, expected[index].times.completed)
            wrong += sorted(found.timeline.tolist()) != sorted(expected[index].timeline.tolist())
        return wrong

    assert together(*(lambda index=index: work(index) for index in (0, 1, 2))) == [0, 0, 0]


def test_compiling_in_many_threads_gives_the_same_files(tmp_path, monkeypatch):
    """With a cache that all of them fill at the same time."""
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path / "cache"))
    configs = [SIM, HardwareConfig.named("pynq")]

    def work(number):
        path = tmp_path / f"{number}.vta"
        save(compile_graph(net(number % 3, 20), configs[number % 2]), path)
        return path.read_bytes()

    files = together(*(lambda number=number: work(number) for number in range(6)))
    assert files == [work(number) for number in range(6)]


def in_child(work):
    """Whether `work` returned True in a child that was forked from this process."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 2
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_has_its_own_simulator_and_no_board(engine, device):
    compiled = compiled_for(device, 17)
    cases = samples(compiled, 2)
    module = Module(compiled, device)

    def refused():
        with pytest.raises(DeviceError, match=f"device belongs to process {os.getppid()}, which opened it"):
            module.run(cases[0][0])
        module.close()
        device.close()
        return True

    copied = engine not in BOARDS and engine != "opencl"
    assert in_child((lambda: wrong_runs(module, cases, 2) == 0) if copied else refused)
    assert wrong_runs(module, cases, 2) == 0
    module.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", ["sim", "cycle"])
def test_a_fork_beside_a_run_says_that_the_device_is_lost(kind):
    device = open_engine(kind, SIM)
    compiled = compiled_for(device, 17)
    cases = samples(compiled, 2)
    module = Module(compiled, device)
    held, done = threading.Event(), threading.Event()

    def hold():
        with device.exclusive():
            held.set()
            done.wait(LIMIT_SECONDS)

    def refused():
        with pytest.raises(DeviceError, match="was in use by another thread when this process was forked"):
            module.run(cases[0][0])
        other = open_engine(kind, SIM)
        with Module(compiled, other) as fresh:
            return wrong_runs(fresh, cases, 2) == 0

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(LIMIT_SECONDS)
    try:
        assert in_child(refused)
    finally:
        done.set()
        thread.join(LIMIT_SECONDS)
    assert wrong_runs(module, cases, 2) == 0
