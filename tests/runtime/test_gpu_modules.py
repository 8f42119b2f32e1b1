"""Compiled networks that name a GPU for their host part, on a device of OpenCL."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.demo_network import demo_image, demo_plain  # noqa: F401
from tests.engines import missing_for_opencl
from vta.cli.main import main
from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.config.target_list import parse_targets
from vta.demo import model_path
from vta.devices.sim import SimDevice
from vta.errors import ArtifactError, DeviceError, TuningError
from vta.host.gpu.runner import GpuPlanRunner
from vta.runtime import Module, load
from vta.runtime.artifact.gpu_host import GpuHost, GpuKnob, GpuTileChoice
from vta.runtime.host_part.host_options import HostOptions

RUN = GpuPlanRunner.run
HW = HardwareConfig.named("sim")


@pytest.fixture(scope="module")
def opencl():
    if (reason := missing_for_opencl()) is not None:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def whole():
    """The demo's network, all of it on a GPU."""
    return compile_model(model_path(), HW, targets=parse_targets("opencl"))


def test_a_gpu_computes_what_vta_leaves(opencl, demo_plain):  # noqa: F811
    compiled = replace(demo_plain, gpu=GpuHost("opencl"))
    with Module(compiled, SimDevice(HW)) as module:
        check = module.check(demo_image())
    with Module(demo_plain, SimDevice(HW)) as module:
        want = module.run(demo_image())
    assert check.bit_exact
    assert check.compared
    np.testing.assert_allclose(check.run.outputs[0], want.outputs[0], rtol=1e-5, atol=1e-6)


def test_a_float_network_stays_one_on_a_gpu(opencl, whole, tmp_path):
    assert not whole.regions
    whole.save(tmp_path / "net.vta")
    found = load(tmp_path / "net.vta")
    assert found.gpu == GpuHost("opencl")
    with Module(found, SimDevice(HW)) as module:
        assert module.check(demo_image()).bit_exact
    with Module(found, SimDevice(HW), host=HostOptions(leaves_gpu=True)) as module:
        assert module.host.gpu is None
        assert module.check(demo_image()).bit_exact


def test_tiles_travel_in_the_file(whole, tmp_path):
    tiles = (GpuTileChoice("conv2d_nchw.cuda:1", (GpuKnob("tile_f", (-1, 1, 2, 2)), GpuKnob("auto_unroll_max_step", (512,)))),)
    replace(whole, gpu=GpuHost("cuda", "", 1, tiles)).save(tmp_path / "net.vta")
    assert load(tmp_path / "net.vta").gpu == GpuHost("cuda", "", 1, tiles)


def test_a_wrong_knob_is_named(opencl, whole):
    workload = "dense_small_batch.gpu:1x32:10x32"
    wrong = replace(whole, gpu=GpuHost("opencl", tiles=(GpuTileChoice(workload, (GpuKnob("tile_z", (1, 2)),)),)))
    with Module(wrong, SimDevice(HW)) as module, pytest.raises(TuningError, match="knob 'tile_z' is unknown; allowed: tile_k"):
        module.run(demo_image())


def wrong(self, inputs):
    made, seconds = RUN(self, inputs)
    return [array + 1 for array in made], seconds


def test_what_computes_something_else_is_found(opencl, whole, monkeypatch):
    with Module(whole, SimDevice(HW)) as module:
        monkeypatch.setattr(GpuPlanRunner, "run", wrong)
        check = module.check(demo_image())
    assert not check.bit_exact
    assert check.mismatch.operator == "gpu"


def test_without_the_device_the_error_says_what_is_missing(whole):
    pytest.importorskip("pyopencl", reason="needs the extra `opencl`: pip install '.[opencl]'")
    with pytest.raises(DeviceError, match="OpenCL device 99"):
        Module(replace(whole, gpu=GpuHost("opencl", ordinal=99)), SimDevice(HW))


def test_a_file_with_a_gpu_of_another_shape_is_refused(whole, tmp_path):
    from vta.runtime.artifact.container import write_container

    whole.save(tmp_path / "net.vta")
    from vta.runtime.artifact.container import read_container

    members = dict(read_container(tmp_path / "net.vta"))
    members["host/gpu.json"] = json.dumps({"kind": 3}).encode()
    write_container(tmp_path / "net.vta", members)
    with pytest.raises(ArtifactError, match=r"GPU.*kind"):
        load(tmp_path / "net.vta")


def test_the_commands(opencl, tmp_path, capsys):
    out, log = str(tmp_path / "net.vta"), str(tmp_path / "net.log")
    tune = ["tune", str(model_path()), "--target", "opencl", "--trials", "1", "--records", log, "--tuner", "random"]
    assert (
        main([*tune, "--workload", "0", "--no-records", "--min-repeat-ms", "1", "--number", "1", "--timeout", "60", "--json"])
        == 0
    )
    tuned = json.loads(capsys.readouterr().out)
    assert {"name", "weight", "best_ms", "gflops", "trials"} <= set(tuned["tasks"][0])
    assert tuned["estimated_ms"] > 0
    assert main(["compile", str(model_path()), "-o", out, "--target", "opencl", "--records", log, "--json"]) == 0
    compiled = json.loads(capsys.readouterr().out)
    assert compiled["gpu"]["kernels"] > 0
    assert compiled["gpu"]["tiles"] == 1
    assert main(["run", out, "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bit_exact"]
    assert main(["gpu", "doctor", "--json"]) == 0
    assert "opencl" in json.loads(capsys.readouterr().out)["ready"]
