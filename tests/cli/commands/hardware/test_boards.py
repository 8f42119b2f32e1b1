import json
import socket
from contextlib import closing

import pytest

from tests.devices.link.etherbone_board import EtherboneBoard
from tests.hardware.programs import small_config
from vta.boards.files import find_board, shipped_boards
from vta.boards.manifest import find_bitstream, listed_design
from vta.cli.main import main
from vta.config.hardware import HardwareConfig
from vta.hardware.system.address_map import INFORMATION_BASE, SYSTEM_IDENTITY
from vta.testing.boards.model import write_bitstream


def test_list_names_all_boards(capsys):
    assert main(["boards", "list", "--json"]) == 0
    printed = capsys.readouterr()
    assert list(json.loads(printed.out)["boards"]) == list(shipped_boards())
    assert "kv260" in printed.err


@pytest.mark.parametrize("name", [*shipped_boards(), "pynq", "de10nano"])
def test_show_prints_what_a_board_is(name, capsys):
    assert main(["boards", "show", name, "--json"]) == 0
    printed = capsys.readouterr()
    assert find_board(name).part in printed.err
    assert json.loads(printed.out)["designs"]["core"]["registers"] == "core"


def test_check_names_what_is_wrong(tmp_path, capsys):
    file = tmp_path / "mine.yaml"
    file.write_text(shipped_boards()["kv260"].read_text())
    assert main(["boards", "check", str(file)]) == 0
    assert "good; board kv260 with core" in capsys.readouterr().out
    file.write_text(file.read_text().replace("bus_bits: 128", "bus_bits: 96"))
    assert main(["boards", "check", str(file)]) == 1
    assert f"vta boards: error: {file}: designs: core: bus_bits = 96; allowed: 64, 128, 256, 512" in capsys.readouterr().err


def test_add_puts_a_bitstream_where_servers_find_it(tmp_path, capsys):
    board, hw = find_board("kv260"), HardwareConfig.named("sim")
    file = tmp_path / "made.bit"
    write_bitstream(file, board, board.design("core"), hw)
    store = tmp_path / "store"
    assert (
        main(["boards", "add", str(file), "--board", "kv260", "--config", "sim", "-o", str(store), "--source", "made here"]) == 0
    )
    assert "core 1x16_i8w8a32_15_15_18_17 for board kv260" in capsys.readouterr().out
    assert find_bitstream(store, board, board.design("core"), hw).read_bytes() == file.read_bytes()
    assert main(["boards", "add", str(file), "--board", "pynq-z1", "--config", "sim", "-o", str(store)]) == 1
    assert "built for part" in capsys.readouterr().err


def test_what_is_packaged_is_added_as_what_it_is(tmp_path, capsys):
    """Packaging and adding mean the same design if none is named, on every board of the vendors' tools that the config fits."""
    pytest.importorskip("amaranth")
    hw = small_config(0, 2, 5)
    config = tmp_path / "few_rows.json"
    config.write_text(json.dumps(hw.to_json()))
    for name in shipped_boards():
        board, folder, store = find_board(name), tmp_path / name, tmp_path / "store"
        if board.fpga is not None:
            continue
        assert main(["rtl", "package", name, str(config), "-o", str(folder), "--json"]) == 0
        packaged = json.loads(capsys.readouterr().out)
        file = folder / (packaged["bitstream"] + (".rbf" if board.driver == "de10nano" else ".bit"))
        write_bitstream(file, board, board.design(packaged["design"]), hw)
        where = ["--board", name, "--config", str(config), "-o", str(store)]
        assert main(["boards", "add", str(file), *where, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["design"] == packaged["design"]
        assert listed_design(store, board, hw).name == packaged["design"]
        for other in board.designs.values():
            if other.registers != "core":
                assert main(["boards", "add", str(file), *where, "--design", other.name]) == 1
                assert f"says that it is design {packaged['design']}, and not {other.name}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["--device", "gpu"], 2, "'gpu' is no device; allowed: sim, cycle, rtl, opencl, de10-nano"),
        (["--device", "board:none.yaml"], 2, "none.yaml: no such file"),
        (["--device", "pynq-z1", "--design", "vcr"], 1, "no design 'vcr'; board pynq-z1 has hls, core"),
        (["--device", "pynq-z1", "--timing-only"], 2, "--timing-only needs --device cycle"),
        (["--device", "pynq-z1", "--bus-bits", "64"], 2, "--timing and --bus-bits need a device that counts cycles"),
        (["--device", "sim", "--design", "core"], 2, "--design needs a board, and --device sim is none"),
        (["--remote", "127.0.0.1:1", "--design", "core"], 2, "--design is the server's to say"),
    ],
)
def test_devices_that_do_not_fit_are_named(arguments, status, text, tmp_path, capsys):
    artifact = tmp_path / "net.vta"
    from tests.integer_graphs import BASELINE, int8_clip, widened
    from vta.compiler.compile import compile_graph
    from vta.ir.graph import Graph, graph_input
    from vta.runtime.compiled_module import save

    data = graph_input("data", (1, 16, 6, 6), "int8")
    save(compile_graph(Graph((data,), (int8_clip(widened(data), "copy"),), "small"), BASELINE), artifact)
    assert main(["run", str(artifact), *arguments]) == status
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("ready", [True, False])
def test_a_board_on_the_network_says_what_it_is_and_its_link_is_timed(capsys, ready):
    told = {INFORMATION_BASE: SYSTEM_IDENTITY, INFORMATION_BASE + 4: 50_000_000, INFORMATION_BASE + 8: 4096}
    board = EtherboneBoard(words={**told, INFORMATION_BASE + 0xC: int(ready), 0x100: 77})
    with closing(board):
        assert main(["boards", "link", "ecpix5", "--link", f"127.0.0.1:{board.port}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["clock_hz"], found["memory_bytes"], found["memory_ready"]) == (50_000_000, 4096, ready)
    assert found["read_megabytes_per_second"] > 0
    assert (found["write_megabytes_per_second"] is None) == (not ready)
    assert board.words[0x100] == 77
    assert sum(count for _, count in board.executed) == 1024 * ready


def test_a_link_without_a_board_is_one_line(capsys):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert main(["boards", "link", "ecpix5", "--link", f"127.0.0.1:{port}"]) == 1
    said = f"127.0.0.1:{port}: there is a machine, and nothing that listens to this port of UDP"
    assert capsys.readouterr().err.strip() == f"vta boards: error: {said}"
