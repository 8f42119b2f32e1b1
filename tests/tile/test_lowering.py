"""Turning fused operators into operators on packed blocks."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, conv, int8_clip, per_channel, widened
from tests.tile_operators import plain
from vta.codegen.templates.max_pool import MaxPool
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, call, constant, graph_input
from vta.isa.instruction import AluOp
from vta.partition.fused.find import find_fused_operators
from vta.tile.lowering import operator_of, packed_tensor, packed_weights

X = graph_input("x", (3, 20, 6, 5), "int8")
BLOCK = BASELINE.block


def operator(value, hw=BASELINE):
    end = int8_clip(value, "q") if value.dtype == "int32" else value
    fused_operators, _ = find_fused_operators(Graph((X,), (end,)))
    return operator_of(fused_operators[end], lambda node: packed_tensor(node, hw, node.name), hw, "op")


def steps(value, hw=BASELINE):
    return [plain(step) for step in operator(value, hw).epilogue]


def accumulated(**attributes):
    return conv(X, np.ones((20, 20, 1, 1)), **attributes)


def number(value):
    return constant(np.asarray(value, np.int32))


CLIP = [(AluOp.MAX, -128), (AluOp.MIN, 127)]


def test_tensors_count_blocks():
    tensor = packed_tensor(X, replace(BASELINE, log_batch=1), "x")
    assert (tensor.batch, tensor.blocks, tensor.height, tensor.width, tensor.planes) == (2, 2, 6, 5, 1)
    vector = packed_tensor(graph_input("v", (1, 17), "int32"), BASELINE, "v")
    assert (vector.batch, vector.blocks, vector.height, vector.width, vector.planes) == (1, 2, 1, 1, 4)


def test_weights_are_packed_in_blocks_with_zero_tails():
    weights = np.random.default_rng(0).integers(-128, 128, (20, 18, 3, 2)).astype(np.int8)
    packed = packed_weights(weights, BASELINE)
    assert packed.shape == (2, 2, 3, 2, BLOCK, BLOCK)
    for o, i in ((0, 0), (19, 17), (3, 16)):
        np.testing.assert_array_equal(packed[o // BLOCK, i // BLOCK, :, :, o % BLOCK, i % BLOCK], weights[o, i])
    assert not packed[1, :, :, :, 4:].any()
    assert not packed[:, 1, :, :, :, 2:].any()


def test_a_convolution_keeps_its_geometry():
    op = operator(conv(X, np.ones((8, 20, 3, 3)), strides=(2, 1), padding=(1, 2, 0, 1), dilation=(1, 2)))
    (term,) = op.digits[0].terms
    assert (term.strides, term.padding, term.dilation, term.kernel) == ((2, 1), (1, 2), (1, 2), (3, 3))
    assert not term.diagonal
    assert op.kind == "conv2d"
    assert op.macs == 3 * 8 * op.output.height * op.output.width * 20 * 9


def test_groups_across_blocks_become_zeros_of_one_product():
    weights = np.arange(1, 101).reshape(20, 5, 1, 1)
    (term,) = operator(conv(X, weights, groups=4)).digits[0].terms
    assert not term.diagonal
    dense = term.weights.transpose(0, 4, 1, 5, 2, 3).reshape(32, 32)[:20, :20]
    for out in range(20):
        first = out // 5 * 5
        assert np.flatnonzero(dense[out]).tolist() == list(range(first, first + 5))
        np.testing.assert_array_equal(dense[out, first : first + 5], weights[out, :, 0, 0])


def test_groups_inside_blocks_become_blocks_on_the_diagonal():
    weights = np.arange(1, 81).reshape(20, 2, 2, 1)
    (term,) = operator(conv(X, weights, groups=10)).digits[0].terms
    assert term.diagonal
    assert term.groups == 10
    assert term.weights.shape == (2, 1, 2, 1, BLOCK, BLOCK)
    assert np.count_nonzero(term.weights) == 80
    for out in range(20):
        lane, first = out % BLOCK, out % BLOCK // 2 * 2
        np.testing.assert_array_equal(term.weights[out // BLOCK, 0, :, 0, lane, first : first + 2], weights[out, :, :, 0].T)


def test_depthwise_becomes_diagonals():
    weights = np.arange(-10, 10).reshape(20, 1, 1, 1)
    op = operator(conv(X, weights, groups=20))
    (term,) = op.digits[0].terms
    assert term.diagonal
    assert term.weights.shape == (2, 1, 1, 1, BLOCK, BLOCK)
    diagonals = np.concatenate([np.diagonal(term.weights[block, 0, 0, 0]) for block in range(2)])
    np.testing.assert_array_equal(diagonals, [*range(-10, 10), *[0] * 12])
    assert np.count_nonzero(term.weights) == 19
    assert op.macs == 3 * 20 * 30


def test_dense_reads_an_image_with_a_kernel_of_its_size():
    flat = call("nn.batch_flatten", [X], "flat")
    weights = np.random.default_rng(0).integers(-128, 128, (7, 600)).astype(np.int8)
    op = operator(call("nn.dense", [flat, constant(weights)], "dense"))
    (term,) = op.digits[0].terms
    assert term.kernel == (6, 5)
    assert op.kind == "dense"
    assert op.macs == 3 * 7 * 600
    np.testing.assert_array_equal(term.weights, packed_weights(weights.reshape(7, 20, 6, 5), BASELINE))


def test_pooling_sums_by_one_identity_block():
    op = operator(call("nn.sum_pool2d", [X], "pool", pool_size=(3, 2), strides=(2, 2), padding=(1, 0, 1, 0)))
    (term,) = op.digits[0].terms
    assert term.kernel == (3, 2)
    assert term.kernel_blocks(3, 2) == 1
    assert term.is_transfer
    np.testing.assert_array_equal(term.weights[0, 0, 0, 0], np.eye(BLOCK))
    assert op.macs == 0


@pytest.mark.parametrize(("factor", "digits"), [((45 << 11) + 1, 2), (45 << 11, 1), (257, 2), ((45 << 8) + 128, 2)])
def test_digits_lie_so_far_apart_that_they_are_few_with_a_requantize_unit(factor, digits):
    value = call("add", [widened(X), call("multiply", [widened(X), constant(np.int32(factor))])])
    op = operator(value, HardwareConfig.named("sim_rq"))
    kept = [(digit.shift, [int(term.weights[0, 0, 0, 0, 0, 0]) for term in digit.terms]) for digit in op.digits]
    total = 0
    for shift, weights in kept:
        total = (total << shift) + sum(weights)
    assert total == factor + 1
    assert sum(len(weights) for _, weights in kept) == digits + 1


@pytest.mark.parametrize("width", [2, 3])
def test_three_columns_of_a_window_are_one_product_with_depthwise(width):
    hw = HardwareConfig.named("sim_rq")
    op = operator(call("nn.sum_pool2d", [X], "pool", pool_size=(2, width), padding=(1, 1, 0, 1), factor=5), hw)
    (term,) = op.digits[0].terms
    assert (term.kernel, term.taps) == (((2, 1), 3) if width == 3 else ((2, 2), 1))
    assert term.weights.sum() == 5 * BLOCK * (3 if width == 3 else 1)
    assert term.is_transfer


def test_maximum_pooling_is_an_operator_of_its_own():
    op = operator(call("nn.max_pool2d", [X], "pool", pool_size=(3, 2), strides=(2, 1), padding=(1, 0, 1, 1)))
    assert isinstance(op, MaxPool)
    assert (op.pool_size, op.strides, op.padding) == ((3, 2), (2, 1), (1, 0))


@pytest.mark.parametrize("factor", [1, -1, 127, 128, -129, 300, 1 << 14, -(1 << 14), (1 << 21) - 1, 8355711])
def test_a_factor_is_spread_over_base_256_digits(factor):
    scaled = call("multiply", [widened(X), number(factor)], "scale")
    assert value_of(operator(scaled).digits) == [factor] * BLOCK
    op = operator(call("add", [accumulated(), scaled], "add"))
    assert op.digits[-1].terms[0].weights.shape[1] == 2, "the convolution is added last, at the lowest digit"
    assert value_of(op.digits) == [factor] * BLOCK


def value_of(digits):
    """By what each lane of the scaled tensor is multiplied."""
    total = np.zeros(BLOCK, np.int64)
    for digit in digits:
        total <<= digit.shift
        for term in digit.terms:
            if term.diagonal:
                total += np.diagonal(term.weights[0, 0, 0, 0])
    return total.tolist()


def test_factors_differ_by_channel():
    factors = np.arange(20) * 1000 - 7000
    op = operator(call("multiply", [widened(X), per_channel(factors)], "scale"))
    assert value_of(op.digits) == factors[:BLOCK].tolist()
    assert all(len(term.weights) == 2 for term in op.terms)


def test_a_left_shift_of_a_tensor_is_a_factor():
    assert value_of(operator(call("left_shift", [widened(X), number(14)], "scale")).digits) == [1 << 14] * BLOCK
    assert value_of(operator(call("left_shift", [widened(X), number(7)], "scale")).digits) == [128] * BLOCK


def test_a_factor_of_zero_still_gives_a_term():
    op = operator(call("multiply", [widened(X), number(0)], "nothing"))
    assert value_of(op.digits) == [0] * BLOCK
    assert len(op.digits[0].terms) == 1


def test_residuals_before_anything_that_is_not_linear_join_the_products():
    total = call("add", [call("add", [accumulated(), number(5)], "bias"), widened(X)], "add")
    assert steps(total) == [(AluOp.ADD, 5), *CLIP]
    assert len(operator(total).digits[0].terms) == 2


def test_a_residual_after_a_shift_is_a_step_of_its_own():
    shift = call("right_shift", [accumulated(), number(3)], "shift")
    (op, three), (add, operand), *clip = steps(call("add", [shift, widened(X)], "add"))
    assert (op, three) == (AluOp.SHR, 3)
    assert add is AluOp.ADD
    assert isinstance(operand, tuple)
    assert clip == CLIP


def test_constants_are_immediates_where_these_fit():
    assert steps(call("add", [accumulated(), number(-32768)], "add")) == [(AluOp.ADD, -32768), *CLIP]
    (_, operand), *_ = steps(call("add", [accumulated(), number(-32769)], "add"))
    assert operand.tolist() == [-32769] * 20
    assert steps(call("add", [accumulated(), per_channel([7] * 20)], "add"))[0] == (AluOp.ADD, 7)
    assert steps(call("add", [accumulated(), per_channel(range(20))], "add"))[0][1].tolist() == list(range(20))


def test_shifts_are_cut_to_what_the_target_does():
    shift = call("right_shift", [accumulated(), number(31)], "shift")
    assert steps(shift) == [(AluOp.SHR, 31), *CLIP]
    assert steps(shift, replace(BASELINE, target="pynq")) == [(AluOp.SHR, 15), (AluOp.SHR, 15), (AluOp.SHR, 1), *CLIP]
    left = call("left_shift", [accumulated(), number(20)], "shift")
    assert steps(left, replace(BASELINE, target="pynq")) == [(AluOp.SHR, -16), (AluOp.SHR, -4), *CLIP]
    assert steps(call("right_shift", [accumulated(), number(0)], "shift")) == CLIP


def test_shifts_by_channel_are_cut_channel_by_channel():
    amounts = np.arange(20)
    first, second, *_ = steps(
        call("right_shift", [accumulated(), per_channel(amounts)], "shift"), replace(BASELINE, target="pynq")
    )
    np.testing.assert_array_equal(first[1] + second[1], amounts)
    assert max(first[1].max(), second[1].max()) <= 15


@pytest.mark.parametrize(
    ("bounds", "joined"),
    [
        ([("maximum", 0), ("minimum", 50)], [(AluOp.MAX, 0), (AluOp.MIN, 50)]),
        ([("nn.relu", None)], [(AluOp.MAX, 0), (AluOp.MIN, 127)]),
        ([("minimum", -5), ("maximum", 3)], [(AluOp.MAX, 3), (AluOp.MIN, 3)]),
        ([("maximum", 300)], [(AluOp.MAX, 127), (AluOp.MIN, 127)]),
        ([("minimum", -300)], [(AluOp.MAX, -128), (AluOp.MIN, -128)]),
        ([("maximum", -500), ("minimum", 500), ("maximum", -20)], [(AluOp.MAX, -20), (AluOp.MIN, 127)]),
    ],
)
def test_neighboring_bounds_are_joined_into_the_same_function(bounds, joined):
    value = accumulated()
    for op, bound in bounds:
        value = call(op, [value] if bound is None else [value, number(bound)], op)
    assert steps(value) == joined
    numbers = np.arange(-600, 600)
    wanted = numbers
    for op, bound in bounds:
        wanted = np.minimum(wanted, bound) if op == "minimum" else np.maximum(wanted, bound or 0)
    got = numbers
    for op, bound in joined:
        got = np.maximum(got, bound) if op is AluOp.MAX else np.minimum(got, bound)
    np.testing.assert_array_equal(got, np.clip(wanted, -128, 127))


def test_bounds_beyond_32_bits_bound_nothing():
    limits = steps(call("clip", [accumulated()], "clip", a_min=-3e9, a_max=3e9))[:2]
    assert [operand.tolist() for _, operand in limits] == [[-(1 << 31)] * 20, [(1 << 31) - 1] * 20]


def test_fractional_bounds_are_the_whole_numbers_within():
    assert steps(call("clip", [accumulated()], "clip", a_min=-5.5, a_max=5.5)) == [(AluOp.MAX, -5), (AluOp.MIN, 5)]


def test_operators_on_int8_pass_the_tensor_through():
    assert steps(call("nn.relu", [X], "relu")) == [(AluOp.MAX, 0)]
    op = operator(call("clip", [X], "clip", a_min=-500, a_max=9))
    assert [plain(step) for step in op.epilogue] == [(AluOp.MAX, -128), (AluOp.MIN, 9)]
    assert value_of(op.digits) == [1] * BLOCK
    assert op.kind == "elementwise"
