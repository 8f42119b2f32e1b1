import contextlib
import copy
import pickle

import numpy as np
import pytest

from tests.engines import missing_for_opencl
from vta.config.hardware import HardwareConfig
from vta.devices.device import Device, DeviceState
from vta.devices.lifecycle import Lifecycle
from vta.devices.open_device import DeviceSpec, open_device
from vta.errors import DeviceError, UsageError

HW = HardwareConfig.named("sim")
KINDS = ("sim", "cycle", *([] if missing_for_opencl() else ["opencl"]))


@pytest.mark.parametrize("kind", KINDS)
def test_devices_have_the_whole_protocol(kind):
    device = open_device(HW, DeviceSpec(kind, memory_bytes=1 << 16))
    assert isinstance(device, Device)
    assert device.name == kind
    assert device.memory_bytes == 1 << 16
    assert (device.timing is None) == (kind != "cycle")


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_device_only_tells_its_status(kind):
    device = open_device(HW, DeviceSpec(kind, memory_bytes=1 << 16))
    address = device.allocate(16)
    device.close()
    device.close()
    assert device.status().state is DeviceState.CLOSED
    stream = np.zeros((1, 16), dtype=np.uint8)
    for use in (
        lambda: device.allocate(16),
        lambda: device.write(address, np.zeros(16, dtype=np.uint8)),
        lambda: device.read(address, 16),
        lambda: device.run(stream),
        device.reset,
        lambda: device.free(address),
        lambda: device.exclusive().__enter__(),
    ):
        with pytest.raises(DeviceError, match=f"the {kind} device is closed"):
            use()


@pytest.mark.parametrize("kind", KINDS)
def test_the_status_tells_why_the_last_run_failed(kind):
    device = open_device(HW, DeviceSpec(kind, memory_bytes=1 << 16))
    assert device.status().state is DeviceState.READY
    with pytest.raises(DeviceError) as failure:
        device.run(np.full((1, 16), 0xFF, dtype=np.uint8))
    status = device.status()
    assert (status.state, status.error, status.runs) == (DeviceState.FAILED, str(failure.value), 1)
    finish = np.zeros((1, 16), dtype=np.uint8)
    finish[0, 0] = 3
    device.run(finish)
    assert (device.status().state, device.status().runs) == (DeviceState.READY, 2)


def test_an_interrupted_run_has_failed():
    life = Lifecycle("sim")
    with contextlib.suppress(KeyboardInterrupt), life.run():
        raise KeyboardInterrupt
    assert life.status().state is DeviceState.FAILED


def test_an_unknown_kind_is_named():
    with pytest.raises(UsageError, match="no device 'toaster'; allowed: sim, cycle, rtl, opencl"):
        open_device(HW, DeviceSpec("toaster"))


def test_the_command_line_offers_the_same_kinds():
    from vta.cli.options import DEVICES
    from vta.devices.open_device import DEVICE_KINDS

    assert DEVICES == DEVICE_KINDS


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy])
def test_a_device_has_no_second_one(copied):
    device = open_device(HW, DeviceSpec("sim", memory_bytes=1 << 16))
    with pytest.raises(DeviceError, match="a sim device can be neither copied nor pickled: open another where it is needed"):
        copied(device)
