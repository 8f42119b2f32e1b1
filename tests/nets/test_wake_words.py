"""The wake words of the package pymicro-wakeword: streaming int8 networks, byte for byte those of LiteRT."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.frontend import load_model
from vta.ir.stream import evaluate_stream
from vta.runtime.module import Module
from vta.testing.tflite_model import reference_stream

NETS = ("alexa", "hey_jarvis", "hey_mycroft", "okay_nabu")
MOST_CYCLES = 20_000


@pytest.fixture(params=NETS)
def path(request):
    """The file of a network."""
    spec = find_spec("pymicro_wakeword")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs the networks of the extra nets")
    return Path(spec.submodule_search_locations[0]) / "models" / f"{request.param}.tflite"


def sound(shape, count):
    """Features as of speech with pauses: loud and quiet, changing slowly."""
    rng = np.random.default_rng(0)
    loudness = np.clip(np.cumsum(rng.standard_normal(count)) * 20, -120, 100)
    noise = rng.standard_normal((count, *shape)) * 30
    return np.clip(loudness[:, None, None, None] + noise, -128, 127).astype(np.int8)


def test_the_whole_network_is_one_program_that_keeps_its_states(path):
    hw = HardwareConfig.named("sim")
    compiled = compile_model(path, hw)
    data = sound(compiled.graph.arguments[0].shape, 8)
    wanted = reference_stream(path.read_bytes(), data)
    assert len(compiled.regions) == 1
    assert len(compiled.graph.states) == 6
    assert sum(record.macs for record in compiled.regions[0].operators) == compiled.total_macs
    with Module(compiled, CycleDevice(hw)) as module:
        report = module.run_frames(data)
    np.testing.assert_array_equal(report.outputs[0], [values[0] for values in wanted])
    assert report.cycles is not None
    assert max(report.cycles) < MOST_CYCLES


def test_the_reference_is_litert(path):
    graph = load_model(path)
    (argument,) = graph.arguments
    data = sound(argument.shape, 30)
    found = evaluate_stream(graph, ({argument.name: frame} for frame in data))
    for (results, _), (wanted,) in zip(found, reference_stream(path.read_bytes(), data), strict=True):
        np.testing.assert_array_equal(results[0], wanted)
