"""Reading the description of a sweep: what is wrong is named with file, key, value and what is allowed."""

import json
import sys

import pytest

from vta.bitstream import fits
from vta.bitstream.clock.estimate import KnownClock
from vta.config.technology import Technology
from vta.demo import model_path
from vta.errors import SweepError
from vta.sweep.points import expand
from vta.sweep.spec import Net, load_spec

WORKLOAD = "conv2d_packed.vta:1x1x4x4x1x16:1x1x3x3x16x16:1x1:1x1x1x1:1x1"


def spec_of(tmp_path, text, name="s.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return load_spec(path)


def test_a_whole_file(tmp_path):
    (tmp_path / "net.onnx").write_bytes(model_path().read_bytes())
    spec = spec_of(
        tmp_path,
        f"base: sim_1x32\nconfig: {{LOG_BLOCK: [4, 5]}}\ntiming: {{bus_bits: 128}}\nworkloads: [{WORKLOAD}]\n"
        "nets: [net.onnx, {model: resnet18_v1, start: nn.max_pool2d, random_weights: 3}]\n"
        "tuner: random\ntrials: 7\ntime_limit: 5\n",
    )
    assert spec.base["LOG_BLOCK"] == 5
    assert spec.config == {"LOG_BLOCK": (4, 5)}
    assert spec.timing == {"bus_bits": (128,)}
    assert spec.nets == (Net(str(tmp_path / "net.onnx")), Net("resnet18_v1", "nn.max_pool2d", None, 3))
    assert [net.name for net in spec.nets] == ["net.onnx", "resnet18_v1[nn.max_pool2d:]#3"]
    assert (spec.tuner, spec.trials, spec.seed, spec.time_limit) == ("random", 7, 0, 5.0)


def test_how_designs_are_judged(tmp_path):
    (tmp_path / "mine.json").write_text('{"dram_byte_pj": 32}')
    spec = spec_of(
        tmp_path,
        f"technology: mine.json\nweights: {{resnet18_v1: 2, '{WORKLOAD}': 0.5}}\npareto: [cycles, bytes]\n"
        f"nets: [{{model: resnet18_v1, random_weights: 3}}]\nworkloads: [{WORKLOAD}]\n",
    )
    assert spec.technology == Technology(dram_byte_pj=32)
    assert spec.weights == {"resnet18_v1#3": 2.0, WORKLOAD: 0.5}
    assert spec.pareto == ("cycles", "bytes")
    plain = spec_of(tmp_path, f"workloads: [{WORKLOAD}]")
    assert "technology" not in plain.identity()
    assert spec.identity()["technology"]["dram_byte_pj"] == 32
    assert plain.identity() == spec_of(tmp_path, f"workloads: [{WORKLOAD}]\npareto: [area]").identity()


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for folder in ("a/x", "b/x", "c"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "net.onnx").write_bytes(model_path().read_bytes())
    (tmp_path / "c/other.onnx").write_bytes(model_path().read_bytes())
    nets = "[a/x/net.onnx, b/x/net.onnx, {model: b/x/net.onnx, stop: fc}, c/net.onnx, c/other.onnx]"
    spec = spec_of(tmp_path, f"nets: {nets}\nweights: {{a/x/net.onnx: 2, c/net.onnx: 3}}")
    names = ["a/x/net.onnx", "b/x/net.onnx", "b/x/net.onnx[:fc]", "c/net.onnx", "other.onnx"]
    assert [net.name for net in spec.nets] == names
    assert [name for name, _ in spec.identity()["nets"]] == names
    assert spec.weights == {"a/x/net.onnx": 2.0, "c/net.onnx": 3.0}
    with pytest.raises(SweepError, match=r"net\.onnx' is given twice"):
        spec_of(tmp_path, "nets: [c/net.onnx, a/../c/net.onnx]")


def test_the_weight_of_a_model_is_that_of_all_its_parts(tmp_path):
    spec = spec_of(tmp_path, "nets: [{model: resnet18_v1, stop: a}, {model: resnet18_v1, start: a}]\nweights: {resnet18_v1: 2}")
    assert spec.weights == {"resnet18_v1[:a]": 2.0, "resnet18_v1[a:]": 2.0}


def test_json_says_the_same(tmp_path):
    values = {"config": {"LOG_BLOCK": [4, 5]}, "workloads": [WORKLOAD]}
    yaml = spec_of(tmp_path, f"config: {{LOG_BLOCK: [4, 5]}}\nworkloads: [{WORKLOAD}]")
    assert spec_of(tmp_path, json.dumps(values), "s.json") == yaml


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "s.yaml: expected keys with values, got [1]"),
        ("a: [", "s.yaml: not YAML: "),
        ("trials: 1\ntrials: 2", "s.yaml: key trials is given twice"),
        ("blocks: 3", "s.yaml: unknown key blocks = 3; allowed: base, config, timing, nets"),
        ("base: nothing", "s.yaml: base = 'nothing': nothing: no such config file, and no shipped config of this name"),
        ("trials: 3", "s.yaml: nothing to run: give nets or workloads"),
        ("workloads: [W]\nconfig: {BLOCK: 3}", "s.yaml: config: unknown key BLOCK = 3; allowed: TARGET, LOG_INP_WIDTH"),
        ("workloads: [W]\nconfig: {LOG_BLOCK: []}", "LOG_BLOCK = []; allowed: a value, or a list of at least one"),
        ("workloads: [W]\nconfig: {LOG_BLOCK: [4, 4]}", "s.yaml: config: LOG_BLOCK: 4 is given twice"),
        ("workloads: [W]\ntiming: {latency: 3}", "s.yaml: timing: unknown key latency = 3; allowed: bus_bits, read_latency"),
        ("workloads: W", "allowed: a list"),
        (f"workloads: ['{WORKLOAD}']\nweights: {{w: 1}}", "s.yaml: weights: unknown key w = 1; allowed: conv2d_packed"),
        (f"workloads: ['{WORKLOAD}']\nweights: {{'{WORKLOAD}': 0}}", "= 0; allowed: numbers above 0, up to 1,000,000"),
        (
            f"workloads: ['{WORKLOAD}']\npareto: [speed]",
            "pareto: 'speed'; allowed: cycles, energy, area, bus, bytes, macs, time, accuracy",
        ),
        (f"workloads: ['{WORKLOAD}']\nobjective: {{speed: 1}}", "objective: unknown key speed = 1; allowed: cycles, energy"),
        (f"workloads: ['{WORKLOAD}']\nobjective: {{cycles: 0}}", "objective: cycles = 0; allowed: numbers above 0, up to 100"),
        (f"workloads: ['{WORKLOAD}']\nboard: nowhere", "board: no board 'nowhere'; shipped: "),
        (f"workloads: ['{WORKLOAD}']\ntechnology: {{sram: 1}}", "s.yaml: technology: unknown key sram"),
        (f"workloads: ['{WORKLOAD}']\ntechnology: none.json", "none.json: cannot be read: No such file"),
        ("workloads: [W, W]", "is given twice"),
        ("workloads: [conv.vta]", "unknown workload 'conv.vta'; allowed: conv2d_packed.vta"),
        ("nets: [{model: net.onnx}]", "s.yaml: nets: model = 'net.onnx': no such file"),
        (
            "nets: [{name: x}]",
            "s.yaml: nets: unknown key name = 'x'; allowed: model, start, stop, random_weights, requantise, samples",
        ),
        ("nets: [{model: resnet18_v1, requantise: fast}]", "requantise = 'fast'; allowed: exact, close, shift"),
        ("nets: [{model: resnet18_v1, random_weights: -1}]", "random_weights = -1; allowed: a seed, 0 or more"),
        ("nets: [{model: resnet18_v1, stop: 3}]", "stop = 3; allowed: a string"),
        ("workloads: [W]\ntuner: best", "s.yaml: tuner = 'best'; allowed: xgb"),
        ("workloads: [W]\ntuner: {a: 1}", "s.yaml: tuner = {'a': 1}; allowed: xgb"),
        ("workloads: [W]\ntrials: -1", "s.yaml: trials = -1; allowed: integers, 0 or more, up to"),
        ("workloads: [W]\ntrials: " + "x" * 5000, "s.yaml: trials = 'xxxxx"),
        ("workloads: [W]\ntime_limit: 0", "s.yaml: time_limit = 0; allowed: seconds, above 0"),
    ],
)
def test_errors_name_file_key_value_and_what_is_allowed(text, message, tmp_path):
    with pytest.raises(SweepError) as caught:
        spec_of(tmp_path, text.replace("W", WORKLOAD))
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert len(str(caught.value)) < 600


