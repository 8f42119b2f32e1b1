"""The operators. Importing this package declares all of them."""

from vta.ir.ops import (
    elementwise,
    function,
    matmul,
    nn_activation,
    nn_conv,
    nn_dense,
    nn_norm,
    nn_pool,
    nn_windows,
    qnn,
    qnn_activation,
    qnn_conv_transpose,
    qnn_softmax,
    reduce,
    rescale,
    shape,
)

__all__ = [
    "elementwise",
    "function",
    "matmul",
    "nn_activation",
    "nn_conv",
    "nn_dense",
    "nn_norm",
    "nn_pool",
    "nn_windows",
    "qnn",
    "qnn_activation",
    "qnn_conv_transpose",
    "qnn_softmax",
    "reduce",
    "rescale",
    "shape",
]
