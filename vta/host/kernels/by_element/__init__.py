"""Kernels that compute each value from those at its own place, or move values."""
