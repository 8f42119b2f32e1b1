"""Arguments of the package that are odd, and legal or not: converted, or named."""

import copy
import pickle

import numpy as np
import pytest

import vta
from vta.demo import load_digits, model_path
from vta.errors import ArtifactError, DeviceError, UsageError
from vta.quantization import QuantizeConfig


@pytest.fixture(scope="module")
def samples():
    """Images, shape (n, 1, 8, 8), as the network takes them."""
    return load_digits().x[:8].astype(np.float32) / 16


@pytest.fixture(scope="module")
def quantized(samples):
    return vta.quantize(model_path(), "sim", calibration=samples)


@pytest.fixture(scope="module")
def module(quantized):
    return vta.compile(quantized, "sim")


@pytest.mark.parametrize("kind", [list, np.array, lambda sizes: map(np.int64, sizes)])
def test_shapes_of_any_integers(kind):
    assert vta.load_model(model_path(), shapes={"image": kind((2, 1, 8, 8))}).inputs[0].shape == (2, 1, 8, 8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shapes": (2, 1, 8, 8)}, r"shapes = \(2, 1, 8, 8\): expected a mapping from the names of inputs, such as"),
        ({"shapes": [("image", (2, 1, 8, 8))]}, "expected a mapping"),
        ({"shapes": {"image": 3}}, "the shape of input 'image' is 3; expected integers"),
        ({"shapes": {"image": (2.5, 1, 8, 8)}}, "expected integers"),
        ({"shapes": {"image": "2,1,8,8"}}, "the shape of input 'image' is '2,1,8,8'; expected integers"),
        ({"states": [("image", "logits")]}, "states = .*: expected a mapping from the names of inputs"),
    ],
)
def test_what_is_no_mapping_of_shapes(arguments, message):
    with pytest.raises(UsageError, match=message):
        vta.load_model(model_path(), **arguments)


@pytest.mark.parametrize("named", [False, True])
def test_calibration_that_comes_one_by_one(samples, quantized, named):
    each = (sample for sample in samples)
    assert str(vta.quantize(model_path(), "sim", calibration={"image": each} if named else each)) == str(quantized)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("image", np.zeros((2, 1, 8, 8)))], "calibration is no array: setting an array element"),
        ({"image": [[1, 2], [3]]}, "calibration for input 'image' is no array: "),
        ({"image": None}, "calibration for input 'image' is no array of numbers, but of object"),
        (np.array(["a"]), "calibration is no array of numbers, but of <U1"),
        ({1, 2}, "calibration is no array of numbers"),
    ],
)
def test_calibration_that_is_no_array(given, message):
    with pytest.raises(UsageError, match=message):
        vta.quantize(model_path(), "sim", calibration=given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"targets": ["vta", "llvm"]}, r"targets = \['vta', 'llvm'\]: expected a text such as 'vta, llvm'"),
        ({"targets": None}, "targets = None: expected a text"),
        ({"quantize": "int8"}, "quantize = 'int8': expected a QuantizeConfig"),
        ({"schedules": "my.log"}, "schedules = 'my.log': expected what vta.schedules or vta.tune gave"),
        ({"start": 3}, "start = 3: expected the name of an operator or layer"),
        ({"stop": 3}, "stop = 3: expected the name"),
        ({"least_gain": "1"}, "least_gain = '1': expected a number, 0 or more"),
        ({"least_gain": float("nan")}, "least_gain = nan: expected a number, 0 or more"),
        ({"least_gain": -1}, "least_gain = -1: expected a number, 0 or more"),
    ],
)
def test_compile_names_arguments_of_another_kind(quantized, arguments, message):
    with pytest.raises(UsageError, match=message):
        vta.compile(quantized, "sim", **arguments)
    assert vta.compile(quantized, "sim", least_gain=np.float32(1)).regions


def test_quantize_names_a_config_that_is_none(samples):
    with pytest.raises(UsageError, match=r"config = \{'rounding': 'nearest'\}: expected a QuantizeConfig"):
        vta.quantize(model_path(), "sim", calibration=samples, config={"rounding": "nearest"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"skip_layers": "conv1"}, r"skip_layers = 'conv1': expected names of layers, such as \('conv1',\)"),
        ({"skip_layers": (0,)}, "expected names of layers"),
        ({"skip_layers": None}, "expected names of layers"),
        ({"skip_conv_layers": "0"}, r"skip_conv_layers = '0': expected numbers of convolutions, such as \(0,\)"),
        ({"skip_conv_layers": ("conv1",)}, "expected numbers of convolutions"),
        ({"skip_conv_layers": 0}, "expected numbers of convolutions"),
    ],
)
def test_layers_to_skip_are_several(arguments, message):
    with pytest.raises(UsageError, match=message):
        QuantizeConfig(**arguments)
    assert QuantizeConfig(skip_layers=["conv1"], skip_conv_layers=[np.int64(0)]).skip_layers == ["conv1"]


def test_what_is_no_compiled_network(module, quantized):
    with vta.open_device("sim") as device:
        for given, kind in ((quantized, "Graph"), (None, "NoneType")):
            with pytest.raises(ArtifactError, match=f"is the path of a .vta file, or what vta.compile gave, not {kind}"):
                device.load(given)
    with pytest.raises(ArtifactError, match="not CompiledModule"):
        vta.load(module)


def test_what_holds_a_device_is_not_copied(module, samples):
    with vta.open_device("sim") as device, device.load(module) as loaded:
        for made in (copy.copy, copy.deepcopy, pickle.dumps):
            for what in (device, loaded):
                with pytest.raises(DeviceError, match="can be neither copied nor pickled"):
                    made(what)
        assert loaded.check(samples[:1]).bit_exact


def test_outputs_are_compared_by_their_values(module, samples):
    with vta.open_device("sim") as device, device.load(module) as loaded:
        one, again, other = (loaded.run(samples[at : at + 1]).outputs for at in (0, 0, 1))
    assert one == again == pickle.loads(pickle.dumps(one))
    assert one == (one[0].copy(),)
    assert one != other
    assert one != one[0]
    assert one != ()


def test_a_stream_of_many_frames_prints_shortly(module, samples):
    with vta.open_device("cycle") as device, device.load(module) as loaded:
        report = loaded.run_frames(np.repeat(samples, 20, axis=0))
    assert repr(report).startswith(f"FramesReport: {sum(report.cycles):,} cycles in 160 device runs, ")
    assert len(repr(report)) < 200
