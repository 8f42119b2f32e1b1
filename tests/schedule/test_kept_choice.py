"""Schedules that are kept are those that are chosen, and each is chosen once."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE, CONFIGS, TINY, conv, int8_clip
from tests.schedule.test_choose import operators
from tests.tile_operators import gemm_operator
from vta.errors import CompileError
from vta.ir.graph import Graph, graph_input
from vta.schedule import choose
from vta.schedule import kept_choice as kept
from vta.schedule.choose import choose_schedule
from vta.schedule.kept_choice import kept_choice
from vta.tile.gemm_term import GemmTerm
from vta.tile.operator import Tensor


def outcome(choose, operator, hw):
    try:
        return choose(operator, hw)
    except CompileError as error:
        return str(error)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operators(), st.sampled_from(CONFIGS))
def test_what_is_kept_is_what_is_chosen(tmp_path, operator, hw):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VTA_CACHE_PATH", str(tmp_path))
        expected = outcome(choose_schedule, operator, hw)
        assert outcome(kept_choice, operator, hw) == expected
        again = outcome(kept_choice, operator, hw)
        assert again == expected
        assert repr(again) == repr(expected), "of the same types"


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The operators that a schedule was chosen for."""
    found = []
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path))
    monkeypatch.setattr(choose, "choose_schedule", lambda operator, hw: found.append(operator) or choose_schedule(operator, hw))
    return found


def layer(name, values=0, height=8):
    weights = np.full((2, 2, 3, 3, 16, 16), values, np.int8)
    out = Tensor(f"{name} out", 1, 2, height, 8)
    return gemm_operator(out, GemmTerm(Tensor(f"{name} in", 1, 2, height, 8), weights, padding=(1, 1)), name=name)


def grouped(kept, name="op"):
    """A layer of 256 channels from 128 at 3 x 3 places, which takes the blocks of weights that are `kept`."""
    weights = np.where(kept[:, :, None, None, None, None], np.int8(1), np.int8(0)) * np.ones((16, 8, 1, 1, 16, 16), np.int8)
    out = Tensor(f"{name} out", 1, 16, 3, 3)
    return gemm_operator(out, GemmTerm(Tensor(f"{name} in", 1, 8, 3, 3), weights, sparse=not kept.all()), name=name)


def test_layers_with_other_blocks_of_zeros_are_other_workloads(asked):
    """A grouped convolution and one of all channels have the same shapes."""
    every = np.ones((16, 8), bool)
    groups = np.equal.outer(np.arange(16) // 2, np.arange(8))
    for kept_blocks in (every, groups, every, groups[::-1]):
        operator = grouped(kept_blocks)
        assert kept_choice(operator, BASELINE) == choose_schedule(operator, BASELINE)
    assert len(asked) == 3


@settings(deadline=None, max_examples=60)
@given(operators(), st.integers(0, 3), st.sampled_from(CONFIGS))
def test_one_workload_has_one_schedule(operator, seed, hw):
    """What `workload_key` does not tell apart gets the same schedule."""
    rng = np.random.default_rng(seed)
    values = rng.random(operator.main_term.weights.shape[:4]) < 0.3
    zeros = replace(operator.digits[0].terms[0], weights=values[..., None, None].astype(np.int8), sparse=bool(seed % 2))
    first = replace(operator.digits[0], terms=(zeros, *operator.digits[0].terms[1:]))
    other = replace(operator, digits=(first, *operator.digits[1:]))
    if other.workload_key == operator.workload_key:
        assert outcome(choose_schedule, other, hw) == outcome(choose_schedule, operator, hw)


def test_layers_that_differ_in_name_and_weights_alone_are_one_workload(asked):
    assert kept_choice(layer("first"), BASELINE) == kept_choice(layer("second", 5), BASELINE)
    assert [operator.name for operator in asked] == ["first"]


def test_other_shapes_configs_and_code_are_others(asked, monkeypatch):
    kept_choice(layer("first"), BASELINE)
    kept_choice(layer("higher", height=9), BASELINE)
    kept_choice(layer("smaller"), TINY)
    kept_choice(layer("smaller"), replace(TINY, log_acc_buff_size=TINY.log_acc_buff_size + 1))
    monkeypatch.setattr(kept, "_code", lambda: b"changed")
    kept_choice(layer("later"), BASELINE)
    assert [operator.name for operator in asked] == ["first", "higher", "smaller", "smaller", "later"]


def network():
    """Ten layers, each a workload of its own."""
    value = source = graph_input("x", (1, 16, 12, 12), "int8")
    for count in range(2, 12):
        weight = np.ones((16 * count, value.shape[1], 1, 1), np.int8)
        value = int8_clip(conv(value, weight, f"layer{count}"), f"clip{count}")
    return Graph((source,), (value,))


CODE = """
import os, sys
from tests.schedule.test_kept_choice import network
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.files import second_process

forks = []
split, os.sched_getaffinity = os.fork, lambda pid: {0, 1}
os.fork = lambda: forks.append(1) or split()
if len(sys.argv) > 1:
    second_process.allow_second_process()
module = compile_graph(network(), HardwareConfig.named("sim"))
print(module.dump("tile"), [region.program.encoded().tobytes().hex() for region in module.regions])
print("forks", len(forks), file=sys.stderr)
"""


def compiled(cache, *arguments):
    environment = {**os.environ, "VTA_CACHE_PATH": str(cache)}
    environment.pop("OMP_NUM_THREADS", None)
    command = [sys.executable, "-c", CODE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.split()[-1], sorted(path.name for path in cache.rglob("*.kept"))


@pytest.mark.skipif(sys.platform != "linux", reason="others have one process")
def test_a_network_is_the_same_whether_a_second_process_takes_part_or_not(tmp_path):
    alone, forks, found = compiled(tmp_path / "alone")
    assert (forks, len(found)) == ("0", 10)
    together, forks, found_by_both = compiled(tmp_path / "both", "second")
    assert forks == "1"
    assert (together, found_by_both) == (alone, found)
    again, forks, _ = compiled(tmp_path / "both", "second")
    assert (again, forks) == (alone, "0"), "all of it was kept"
