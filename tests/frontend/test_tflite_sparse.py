"""Constants that a TFLite file stores without most of their zeros."""

from __future__ import annotations

import numpy as np
import pytest
import tflite

from vta.errors import ImportModelError
from vta.frontend.tflite.sparse import from_sparse

RNG = np.random.default_rng(0)
DENSE, LISTED = 0, 1


class Vector:
    """Numbers, in a table of their own."""

    def __init__(self, values):
        from flatbuffers import Builder

        builder = Builder(0)
        numbers = builder.CreateNumpyVector(np.asarray(values, np.int32))
        tflite.Int32VectorStart(builder)
        tflite.Int32VectorAddValues(builder, numbers)
        builder.Finish(tflite.Int32VectorEnd(builder))
        made = tflite.Int32Vector.GetRootAs(builder.Output(), 0)
        self.Bytes, self.Pos = made._tab.Bytes, made._tab.Pos


class Dimension:
    def __init__(self, size=0, segments=None, indices=None):
        self.size, self.segments, self.indices = size, segments, indices

    def Format(self):
        return DENSE if self.segments is None else LISTED

    def DenseSize(self):
        return self.size

    def ArraySegments(self):
        return Vector(self.segments)

    def ArrayIndices(self):
        return Vector(self.indices)

    def ArraySegmentsType(self):
        return tflite.SparseIndexVector.Int32Vector

    ArrayIndicesType = ArraySegmentsType


class Sparsity:
    def __init__(self, order, dimensions, blocks=()):
        self.order, self.dimensions, self.blocks = order, dimensions, blocks

    def TraversalOrderAsNumpy(self):
        return np.array(self.order, np.int32)

    def BlockMapAsNumpy(self):
        return np.array(self.blocks, np.int32) if self.blocks else 0

    def DimMetadataLength(self):
        return len(self.dimensions)

    def DimMetadata(self, index):
        return self.dimensions[index]


def listed(rows):
    """Of a boolean matrix: where each row's entries end, and which they are."""
    counts = rows.sum(axis=1)
    return [0, *np.cumsum(counts).tolist()], np.nonzero(rows)[1].tolist()


def matrix(rows=4, columns=6):
    return (RNG.random((rows, columns)) < 0.4) * RNG.integers(1, 100, (rows, columns)).astype(np.float32)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_lists_of_columns_or_rows(order):
    dense = matrix()
    seen = dense.transpose(order)
    segments, indices = listed(seen != 0)
    sparsity = Sparsity(order, [Dimension(len(seen)), Dimension(segments=segments, indices=indices)])
    np.testing.assert_array_equal(from_sparse(sparsity, seen[seen != 0], dense.shape, "t"), dense)


def test_blocks():
    """Blocks of 2 x 3 values, listed by their columns."""
    dense = matrix()
    blocks = dense.reshape(2, 2, 2, 3).transpose(0, 2, 1, 3)
    present = blocks.any(axis=(2, 3))
    segments, indices = listed(present)
    dimensions = [Dimension(2), Dimension(segments=segments, indices=indices), Dimension(2), Dimension(3)]
    sparsity = Sparsity((0, 1, 2, 3), dimensions, blocks=(0, 1))
    np.testing.assert_array_equal(from_sparse(sparsity, blocks[present].reshape(-1), dense.shape, "t"), dense)


@pytest.mark.parametrize(
    ("dimensions", "reason"),
    [
        ([Dimension(4), Dimension(segments=[0, 1, 1, 1, 1], indices=[9])], "places"),
        ([Dimension(4), Dimension(segments=[0, 1, 1, 1, 1], indices=[-1])], "places"),
        ([Dimension(4), Dimension(segments=[0, 2, 1, 1, 1], indices=[0])], "segments"),
        ([Dimension(4), Dimension(segments=[0, 1], indices=[0])], "segments"),
        ([Dimension(4), Dimension(6)], "places"),
        ([Dimension(4)], "do not fit shape"),
        ([Dimension(0), Dimension(6)], "dense dimension"),
    ],
)
def test_what_does_not_fit_is_named(dimensions, reason):
    with pytest.raises(ImportModelError, match=rf"^t: .*{reason}"):
        from_sparse(Sparsity((0, 1), dimensions), np.ones(1, np.float32), (4, 6), "t")
