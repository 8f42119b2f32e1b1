"""`search_ahead` asks for what the compiler is about to ask for, where that is not known yet."""

import sys

import pytest

from tests.split_processes import run_program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="others have one process")

CODE = """
import argparse, select, sys
from pathlib import Path
from tests.quantized_layers import quantized_layers
from vta.cli.search_ahead import search_ahead
from vta.compiler.options import CompileOptions
from vta.compiler.pipeline import passes_between, run_passes
from vta.compiler.state import State
from vta.config.files import config_path
from vta.config.hardware import HardwareConfig
from vta.files import process_halves
from vta.files.cache import file_stamp
from vta.quantization.config import QuantizeConfig

os.environ["VTA_CACHE_PATH"] = folder
forks = []
split = os.fork
os.fork = lambda: forks.append(1) or split()
allow_second_process()

graph = quantized_layers()
model = Path(folder, "net.tflite")
model.write_bytes(b"read already")

reader, writer = os.pipe()
finish = process_halves.ProcessHalves.make_from_the_end
def tell_and_finish(halves, failed=False):
    os.write(writer, b"".join(halves._jobs))
    finish(halves, failed)
process_halves.ProcessHalves.make_from_the_end = tell_and_finish
asked = []
made = process_halves.ProcessHalves.made
process_halves.ProcessHalves.made = lambda halves, digest, make: asked.append(digest) or made(halves, digest, make)

def compiled(requantize, expects):
    options = argparse.Namespace(model=str(model), config=config_path("sim"), requantize=requantize)
    asked.clear()
    with search_ahead(graph, options):
        if expects:
            assert select.select([reader], [], [], 50)[0], "the second half asks for something"
            found = os.read(reader, 1 << 16)
            assert len(found) == 6 * 32
        how = CompileOptions(quantize=QuantizeConfig(requantize=requantize))
        run_passes(State(hw=HardwareConfig.named("sim"), model=graph), how, passes_between("import", "lower"))
    if expects:
        # What it finished before is read from the cache.
        assert set(asked) <= {found[at : at + 32] for at in range(0, len(found), 32)}, "it is what the first half asks for"
"""


def run(code, folder):
    return run_program(f"folder = {str(folder)!r}\n" + CODE + code)


@pytest.mark.parametrize("requantize", ["exact", "close"])
def test_it_asks_for_what_lowering_asks_for(requantize, tmp_path):
    code = f"""
compiled({requantize!r}, True)
kept = sorted(path.name for path in Path(folder, "thresholds").iterdir())
assert len(kept) == 6 and forks == [1]
compiled({requantize!r}, False)
assert forks == [1], "it is known"
print("done", no_child_is_left())
"""
    assert run(code, tmp_path) == ["done", "True"]


def test_a_file_that_changed_is_new(tmp_path):
    code = """
compiled("exact", True)
model.write_bytes(b"another one")
file_stamp.cache_clear()  # a process looks once
with search_ahead(graph, argparse.Namespace(model=str(model), config=config_path("sim"), requantize="exact")):
    assert forks == [1, 1]
print("done", no_child_is_left())
"""
    assert run(code, tmp_path) == ["done", "True"]


def test_there_is_one_process_where_all_channels_have_one_scale(tmp_path):
    code = """
from vta.ir.graph import rewrite
from dataclasses import replace
def alike(node):
    scale = getattr(node.attrs, "input_scale", None)
    return replace(node, attrs=replace(node.attrs, input_scale=scale[0])) if isinstance(scale, tuple) else node
with search_ahead(rewrite(graph, alike), argparse.Namespace(model=str(model), config=config_path("sim"), requantize="exact")):
    assert not forks
print("done")
"""
    assert run(code, tmp_path) == ["done"]


@pytest.mark.parametrize(
    ("given", "requantize"),
    [("str(model)", "shift"), ("'resnet18_v1'", "exact"), ("folder", "exact"), ("folder + '/none'", "exact")],
)
def test_there_is_one_process_where_it_is_of_no_use(given, requantize, tmp_path):
    code = f"""
with search_ahead(graph, argparse.Namespace(model={given}, config=config_path("sim"), requantize={requantize!r})):
    assert not forks
print("done")
"""
    assert run(code, tmp_path) == ["done"]
