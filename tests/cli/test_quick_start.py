"""What commands do for their process, and nobody else."""

import ctypes
from types import SimpleNamespace

import pytest

from vta.cli import quick_start
from vta.cli.quick_start import keep_freed_memory


@pytest.fixture
def options(monkeypatch):
    """What the C library was told."""
    found = {}
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=found.__setitem__))
    return found


@pytest.mark.parametrize("is_command", [True, False])
def test_memory_is_kept_in_the_process_of_a_command_alone(options, monkeypatch, is_command):
    monkeypatch.setattr(quick_start, "is_command", lambda arguments: is_command)
    keep_freed_memory()
    assert bool(options) == is_command
    assert all(size >= 1 << 20 for size in options.values())


def test_other_c_libraries_have_no_such_options(monkeypatch):
    monkeypatch.setattr(quick_start, "is_command", lambda arguments: True)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    keep_freed_memory()
