"""Tuning of kernels that a GPU runs."""
