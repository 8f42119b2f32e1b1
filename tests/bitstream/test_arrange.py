"""What is run between synthesis and placement, and on which files."""

import subprocess
import sys

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from vta.bitstream.arrange import arranging_programs, arranging_steps, place_route_steps, placing_programs
from vta.bitstream.placement.path_timing import GRADES
from vta.boards.files import find_board

NAMES = {"mapped": "mapped.json", "packing": ["--85k"], "netlist": "netlist.json", "between": ".json"}


def test_each_step_reads_what_one_before_it_made():
    made = {"mapped.json"}
    for step in arranging_steps(find_board("ecpix5").fpga, "vta_board", **NAMES):
        files = [word for word in step.arguments if word.endswith(".json")]
        wrote = {step.arguments[step.arguments.index("--write") + 1]} if step.tool == "nextpnr" else {files[-1]}
        assert set(files) - wrote <= made
        made |= wrote
    assert "netlist.json" in made


PLACING = {"netlist": "netlist.json", "places": "board.lpf", "report": "seed-7/report.json", "result": "seed-7/board.config"}


def test_what_is_placed_is_moved_and_checked_and_then_routed():
    place, move, check, route = place_route_steps(find_board("ecpix5").fpga, 7, **PLACING, folder="seed-7/", between=".part")
    assert {"--no-route", "router2"} <= set(place.arguments)
    assert place.arguments[place.arguments.index("--write") + 1] == "seed-7/placed.part"
    assert place.arguments[place.arguments.index("--log") + 1] == "seed-7/log.part"
    files = ["seed-7/placed.part", "seed-7/log.part", "seed-7/moved.part", "seed-7/clocks.part"]
    assert move.arguments[-5:] == [*files, "5G-8"]
    assert check.arguments == ["-m", "placement.same_function", "seed-7/placed.part", "seed-7/moved.part"]
    assert route.arguments[-3:] == ["seed-7/clocks.part", "seed-7/goals.part", "seed-7/report.json"]
    assert {"--no-pack", "--no-place"} <= set(route.runs_nextpnr)
    assert route.runs_nextpnr[route.runs_nextpnr.index("--json") + 1] == "seed-7/moved.part"
    assert route.runs_nextpnr[-4:] == ["--report", "seed-7/report.json", "--textcfg", "seed-7/board.config"]


def test_what_moves_cells_knows_the_speed_grade():
    for board in ("ecpix5", "ulx3s-85f"):
        _, move, *_ = place_route_steps(find_board(board).fpga, 7, **PLACING, folder="seed-7/", between=".part")
        assert move.arguments[-1] in GRADES
    assert move.arguments[-1] == "6"


def test_without_sites_that_are_known_one_call_places_and_routes(small_fpga):
    (step,) = place_route_steps(small_fpga, 7, **PLACING, folder="seed-7/", between=".part")
    assert (step.tool, step.runs_nextpnr) == ("nextpnr", None)
    assert "--no-route" not in step.arguments


def test_without_sites_that_are_known_only_registers_move(small_fpga):
    steps = arranging_steps(small_fpga, "vta_board", **NAMES)
    assert [(step.tool, step.arguments) for step in steps] == [
        ("python", ["multiplier_registers.py", "mapped.json", "vta_board", "netlist.json"])
    ]
    assert set(arranging_programs(small_fpga)) == {"multiplier_registers.py"}
    assert placing_programs(small_fpga) == {}


def test_the_programs_need_nothing_of_ours(tmp_path):
    """They lie in a build's folder, which is built without `vta`, too."""
    fpga = find_board("ecpix5").fpga
    programs = arranging_programs(fpga) | placing_programs(fpga)
    assert len(programs) == 11
    for name, text in programs.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert "vta." not in "".join(line for line in text.splitlines() if line.startswith(("import", "from")))
    for call in (
        *([name] for name in programs if "/" not in name),
        ["-m", "placement.critical_cells"],
        ["-m", "placement.route_to_goals"],
        ["-m", "placement.same_function"],
    ):
        done = subprocess.run([sys.executable, *call], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "not enough values to unpack" in done.stderr


@pytest.fixture
def small_fpga():
    from tests.bitstream.flow import SMALL_BOARD
    from vta.boards.description import load_board

    return load_board(SMALL_BOARD).fpga
