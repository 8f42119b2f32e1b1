import argparse
import json

import pytest

from vta.cli import model_options, options
from vta.cli.main import main
from vta.config.hardware import HardwareConfig
from vta.demo import model_path


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("65536", 65536), ("64K", 65536), ("16M", 1 << 24), ("16MiB", 1 << 24), ("1GB", 1 << 30), ("2k", 2048)],
)
def test_byte_counts(text, size):
    assert options.byte_count(text) == size


@pytest.mark.parametrize("text", ["", "M", "1.5M", "16X", "-1", "0", "1MiBiB"])
def test_bad_byte_counts(text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"not a size|above 0"):
        options.byte_count(text)


@pytest.mark.parametrize(
    ("text", "value"), [("x=1", ("x", (1,))), ("data=1,3,32,32", ("data", (1, 3, 32, 32))), ("a=b:0=2,4", ("a=b:0", (2, 4)))]
)
def test_input_shapes(text, value):
    assert model_options.input_shape(text) == value


@pytest.mark.parametrize("text", ["", "x", "x=", "=1,3", "x=1,,2", "x=1,0", "x=1,-2", "x=a"])
def test_bad_input_shapes_say_the_form(text):
    with pytest.raises(argparse.ArgumentTypeError, match="NAME=1,3,32,32"):
        model_options.input_shape(text)


@pytest.mark.parametrize(("text", "value"), [("sr=16000", ("sr", 16000)), ("a=b=-1", ("a=b", -1)), ("x=1e-3", ("x", 0.001))])
def test_input_values(text, value):
    assert model_options.input_value(text) == value


@pytest.mark.parametrize("text", ["", "x", "x=", "=1", "x=one", "x=1,2"])
def test_bad_input_values_say_the_form(text):
    with pytest.raises(argparse.ArgumentTypeError, match="NAME=NUMBER"):
        model_options.input_value(text)


def test_pairs_of_states():
    assert model_options.state_pair("h=h_after") == ("h", "h_after")


@pytest.mark.parametrize("text", ["", "h", "h=", "=h"])
def test_bad_pairs_say_the_form(text):
    with pytest.raises(argparse.ArgumentTypeError, match="INPUT=OUTPUT"):
        model_options.state_pair(text)


@pytest.mark.parametrize(("text", "value"), [("none", ()), ("0", (0,)), ("0,conv1, 12", (0, "conv1", 12))])
def test_layer_lists(text, value):
    assert options.layer_list(text) == value


def test_number_lists():
    assert options.number_list("0.5,-1,2e-1") == (0.5, -1.0, 0.2)


@pytest.mark.parametrize("text", ["", "1,", "a", "nan", "inf"])
def test_bad_number_lists(text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"not a number|not finite"):
        options.number_list(text)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("m.onnx", "d.npz", "a.vta"):
        (tmp_path / name).touch()


COMPILE = ["compile", "m.onnx", "-o", "o.vta", "--config", "sim"]
EVAL = ["eval", "m.onnx", "--data", "d.npz", "--config", "sim"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compile", "gone.onnx", "-o", "o.vta", "--config", "sim"], "MODEL: gone.onnx: no such file"),
        (["compile", "m.onnx", "-o", "no/o.vta", "--config", "sim"], "-o/--output: no/o.vta: the directory no does not exist"),
        (["compile", "m.onnx", "-o", ".", "--config", "sim"], "is a directory; name a file"),
        (["compile", "m.onnx", "-o", "o.vta", "--config", "simm"], "--config: simm: no such config file, and no shipped config"),
        ([*COMPILE, "--calibration", "gone.npz"], "--calibration: gone.npz: no such file"),
        ([*COMPILE, "--calibration", "."], "--calibration: .: is a directory"),
        ([*COMPILE, "--calibration-method", "magic"], "'magic'"),
        ([*COMPILE, "--percentile", "40"], "--percentile: 40 is out of range; allowed: above 50, up to 100"),
        ([*COMPILE, "--global-scale", "-1"], "--global-scale: -1 must be above 0"),
        ([*COMPILE, "--skip-layers", "0,,1"], "--skip-layers: '0,,1' has an empty entry"),
        ([*COMPILE, "--skip-layers", "0", "--quantize-first"], "not allowed with argument --skip-layers"),
        ([*COMPILE, "--min-gain", "-1"], "-1 must be at least 0"),
        ([*COMPILE, "--target", "metal"], "'metal' is not a target; allowed: vta, ext_dev, llvm, opencl, cuda"),
        ([*COMPILE, "--target", "vta, llvm -march=x"], "llvm has no option -march; allowed: -device"),
        ([*COMPILE, "--scale", "0"], "--scale: 0 must be above 0"),
        ([*COMPILE, "--std", "1,0,1"], "--std: 0 must be above 0"),
        ([*COMPILE, "--layout", "CHWN"], "'CHWN'"),
        ([*COMPILE, "--random-weights", "x"], "--random-weights: 'x' is not an integer; allowed: 0 or more"),
        ([*EVAL, "--limit", "0"], "--limit: 0 is out of range; allowed: 1 or more"),
        ([*EVAL, "--device", "gpu"], "--device: 'gpu' is no device; allowed: sim, cycle, rtl, opencl, de10-nano"),
        (["run", "gone.vta"], "OUT.vta: gone.vta: no such file"),
        (["run", "a.vta", "--memory", "lots"], "--memory: 'lots' is not a size"),
        (["run", "a.vta", "--seed", "-1"], "--seed: -1 is out of range; allowed: 0 or more"),
        (["disasm", "a.vta", "--region", "-1"], "--region: -1 is out of range"),
    ],
)
@pytest.mark.usefixtures("files")
def test_bad_values_are_named_with_what_is_allowed(arguments, words, capsys):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""


def test_compile_alone_is_for_the_default_config_and_named_like_the_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["compile", str(model_path()), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["output"] == "digits.vta"
    assert result["config"] == HardwareConfig.named("sim").model
    assert (tmp_path / "digits.vta").is_file()


@pytest.mark.parametrize(
    ("model", "stem"),
    [
        ("folder/net.onnx", "net"),
        ("net-symbol.json", "net"),
        ("a.b.tflite", "a.b"),
        ("squeezenet1.1", "squeezenet1.1"),
        (".onnx", ".onnx"),
    ],
)
def test_what_a_model_is_called(model, stem):
    assert options.model_stem(model) == stem
