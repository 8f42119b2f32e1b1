"""Operators and a schedule for what is known of a convolution."""

from dataclasses import replace

import numpy as np

from tests.integer_graphs import BASELINE
from tests.tile_operators import gemm_operator
from vta.schedule.schedule import Schedule
from vta.tile.gemm_term import GemmTerm
from vta.tile.operator import Tensor

BLOCK = BASELINE.block

SCHEDULE = replace(Schedule.smallest(), tile_co=2, tile_h=7, tile_w=14, tile_ci=2, tile_kh=3, tile_kw=3, inp_slots=2, wgt_slots=2)


def conv_operator(source=(4, 14, 14), out=(2, 14, 14), kernel=(3, 3), padding=(1, 1), strides=(1, 1), dilation=(1, 1), steps=()):
    data, result = Tensor("x", 1, *source), Tensor("y", 1, *out)
    weights = np.zeros((out[0], source[0], *kernel, BLOCK, BLOCK), np.int8)
    term = GemmTerm(data, weights, strides=strides, padding=padding, dilation=dilation)
    return gemm_operator(result, term, steps=steps)


def diagonal(name="r", blocks=1, shape=(2, 14, 14)):
    return GemmTerm(Tensor(name, 1, *shape), np.zeros((blocks, 1, 1, 1, BLOCK, BLOCK), np.int8), diagonal=True)
