"""A worker process whose device can be held up from outside, through files in a directory."""

import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vta.devices.device import DEFAULT_OPTIONS
from vta.devices.sim import SimDevice
from vta.errors import DeviceError
from vta.host.gpu.runner import GpuPlanRunner
from vta.rpc.server.worker import serve

DIRECTORY = Path(sys.argv[1])


RUN_ON_GPU = GpuPlanRunner.run


def wait_at_gate():
    pause = threading.Event()
    while (DIRECTORY / "closed").exists():
        (DIRECTORY / "running").touch()
        pause.wait(0.01)


class GatedDevice(SimDevice):
    def run(self, stream, options=DEFAULT_OPTIONS):
        wait_at_gate()
        return super().run(stream, options)


def run_on_gpu(self, inputs):
    wait_at_gate()
    return RUN_ON_GPU(self, inputs)


def open_gated(hw, spec):
    if (DIRECTORY / "broken").exists():
        raise DeviceError("the board does not answer")
    return GatedDevice(hw, spec.memory_bytes)


GpuPlanRunner.run = run_on_gpu
serve(open_gated)
