import struct

import pytest

from tests.tflite_models import small_net
from vta.frontend.tflite.flat_table import FlatTable
from vta.frontend.tflite.schema import schema


def test_it_reads_what_the_generated_reader_reads():
    content = small_net()
    generated, table = schema("Model").GetRootAs(content, 0), FlatTable.root(content)
    graph, graphs = generated.Subgraphs(0), table.tables(8)
    assert len(graphs) == generated.SubgraphsLength()
    assert [entry.position for entry in graphs[:]] == [graph._tab.Pos]
    tensors = graphs[0].tables(4)
    assert len(tensors) == graph.TensorsLength()
    for index, tensor in enumerate(tensors):
        expected = graph.Tensors(index)
        assert tensor.text(10) == expected.Name().decode()
        assert tensor.numbers(4) == tuple(expected.ShapeAsNumpy())
        assert (tensor.int8(6), tensor.uint32(8), tensor.flag(14)) == (expected.Type(), expected.Buffer(), expected.IsVariable())
        assert tensor.array(4, "<i4").tolist() == list(expected.ShapeAsNumpy())
    assert graphs[0].numbers(6) == tuple(graph.InputsAsNumpy())


def test_absent_fields():
    table = FlatTable(struct.pack("<HHi", 4, 4, 4), 4)
    assert (table.int32(4), table.text(6), table.table(8), table.count(200), len(table.tables(4))) == (0, "", None, 0, 0)
    with pytest.raises(IndexError):
        table.tables(4)[0]


@pytest.mark.parametrize(
    ("content", "position", "cause"),
    [
        (b"\0" * 3, 0, "requires a buffer"),
        (struct.pack("<i", 8), 0, "before the file"),
        (struct.pack("<iHH", -4, 3, 4), 0, "has 3 bytes"),
        (struct.pack("<iHH", -4, 40, 4), 0, "beyond the file"),
    ],
)
def test_damaged_tables(content, position, cause):
    with pytest.raises(struct.error, match=cause):
        FlatTable(content, position)


def test_lists_that_end_beyond_the_file():
    table = FlatTable(struct.pack("<HHHiII", 6, 8, 4, 6, 4, 1000), 6)
    assert table.count(4) == 1000
    with pytest.raises(struct.error, match="1000 numbers"):
        table.numbers(4)
    with pytest.raises(struct.error, match="requires a buffer"):
        list(table.tables(4))
