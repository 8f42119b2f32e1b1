"""Which device may run what was compiled for another config."""

import re
from dataclasses import replace

import pytest

from vta.errors import ArtifactError
from vta.runtime.artifact.compatibility import check_compatible


@pytest.mark.parametrize(
    ("compiled", "device"), [("sim", "sim"), ("sim", "cycle"), ("pynq", "sim"), ("tsim", "cycle"), ("pynq", "ultra96")]
)
def test_capable_devices(hardware, compiled, device):
    check_compatible(hardware(target=compiled), hardware(target=device))


@pytest.mark.parametrize(
    ("compiled", "device", "words"),
    [
        ("sim", "pynq", "multiply is True; the device's TARGET = 'pynq' has multiply False"),
        ("sim", "tsim", "multiply is True"),
        ("pynq", "tsim", "register_shift_left is True; the device's TARGET = 'tsim' has register_shift_left False"),
        ("tsim", "pynq", "padded_types is"),
        ("sim", "intelfocl", "padded_types is"),
    ],
)
def test_incapable_devices(hardware, compiled, device, words):
    with pytest.raises(ArtifactError, match=re.escape(words)):
        check_compatible(hardware(target=compiled), hardware(target=device))


def test_other_geometry_names_key_and_both_values(hardware):
    other = replace(hardware(), log_acc_buff_size=16)
    with pytest.raises(ArtifactError, match="compiled for LOG_ACC_BUFF_SIZE = 15, but the device has LOG_ACC_BUFF_SIZE = 16"):
        check_compatible(hardware(), other)
    with pytest.raises(ArtifactError, match=r"compiled for HW_VER = '0\.0\.2', but the device has HW_VER = '9'"):
        check_compatible(hardware(), replace(hardware(), hw_version="9"))
