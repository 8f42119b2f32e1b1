"""What is said where LLVM itself cannot be loaded."""

import importlib
import sys

import pytest

from vta.errors import CompileError
from vta.host.llvm import binding


class _NoRoom:
    def find_spec(self, name, path=None, target=None):
        if name == "llvmlite.binding":
            raise OSError("Could not find/load shared object file 'libllvmlite.so'")


def test_a_library_that_cannot_be_loaded_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "llvmlite.binding")
    monkeypatch.setattr(sys, "meta_path", [_NoRoom(), *sys.meta_path])
    with pytest.raises(CompileError, match="LLVM cannot be loaded: llvmlite's library is damaged, or memory is short"):
        importlib.reload(binding)