def test_sweeps_are_of_bounded_size(tmp_path):
    sizes = "".join(f"  LOG_{key}_BUFF_SIZE: {list(range(1, 33))}\n" for key in ("UOP", "INP", "WGT", "ACC"))
    with pytest.raises(SweepError, match=r"s\.yaml: has 1,048,576 points; the limit is 1,000,000: split it into sweeps"):
        spec_of(tmp_path, f"workloads: [{WORKLOAD}]\nconfig:\n{sizes}")


def test_json_errors(tmp_path):
    with pytest.raises(SweepError, match="key trials is given twice"):
        spec_of(tmp_path, '{"trials": 1, "trials": 2}', "s.json")
    with pytest.raises(SweepError, match="not JSON"):
        spec_of(tmp_path, "{", "s.json")


def test_without_pyyaml_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(SweepError, match=r"s.yaml: YAML needs PyYAML: pip install 'vta\[sweep\]'; or write the sweep as a .json"):
        spec_of(tmp_path, f"workloads: [{WORKLOAD}]")
    assert spec_of(tmp_path, json.dumps({"workloads": [WORKLOAD]}), "s.json").workloads == (WORKLOAD,)


def test_the_clock_is_the_least_that_is_said_of_a_design(tmp_path):
    text = f"config: {{LOG_BLOCK: [4, 5]}}\ntiming: {{bus_bits: [64, 128]}}\nworkloads: ['{WORKLOAD}']\n"

    def clocks(more):
        (tmp_path / "s.yaml").write_text(text + more)
        return [design.clock_mhz for design in expand(load_spec(tmp_path / "s.yaml"))[0]]

    assert clocks("") == [100] * 4
    assert clocks("clock: 80") == [80] * 4
    assert clocks("clock: {LOG_BLOCK: {5: 60}, bus_bits: {128: 90}}") == [100, 90, 60, 60]
    assert clocks("board: zcu104") == [100] * 4
    for wrong, problem in (
        ("clock: fast", "clock = 'fast'; allowed: MHz"),
        ("clock: {LOG_BLOCK: 3}", "clock: LOG_BLOCK: expected keys"),
        ("clock: {speed: {1: 2}}", "clock: unknown key speed"),
        ("clock: {LOG_BLOCK: {5: 0}}", "clock: LOG_BLOCK: 5 = 0; allowed: MHz"),
    ):
        with pytest.raises(SweepError, match=problem):
            clocks(wrong)


