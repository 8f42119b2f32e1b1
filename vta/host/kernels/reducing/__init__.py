"""Kernels along an axis: reductions, softmaxes, norms, orders."""
