"""Small computes, and random schedules of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Kernel, Stage, axes_of
from vta.host.loop.expression import Expr, binary, cast, const, index, load
from vta.host.loop.schedule import LoopOrder, scheduled
from vta.host.loop.steps import Cache, ComputeAt, Fuse, Reorder, Split, Step, Unroll, Vectorize


def times(value: Expr, factor: int) -> Expr:
    return binary("mul", value, index(factor))


def convolution(rows=5, columns=7, channels=3, outputs=4, kernel=3, stride=1, dtype="int32") -> Kernel:
    """A convolution of int8 (or floats) with a bias, the channels innermost."""
    item = "int8" if dtype == "int32" else dtype
    size = tuple((extent - 1) * stride + kernel for extent in (rows, columns))
    data = Buffer("data", (*size, channels), item)
    weight = Buffer("weight", (kernel, kernel, channels, outputs), item)
    bias = Buffer("bias", (outputs,), dtype)
    axes = axes_of({"y": rows, "x": columns, "o": outputs})
    reduce = axes_of({"kh": kernel, "kw": kernel, "c": channels})
    (y, x, o), (kh, kw, c) = ([axis.var for axis in group] for group in (axes, reduce))
    where = [binary("add", times(y, stride), kh), binary("add", times(x, stride), kw), c]
    product = binary("mul", cast(load(data, where), dtype), cast(load(weight, [kh, kw, c, o]), dtype))
    stage = Stage(Buffer("sums", (rows, columns, outputs), dtype), axes, product, reduce, "add", load(bias, [o]))
    return Kernel("convolution", (data, weight, bias), (stage,))


def relu_of(kernel: Kernel) -> Kernel:
    """A kernel with one more stage: the larger of zero and its output."""
    last = kernel.stages[-1]
    value = binary("max", load(last.output, [axis.var for axis in last.axes]), const(0, last.output.dtype))
    stage = Stage(Buffer("relu", last.output.shape, last.output.dtype), last.axes, value)
    return Kernel(kernel.name, kernel.inputs, (*kernel.stages, stage))


def random_arrays(kernel: Kernel, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = []
    for buffer in kernel.inputs:
        if buffer.dtype.startswith("float"):
            arrays.append(rng.standard_normal(buffer.shape).astype(buffer.dtype))
        else:
            info = np.iinfo(buffer.dtype)
            arrays.append(rng.integers(info.min, info.max, buffer.shape, dtype=buffer.dtype, endpoint=True))
    return arrays


@st.composite
def schedules(draw, kernel: Kernel) -> list[Step]:
    """Legal steps for a kernel: the last stage cached or not, loops split, put in another order, fused, unrolled."""
    steps: list[Step] = []
    last = kernel.stages[-1].name
    if draw(st.booleans()):
        steps.append(Cache(last, "cached"))
    for stage in scheduled(kernel, steps).kernel.stages:
        steps += draw(loop_steps(scheduled(kernel, steps).orders[stage.name], stage.name))
    state = scheduled(kernel, steps)
    for stage, reader in pairwise(state.kernel.stages):
        order = state.orders[reader.name]
        places = [loop for loop in order.loops if order.kind(loop) != "vectorized"]
        if places and draw(st.booleans()):
            steps.append(ComputeAt(stage.name, reader.name, draw(st.sampled_from(places))))
    return steps


@st.composite
def loop_steps(draw, order: LoopOrder, stage: str) -> list[Step]:
    steps: list[Step] = []
    loops = list(order.loops)
    for loop in draw(st.lists(st.sampled_from(loops), unique=True, max_size=3)):
        steps.append(Split(stage, loop, draw(st.integers(1, 5)), f"{loop}o", f"{loop}i"))
        loops[loops.index(loop) : loops.index(loop) + 1] = [f"{loop}o", f"{loop}i"]
    shuffled = draw(st.permutations(loops))
    for loop in order.loops:
        if f"{loop}o" in loops and shuffled.index(f"{loop}i") < shuffled.index(f"{loop}o"):
            outer, inner = shuffled.index(f"{loop}o"), shuffled.index(f"{loop}i")
            shuffled[outer], shuffled[inner] = shuffled[inner], shuffled[outer]
    steps.append(Reorder(stage, tuple(shuffled)))
    reduce = {name for loop in order.reduce for name in (loop, f"{loop}o", f"{loop}i")}
    plain = [at for at, (one, two) in enumerate(pairwise(shuffled)) if not {one[-1], two[-1]} & {"o", "i"}]
    if plain and draw(st.booleans()):
        at = draw(st.sampled_from(plain))
        one, two = shuffled[at : at + 2]
        if (one in reduce) == (two in reduce):
            steps.append(Fuse(stage, one, two, "fused"))
            shuffled[at : at + 2] = ["fused"]
            reduce |= {"fused"} if one in reduce else set()
    if shuffled[-1] not in reduce and draw(st.booleans()):
        steps.append(Vectorize(stage, shuffled[-1]))
    unrolled = draw(st.lists(st.sampled_from(shuffled[:-1] or shuffled), unique=True, max_size=2))
    return [*steps, *(Unroll(stage, loop) for loop in unrolled if len(shuffled) > 1)]
