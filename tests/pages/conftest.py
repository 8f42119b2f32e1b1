"""A page of each kind, made once."""

import json

import numpy as np
import pytest

from vta.cli.main import main
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.pages.data.windows import device_runs
from vta.records.shipped import shipped_folder
from vta.runtime.local_device import LocalDevice
from vta.sweep.session import run_sweep
from vta.sweep.spec import Spec

WORKLOAD = "conv2d_packed.vta:1x1x6x6x1x16:2x1x3x3x16x16:1x1:1x1x1x1:1x1"


@pytest.fixture(scope="package")
def module(demo_plain):
    return demo_plain


@pytest.fixture(scope="package")
def report(module):
    """A run on the cycle engine with its timeline."""
    inputs = {node.name: np.zeros(node.shape, node.dtype) for node in module.graph.inputs}
    with LocalDevice(CycleDevice(module.hw)) as device, device.load(module) as loaded:
        return loaded.run(inputs, timeline=True)


@pytest.fixture(scope="package")
def runs(report):
    return device_runs(report.results)


@pytest.fixture(scope="package")
def sources(module, tmp_path_factory):
    """By kind: the path of something that has a page."""
    folder = tmp_path_factory.mktemp("pages")
    module.save(folder / "net.vta")
    log = (shipped_folder() / "1x16_i8w8a32_15_15_18_17.log").read_text().splitlines(keepends=True)
    (folder / "tuned.log").write_text("".join(log[:120]))
    spec = Spec(
        HardwareConfig.named("sim").to_json(),
        {"LOG_INP_BUFF_SIZE": (13, 15), "LOG_WGT_BUFF_SIZE": (16, 18)},
        {"bus_bits": (64, 128)},
        (),
        (WORKLOAD,),
    )
    run_sweep(spec, folder / "sweep", jobs=1)
    return {"network": folder / "net.vta", "tuning": folder / "tuned.log", "sweep": folder / "sweep"}


@pytest.fixture(scope="package")
def run_file(sources):
    """What `vta run --json` prints."""
    from contextlib import redirect_stdout
    from io import StringIO

    printed = StringIO()
    with redirect_stdout(printed):
        assert main(["run", str(sources["network"]), "--device", "cycle", "--json"]) == 0
    path = sources["network"].with_name("run.json")
    path.write_text(json.dumps(json.loads(printed.getvalue())))
    return path
