"""Drivers against stand-ins: the same bits as the reference, and every trouble named."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import conv, int8_clip, integer_graphs, random_inputs
from vta.boards.manifest import add_bitstream
from vta.compiler.compile import compile_graph, compile_model
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.demo import load_digits, model_path
from vta.devices.device import Device, DeviceState, ProgrammableDevice, RunOptions, Tokens
from vta.errors import ArtifactError, CompileError, DeviceError, TimeLimitError
from vta.frontend import load_model
from vta.hardware.registers import ErrorBit
from vta.ir.graph import Graph, graph_input
from vta.isa import AluOp, Opcode, blank_instructions, encode
from vta.runtime import Module, Preprocessing, prepare
from vta.testing.boards.bench import make_stand_in
from vta.testing.boards.model import write_bitstream
from vta.testing.boards.trouble import MisuseError

PYNQ, SIM = HardwareConfig.named("pynq"), HardwareConfig.named("sim")
BOARDS = {
    "hls": ("pynq-z1", "hls", PYNQ),
    "core": ("pynq-z2", "core", SIM),
    "core, not coherent": ("kv260", "core", SIM),
    "hls, wide bus": ("ultra96", "hls", HardwareConfig.named("ultra96")),
    "core, 4x8": ("zcu104", "core", HardwareConfig.named("sim_4x8")),
    "vcr": ("de10-nano", "vcr", HardwareConfig.named("de10nano")),
    "core on a Cyclone": ("de10-nano", "core", SIM),
}
ONE_OF_EACH = ("hls", "core", "core, not coherent", "vcr")
FINISH = blank_instructions(1)
FINISH["opcode"] = Opcode.FINISH


@pytest.fixture(params=BOARDS)
def stand_in(request, tmp_path):
    return make_stand_in(*BOARDS[request.param], tmp_path)


@pytest.fixture(params=ONE_OF_EACH)
def one(request, tmp_path):
    return make_stand_in(*BOARDS[request.param], tmp_path)


@pytest.fixture
def core(tmp_path):
    return make_stand_in(*BOARDS["core"], tmp_path)


@pytest.fixture
def hls(tmp_path):
    return make_stand_in(*BOARDS["hls"], tmp_path)


@pytest.fixture(scope="module")
def digits():
    """The demo network, its calibration, and inputs."""
    graph, data = load_model(model_path()), load_digits()
    (image,) = graph.inputs
    scaled = Preprocessing(scale=16.0)
    return graph, {image.name: prepare(data.calibration, image, scaled)}, {image.name: prepare(data.x[:1], image, scaled)}


def small(hw, channels=16):
    rng = np.random.default_rng(3)
    data = graph_input("data", (1, channels, 6, 6), "int8")
    output = int8_clip(conv(data, rng.integers(-4, 4, (channels, channels, 3, 3))), "conv")
    return compile_graph(Graph((data,), (output,), "small"), hw)


def empty(hw, **fields):
    """A transfer of nothing that carries tokens."""
    row = blank_instructions(1)
    row["opcode"], row["memory_type"] = Opcode.LOAD, MemoryType.UOP
    for name, value in fields.items():
        row[name] = value
    return row


def test_the_demo_network_is_bit_exact(stand_in, digits):
    graph, calibration, inputs = digits
    compiled = compile_model(graph, stand_in.hw, calibration=calibration)
    with Module(compiled, stand_in.open()) as module:
        check = module.check(inputs)
        assert check.bit_exact, check.mismatch
        assert check.compared > 3
        first, again = module.run(inputs), module.run(inputs)
    assert (first.cycles is None) == (stand_in.design.registers == "hls")
    assert first.counters == again.counters
    np.testing.assert_array_equal(first.outputs[0], again.outputs[0])


@pytest.mark.parametrize("whole_buffers", [False, True])
@pytest.mark.parametrize("coherent", [False, True])
@pytest.mark.parametrize("kind", ["hls", "core"])
def test_caches_that_hide_and_caches_that_do_not(tmp_path, kind, coherent, whole_buffers):
    name, design, hw = BOARDS[kind]
    stand_in = make_stand_in(name, design, hw, tmp_path, whole_buffers=whole_buffers, coherent=coherent)
    compiled = small(hw)
    with Module(compiled, stand_in.open()) as module:
        for seed in range(3):
            assert module.check(random_inputs(compiled.graph, seed)).bit_exact


@settings(max_examples=12)
@given(graph=integer_graphs(), kind=st.sampled_from(ONE_OF_EACH), whole=st.booleans())
def test_random_graphs_are_bit_exact(graph, kind, whole, tmp_path_factory):
    name, design, hw = BOARDS[kind]
    stand_in = make_stand_in(name, design, hw, tmp_path_factory.mktemp("board"), whole_buffers=whole)
    try:
        compiled = compile_graph(graph, hw)
    except CompileError:
        return
    with Module(compiled, stand_in.open()) as module:
        check = module.check(random_inputs(graph))
        assert check.bit_exact, check.mismatch


def test_boards_have_the_whole_protocol(stand_in):
    device = stand_in.open()
    assert isinstance(device, Device)
    assert isinstance(device, ProgrammableDevice)
    assert device.name == stand_in.board.driver
    assert (device.timing is None) == (stand_in.design.registers != "core")
    state = device.board_state
    assert (state.board, state.design, state.bitstream) == (stand_in.board.name, stand_in.design.name, str(stand_in.bitstream))
    assert len(state.sha256) == 64
    assert device.hw.target == stand_in.design.target


def test_counters_of_the_core_are_those_of_the_cycle_engine(core):
    from vta.devices.cycle import CycleDevice

    compiled = small(SIM)
    inputs = random_inputs(compiled.graph)
    with Module(compiled, core.open()) as module, Module(compiled, CycleDevice(SIM)) as reference:
        found, expected = module.run(inputs), reference.run(inputs)
    assert found.cycles == expected.cycles
    assert found.counters == expected.counters
    assert found.operators == expected.operators
    assert found.results[0][1].units == expected.results[0][1].units


class Forgetful:
    """A buffer of pynq for a driver that forgets one of its methods."""

    def __init__(self, buffer, forgotten):
        self._buffer = buffer
        self._forgotten = forgotten
        self.physical_address = buffer.physical_address
        self.freebuffer = buffer.freebuffer

    def __getitem__(self, place):
        part = self._buffer[place]
        setattr(part, self._forgotten, lambda: None)
        return part

    def __setitem__(self, place, value):
        self._buffer[place] = value


def forgetting(stand_in, method):
    """Open a device whose driver forgets a method of buffers."""
    allocate = stand_in.pynq.allocate
    stand_in.pynq.allocate = lambda **options: Forgetful(allocate(**options), method)
    return stand_in.open()


def test_a_driver_that_forgets_to_flush_is_found_out(tmp_path):
    stand_in = make_stand_in(*BOARDS["core, not coherent"], tmp_path)
    compiled = small(SIM)
    with Module(compiled, forgetting(stand_in, "flush")) as module, pytest.raises(MisuseError, match="was it flushed"):
        module.run(random_inputs(compiled.graph))


def test_a_driver_that_forgets_to_invalidate_is_found_out(tmp_path):
    stand_in = make_stand_in(*BOARDS["core, not coherent"], tmp_path)
    compiled = small(SIM)
    with Module(compiled, forgetting(stand_in, "invalidate")) as module:
        assert not module.check(random_inputs(compiled.graph)).bit_exact


@pytest.mark.parametrize("kind", ["hls", "vcr"])
def test_a_driver_that_does_not_wait_for_stores_is_found_out(kind, tmp_path, digits, monkeypatch):
    monkeypatch.setattr("vta.devices.board.settling", lambda left: blank_instructions(0))
    stand_in = make_stand_in(*BOARDS[kind], tmp_path)
    compiled = small(stand_in.hw)
    with Module(compiled, stand_in.open()) as module:
        assert not module.check(random_inputs(compiled.graph)).bit_exact


def test_a_driver_that_takes_the_last_runs_done_for_this_ones_is_found_out(hls, monkeypatch):
    monkeypatch.setattr("vta.devices.board_control._Hls._nothing", lambda self: encode(FINISH, PYNQ))
    compiled = small(PYNQ)
    with Module(compiled, hls.open()) as module:
        module.run(random_inputs(compiled.graph))
        with pytest.raises(DeviceError, match="taking down done"):
            module.run(random_inputs(compiled.graph))


def test_another_config_is_refused_before_anything_runs(one):
    device = one.open()
    with pytest.raises(ArtifactError, match="LOG_BLOCK = 3, but the device has LOG_BLOCK = 4"):
        Module(small(replace(HardwareConfig.named("sim_1x8"), hw_version=device.hw.hw_version)), device)
    assert device.status().runs == 0


def test_a_program_that_multiplies_is_refused_by_a_design_that_cannot(hls):
    with pytest.raises(ArtifactError, match=r"multiply is True; the device's TARGET = 'pynq' has multiply False"):
        Module(small(SIM), hls.open())


def test_a_core_of_another_config_in_the_fabric_is_named(core):
    write_bitstream(core.bitstream, core.board, core.design, HardwareConfig.named("sim_1x8"))
    with pytest.raises(DeviceError, match="was built for LOG_BLOCK = 3; the device is to have 4"):
        core.open()


def test_the_core_where_the_published_design_is_expected_is_named(tmp_path):
    stand_in = make_stand_in("de10-nano", "core", SIM, tmp_path)
    write_bitstream(stand_in.bitstream, stand_in.board, stand_in.board.design("vcr"), SIM)
    with pytest.raises(DeviceError, match="does not hold this core: its register identity is 0x00000000"):
        stand_in.open()


def test_a_listed_bitstream_of_another_config_is_refused(hls, tmp_path):
    store = tmp_path / "store"
    add_bitstream(store, hls.board, hls.design, HardwareConfig.named("pynq_4x8"), hls.bitstream, "a test")
    listed = store / hls.design.bitstream_name(HardwareConfig.named("pynq_4x8"))
    with pytest.raises(DeviceError, match=r"listed with config 4x8\w+; the device is to have config 1x16"):
        hls.open(bitstream=listed)
    assert hls.model.programmed == 0


def test_a_directory_of_bitstreams_is_searched(hls, tmp_path):
    store = tmp_path / "store"
    add_bitstream(store, hls.board, hls.design, PYNQ, hls.bitstream, "a test")
    assert small(PYNQ).hw == hls.open(bitstreams=store).hw
    with pytest.raises(DeviceError, match=r"no bitstream of design hls with config 4x8\w+ .* there: hls 1x16"):
        hls.open(hw=HardwareConfig.named("pynq_4x8"), bitstreams=store)


def test_a_bitstream_for_another_part_is_refused(core, tmp_path):
    other = make_stand_in("kv260", "core", SIM, tmp_path)
    with pytest.raises(DeviceError, match="built for part k26-sfvc784-2LV-c; board pynq-z2 has xc7z020clg400-1"):
        core.open(bitstream=other.bitstream)
    assert core.model.programmed == 0


def test_a_run_that_hangs_ends_at_its_limit_and_the_next_starts_clean(one):
    compiled = small(one.hw)
    inputs = random_inputs(compiled.graph)
    with Module(compiled, one.open(), RunOptions(limit_seconds=2.0)) as module:
        one.model.trouble.hang = True
        with pytest.raises(TimeLimitError, match="time limit: not done after 2 s"):
            module.run(inputs)
        assert module.device.status().state is DeviceState.FAILED
        one.model.trouble.hang = False
        programmed = one.model.programmed
        assert module.check(inputs).bit_exact
        assert one.model.programmed == programmed + 1


def test_a_stream_that_waits_for_a_token_ends_at_its_limit(one):
    device = one.open()
    stream = encode(np.concatenate([empty(one.hw, pop_prev=1), FINISH]), one.hw)
    with pytest.raises(TimeLimitError, match="time limit: not done after 1 s"):
        device.run(stream, RunOptions(limit_seconds=1.0))
    device.run(encode(FINISH, one.hw), RunOptions(limit_seconds=1.0))


def test_the_core_says_where_a_run_stands(core):
    stream = encode(np.concatenate([empty(SIM, pop_prev=1), FINISH]), SIM)
    with pytest.raises(DeviceError, match="instructions completed: load 0, compute 0, store 0; load unit: no instruction left"):
        core.open().run(stream, RunOptions(limit_seconds=1.0))


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_without_a_bitstream_a_run_that_hangs_cannot_be_cleared_away(kind, tmp_path):
    stand_in = make_stand_in(*BOARDS[kind], tmp_path)
    stand_in.open()
    device = stand_in.open(program=False)
    stand_in.model.trouble.hang = True
    finish = encode(FINISH, stand_in.hw)
    with pytest.raises(TimeLimitError, match="time limit"):
        device.run(finish, RunOptions(limit_seconds=1.0))
    with pytest.raises(DeviceError, match=r"without its bitstream"):
        device.run(finish)
    with pytest.raises(DeviceError, match=r"still going on|nobody waits for"):
        stand_in.open(program=False)


def test_a_slow_board_is_waited_for(one):
    compiled = small(one.hw)
    one.model.trouble.slow = 1e6
    with Module(compiled, one.open()) as module:
        before = one.model.clock.now()
        assert module.check(random_inputs(compiled.graph)).bit_exact
        assert one.model.clock.now() - before > 1


@pytest.mark.parametrize("bit", [ErrorBit.READ_FAILED, ErrorBit.UNKNOWN_OPCODE])
def test_errors_that_the_core_reports_are_named(core, bit):
    compiled = small(SIM)
    with Module(compiled, core.open()) as module:
        core.model.trouble.errors = 1 << bit
        with pytest.raises(DeviceError, match=f"the core reports {bit.name.lower()}"):
            module.run(random_inputs(compiled.graph))
        core.model.trouble.errors = 0
        assert module.check(random_inputs(compiled.graph)).bit_exact


@pytest.mark.parametrize("name", ["gemm_uops", "out_bytes", "load_idle"])
def test_a_core_that_counts_something_else_is_found_out(core, name):
    compiled = small(SIM)
    with Module(compiled, core.open()) as module:
        core.model.trouble.wrong_counter = name
        with pytest.raises(DeviceError, match=rf"{name} = |states of the load unit"):
            module.run(random_inputs(compiled.graph))


def test_a_board_that_dies_is_found_out(one):
    compiled = small(one.hw)
    inputs = random_inputs(compiled.graph)
    with Module(compiled, one.open(), RunOptions(limit_seconds=5.0)) as module:
        module.run(inputs)
        one.model.trouble.dead_after = 0
        with pytest.raises(DeviceError, match=r"does not answer|states of the|not done after"):
            module.run(inputs)


@pytest.mark.parametrize(
    ("offset", "text"),
    [
        (64, "0x16001040, which is not a multiple of 4096"),
        (1 << 35, "which the accelerator's 32-bit addresses do not reach"),
        (0x10000000, "outside the window from 0x0 to 0x20000000 of board pynq-z1"),
    ],
)
def test_buffers_where_the_accelerator_cannot_use_them(hls, offset, text):
    device = hls.open()
    hls.model.trouble.offset = offset
    with pytest.raises(DeviceError, match=text):
        device.allocate(100)
    hls.model.trouble.offset = 0
    assert device.allocate(100) == 0x16001000


def test_memory_that_is_used_up(hls):
    device = hls.open(memory_bytes=1 << 20)
    device.allocate(1 << 19)
    with pytest.raises(DeviceError, match=r"out of device memory: 528384 bytes needed, 524288 available of 1048576"):
        device.allocate((1 << 19) + 1)
    with pytest.raises(DeviceError, match=r"allows 33554432 in one piece"):
        hls.open().allocate(33 << 20)
    with pytest.raises(DeviceError, match=r"board pynq-z1, while allocating|out of device memory"):
        hls.open().allocate(30 << 20)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"dram_base": 1}, r"instruction 0 transfers bytes 0x10 to 0x20, which are not inside an allocation"),
        ({"memory_type": 7}, r"memory_type = 7"),
    ],
)
def test_streams_that_would_spoil_the_board_do_not_run(one, fields, text):
    device = one.open()
    row = empty(one.hw, **{"memory_type": MemoryType.INP, "x_size": 1, "y_size": 1, "x_stride": 1, **fields})
    with pytest.raises(DeviceError, match=text):
        device.run(encode(np.concatenate([row, FINISH]), one.hw))


def test_an_instruction_that_the_design_lacks_does_not_run(hls):
    row = blank_instructions(1)
    row["opcode"], row["alu_opcode"], row["uop_end"], row["iter_out"], row["iter_in"] = Opcode.ALU, AluOp.MUL, 1, 1, 1
    with pytest.raises(DeviceError, match="target pynq has no MUL"):
        hls.open().run(encode(np.concatenate([row, FINISH]), PYNQ))


def test_tokens_last_only_where_they_are_wanted(one):
    device = one.open()
    push, pop = encode(empty(one.hw, push_prev=1), one.hw), encode(empty(one.hw, memory_type=MemoryType.INP, pop_next=1), one.hw)
    limit = RunOptions(limit_seconds=1.0)
    assert device.run(push, limit).tokens == Tokens(compute_to_load=1)
    assert device.run(push, replace(limit, keep_state=True)).tokens == Tokens(compute_to_load=2)
    assert device.run(pop, replace(limit, keep_state=True)).tokens == Tokens(compute_to_load=1)
    assert device.run(push, limit).tokens == Tokens(compute_to_load=1)
    device.reset()
    wanted = Tokens(1, 2, 3, 4)
    assert device.run(push, replace(limit, tokens=wanted)).tokens == replace(wanted, compute_to_load=3)
    assert device.run(push, limit).tokens == Tokens(compute_to_load=1)


def test_programming_again(core, tmp_path):
    device = core.open()
    again = Path(tmp_path / "again.bit")
    write_bitstream(again, core.board, core.design, SIM)
    device.program(again)
    assert device.board_state.bitstream == str(again)
    assert core.pynq.downloads[-1] == ("Bitstream", again)
    assert core.pynq.Clocks.fclk0_mhz == core.design.clock_mhz
    write_bitstream(again, core.board, core.design, HardwareConfig.named("sim_1x8"))
    with pytest.raises(DeviceError, match="LOG_BLOCK = 3"):
        device.program(again)


def test_metadata_beside_the_bitstream_is_used(core):
    core.bitstream.with_suffix(".hwh").write_text("<EDKSYSTEM/>")
    core.open()
    assert core.pynq.downloads == [("Overlay", core.bitstream)]


def test_memory_is_given_back(one):
    device = one.open()
    compiled = small(one.hw)
    for _ in range(3):
        with Module(compiled, device) as module:
            module.run(random_inputs(compiled.graph))
    device.close()
    device.close()
    with pytest.raises(DeviceError, match="device is closed"):
        device.allocate(1)
    if one.board.driver == "pynq":
        assert one.model.memory._pool.available == one.model.memory.dram.size - 4096


@settings(max_examples=40)
@given(
    kind=st.sampled_from(ONE_OF_EACH),
    whole=st.booleans(),
    steps=st.lists(
        st.tuples(st.sampled_from(["write", "read", "store"]), st.integers(0, 700), st.integers(0, 300)), min_size=1, max_size=20
    ),
)
def test_memory_is_what_both_sides_wrote(kind, whole, steps, tmp_path_factory):
    name, design, hw = BOARDS[kind]
    stand_in = make_stand_in(name, design, hw, tmp_path_factory.mktemp("board"), 1 << 16, whole)
    device = stand_in.open()
    address = device.allocate(1000)
    memory = stand_in.model.memory
    start = address - stand_in.board.memory.device_offset - memory.start
    expected = memory.dram[start : start + 1000].copy()
    rng = np.random.default_rng(0)
    for step, offset, nbytes in steps:
        data = rng.integers(0, 256, nbytes, dtype=np.uint8)
        if step == "read":
            np.testing.assert_array_equal(device.read(address + offset, nbytes), expected[offset : offset + nbytes])
            continue
        expected[offset : offset + nbytes] = data
        if step == "write":
            device.write(address + offset, data)
        else:
            memory.dram[start + offset : start + offset + nbytes] = data
        memory.evict()
        np.testing.assert_array_equal(memory.dram[start : start + 1000], expected)
