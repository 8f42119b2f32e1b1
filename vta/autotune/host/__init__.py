"""Tuning of kernels that a processor runs."""
