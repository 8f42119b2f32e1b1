"""Rewrites of integer graphs that need to know the hardware: fuller blocks, narrow accumulators."""
