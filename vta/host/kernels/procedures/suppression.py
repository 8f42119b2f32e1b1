"""`nn.non_max_suppression` and `nn.detections`, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vta.host.kernels.procedures.boxes import Edges, Selection, largest_first, number, raw_edges
from vta.host.kernels.procedures.procedure import MOST_WORKSPACE_BYTES, Procedure
from vta.host.kernels.procedures.sorting import Sorter
from vta.host.kernels.procedures.statements import Writer, added, cell, put, set_cell, value_of
from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Expr, binary, cast, index, load, select
from vta.host.loop.nest import Block, Function, Statement
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.detection import DetectionsAttributes, NonMaxSuppressionAttributes

__all__ = ["detections", "non_max_suppression"]

_Body = Callable[[Expr], Sequence[Statement]]


def _single(value: float) -> float:
    """A number as the references compare with it."""
    return float(np.float32(value))


def _is_shared(rows: int, count: int) -> bool:
    """Whether each row may have memory of its own, so that threads share rows."""
    return rows * Selection.row_bytes(count) <= MOST_WORKSPACE_BYTES


def non_max_suppression(node: Node, inputs: Sequence[Buffer], lanes: int) -> Procedure:
    """The boxes of each class that stay, in rows (sample, class, box)."""
    attrs = attrs_of(node, NonMaxSuppressionAttributes)
    boxes, scores = inputs
    batch, classes, count = scores.shape
    rows = batch * classes
    shared = _is_shared(rows, count)
    selection = Selection.make(rows, rows if shared else 1, count, attrs.most, lanes, _single(attrs.iou_threshold))
    limit = number(_single(attrs.score_threshold))
    writer = Writer()

    def edges(sample: Expr, box: Expr) -> Edges:
        raw = raw_edges(boxes, sample, box)
        return _around(raw) if attrs.center_point else largest_first(raw)

    def thinned(row: Expr) -> list[Statement]:
        sample, kind = (binary(how, row, index(classes)) for how in ("floordiv", "mod"))
        return [
            selection.thin_out(
                writer,
                row,
                row if shared else index(0),
                lambda box: load(scores, (sample, kind, box)),
                lambda score: binary("lt", limit, score),
                lambda box: edges(sample, box),
            )
        ]

    thin = Function("thin", writer.loop(rows, thinned, kind="parallel" if shared else "serial"), selection.local)
    result = Buffer("result", node.shape, "int64")
    return Procedure((thin, _listed(writer, selection, result, rows, classes)), selection.workspace, result)


def _around(box: Edges) -> Edges:
    """The edges of a box (x, y, width, height) around its center."""
    x, y, width, height = box
    half_width, half_height = binary("div", width, number(2.0)), binary("div", height, number(2.0))
    low, high = binary("sub", y, half_height), binary("add", y, half_height)
    return low, binary("sub", x, half_width), high, binary("add", x, half_width)


def _listed(writer: Writer, selection: Selection, result: Buffer, rows: int, classes: int) -> Function:
    """What stays, one row after the other, and rows of -1 up to the most."""
    at = cell("at")

    def listed(row: Expr) -> list[Statement]:
        def row_of(place: Expr) -> list[Statement]:
            box = cast(load(selection.chosen, (row, place)), "int64")
            values = binary("floordiv", row, index(classes)), binary("mod", row, index(classes)), box
            stored = [put(result, (value_of(at), index(column)), value) for column, value in enumerate(values)]
            return [*stored, added(at, index(1))]

        return [writer.loop(selection.most, row_of, load(selection.found, (row,)))]

    def empty(row: Expr) -> list[Statement]:
        return [put(result, (row, index(column)), index(-1)) for column in range(result.shape[1])]

    body = (writer.loop(result.shape[0], empty), set_cell(at, index(0)), writer.loop(rows, listed))
    return Function("list", Block(body), (at,))


def detections(node: Node, inputs: Sequence[Buffer], lanes: int) -> Procedure:
    """Rows (edges, class, score, 1) of what is found, and rows of 0 up to the most."""
    attrs = attrs_of(node, DetectionsAttributes)
    return _by_class(node, attrs, inputs, lanes) if attrs.most_of_class else _best_classes(node, attrs, inputs, lanes)


def _best_classes(node: Node, attrs: DetectionsAttributes, inputs: Sequence[Buffer], lanes: int) -> Procedure:
    """Each box has its best class; boxes of all classes compete."""
    boxes, scores = inputs
    batch, count, classes = scores.shape
    shared = _is_shared(batch, count)
    selection = Selection.make(batch, batch if shared else 1, count, attrs.most, lanes, _single(attrs.iou_threshold))
    best, kind, most = Buffer("best", (batch, count), "float32"), cell("kind"), cell("most", "float32")
    result = Buffer("result", node.shape, "float32")
    writer = Writer()

    def best_of(sample: Expr) -> _Body:
        def found(box: Expr) -> list[Statement]:
            first = load(scores, (sample, box, index(0)))
            # NaN stays: it counts as no score.
            larger = writer.loop(
                classes - 1,
                lambda at: [
                    set_cell(most, binary("max", value_of(most), load(scores, (sample, box, binary("add", at, index(1))))))
                ],
            )
            return [set_cell(most, first), *([larger] if classes > 1 else []), put(best, (sample, box), value_of(most))]

        return found

    def shown(sample: Expr) -> _Body:
        def stored(at: Expr) -> list[Statement]:
            box = cast(load(selection.chosen, (sample, at)), "int64")
            score = load(best, (sample, box))

            def first_like_it(place: Expr) -> list[Statement]:
                other = binary("sub", index(classes - 1), place)
                same = binary("eq", load(scores, (sample, box, other)), score)
                return [set_cell(kind, select(same, other, value_of(kind)))]

            return [
                set_cell(kind, index(0)),
                writer.loop(classes, first_like_it),
                *_detection(result, boxes, sample, at, box, value_of(kind), score),
            ]

        return stored

    def of_sample(sample: Expr) -> list[Statement]:
        return [
            writer.loop(count, best_of(sample)),
            selection.thin_out(
                writer,
                sample,
                sample if shared else index(0),
                lambda box: load(best, (sample, box)),
                lambda score: _reaches(attrs, score),
                lambda box: raw_edges(boxes, sample, box),
            ),
            _emptied(writer, result, sample),
            writer.loop(selection.most, shown(sample), load(selection.found, (sample,))),
        ]

    body = writer.loop(batch, of_sample, kind="parallel" if shared else "serial")
    return Procedure((Function("find", body, (*selection.local, kind, most)),), (*selection.workspace, best), result)


def _by_class(node: Node, attrs: DetectionsAttributes, inputs: Sequence[Buffer], lanes: int) -> Procedure:
    """The best of all classes, each of which has been thinned out by itself."""
    boxes, scores = inputs
    batch, count, classes = scores.shape
    rows = batch * classes
    shared = _is_shared(rows, count)
    limit = _single(attrs.iou_threshold)
    selection = Selection.make(rows, rows if shared else 1, count, attrs.most_of_class, lanes, limit)
    result = Buffer("result", node.shape, "float32")
    writer = Writer()

    def thinned(row: Expr) -> list[Statement]:
        sample, kind = (binary(how, row, index(classes)) for how in ("floordiv", "mod"))
        return [
            selection.thin_out(
                writer,
                row,
                row if shared else index(0),
                lambda box: load(scores, (sample, box, kind)),
                lambda score: _reaches(attrs, score),
                lambda box: raw_edges(boxes, sample, box),
            )
        ]

    thin = Function("thin", writer.loop(rows, thinned, kind="parallel" if shared else "serial"), selection.local)
    merger = Sorter.make("merged", batch, classes * selection.most, "float32")
    merge = _merged(writer, attrs.most, selection, merger, (boxes, scores, result))
    return Procedure((thin, merge), (*selection.workspace, *merger.workspace), result)


def _merged(writer: Writer, most: int, selection: Selection, merger: Sorter, buffers: tuple[Buffer, Buffer, Buffer]) -> Function:
    """The best of what stays of all classes; of equal scores those of the lower class first."""
    boxes, scores, result = buffers
    batch, _, classes = scores.shape
    total = cell("total")

    def chosen(sample: Expr, kind: Expr, at: Expr) -> Expr:
        row = binary("add", binary("mul", sample, index(classes)), kind)
        return cast(load(selection.chosen, (row, at)), "int64")

    def of_sample(sample: Expr) -> list[Statement]:
        def gathered(kind: Expr) -> list[Statement]:
            row = binary("add", binary("mul", sample, index(classes)), kind)

            def one(at: Expr) -> list[Statement]:
                score = load(scores, (sample, chosen(sample, kind, at), kind))
                place = binary("add", binary("mul", kind, index(selection.most)), at)
                return [*merger.put(sample, value_of(total), score, place, True), added(total, index(1))]

            return [writer.loop(selection.most, one, load(selection.found, (row,)))]

        def stored(at: Expr) -> list[Statement]:
            place = cast(load(merger.sorted_places, (sample, at)), "int64")
            kind, rank = (binary(how, place, index(selection.most)) for how in ("floordiv", "mod"))
            box = chosen(sample, kind, rank)
            return _detection(result, boxes, sample, at, box, kind, load(scores, (sample, box, kind)))

        return [
            set_cell(total, index(0)),
            writer.loop(classes, gathered),
            merger.sort(writer, sample, value_of(total)),
            _emptied(writer, result, sample),
            writer.loop(min(most, merger.count), stored, value_of(total)),
        ]

    return Function("merge", writer.loop(batch, of_sample, kind="parallel"), (*merger.local, total))


def _reaches(attrs: DetectionsAttributes, score: Expr) -> Expr:
    return binary("le", number(_single(attrs.score_threshold)), score)


def _detection(result: Buffer, boxes: Buffer, sample: Expr, at: Expr, box: Expr, kind: Expr, score: Expr) -> list[Statement]:
    """A row of the result."""
    values = (*raw_edges(boxes, sample, box), cast(kind, "float32"), score, number(1.0))
    return [put(result, (sample, at, index(column)), value) for column, value in enumerate(values)]


def _emptied(writer: Writer, result: Buffer, sample: Expr) -> Statement:
    _, most, columns = result.shape
    zeros = [index(column) for column in range(columns)]
    return writer.loop(most, lambda at: [put(result, (sample, at, column), number(0.0)) for column in zeros])
