"""Kernels whose order of computing is part of what they compute: written as loop nests, not as expressions with a schedule."""
