"""The commands that scripts rely on, on the digits network."""

import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from vta.cli.main import main
from vta.demo import load_digits, model_path

PIXELS = ["--scale", "16"]


def run_json(arguments, capsys, status=0):
    """Run a command with --json and return its object, which must be all of standard output."""
    assert main([*map(str, arguments), "--json"]) == status, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    digits = load_digits()
    np.savez(folder / "test.npz", x=digits.x, y=digits.y)
    np.savez(folder / "nhwc.npz", x=digits.x.transpose(0, 2, 3, 1), y=digits.y)
    np.savez(folder / "calibration.npz", x=digits.calibration)
    assert main(compile_arguments(folder, network="net.vta")) == 0
    return folder


def compile_arguments(folder, *more, network="another.vta"):
    calibration = ["--calibration", str(folder / "calibration.npz"), *PIXELS]
    return ["compile", str(model_path()), "-o", str(folder / network), "--config", "sim", *calibration, *more]


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ("conv_1", "no layer is called 'conv_1', which shall stay in float; did you mean conv1? (--skip-layers)"),
        ("conv1,zzzz", "no layer is called 'zzzz', which shall stay in float; layers: conv1, conv1_norm, relu1"),
        ("4", "there is no convolution 4, which shall stay in float; the network has 4, counted from 0 (--skip-layers)"),
    ],
)
def test_a_layer_that_shall_stay_in_float_is_there(files, capsys, layers, words):
    assert main(compile_arguments(files, "--skip-layers", layers, network="none.vta")) == 2
    assert words in capsys.readouterr().err
    assert not (files / "none.vta").exists()


def eval_arguments(folder, data="test.npz", *more):
    calibration = ["--calibration", folder / "calibration.npz"] if data == "test.npz" else []
    return ["eval", model_path(), "--data", folder / data, "--config", "sim", "--device", "sim", *PIXELS, *calibration, *more]


def test_compile_prints_the_keys_that_scripts_rely_on(files, capsys):
    figures = run_json(compile_arguments(files, "--skip-layers", "0"), capsys)
    assert figures["regions"] >= 1
    assert set(figures["operators"]) == {"vta", "host"}
    conv1 = 8 * 8 * 16 * 9
    network = conv1 + 8 * 8 * 32 * 16 * 9 + 2 * 4 * 4 * 32 * 32 * 9 + 10 * 32
    assert figures["macs"] == {"vta": network - conv1, "total": network}
    assert figures["instructions"] > 0
    assert figures["uops"] > 0
    assert figures["arena_bytes"] > 0
    assert figures["seconds"] > 0


def test_the_first_target_takes_what_it_can(files, capsys):
    host = run_json(compile_arguments(files, "--target", "llvm -mcpu=cortex-a9"), capsys)
    assert (host["regions"], host["target"], host["estimates"]) == (0, "llvm -mcpu=cortex-a9", {})
    both = run_json(compile_arguments(files, "--target", "vta, llvm"), capsys)
    assert both["regions"] == len(both["estimates"]) == 1
    assert set(both["estimates"]["region0"]) == {"region", "macs", "start", "transfer", "program", "host", "gain"}
    assert both["macs"]["vta"] == both["estimates"]["region0"]["macs"]


def test_a_gain_that_nothing_reaches_leaves_all_to_the_host(files, capsys):
    assert run_json(compile_arguments(files, "--min-gain", "1e6"), capsys)["regions"] == 0
    assert main(compile_arguments(files, "--min-gain", "1e6")) == 0
    assert "too little to pay for the transfer: about" in capsys.readouterr().out


def test_a_list_without_a_host_refuses_what_needs_one(files, capsys):
    assert main(compile_arguments(files, "--target", "vta", "--skip-layers", "0")) == 1
    assert "target vta: a host, such as llvm, is needed for conv1 (nn.conv2d)" in capsys.readouterr().err


def test_compile_prints_where_and_why(files, capsys):
    assert main(compile_arguments(files)) == 0
    text = capsys.readouterr().out
    for layer in ("conv1", "conv2", "conv3", "conv4", "pool", "average", "dense"):
        assert layer in text
    assert "multiply-accumulates on the accelerator" in text
    assert "conv1: the first convolution is quantised: " in text


def test_the_first_convolution_moves_to_the_accelerator_when_asked(files, capsys):
    macs = run_json(compile_arguments(files, "--quantize-first"), capsys)["macs"]
    assert macs["vta"] == macs["total"]


@pytest.mark.parametrize(
    "more", [["--per-tensor"], ["--scales", "power-of-two"], ["--multipliers"], ["--calibration-method", "kl"]]
)
def test_other_ways_to_quantize_stay_bit_exact(more, files, capsys):
    figures = run_json(eval_arguments(files, "test.npz", "--limit", "20", *more), capsys)
    assert figures["bit_exact"] is True


