"""`search_ahead` asks for what the compiler is about to ask for, where that is not known yet."""

import sys

import pytest

from tests.split_processes import run_program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="others have one process")

CODE = """
import select, sys
from pathlib import Path
from tests.quantized_layers import quantized_layers
from vta.cli import network
from vta.cli.main import build_parser
from vta.cli.search_ahead import search_ahead
from vta.compiler.options import CompileOptions
from vta.compiler.pipeline import passes_between, run_passes
from vta.compiler.state import State
from vta.config.hardware import HardwareConfig
from vta.files import process_halves, second_process
from vta.files.cache import file_stamp
from vta.quantization.config import QuantizeConfig

os.environ["VTA_CACHE_PATH"] = folder
forks = []
split = os.fork
os.fork = lambda: forks.append(1) or split()
allow_second_process()

graph = quantized_layers()
network.import_network = lambda options: graph
model = Path(folder, "net.tflite")
model.write_bytes(b"a network")

def options_of(requantize="exact", model=model, **given):
    arguments = ["compile", "net", "--config", "sim", "--requantise", requantize]
    options = build_parser(arguments).parse_args(arguments)
    vars(options).update(given, model=str(model))
    return options

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
    asked.clear()
    with search_ahead(options_of(requantize)):
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
with search_ahead(options_of()):
    assert forks == [1, 1]
print("done", no_child_is_left())
"""
    assert run(code, tmp_path) == ["done", "True"]


ONE_SCALE = """
from dataclasses import replace
from vta.ir.graph import rewrite
def alike(node):
    scale = getattr(node.attrs, "input_scale", None)
    return replace(node, attrs=replace(node.attrs, input_scale=scale[0])) if isinstance(scale, tuple) else node
graph = rewrite(graph, alike)
"""


def test_where_all_channels_have_one_scale_it_asks_for_schedules(tmp_path):
    code = """
with search_ahead(options_of()):
    assert select.select([reader], [], [], 50)[0], "the second half asks for something"
    found = os.read(reader, 1 << 16)
    run_passes(State(hw=HardwareConfig.named("sim"), model=graph), CompileOptions(), passes_between("import", "partition"))
assert found and set(asked) <= {found[at : at + 32] for at in range(0, len(found), 32)}
assert forks == [1]
print("done", no_child_is_left())
"""
    assert run(ONE_SCALE + code, tmp_path) == ["done", "True"]
    assert not (tmp_path / "thresholds").exists()
    assert list((tmp_path / "schedules").iterdir())


@pytest.mark.parametrize("graph", ["None", "load_model('resnet18_v1')"])
def test_the_second_process_ends_where_it_is_of_no_use(graph, tmp_path):
    """A network that cannot be imported, and one in float."""
    code = f"""
from vta.frontend import load_model
network.import_network = lambda options: {graph}
with search_ahead(options_of()):
    assert forks == [1]
    os.waitid(os.P_PID, second_process._Now.ahead._child, os.WEXITED | os.WNOWAIT)
    run_passes(State(hw=HardwareConfig.named("sim"), model=graph), CompileOptions(), passes_between("import", "lower"))
print("done", no_child_is_left())
"""
    assert run(code, tmp_path) == ["done", "True"]


def test_it_can_be_ended_before_it_is_asked(tmp_path):
    code = """
network.import_network = lambda options: select.select([], [], [], 50)
with search_ahead(options_of()):
    assert forks == [1]
    second_process.end_ahead()
    assert no_child_is_left()
    second_process.end_ahead()
print("done")
"""
    assert run(code, tmp_path) == ["done"]


def test_it_takes_no_more_memory_than_it_may(tmp_path):
    code = """
network.import_network = lambda options: bytearray(2 << 30) and os.write(writer, b"has it")
with search_ahead(options_of()):
    os.waitid(os.P_PID, second_process._Now.ahead._child, os.WEXITED | os.WNOWAIT)
assert not select.select([reader], [], [], 0)[0]
print("done", no_child_is_left())
"""
    assert run(code, tmp_path) == ["done", "True"]


@pytest.mark.parametrize(
    "given",
    [
        "requantize='shift'",
        "print_graph=True",
        "model='resnet18_v1'",
        "model=folder",
        "model=folder + '/none'",
        "model=large",
    ],
)
def test_there_is_one_process_where_it_is_of_no_use(given, tmp_path):
    code = f"""
large = Path(folder, "large.tflite")
with large.open("wb") as stream:
    stream.truncate(1 << 30)
with search_ahead(options_of({given})):
    assert not forks
print("done")
"""
    assert run(code, tmp_path) == ["done"]


def test_numpy_is_not_imported_before_the_process_splits(tmp_path):
    code = """
import argparse, sys
from vta.cli.search_ahead import search_ahead
allow_second_process()
model = folder + "/net.tflite"
open(model, "w").close()
os.environ["VTA_CACHE_PATH"] = folder
forks = []
os.fork = lambda: forks.append("numpy" in sys.modules) or 12345
os.kill = os.waitpid = lambda *given: None
for _ in range(2):
    with search_ahead(argparse.Namespace(model=model, config="sim", requantize="exact", print_graph=False)):
        assert "numpy" not in sys.modules
print(*forks)
"""
    assert run_program(f"folder = {str(tmp_path)!r}\n" + code) == ["False"]
