"""Operators of layers on real numbers."""