def test_run_prints_the_keys_that_scripts_rely_on(files, capsys):
    figures = run_json(["run", files / "net.vta", "--device", "sim", "--check"], capsys)
    assert figures["bit_exact"] is True
    assert figures["macs"] > 0
    assert set(figures["bytes"]) == {"inp", "wgt", "acc", "uop", "out"}
    assert figures["seconds"] > 0
    assert run_json(["run", files / "net.vta"], capsys)["bit_exact"] is None


def test_run_takes_inputs_and_writes_outputs(files, tmp_path, capsys):
    image = load_digits().x[:1] / np.float32(16)
    for name in ("image", "x"):
        np.savez(tmp_path / "in.npz", **{name: image})
        run_json(["run", files / "net.vta", "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / f"{name}.npz"], capsys)
    with np.load(tmp_path / "image.npz") as by_name, np.load(tmp_path / "x.npz") as by_x:
        assert by_name.files == by_x.files
        (output,) = by_name.files
        assert by_name[output].shape == (1, 10)
        assert np.array_equal(by_name[output], by_x[output])
        assert by_name[output].argmax() == load_digits().y[0]


def test_random_inputs_follow_the_seed(files, tmp_path, capsys):
    outputs = []
    for run, seed in enumerate((1, 1, 2)):
        path = tmp_path / f"{run}.npz"
        run_json(["run", files / "net.vta", "--seed", seed, "--outputs", path], capsys)
        with np.load(path) as data:
            outputs.append(next(iter(data.values())))
    assert np.array_equal(outputs[0], outputs[1])
    assert not np.array_equal(outputs[0], outputs[2])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"y": np.zeros(1)}, "no array 'image' or 'x' for the network's input; it holds y"),
        ({"x": np.zeros((1, 8, 8), np.float32)}, "for input 'image' has shape (1, 8, 8); expected (1, 1, 8, 8)"),
        ({"x": np.zeros((1, 1, 8, 8), "U3")}, "expected float32"),
    ],
)
def test_run_refuses_inputs_that_do_not_fit(arrays, words, files, tmp_path, capsys):
    np.savez(tmp_path / "in.npz", **arrays)
    assert main(["run", str(files / "net.vta"), "--inputs", str(tmp_path / "in.npz")]) == 2
    assert words in capsys.readouterr().err


def test_run_says_how_much_memory_is_missing(files, capsys):
    assert main(["run", str(files / "net.vta"), "--memory", "4K"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("vta run: error: ")
    assert "4096" in error.replace(",", "")


@pytest.mark.parametrize("content", [b"", b"PK not a file", b"\0" * 100])
def test_a_damaged_artifact_is_refused(content, tmp_path, capsys):
    path = tmp_path / "bad.vta"
    path.write_bytes(content)
    for command in ("run", "disasm"):
        assert main([command, str(path)]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(f"vta {command}: error: {path}: ")


def test_eval_prints_the_keys_that_scripts_rely_on(files, capsys):
    figures = run_json(eval_arguments(files), capsys)
    assert figures["n"] == 360
    assert figures["top1"]["float"] == pytest.approx(355 / 360)
    assert figures["top1"]["interpreter"] == figures["top1"]["device"]
    assert figures["top1"]["device"] >= figures["top1"]["float"] - 0.01
    assert figures["bit_exact"] is True
    stages = ["importing", "quantising", "compiling", "float", "interpreter", "device"]
    assert [list(figures["stages"][kind]) for kind in ("seconds", "cpu_seconds")] == [stages, stages]
    assert figures["seconds"] >= sum(figures["stages"]["seconds"].values()) > 0


def test_eval_takes_other_layouts_and_calibrates_on_the_data_itself(files, capsys):
    nchw = run_json(eval_arguments(files, "test.npz", "--limit", "40"), capsys)
    nhwc = run_json(eval_arguments(files, "nhwc.npz", "--limit", "40", "--layout", "NHWC"), capsys)
    assert nhwc["n"] == 40
    assert nhwc["top1"]["float"] == nchw["top1"]["float"]


@pytest.mark.parametrize("more", [[], ["--equalise", "all"], ["--no-bias-correction"]])
def test_eval_says_what_each_layer_costs(files, capsys, more):
    figures = run_json(eval_arguments(files, "test.npz", "--limit", "20", "--layers", *more), capsys)
    rows = figures["layers"]
    assert {"layer", "op", "scale", "largest", "saturated", "own_db", "snr_db"} == set(rows[0])
    assert all(row["snr_db"] > 15 for row in rows)
    assert main([str(part) for part in eval_arguments(files, "test.npz", "--limit", "20", "--layers", *more)]) == 0
    assert "signal to noise, dB" in capsys.readouterr().out


def test_eval_says_what_layers_cost_of_a_network_that_mixes_its_samples(tmp_path, capsys):
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["b"], name="first"),
        helper.make_node("Conv", ["b", "v"], ["a"], name="second"),
        helper.make_node("ReduceMean", ["a"], ["m"], axes=[0], keepdims=1, name="mean"),
        helper.make_node("Sub", ["a", "m"], ["y"], name="centre"),
    ]
    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(size=(8, 4, 1, 1)), "v": rng.normal(size=(8, 8, 1, 1))}
    constants = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    ins, outs = (helper.make_tensor_value_info(name, 1, (2, size, 1, 1)) for name, size in (("x", 4), ("y", 8)))
    graph = helper.make_graph(nodes, "mixing", [ins], [outs], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "mixing.onnx")
    np.savez(tmp_path / "data.npz", x=rng.normal(size=(6, 4, 1, 1)), y=np.zeros(6, int))
    arguments = [
        "eval",
        tmp_path / "mixing.onnx",
        "--data",
        tmp_path / "data.npz",
        "--config",
        "sim",
        "--quantize-first",
        "--layers",
    ]
    assert [row["layer"] for row in run_json(arguments, capsys)["layers"]] == ["first"]


