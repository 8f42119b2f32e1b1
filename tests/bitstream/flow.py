"""A build with stand-ins for the tools: each writes what the real one would, as little as there may be."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from vta.bitstream.plan import make_plan
from vta.bitstream.tools import Toolset
from vta.boards.description import load_board
from vta.config.hardware import HardwareConfig

SMALL_BOARD = Path(__file__).with_name("small_board.yaml")
HW = HardwareConfig("sim", "0.0.2", 3, 3, 5, 0, 2, 10, 10, 11, 12)

_TOOL = """
import json, sys
from pathlib import Path
tool, folder, *arguments = sys.argv[1:]
done = Path(folder) / "calls.txt"
done.write_text((done.read_text() if done.exists() else "") + tool + "\\n")
behavior = json.loads((Path(folder) / "behavior.json").read_text())
if behavior.get("fails") == tool:
    print("some words"); print("ERROR: the tool is out of luck"); sys.exit(3)
def after(name):
    return arguments[arguments.index(name) + 1]
if tool == "synth":
    cells = behavior["cells"]
    for line in Path(arguments[-1]).read_text().splitlines():
        words = line.split()
        if words[0] == "write_json": Path(words[1]).write_text(json.dumps(behavior["netlist"]))
        if words[0] == "tee": Path(words[3]).write_text(json.dumps({"design": {"num_cells_by_type": cells}}))
elif tool == "nextpnr" and "--pack-only" in arguments:
    Path(after("--write")).write_text(Path(after("--json")).read_text())
elif tool == "nextpnr":
    mhz = behavior["mhz"][after("--seed")]
    used = {"TRELLIS_COMB": 7, "TRELLIS_FF": 5, "DP16KD": 3, "MULT18X18D": 1}
    report = {"utilization": {name: {"used": count, "available": 100} for name, count in used.items()},
              "fmax": {"$glbnet$clock": {"achieved": mhz, "constraint": 25.0}}}
    Path(after("--report")).write_text(json.dumps(report))
    Path(after("--textcfg")).write_text("config " + after("--seed"))
elif tool == "pack":
    head = b"\\xff\\x00Part: LFE5U-25F-6CABGA381\\0\\xff"
    Path(arguments[-1]).write_bytes(head + b"bits of " + Path(arguments[-2]).read_bytes())
"""


class Flow:
    """A folder with a build, and what its tools do there."""

    def __init__(self, folder: Path) -> None:
        self.tools_folder = folder / "tools"
        self.tools_folder.mkdir()
        self.directory = folder / "build"
        self.board = load_board(SMALL_BOARD)
        netlist = {"modules": {"vta_board": {"ports": {}, "cells": {}}}}
        self.behavior = {"netlist": netlist, "cells": {"LUT4": 100}, "mhz": {str(seed): 30.0 for seed in range(1, 9)}}

    @property
    def tools(self) -> Toolset:
        script = self.tools_folder / "tool.py"
        script.write_text(_TOOL)
        (self.tools_folder / "behavior.json").write_text(json.dumps(self.behavior))
        commands = {name: (sys.executable, str(script), name, str(self.tools_folder)) for name in ("synth", "nextpnr", "pack")}
        versions = {"yosys": "1", "nextpnr-ecp5": "2", "ecppack": "3"}
        return Toolset(commands["synth"], commands["nextpnr"], commands["pack"], (sys.executable,), versions)

    @property
    def calls(self) -> list[str]:
        """The tools that were called since the last look."""
        path = self.tools_folder / "calls.txt"
        names = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return names

    def plan(self, **options):
        return make_plan(self.board, HW, **options)
