"""Remote modules do what local ones do."""

from dataclasses import replace

import numpy as np
import pytest

from tests.engines import missing_for_opencl
from tests.integer_graphs import BASELINE, TINY
from tests.rpc.support import FAST, LOCAL
from vta.config.timing import timing_of
from vta.devices.cycle import CycleDevice
from vta.devices.device import RunOptions
from vta.devices.open_device import DeviceSpec
from vta.devices.opencl import OpenclDevice
from vta.errors import ArtifactError, DeviceError, GraphError, RemoteError
from vta.rpc.client.connect import connect, describe_device
from vta.rpc.server.server import DeviceServer
from vta.runtime.module import Module


@pytest.fixture
def remote(serve, take, artifact):
    serve("cycle")
    with take() as session, session.load(artifact) as module:
        yield module


@pytest.fixture
def local(compiled):
    with Module(compiled, CycleDevice(compiled.hw), RunOptions(timeline=True)) as module:
        yield module


def test_a_run_reports_the_same(remote, local, sample):
    ours, theirs = local.run(sample), remote.run(sample, timeline=True)
    np.testing.assert_array_equal(theirs.outputs[0], ours.outputs[0])
    assert theirs.outputs[0].dtype == ours.outputs[0].dtype
    for name in ("counters", "operators", "cycles", "device_runs", "macs", "move_macs"):
        assert getattr(theirs, name) == getattr(ours, name)
    assert theirs.device_seconds > 0
    ((region, result),), ((_, expected),) = theirs.results, ours.results
    assert region is remote.compiled.regions[0]
    assert result.times.busy.tolist() == expected.times.busy.tolist()
    assert sorted(result.timeline.tolist()) == sorted(expected.timeline.tolist())
    times = {"times": None, "timeline": None, "seconds": 0.0}
    assert replace(result, **times) == replace(expected, **times)
    assert remote.output_names() == local.output_names()


def test_a_plain_run_has_times_but_no_timeline(remote, local, sample):
    ((_, result),) = remote.run(sample).results
    assert result.timeline is None
    report = local.run(sample)
    np.testing.assert_array_equal(result.times.completed, report.results[0][1].times.completed)
    assert remote.run(sample).by_layer == report.by_layer


def test_a_check(remote, sample):
    check = remote.check(sample)
    assert (check.bit_exact, check.mismatch, check.compared) == (True, None, 1)
    assert check.run.cycles is not None


def test_batches(remote, local, sample):
    inputs = {"data": np.concatenate([sample["data"], sample["data"][:, ::-1]])}
    ticks = []
    report = remote.run_batches(inputs, tick=ticks.append)
    np.testing.assert_array_equal(report.outputs[0], local.run_batches(inputs).outputs[0])
    assert (report.device_runs, ticks[-1]) == (2, 2)


def test_measuring(remote, local, sample):
    found = remote.measure(repeat=3, check=True)
    assert found.cycles == local.run(sample).cycles
    assert len(found.costs) == 3
    assert found.mismatch == ""


def test_measuring_by_the_clock(serve, take, artifact):
    serve("sim")
    with take() as session, session.load(artifact) as module:
        found = module.measure(number=2, repeat=3)
    assert found.cycles is None
    assert len(found.costs) == 3
    assert min(found.costs) > 0


def test_another_order_of_the_units(serve, take, compiled, sample):
    serve("sim")
    with take() as session, session.load(compiled) as module:
        plain = module.run(sample)
        for seed in (0, 1 << 63):
            np.testing.assert_array_equal(module.run(sample, seed=seed).outputs[0], plain.outputs[0])


def test_several_modules_in_a_session(serve, take, artifact, sample):
    serve()
    with take() as session:
        modules = [session.load(artifact) for _ in range(3)]
        expected = modules[0].run(sample).outputs[0]
        modules[0].close()
        modules[0].close()
        np.testing.assert_array_equal(modules[2].run(sample).outputs[0], expected)


def test_the_device_is_described(serve, take, tracker):
    server = serve("cycle")
    asked = describe_device(server.address)
    assert (asked.device, asked.hw, asked.timing, asked.memory_bytes, asked.busy) == (
        "cycle",
        BASELINE,
        timing_of(BASELINE),
        1 << 22,
        False,
    )
    with take() as session:
        assert session.hw == BASELINE
        assert describe_device(server.address).busy


def test_another_config_for_a_session(serve, take, artifact, devices, sample):
    server = serve()
    with take() as session:
        module = session.load(artifact)
        session.configure(TINY)
        assert session.hw == TINY
        with pytest.raises(ArtifactError, match="compiled for LOG_INP_BUFF_SIZE = 15, but the device has"):
            session.load(artifact)
        with pytest.raises(RemoteError, match="the session has no module 1"):
            module.run(sample)
    devices(1, 1)
    assert describe_device(server.address).hw == BASELINE


def test_too_little_memory(serve, take, compiled, background, tracker):
    from tests.rpc.conftest import wait_for_server
    from tests.rpc.support import FAST, LOCAL
    from vta.devices.open_device import DeviceSpec
    from vta.rpc.server.server import DeviceServer

    server = background.start(
        lambda: DeviceServer(LOCAL, BASELINE, DeviceSpec("sim", 8192), tracker.address, "small", limits=FAST)
    )
    wait_for_server(tracker.address, server.address)
    with take("small") as session, pytest.raises(DeviceError, match="the images of the regions do not fit"):
        session.load(compiled)


def test_samples_of_another_shape(remote):
    with pytest.raises(GraphError, match="input 'data' must be"):
        remote.run_batches({"data": np.zeros((1, 16, 6), np.int8)})


def test_a_device_can_be_described_at_any_time(serve, take, devices):
    """While the process of the last session is replaced, too."""
    server = serve("cycle")
    for _ in range(3):
        with take() as session:
            session.configure(session.hw)
        assert describe_device(server.address).device == "cycle"
    devices(1, 1)


def test_an_opencl_device_with_a_kernel_of_ones_own(background, compiled, sample, tmp_path):
    """File and platform get to the process that opens the device."""
    missing = missing_for_opencl()
    if missing:
        pytest.skip(missing)
    from vta.hardware.opencl.program import kernel_source

    kernel = tmp_path / "mine.cl"
    kernel.write_text(kernel_source().read_text())
    spec = DeviceSpec("opencl", 1 << 22, kernel=kernel, platform=OpenclDevice(compiled.hw, 1 << 16).platform)
    server = background.start(lambda: DeviceServer(LOCAL, compiled.hw, spec, limits=FAST))
    with connect(server.address, limits=FAST) as session, session.load(compiled) as module:
        assert session.description.device == "opencl"
        assert module.check(sample).bit_exact
    spec = DeviceSpec("opencl", 1 << 22, platform="abacus")
    with pytest.raises(DeviceError, match="no OpenCL platform called 'abacus'"):
        background.start(lambda: DeviceServer(LOCAL, compiled.hw, spec, limits=FAST))
