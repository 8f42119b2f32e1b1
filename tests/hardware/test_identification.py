"""A core tells what it was built for, and a driver that expects another notices."""

from dataclasses import fields, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, DeviceError
from vta.hardware.identification import check_identification, identification

SHIPPED = {name: HardwareConfig.named(name) for name in shipped_configs()}


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("bus_bits", [64, 512])
def test_a_core_is_what_it_was_built_for(name, bus_bits):
    check_identification(identification(SHIPPED[name], bus_bits).__getitem__, SHIPPED[name], bus_bits)


@given(
    name=st.sampled_from(sorted(SHIPPED)),
    key=st.sampled_from([field.name for field in fields(HardwareConfig) if field.name.startswith("log_")]),
    change=st.sampled_from([-2, -1, 1, 2]),
)
def test_each_difference_is_named(name, key, change):
    hw = SHIPPED[name]
    try:
        other = replace(hw, **{key: getattr(hw, key) + change})
    except ConfigError:
        assume(False)
    with pytest.raises(DeviceError, match=rf"{key.upper()} = {getattr(other, key)}; the device is to have {getattr(hw, key)}"):
        check_identification(identification(other, 64).__getitem__, hw, 64)


def test_another_bus_is_named():
    with pytest.raises(DeviceError, match="bus of 64 bits; the board's description says 128"):
        check_identification(identification(SHIPPED["sim"], 64).__getitem__, SHIPPED["sim"], 128)


def test_fabric_without_the_core_is_named():
    with pytest.raises(DeviceError, match="identity is 0x00000000"):
        check_identification(lambda name: 0, SHIPPED["sim"], 64)
