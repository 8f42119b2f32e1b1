"""Boards behind servers: what they say of themselves, programming them, and going back."""

import contextlib
import json
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.integer_graphs import BASELINE
from tests.rpc.support import FAST, LOCAL, until
from vta.boards.files import find_board
from vta.boards.manifest import add_bitstream
from vta.cli.main import main
from vta.compiler.compile import compile_graph
from vta.devices.open_device import DeviceSpec
from vta.errors import ArtifactError, DeviceError, RemoteError
from vta.ir.graph import Graph, graph_input
from vta.rpc.client.connect import connect, describe_device
from vta.rpc.server.server import DeviceServer
from vta.testing.boards.bench import stand_in_worker
from vta.testing.boards.model import write_bitstream

KV260 = find_board("kv260")
NARROW = replace(BASELINE, log_block=3, log_acc_buff_size=16, log_inp_buff_size=14, log_wgt_buff_size=16, log_uop_buff_size=14)


@pytest.fixture
def board(background, tmp_path):
    """Starts a server whose device is a stand-in."""

    def start(kind="kv260", hw=BASELINE, limits=FAST, **options):
        directory = tmp_path / "stand-in"
        directory.mkdir(exist_ok=True)
        spec = DeviceSpec(kind, 1 << 24, **options)
        return background.start(lambda: DeviceServer(LOCAL, hw, spec, limits=limits, worker_command=stand_in_worker(directory)))

    return start


@pytest.fixture
def bitstream(tmp_path):
    """Writes what stands for a bitstream."""

    def write(hw, board=KV260, name="made.bit"):
        path = tmp_path / name
        write_bitstream(path, board, board.design("core"), hw)
        return path

    return write


def free(server):
    until(lambda: not describe_device(server.address).busy, lambda: "the board does not get free")


def opened(server):
    """A session; the process for it may still be starting, on a busy machine for longer than a client waits."""
    sessions = []

    def attempt():
        with contextlib.suppress(RemoteError):
            sessions.append(connect(server.address, limits=FAST))
        return bool(sessions)

    until(attempt, lambda: "the board stays busy")
    return sessions[0]


def small(hw):
    data = graph_input("data", (1, hw.block, 6, 6), "int8")
    from tests.integer_graphs import int8_clip, widened

    return compile_graph(Graph((data,), (int8_clip(widened(data), "copy"),), "small"), hw)


def test_a_network_runs_on_a_board_behind_a_server(board, artifact, sample):
    with opened(board()) as session, session.load(artifact) as module:
        assert module.check(sample).bit_exact
        assert module.run(sample).cycles


def test_a_board_says_what_it_is(board, capsys, bitstream):
    path = bitstream(BASELINE)
    server = board(bitstream=path)
    found = describe_device(server.address)
    assert (found.device, found.hw.target) == ("pynq", "rtl")
    assert (found.board.board, found.board.design, found.board.clock_mhz) == ("kv260", "core", 100.0)
    assert len(found.board.sha256) == 64
    assert found.timing.bus_bits == 128
    assert main(["rpc", "describe", "--port", str(server.address.port), "--json"]) == 0
    printed = capsys.readouterr()
    shown = json.loads(printed.out)["board"]
    assert (shown["board"], shown["bitstream"]) == ("kv260", path.name)
    assert f"board kv260, design core at 100 MHz, bitstream {found.board.sha256[:12]}" in printed.err


def test_a_bitstream_of_a_session_is_gone_after_it(board, bitstream, artifact, sample):
    server = board(bitstream=bitstream(BASELINE))
    with opened(server) as session:
        session.program(bitstream(NARROW, name="narrow.bit"), NARROW)
        assert session.hw.block == 8
        with pytest.raises(ArtifactError, match="LOG_BLOCK = 4, but the device has LOG_BLOCK = 3"):
            session.load(artifact)
        with session.load(small(NARROW)) as module:
            import numpy as np

            assert module.check({"data": np.zeros((1, 8, 6, 6), np.int8)}).bit_exact
    free(server)
    with opened(server) as session:
        assert session.hw.block == 16
        with session.load(artifact) as module:
            assert module.check(sample).bit_exact


def test_a_bitstream_that_is_kept_stays(board, bitstream):
    server = board()
    with opened(server) as session:
        with pytest.raises(RemoteError, match="could not go back: ask it to keep the new one"):
            session.program(bitstream(NARROW), NARROW)
        session.program(bitstream(NARROW), NARROW, keep=True)
    free(server)
    with opened(server) as session:
        assert session.hw.block == 8


