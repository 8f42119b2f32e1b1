"""Endings of the names of model files, by which their kind is told."""

from __future__ import annotations

__all__ = ["PICKLED_SUFFIXES", "SYMBOL_SUFFIX"]

SYMBOL_SUFFIX = "-symbol.json"
"""Of MXNet's structures."""

PICKLED_SUFFIXES = (".pth", ".pt", ".ckpt")
"""Files of `torch.save`: pickled objects, as a rule weights without the network."""
