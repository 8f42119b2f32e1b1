"""Combinations of values."""

import pytest

from vta.sweep.points import expand, points_of
from vta.sweep.spec import load_spec

WORKLOADS = "workloads: [elementwise.vta:1x1x4x4x1x16, elementwise.vta:1x2x4x4x1x16]\n"


@pytest.fixture
def spec_of(tmp_path):
    def load(text):
        path = tmp_path / "s.yaml"
        path.write_text(WORKLOADS + text)
        return load_spec(path)

    return load


def test_every_combination_is_legal_or_has_a_reason(spec_of):
    legal, illegal = expand(spec_of("config: {LOG_BLOCK: [4, 5, 7]}\ntiming: {bus_bits: [64, 128], read_latency: [8, 16]}\n"))
    found = [(design.hw.block, design.timing.bus_bits, design.timing.read_latency) for design in legal]
    assert found == [(block, bus, latency) for block in (16, 32) for bus in (64, 128) for latency in (8, 16)]
    assert [entry.values for entry in illegal] == [{"LOG_BLOCK": 7}]
    assert "LOG_BLOCK = 7 is out of range; allowed: 2 to 6" in illegal[0].reason


def test_every_combination_is_counted(spec_of):
    spec = spec_of("config: {LOG_BLOCK: [4, 7], LOG_INP_BUFF_SIZE: [14, 15]}\ntiming: {bus_bits: [64, 96, 128]}\n")
    legal, illegal = expand(spec)
    assert len(legal) + sum(entry.combinations for entry in illegal) == 12
    assert dict(legal[0].values) == {"LOG_BLOCK": 4, "LOG_INP_BUFF_SIZE": 14, "bus_bits": 64}


def test_memory_systems_that_do_not_exist(spec_of):
    legal, illegal = expand(spec_of("timing: {bus_bits: [64, 96]}\n"))
    assert len(legal) == 1
    assert illegal[0].values == {"bus_bits": 96}
    assert "bus_bits = 96 is not a power of two" in illegal[0].reason


def test_the_bus_is_that_of_the_platform_unless_given(spec_of):
    legal, _ = expand(spec_of("base: zcu104\n"))
    assert legal[0].timing.bus_bits == 128


def test_points_are_numbered_and_designs_have_sizes(spec_of):
    spec = spec_of("config: {LOG_INP_BUFF_SIZE: [14, 15]}\n")
    legal, _ = expand(spec)
    points = points_of(legal, spec.works)
    assert [(point.number, point.workload) for point in points] == list(enumerate(spec.workloads * 2))
    assert [point.design for point in points] == [legal[0], legal[0], legal[1], legal[1]]
    design = legal[1]
    assert design.peak_macs == 256
    assert design.onchip_bytes == (1 << 15) + (1 << 15) + (1 << 18) + (1 << 17) + (1 << 15)
