"""Where tensors of a region lie in each other."""

from tests.integer_graphs import BASELINE
from tests.tile.test_copies import channels, join, layer
from vta.ir.graph import Graph, graph_input
from vta.partition.partition import partition
from vta.tile.lowering import packed_tensor
from vta.tile.placement import placed_tensors

X = graph_input("x", (1, 16, 4, 4), "int8")


def placed(*outputs, inputs=(X,)):
    """For each placed value: the tensor whose memory holds it, and the first block there."""
    (region,) = partition(Graph(inputs, outputs), BASELINE).regions
    found = placed_tensors(
        region.operators, region.outputs, lambda node: packed_tensor(node, BASELINE, node.name), BASELINE.block
    )
    return {node.name: (tensor.memory.name, tensor.first_block, tensor.blocks) for node, tensor in found.items()}


def test_parts_lie_one_after_another():
    assert placed(join(layer(X, 32, "a"), layer(X, 16, "b"), layer(X, 7, "c"))) == {
        "a": ("join", 0, 2),
        "b": ("join", 2, 1),
        "c": ("join", 3, 1),
    }


def test_joins_in_joins_share_the_outermost_memory():
    inner = join(layer(X, 16, "a"), layer(X, 16, "b"), name="inner")
    assert placed(join(layer(X, 16, "c"), inner, name="outer")) == {
        "inner": ("outer", 1, 2),
        "c": ("outer", 0, 1),
        "a": ("outer", 1, 1),
        "b": ("outer", 2, 1),
    }


def test_the_last_join_has_a_value_that_two_want():
    value = layer(X, 16, "a")
    first = join(value, layer(X, 16, "b"), name="first")
    second = join(layer(first, 16, "c"), value, name="second")
    assert placed(second)["a"] == ("second", 1, 1)
    assert placed(second)["b"] == ("first", 1, 1)


def test_parts_that_share_a_block_lie_nowhere():
    assert placed(join(layer(X, 16, "a"), layer(X, 8, "b"), layer(X, 8, "c"))) == {"a": ("join", 0, 1)}


def test_a_slice_lies_in_its_source_wherever_that_lies():
    value = layer(X, 48, "a")
    assert placed(layer(channels(value, 16, 40), 8, "b"))["cut"] == ("a", 1, 2)
    joined = join(layer(X, 16, "c"), value)
    found = placed(joined, layer(channels(value, 32, 48), 8, "b"))
    assert found["cut"] == ("join", 3, 1)


def test_a_slice_that_a_join_wants_is_copied_there():
    value = layer(X, 48, "a")
    assert placed(join(channels(value, 16, 32), layer(X, 16, "b")))["cut"] == ("join", 0, 1)


def test_several_blocks_of_batch_rows_are_not_placed():
    x = graph_input("x", (3, 16, 4, 4), "int8")
    value = layer(x, 32, "a")
    assert placed(join(value, layer(x, 16, "b")), inputs=(x,)) == {}
    assert placed(channels(value, 16, 32), inputs=(x,)) == {}
    # Read in the region only, it need not be in one piece.
    assert placed(layer(channels(value, 16, 32), 8, "b"), inputs=(x,)) == {"cut": ("a", 1, 1)}
