"""The package as a user in a notebook meets it."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import vta
from tests.rpc.support import LOCAL
from vta.demo import load_digits, model_path
from vta.devices.open_device import DeviceSpec
from vta.errors import ConfigError, GraphError, NoCalibrationWarning, UsageError
from vta.rpc.daemon import Background
from vta.rpc.server.server import DeviceServer
from vta.runtime import Dataset, LoadedModule, ModuleDevice

PROGRAM = """
import numpy as np

import vta


def use(image: list[list[float]], samples: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> int | None:
    hw = vta.HardwareConfig.named("pynq")
    net = vta.load_model("net.onnx", shapes={"image": (1, 3, 224, 224)})
    quantized = vta.quantize(net, hw, calibration={"image": samples})
    module = vta.compile(quantized, hw, schedules=vta.schedules("my.log", fastest=True))
    tiles: str = module.dump("tile")
    module.save("net.vta")
    layers = [placement.layer for placement in module.placements]
    with vta.open_device("cycle", hw) as device, device.load(module) as loaded:
        report = loaded.run(image=image)
        logits = report.outputs["logits"]
        loaded.check(image=image)
    with vta.connect("host:9190", key="pynq") as board, board.load(vta.load("net.vta")) as there:
        there.run(samples)
    best = vta.tune(quantized, hw, trials=256, log="my.log")
    vta.compile("net.onnx", "sim", calibration=samples, schedules=best)
    print(vta.__version__, layers, tiles, logits.shape, report.by_layer[0].cycles)
    try:
        return report.cycles
    except vta.VTAError:
        return None
"""


@pytest.fixture(scope="module")
def samples():
    """Images, shape (n, 1, 8, 8), as the network takes them."""
    return load_digits().x[:16].astype(np.float32) / 16


@pytest.fixture
def background():
    """An event loop for servers; whatever was started ends with it."""
    with Background() as background:
        yield background


@pytest.fixture(scope="module")
def net():
    return vta.load_model(model_path())


@pytest.fixture(scope="module")
def quantized(net, samples):
    return vta.quantize(net, "sim", calibration={"image": samples})


@pytest.fixture(scope="module")
def module(quantized):
    return vta.compile(quantized, "sim", schedules=vta.schedules(fastest=True))


def test_importing_is_light():
    code = "import sys, vta; dir(vta); sys.exit(any(name in sys.modules for name in ('numpy', 'onnx', 'rich', 'vta.ir')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_completion_sees_the_names():
    assert set(vta.__all__) == set(dir(vta))
    assert all(getattr(vta, name) is not None for name in vta.__all__)
    with pytest.raises(AttributeError, match="no attribute 'compiel'"):
        vta.compiel  # noqa: B018


def test_a_type_checker_sees_the_names(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "--follow-imports=silent"]
    root = Path(vta.__file__).parents[1]
    done = subprocess.run([*command, str(program)], cwd=root, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Success"), done.stdout + done.stderr
    program.write_text(PROGRAM.replace("trials=256", "trails=256"))
    done = subprocess.run([*command, str(program)], cwd=root, capture_output=True, text=True, check=False)
    assert '"trails"' in done.stdout


def test_one_step_gives_what_two_give(net, quantized, samples, tmp_path):
    once, twice = tmp_path / "once.vta", tmp_path / "twice.vta"
    vta.compile(net, vta.HardwareConfig.named("sim"), calibration=samples).save(once)
    vta.compile(quantized, "sim").save(twice)
    assert once.read_bytes() == twice.read_bytes()


@pytest.mark.parametrize("kind", ["array", "list", "mapping", "file"])
def test_calibration_is_taken_as_it_comes(net, samples, quantized, tmp_path, kind):
    if kind == "file":
        np.savez(tmp_path / "samples.npz", x=samples)
    forms = {"array": samples, "list": samples.tolist(), "mapping": {"image": samples}, "file": str(tmp_path / "samples.npz")}
    assert str(vta.quantize(net, "sim", calibration=forms[kind])) == str(quantized)


def test_calibration_that_does_not_fit_is_named(net, samples):
    with pytest.raises(UsageError, match="calibration: no input 'picture'; the network's inputs are image"):
        vta.quantize(net, "sim", calibration={"picture": samples})
    with pytest.raises(UsageError, match="calibration: samples of shape"):
        vta.quantize(net, "sim", calibration=np.zeros((4, 3)))


def test_compiling_without_samples_says_so(net):
    with pytest.warns(NoCalibrationWarning, match="no calibration data was given"):
        assert vta.compile(net, "sim").regions
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vta.compile(net, "sim", calibration=np.zeros((1, 1, 8, 8)))


def test_a_config_that_is_not_there_is_an_error(net):
    with pytest.raises(ConfigError, match="no shipped config of this name; shipped: "):
        vta.compile(net, "smi")


def test_runs_take_arrays_and_lists(module, samples):
    image = samples[:1]
    with vta.open_device("cycle", "sim") as device, device.load(module) as loaded:
        assert isinstance(device, ModuleDevice)
        report = loaded.run(image=image)
        for given in (image, image.astype(np.float64), image.tolist(), {"image": image}):
            np.testing.assert_array_equal(loaded.run(given).outputs["logits"], report.outputs["logits"])
        assert report.outputs["logits"] is report.outputs[0]
        assert report.cycles > 0
        assert {row.layer for row in report.by_layer} == {record.name for region in module.regions for record in region.operators}
        assert all(0 < row.cycles <= report.cycles for row in report.by_layer)
        assert loaded.check(image=image).bit_exact
        assert loaded.run_batches(samples).outputs["logits"].shape == (len(samples), 10)
        with pytest.raises(KeyError, match="no output 'probabilities'; there are logits"):
            report.outputs["probabilities"]
        with pytest.raises(UsageError, match="input 'image' is given twice"):
            loaded.run({"image": image}, image=image)
        with pytest.raises(GraphError, match="'picture' is no input"):
            loaded.run(picture=image)


@pytest.mark.parametrize("level", ["integer", "partition", "tile", "isa"])
def test_every_level_prints(module, level):
    assert "conv" in module.dump(level) or level == "isa"
    assert module.dump(level).count("\n") > 5


def test_a_device_of_a_server_is_used_alike(module, samples, background, tmp_path):
    server = background.start(lambda: DeviceServer(LOCAL, module.hw, DeviceSpec("cycle")))
    module.save(tmp_path / "digits.vta")
    with vta.open_device("cycle", module.hw) as here, here.load(module) as loaded:
        expected = loaded.run(image=samples[:1])
    with vta.connect(str(server.address)) as device, device.load(tmp_path / "digits.vta") as loaded:
        assert isinstance(device, ModuleDevice)
        assert isinstance(loaded, LoadedModule)
        report = loaded.run(image=samples[:1].tolist())
        np.testing.assert_array_equal(report.outputs["logits"], expected.outputs["logits"])
        assert report.cycles == expected.cycles
        assert report.by_layer == expected.by_layer
        assert loaded.check(samples[:1]).bit_exact


def test_tuning_gives_schedules(quantized, tmp_path):
    log = tmp_path / "my.log"
    best = vta.tune(quantized, "sim", trials=2, tuner="random", log=log)
    assert "cycles" in repr(best)
    assert "<table>" in best._repr_html_()
    assert vta.compile(quantized, "sim", schedules=best).regions
    assert vta.compile(quantized, "sim", schedules=vta.schedules(log)).regions


def test_nothing_floods_a_notebook(module, net, quantized, samples):
    with vta.open_device("cycle", "sim") as device, device.load(module) as loaded:
        report = loaded.run(samples[:1])
        batches = loaded.run_batches(samples)
        check = loaded.check(samples[:1])
        data = vta.evaluate_top1(loaded, Dataset(samples, np.zeros(len(samples), np.int64)))
        again = Dataset(samples[:2], np.arange(2))
        assert repr(again) == "Dataset: 2 samples, float32[1, 8, 8], of 2 classes"
        shown = [device, loaded, again, report, report.outputs, report.by_layer, batches, check, data]
        shown += [module, module.placements, module.regions, module.hw, net, quantized]
        for value in shown:
            text = repr(value)
            assert text.count("\n") < 70, text
            assert len(text) < 12_000, text
    for value in (module, module.placements, module.hw, report, batches, data):
        assert value._repr_html_().count("<tr>") < 150


@pytest.mark.parametrize("hw", [None, {"TARGET": "sim"}, 16])
def test_a_config_that_is_none_is_named(hw):
    with pytest.raises(ConfigError, match=f"a config is a HardwareConfig, .* not {type(hw).__name__}"):
        vta.compile(model_path(), hw)
