"""Kernels of sums of products."""