def test_a_bitstream_that_does_not_fit_changes_nothing(board, bitstream, artifact, sample):
    server = board(bitstream=bitstream(BASELINE))
    with opened(server) as session:
        with pytest.raises(DeviceError, match="was built for LOG_BLOCK = 3; the device is to have 4"):
            session.program(bitstream(NARROW, name="narrow.bit"), BASELINE)
        other = bitstream(BASELINE, find_board("pynq-z1"), "other.bit")
        with pytest.raises(DeviceError, match="built for part 7z020clg400; board kv260 has"):
            session.program(other, BASELINE)
        with pytest.raises(RemoteError, match=r"no name of a bitstream; allowed: files that end in \.bit, \.rbf"):
            session.program(artifact)
        with session.load(artifact) as module:
            assert module.check(sample).bit_exact


def test_a_core_on_a_board_whose_default_is_another_design(board, bitstream, tmp_path, artifact, sample):
    """The file says what it is; what a session put there is gone after it, and so is its design."""
    z1, wide = find_board("pynq-z1"), replace(BASELINE, target="pynq")
    hls, core = tmp_path / "hls.bit", tmp_path / "core.bit"
    write_bitstream(hls, z1, z1.design("hls"), wide)
    write_bitstream(core, z1, z1.design("core"), BASELINE)
    server = board("pynq-z1", hw=wide, bitstream=hls)
    assert describe_device(server.address).board.design == "hls"
    with opened(server) as session:
        session.program(core, BASELINE)
        assert session.description.board.design == "core"
        with session.load(artifact) as module:
            assert module.check(sample).bit_exact
        with pytest.raises(DeviceError, match="its head says that it is design core, and not hls"):
            session.program(core, BASELINE, design="hls")
    free(server)
    with opened(server) as session:
        assert session.description.board.design == "hls"
        session.program(core, BASELINE, keep=True)
    free(server)
    with opened(server) as session:
        assert session.description.board.design == "core"


def test_a_bitstream_that_is_too_large_is_refused(board, bitstream):
    server = board(bitstream=bitstream(BASELINE), limits=replace(FAST, upload_bytes=100))
    with opened(server) as session, pytest.raises(RemoteError, match=r"has \d+ bytes; the limit is 100"):
        session.program(bitstream(BASELINE))


def test_a_simulator_takes_no_bitstream(serve, take, bitstream):
    serve()
    with take() as session, pytest.raises(RemoteError, match="device sim is no board: it takes no bitstream"):
        session.program(bitstream(BASELINE))


def test_another_config_takes_another_bitstream(board, bitstream, tmp_path):
    server = board(bitstream=bitstream(BASELINE))
    with opened(server) as session, pytest.raises(DeviceError, match=r"no directory of other bitstreams: send one of 1x8"):
        session.configure(NARROW)
    server = board(bitstreams=tmp_path / "store", bitstream=bitstream(BASELINE))
    add_bitstream(tmp_path / "store", KV260, KV260.design("core"), NARROW, bitstream(NARROW), "a test")
    with opened(server) as session:
        session.configure(NARROW)
        assert session.hw.block == 8


def test_the_command_programs_a_board(board, bitstream, tmp_path, capsys):
    server = board()
    config = tmp_path / "narrow.json"
    config.write_text(json.dumps(NARROW.to_json()))
    path = bitstream(NARROW)
    assert main(["rpc", "program", str(path), "--port", str(server.address.port), "--config", str(config)]) == 0
    assert "kv260 holds core 1x8_i8w8a32" in capsys.readouterr().out
    until(lambda: describe_device(server.address).hw.block == 8, lambda: "the bitstream is not kept")


def test_programs_are_proved_before_they_are_sent_to_a_board(board, compiled, tmp_path):
    """The board has no verifier: it would start a program that waits for ever, and end it at its limit."""
    from vta.runtime.compiled_module import save

    program = compiled.regions[0].program
    spoiled = program.instructions.copy()
    spoiled["push_next"] = 0
    broken = replace(compiled, regions=(replace(compiled.regions[0], program=replace(program, instructions=spoiled)),))
    save(broken, tmp_path / "broken.vta")
    with opened(board()) as session, pytest.raises(ArtifactError, match="deadlock"):
        session.load(tmp_path / "broken.vta")


BLOCKED = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("cffi", "onnx", "tflite", "matplotlib", "amaranth") or name.startswith("vta._"):
            raise ImportError(f"{name} is not here")

sys.meta_path.insert(0, Block())
sys.argv = sys.argv[1:]
"""


def test_a_board_needs_no_core(tmp_path, artifact, sample):
    """Server and worker of a board run where neither the C++ core nor what only the compiler uses can be imported."""
    code = BLOCKED + "import vta.rpc.server.server, vta.rpc.server.worker, vta.cli.main, vta.devices.open_device\n"
    code += "import vta.devices.pynq, vta.devices.de10nano\n"
    code += "from vta.runtime.compiled_module import load\nload(sys.argv[0], contained=True)\nprint('loaded')"
    done = subprocess.run([sys.executable, "-c", code, str(artifact)], capture_output=True, text=True, check=False)
    assert done.stdout == "loaded\n", done.stderr
