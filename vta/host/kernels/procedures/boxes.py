"""Of boxes that overlap much the one with the best score: the loops that operators of detection have in common.

Of each class the scores that count are sorted, the boxes laid out in that order, one edge after the other, and each box that
stays takes away those after it that overlap it, a vector of them at a time. All is in single precision, step by step as in
`vta.ir.ops.detection`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vta.host.kernels.procedures.sorting import Sorter
from vta.host.kernels.procedures.statements import Writer, added, both, cell, int32, put, set_cell, value_of
from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Expr, binary, cast, const, index, load, select
from vta.host.loop.nest import Block, Statement
from vta.support.dataclass import dataclass

__all__ = ["Edges", "Selection", "largest_first", "number", "raw_edges"]

Edges = tuple[Expr, Expr, Expr, Expr]
"""Of a box: y, x, y, x, the smaller ones first."""
_EDGES = 4


def number(value: float) -> Expr:
    """A float."""
    return const(value, "float32")


def raw_edges(boxes: Buffer, sample: Expr, box: Expr) -> Edges:
    """The four numbers of a box."""
    first, second, third, fourth = (load(boxes, (sample, box, index(at))) for at in range(_EDGES))
    return first, second, third, fourth


def largest_first(edges: Edges) -> Edges:
    """Two corners with the smaller coordinates first."""
    (y0, x0, y1, x1) = edges
    return binary("min", y0, y1), binary("min", x0, x1), binary("max", y0, y1), binary("max", x0, x1)


def _area(edges: Sequence[Expr]) -> Expr:
    return binary("mul", binary("sub", edges[3], edges[1]), binary("sub", edges[2], edges[0]))


@dataclass(frozen=True)
class Selection:
    """Memory to thin out boxes in, for some rows: a sample, or a class of one."""

    count: int
    """Boxes of a row."""
    lanes: int
    most: int
    """That stay."""
    threshold: float
    """Intersection over union above which a box goes."""
    sorter: Sorter
    edges: tuple[Buffer, ...]
    """Of the boxes in order, and their areas."""
    alive: Buffer
    """1 where a box in order has not gone."""
    chosen: Buffer
    """The boxes that stay, best first, of each row that there is."""
    found: Buffer
    """How many these are."""
    best: tuple[Buffer, ...]
    """Edges and area of the box that takes others away."""
    counted: Buffer
    kept: Buffer

    @staticmethod
    def make(rows: int, memories: int, count: int, most: int, lanes: int, threshold: float) -> Selection:
        """`memories` is how many rows are thinned out at the same time."""
        whole = -(-count // lanes) * lanes
        names = ("y0", "x0", "y1", "x1", "area")
        most = min(most, count)
        return Selection(
            count=count,
            lanes=lanes,
            most=most,
            threshold=threshold,
            sorter=Sorter.make("scores", memories, count, "float32"),
            edges=tuple(Buffer(name, (memories, whole), "float32") for name in names),
            alive=Buffer("alive", (memories, whole), "int32"),
            chosen=Buffer("chosen", (rows, max(most, 1)), "int32"),
            found=Buffer("found", (rows,), "int64"),
            best=tuple(cell(f"best_{name}", "float32") for name in names),
            counted=cell("counted"),
            kept=cell("kept"),
        )

    @staticmethod
    def row_bytes(count: int) -> int:
        """Of the memory that a row needs while it is thinned out."""
        return 10 * 4 * count

    @property
    def workspace(self) -> tuple[Buffer, ...]:
        """What functions have together."""
        return (*self.sorter.workspace, *self.edges, self.alive, self.chosen, self.found)

    @property
    def local(self) -> tuple[Buffer, ...]:
        """What the function needs for itself that thins out."""
        return (*self.sorter.local, *self.best, self.counted, self.kept)

    def thin_out(
        self,
        writer: Writer,
        row: Expr,
        memory: Expr,
        score: Callable[[Expr], Expr],
        counts: Callable[[Expr], Expr],
        edges: Callable[[Expr], Edges],
    ) -> Statement:
        """Choose the boxes of a row: `score` and `edges` are those of a box, `counts` says whether a score does."""
        counted, sorter = value_of(self.counted), self.sorter

        def gathered(box: Expr) -> list[Statement]:
            # What does not count is written over by what follows.
            return [*sorter.put(memory, counted, score(box), box, True), added(self.counted, counts(score(box)))]

        def laid_out(at: Expr) -> list[Statement]:
            box = cast(load(sorter.sorted_places, (memory, at)), "int64")
            found = edges(box)
            values = (*found, _area(found))
            return [
                *(put(buffer, (memory, at), value) for buffer, value in zip(self.edges, values, strict=True)),
                put(self.alive, (memory, at), int32(1)),
            ]

        def taken(at: Expr) -> list[Statement]:
            stays = both(
                binary("eq", load(self.alive, (memory, at)), int32(1)),
                binary("lt", value_of(self.kept), index(self.most)),
            )
            return [writer.where(stays, *self._keep(writer, row, memory, at))]

        return Block(
            (
                set_cell(self.counted, index(0)),
                writer.loop(self.count, gathered),
                sorter.sort(writer, memory, counted),
                writer.loop(self.count, laid_out, counted),
                set_cell(self.kept, index(0)),
                writer.loop(self.count, taken, counted),
                put(self.found, (row,), value_of(self.kept)),
            )
        )

    def _keep(self, writer: Writer, row: Expr, memory: Expr, at: Expr) -> list[Statement]:
        """Keep the box at a place of the order, and take away those after it that overlap it too much."""
        copies = [set_cell(one, load(many, (memory, at))) for one, many in zip(self.best, self.edges, strict=True)]
        first = binary("floordiv", at, index(self.lanes))
        vectors = self.edges[0].shape[1] // self.lanes
        left = binary(
            "sub", binary("floordiv", binary("add", value_of(self.counted), index(self.lanes - 1)), index(self.lanes)), first
        )

        def thinned(vector: Expr) -> list[Statement]:
            start = binary("mul", binary("add", first, vector), index(self.lanes))
            return [writer.named(start, lambda place: [self._take_away(writer, memory, place)])]

        return [
            put(self.chosen, (row, value_of(self.kept)), load(self.sorter.sorted_places, (memory, at))),
            added(self.kept, index(1)),
            *copies,
            writer.loop(vectors, thinned, left),
        ]

    def _take_away(self, writer: Writer, memory: Expr, start: Expr) -> Statement:
        """Of a vector of boxes those that overlap the best one too much; one of no area overlaps nothing."""

        def tested(lane: Expr) -> list[Statement]:
            place = (memory, binary("add", start, lane))
            y0, x0, y1, x1, area = (load(buffer, place) for buffer in self.edges)
            own_y0, own_x0, own_y1, own_x1, own_area = map(value_of, self.best)
            zero = number(0.0)
            height = binary("max", binary("sub", binary("min", own_y1, y1), binary("max", own_y0, y0)), zero)
            width = binary("max", binary("sub", binary("min", own_x1, x1), binary("max", own_x0, x0)), zero)
            common = binary("mul", height, width)
            union = binary("sub", binary("add", own_area, area), common)
            much = both(
                *(binary("lt", zero, value) for value in (common, own_area, area, union)),
                binary("lt", number(self.threshold), binary("div", common, union)),
            )
            return [put(self.alive, place, select(much, int32(0), load(self.alive, place)))]

        return writer.loop(self.lanes, tested, kind="vectorized")
