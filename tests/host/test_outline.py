"""What is kept of a lowered program is what lowering it again gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.host.computes import convolution
from vta.host import outline
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.host.loop.text import program_text
from vta.host.outline import named_outline, outline_of_kernel


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VTA_CACHE_PATH", str(tmp_path_factory.mktemp("cache")))
        yield


def _facts(found):
    return found.name, found.functions, [(buffer.name, buffer.shape, buffer.dtype) for buffer in found.workspace]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_the_kept_outline_is_that_of_the_program(channels, outputs, size):
    wanted = named_outline(lower(scheduled(convolution(channels, outputs, size, 2), ())))
    for _ in range(2):
        kernel = convolution(channels, outputs, size, 2)
        found = outline_of_kernel(kernel, (), {})
        assert _facts(found) == _facts(wanted)
        assert found.output is kernel.output
        assert program_text(found.lowered()) == program_text(wanted.lowered())


def test_nothing_is_lowered_twice(monkeypatch):
    lowered = []
    monkeypatch.setattr(outline, "lower", lambda state: lowered.append(state) or lower(state))
    known = {}
    first = outline_of_kernel(convolution(7, 3, 5, 3), (), known)
    for again in ({}, known):
        kernel = convolution(7, 3, 5, 3)
        found = outline_of_kernel(kernel, (), again)
        assert _facts(found) == _facts(first)
        assert all(any(buffer is stage.output for stage in kernel.stages) for buffer in (*found.workspace, found.output))
    assert len(lowered) == 1
    assert found.lowered() is found.lowered()
