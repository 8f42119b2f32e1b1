"""Tiles out of records: those of a log, of what was tuned on this machine, and those that come with the package."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from vta.errors import TuningError
from vta.files.atomic_file import write_whole
from vta.files.cache import cache_directory, file_stamp, is_writable
from vta.host.kernels.products.convolution_shape import TileSource, convolution_shape
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Layout
from vta.host.processors import CpuTarget
from vta.ir.graph import Node
from vta.records.host.knobs import tile_of
from vta.records.host.target import matches
from vta.records.host.workload import host_workload
from vta.records.log import pick_best, ranked_records, read_log, to_line
from vta.records.record import Record
from vta.records.workload import Workload

__all__ = ["RecordedTiles", "keep_tuned", "recorded_tiles", "tuned_here"]

_LOG = logging.getLogger(__name__)
_SHIPPED = Path(__file__).with_name("tiles.log")


class RecordedTiles:
    """A `TileSource`: the best record of a workload and processor whose tile its kernel can have."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._ranked: dict[Workload, list[Record]] = {}
        for (_, workload), ranked in ranked_records(records).items():
            self._ranked.setdefault(workload, []).extend(ranked)

    def __call__(self, node: Node, layout: Layout, target: CpuTarget) -> Tile | None:
        """The tile of an operator's kernel; None where no record fits."""
        workload = host_workload(node)
        for record in self._ranked.get(workload, []) if workload is not None else []:
            if not matches(record.target, target):
                continue
            try:
                return tile_of(record.entity, convolution_shape(node, layout, target), target)
            except TuningError as error:
                _LOG.debug("%s: not used: %s", record.source, error)
        return None


class _InOrder:
    """Sources of tiles of which the first that has one is asked."""

    def __init__(self, sources: Sequence[RecordedTiles]) -> None:
        self._sources = sources

    def __call__(self, node: Node, layout: Layout, target: CpuTarget) -> Tile | None:
        return next((tile for source in self._sources if (tile := source(node, layout, target)) is not None), None)


def tuned_here() -> Path | None:
    """The log of what was tuned on this machine; None where nothing can be kept."""
    folder = cache_directory()
    return None if folder is None else folder / "host-tiles.log"


def keep_tuned(records: Iterable[Record]) -> Path | None:
    """Keep the best records of this machine's kernels, these and those from before; returns where, None if that cannot be."""
    path = tuned_here()
    if path is None or not is_writable(path.parent):
        return None
    before = [line.record for line in read_log(path) if line.record is not None] if path.exists() else []
    write_whole(path, "".join(map(to_line, pick_best([*before, *records]))))
    return path


def recorded_tiles(logs: Sequence[str | Path] = ()) -> TileSource:
    """Tiles of `logs`, of what was tuned on this machine, and of what comes with the package, in this order.

    Raises `TuningError` if one of `logs` cannot be read.
    """
    here = tuned_here()
    known = [path for path in (here, _SHIPPED) if path is not None and path.exists()]
    return _InOrder([_read(path, file_stamp(path)) for path in map(Path, (*logs, *known))])


@lru_cache(maxsize=8)
def _read(path: Path, stamp: bytes) -> RecordedTiles:
    """The records of a log, which `stamp` tells from what stood there before."""
    return RecordedTiles(line.record for line in read_log(path) if line.record is not None)