def test_eval_says_when_a_limit_leaves_classes_out(files, capsys):
    digits = load_digits()
    order = np.argsort(digits.y, kind="stable")
    np.savez(files / "sorted.npz", x=digits.x[order], y=digits.y[order])
    assert main([str(part) for part in eval_arguments(files, "sorted.npz", "--limit", "10")]) == 0
    text = capsys.readouterr().out
    assert "note: the first 10 samples hold 1 of 10 classes" in text
    assert "calibrated on 256 of the 360 samples" in text


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": np.zeros((2, 1, 8, 8))}, "'y'"),
        ({"x": np.zeros((2, 1, 8, 8)), "y": np.zeros(3, int)}, "'x' holds 2 samples, 'y' 3"),
        ({"x": np.zeros((2, 1, 9, 8)), "y": np.zeros(2, int)}, "(1, 8, 8)"),
    ],
)
def test_eval_refuses_data_that_does_not_fit(arrays, words, files, capsys):
    np.savez(files / "bad.npz", **arrays)
    assert main([str(part) for part in eval_arguments(files, "bad.npz")]) == 2
    assert words in capsys.readouterr().err


def test_mean_must_fit_the_channels(files, capsys):
    assert main([str(part) for part in eval_arguments(files, "test.npz", "--mean", "1,2,3")]) == 2
    assert "mean has 3 values; the samples have 1 channel" in capsys.readouterr().err


def test_calibration_and_global_scale_exclude_each_other(files, capsys):
    assert main(compile_arguments(files, "--global-scale", "4")) == 2
    assert "--global-scale and --calibration exclude each other" in capsys.readouterr().err


def test_print_graph_numbers_the_operators(files, capsys):
    assert main(compile_arguments(files, "--print-graph")) == 0
    text = capsys.readouterr().out
    assert "%0 = " in text
    assert "nn.max_pool2d" in text


def test_start_and_stop_mark_a_region(files, capsys):
    figures = run_json(compile_arguments(files, "--start", "nn.max_pool2d", "--stop", "nn.global_avg_pool2d"), capsys)
    assert figures["regions"] == 1
    assert figures["macs"]["vta"] == 2 * 4 * 4 * 32 * 32 * 9


def test_unknown_start_names_are_refused(files, capsys):
    assert main(compile_arguments(files, "--start", "nn.nothing", "--stop", "dense")) != 0
    assert "nn.nothing" in capsys.readouterr().err


def test_disasm_prints_every_region(files, tmp_path, capsys):
    assert main(["disasm", str(files / "net.vta")]) == 0
    text = capsys.readouterr().out
    assert "; region " in text
    assert main(["disasm", str(files / "net.vta"), "-o", str(tmp_path / "net.asm")]) == 0
    assert (tmp_path / "net.asm").read_text() == text
    assert main(["disasm", str(files / "net.vta"), "--region", "99"]) == 2
    assert "--region 99: " in capsys.readouterr().err


def test_demo(tmp_path, capsys):
    figures = run_json(["demo", "-o", tmp_path / "demo"], capsys)
    assert figures["n"] == 360
    assert figures["bit_exact"] is True
    assert figures["top1"]["float"] > 0.97
    assert figures["top1"]["device"] > 0.97
    assert sum(layer["macs"] for layer in figures["layers"]) == figures["macs"]["vta"]
    for name in ("digits.onnx", "digits.vta", "test.npz", "calibration.npz"):
        assert (tmp_path / "demo" / name).is_file()
    assert (tmp_path / "demo" / "digits.png").read_bytes().startswith(b"\x89PNG")
