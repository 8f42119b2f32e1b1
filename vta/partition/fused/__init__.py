"""Fused operators, which VTA computes in one go: how they are found, and the rules that they must meet."""
