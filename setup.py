"""Builds the native core; everything else is in pyproject.toml."""

from setuptools import setup

setup(cffi_modules=["simulator/build_ffi.py:ffi"])
