"""Random regions of tile operators, of every kind."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from vta.codegen.templates.extreme import Extreme
from vta.codegen.templates.max_pool import MaxPool
from vta.codegen.templates.upsample import Upsample
from vta.isa.instruction import AluOp
from vta.tile.gemm_operator import GemmOperator, OutputPadding
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import RegionOperators, Tensor
from vta.tile.step import Branch, Immediate, Join, PerChannel, Requantization, Step, TensorOperand

BLOCK = 2

SMALL = st.integers(1, 5)
PAIRS = st.tuples(SMALL, SMALL)
NAMES = st.text(max_size=8) | st.sampled_from(["conv.3", 'a "b"', "// no comment", "}", "%x", "\n"])
OPS = st.sampled_from([op for op in AluOp if op is not AluOp.REQUANTIZE])


@dataclass
class _Names:
    used: dict[str, Tensor] = field(default_factory=dict)


@st.composite
def tensors(draw, known):
    """A new tensor, or one that is known."""
    if known.used and draw(st.booleans()):
        return draw(st.sampled_from(list(known.used.values())))
    name = draw(NAMES.filter(lambda name: name not in known.used))
    tensor = Tensor(name, draw(SMALL), draw(SMALL), draw(SMALL), draw(SMALL), draw(st.sampled_from((1, 4))))
    known.used[name] = tensor
    part = f"{name} part"
    if draw(st.integers(0, 3)) == 0 and part not in known.used:
        known.used[part] = tensor.part(part, draw(st.integers(0, tensor.blocks - 1)), 1)
        return known.used[part]
    return tensor


def arrays(shape, dtype, limit):
    return st.integers(0, 1 << 16).map(lambda seed: np.random.default_rng(seed).integers(-limit, limit, shape, dtype))


@st.composite
def terms(draw, known):
    shape = (draw(SMALL), draw(SMALL), *draw(PAIRS), BLOCK, BLOCK)
    weights = draw(arrays(shape, np.int8, 128)) * draw(arrays((*shape[:4], 1, 1), np.int8, 2))
    return GemmTerm(
        draw(tensors(known)),
        weights.astype(np.int8),
        diagonal=draw(st.booleans()),
        strides=draw(PAIRS),
        padding=draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3))),
        dilation=draw(PAIRS),
        window=draw(st.none() | PAIRS),
        groups=draw(SMALL),
        sparse=draw(st.booleans()),
        source_dilation=draw(PAIRS),
        is_transfer=draw(st.booleans()),
    )


@st.composite
def digits(draw, known):
    found = [RadixDigit(draw(st.integers(0, 8)), tuple(draw(st.lists(terms(known), max_size=2))))]
    return (*found, RadixDigit(8, (draw(terms(known)),)))


@st.composite
def requantizations(draw):
    channels = (draw(SMALL),)
    parameters = {name: draw(arrays(channels, np.int64, 1 << 31)) for name in ("bias", "multiplier", "control")}
    table = draw(st.none() | arrays((256,), np.int8, 128))
    return Requantization(**parameters, wide=table is None and draw(st.booleans()), table=table)


@st.composite
def steps(draw, known, depth=0):
    if draw(st.integers(0, 5)) == 0:
        return Step(AluOp.REQUANTIZE, draw(requantizations()))
    op = draw(OPS)
    shapes = st.tuples(st.integers(1, 5)) | st.tuples(SMALL, SMALL, SMALL)
    simple = [
        st.integers(-(1 << 15), 1 << 15).map(Immediate),
        shapes.flatmap(lambda shape: arrays(shape, np.int64, 1 << 31)).map(PerChannel),
    ]
    if depth == 0:
        inner = st.lists(steps(known, 1), max_size=3).map(tuple)
        simple += [
            st.integers(0, 3).map(Join),
            digits(known).map(TensorOperand),
            st.builds(Branch, inner, st.integers(0, 3), st.booleans()),
        ]
    return Step(op, draw(st.one_of(simple)))


@st.composite
def gemm_operators(draw, known):
    output = draw(tensors(known))
    around = draw(tensors(known)) if draw(st.booleans()) else None
    padding = around and OutputPadding(around, draw(st.integers(0, 3)), draw(st.integers(0, 3)), draw(st.integers(-128, 127)))
    return GemmOperator(
        name=draw(NAMES),
        kind=draw(st.sampled_from(("conv2d", "dense", "copy", "elementwise"))),
        output=output,
        macs=draw(st.integers(0, 1 << 40)),
        digits=draw(digits(known)),
        epilogue=tuple(draw(st.lists(steps(known), max_size=4))),
        accumulator_init=draw(st.none() | arrays((4,), np.int64, 1 << 20)),
        output_padding=padding,
    )


@st.composite
def template_operators(draw, known):
    common = {"name": draw(NAMES), "source": draw(tensors(known)), "output": draw(tensors(known))}
    kinds = [
        lambda: MaxPool(**common, pool_size=draw(PAIRS), strides=draw(PAIRS), padding=draw(st.tuples(st.integers(0, 3), SMALL))),
        lambda: Upsample(**common, factors=draw(PAIRS)),
        lambda: Extreme(**common, kind=draw(st.sampled_from(("reduce_max", "reduce_min")))),
    ]
    return draw(st.sampled_from(kinds))()


@st.composite
def regions(draw):
    """Any operators one after the other; that they make sense together is not asked."""
    known = _Names()
    operators = draw(st.lists(gemm_operators(known) | template_operators(known), max_size=4))
    named = [tuple(draw(st.lists(tensors(known), max_size=2))) for _ in range(2)]
    return RegionOperators(draw(NAMES), tuple(operators), *named)