def test_a_clock_that_is_known_stands_where_the_user_says_nothing(tmp_path, monkeypatch):
    known = {(1, 4): KnownClock(44.0, "estimated", 0.1), (1, 8): KnownClock(86.0, "built", 0.0)}
    monkeypatch.setattr(fits, "known_clock", lambda hw, board, timing: known.get((hw.batch, hw.block)))
    sizes = "LOG_INP_BUFF_SIZE: 12, LOG_WGT_BUFF_SIZE: 13, LOG_ACC_BUFF_SIZE: 14, LOG_UOP_BUFF_SIZE: 12"
    axes = f"config: {{LOG_BATCH: [0, 1], LOG_BLOCK: [2, 3], {sizes}}}\ntiming: {{bus_bits: 128}}\n"
    text = f"{axes}workloads: ['{WORKLOAD}']\nboard: ecpix5\n"

    def clocks(more):
        (tmp_path / "s.yaml").write_text(text + more)
        return [design.clock_mhz for design in expand(load_spec(tmp_path / "s.yaml"))[0]]

    assert clocks("") == [44, 86, 50]
    assert clocks("clock: 70") == [70] * 3
    assert clocks("clock: {LOG_BLOCK: {3: 99, 2: 60}}") == [60, 99, 50]


def test_a_core_that_needs_more_than_the_board_has_is_illegal_with_the_numbers(tmp_path, monkeypatch):
    from vta.hardware.synthesis import estimate
    from vta.hardware.synthesis.resources import Resources

    monkeypatch.setattr(estimate, "synthesized", lambda *core: None)
    monkeypatch.setattr(
        estimate, "estimate", lambda hw, board, timing: Resources(lut=60_000 if timing.bus_bits == 128 else 9_000)
    )
    text = f"config: {{LOG_BLOCK: [4, 5]}}\ntiming: {{bus_bits: [64, 128]}}\nboard: pynq-z1\nworkloads: ['{WORKLOAD}']\n"
    (tmp_path / "s.yaml").write_text(text)
    designs, illegal = expand(load_spec(tmp_path / "s.yaml"))
    fits = [(design.timing.bus_bits, design.fit.resources.lut, design.fit.source) for design in designs]
    assert fits == [(64, 9_000, "estimated")]
    assert illegal[0].reason == "does not fit pynq-z1: 60000 LUT (estimated) of 53200"
    assert "608 DSP of 220" in illegal[1].reason
