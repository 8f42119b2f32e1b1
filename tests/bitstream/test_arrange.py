"""What is run between synthesis and placement, and on which files."""

import subprocess
import sys

import pytest

from vta.bitstream.arrange import arranging_programs, arranging_steps
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


def test_without_sites_that_are_known_only_registers_move(small_fpga):
    steps = arranging_steps(small_fpga, "vta_board", **NAMES)
    assert [(step.tool, step.arguments) for step in steps] == [
        ("python", ["multiplier_registers.py", "mapped.json", "vta_board", "netlist.json"])
    ]
    assert set(arranging_programs(small_fpga)) == {"multiplier_registers.py"}


def test_the_programs_need_nothing_of_ours(tmp_path):
    """They lie in a build's folder, which is built without `vta`, too."""
    programs = arranging_programs(find_board("ecpix5").fpga)
    assert len(programs) == 3
    for name, text in programs.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert "vta." not in "".join(line for line in text.splitlines() if line.startswith(("import", "from")))
        done = subprocess.run([sys.executable, "-I", name], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "not enough values to unpack" in done.stderr


@pytest.fixture
def small_fpga():
    from tests.bitstream.flow import SMALL_BOARD
    from vta.boards.description import load_board

    return load_board(SMALL_BOARD).fpga
