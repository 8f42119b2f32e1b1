"""What is kept of LLVM's work is what LLVM would make again, and is found without LLVM."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.host.computes import convolution
from vta.errors import CompileError
from vta.host.llvm import library, link, target
from vta.host.llvm.jit import compile_object
from vta.host.llvm.kept import kept_object
from vta.host.llvm.target import host_target
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.host.outline import named_outline
from vta.host.processors import architecture_of

WITHOUT_LLVM = """
import sys
from tests.host.computes import convolution
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.host.llvm.kept import kept_object
from vta.host.llvm.target import host_target
from vta.host.outline import named_outline
outline = named_outline(lower(scheduled(convolution(2, 3, 2, 2), ())))
print(len(kept_object(outline, host_target())), "llvmlite.binding" in sys.modules)
"""

ROOT = Path(__file__).parents[3]


def outline():
    return named_outline(lower(scheduled(convolution(2, 3, 2, 2), ())))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path))
    host_target.cache_clear()
    yield
    host_target.cache_clear()


def test_kept_objects_are_those_that_are_compiled():
    made = compile_object(outline().lowered(), host_target())
    assert kept_object(outline(), host_target()) == made
    assert kept_object(outline(), host_target()) == made


def test_what_is_kept_is_found_without_llvm():
    code = kept_object(outline(), host_target())
    done = subprocess.run([sys.executable, "-c", WITHOUT_LLVM], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT)
    assert done.stdout.split() == [str(len(code)), "False"]


def test_the_processor_that_is_kept_is_what_llvm_says(monkeypatch):
    asked = host_target()
    host_target.cache_clear()
    monkeypatch.setattr(target, "_ask_llvm", None)
    if target._processor_lines():
        assert host_target() == asked


def test_another_processor_is_asked_for_again(monkeypatch):
    host_target()
    host_target.cache_clear()
    monkeypatch.setattr(target, "_processor_lines", lambda: ["model name : another"])
    real, asked = target._ask_llvm, []
    monkeypatch.setattr(target, "_ask_llvm", lambda: asked.append(1) or real())
    host_target()
    assert asked == [1]


def test_where_the_kernel_says_nothing_llvm_is_asked(monkeypatch):
    monkeypatch.setattr(target, "_processor_lines", list)
    assert host_target().cpu


def test_what_was_linked_is_not_linked_again(monkeypatch):
    objects = [kept_object(outline(), host_target())]
    architecture = architecture_of(host_target().triple)
    try:
        made = link.link_library(objects, architecture)
    except CompileError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(subprocess, "run", None)
    assert link.link_library(objects, architecture) == made


def test_kernels_that_were_linked_before_need_no_llvm(tmp_path):
    """The first process compiles and links them; the second one finds the library."""
    try:
        link.link_library([kept_object(outline(), host_target())], architecture_of(host_target().triple))
    except CompileError as error:
        pytest.skip(str(error))
    code = """
import sys
import numpy as np
from vta.ir import names as ops
from vta.ir.graph import Graph, call, graph_input
from vta.runtime.host_part.host_graph import host_graph
x = graph_input("x", (1, 3, 8, 8))
graph = Graph((x,), (call(ops.SOFTMAX, [call(ops.RELU, [x])], axis=1),))
(out,) = host_graph(graph).run({"x": np.ones((1, 3, 8, 8), np.float32)})
print(out.mean(), "llvmlite.binding" in sys.modules)
"""
    found = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT)
        found.append(done.stdout.split())
    assert [used for _, used in found] == ["True", "False"]
    assert found[0][0] == found[1][0]


def test_without_objects_nothing_is_linked(monkeypatch):
    monkeypatch.setattr(library, "link_library", None)
    monkeypatch.setattr(library, "_Jitted", None)
    assert not library.KernelLibrary([], [], host_target().architecture).addresses


def test_what_does_not_open_is_linked_by_llvm(monkeypatch):
    objects, symbols = [kept_object(outline(), host_target())], [outline().symbol(function) for function in outline().functions]
    monkeypatch.setattr(library, "link_library", lambda objects, architecture: b"no library")
    found = library.KernelLibrary(objects, symbols, host_target().architecture)
    assert set(found.addresses) == set(symbols)
    assert isinstance(found._library, library._Jitted)
