"""Lists of targets: what is parsed and what is refused."""

import pytest

from tests.integer_graphs import BASELINE
from vta.config.target_list import DEFAULT_TARGETS, parse_targets
from vta.errors import UsageError


def test_a_list_of_two():
    targets = parse_targets("vta, llvm -device=arm_cpu -mtriple=aarch64-linux-gnu --mattr=+neon,+crc")
    assert [entry.kind for entry in targets.entries] == ["vta", "llvm"]
    assert targets.host.option("mtriple") == "aarch64-linux-gnu"
    assert targets.host.option("mattr") == "+neon,+crc"
    assert targets.host.option("mcpu") is None
    assert str(targets) == "vta, llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+neon,+crc"
    assert parse_targets(str(targets)) == targets
    assert not targets.host_first


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("vta", ["vta"]),
        ("vta,llvm", ["vta", "llvm"]),
        ("llvm -keys=arm_cpu,cpu", ["llvm"]),
        ("ext_dev -keys=vta,cpu -device=vta ,  llvm -system-lib", ["vta", "llvm"]),
    ],
)
def test_commas_separate_targets_or_belong_to_values(text, kinds):
    assert [entry.kind for entry in parse_targets(text).entries] == kinds


def test_an_option_may_stand_without_a_value():
    assert parse_targets("llvm -system-lib").host.option("system-lib") == ""


def test_the_default_is_what_the_text_gives():
    assert parse_targets("vta, llvm") == DEFAULT_TARGETS
    assert parse_targets("llvm, vta").host_first
    assert parse_targets("vta").host is None


def test_a_gpu_takes_the_place_of_the_host():
    whole, part = parse_targets("cuda -ordinal=1, llvm"), parse_targets("vta, opencl -platform=portable")
    assert whole.host_first
    assert not part.host_first
    assert (whole.gpu.kind, whole.gpu.option("ordinal"), whole.host.kind) == ("cuda", "1", "llvm")
    assert (part.gpu.kind, part.gpu.option("platform"), part.host) == ("opencl", "portable", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metal", r"'metal' is not a target; allowed: vta, ext_dev, llvm, opencl, cuda"),
        ("opencl, cuda", "opencl and cuda are both there; one GPU"),
        ("cuda -ordinal=a", "-ordinal='a' is no number of a device"),
        ("opencl -arch=sm_90", r"opencl has no option -arch; allowed: -device"),
        ("vta, llvm -march=x", r"llvm has no option -march; allowed: -device, .*-mtriple"),
        ("vta -mtriple=x", r"vta has no option -mtriple; allowed: -device, -keys, -model"),
        ("vta llvm", r"'llvm' is not an option; options are of the form -name=value, and a comma separates targets"),
        ("vta, ", "has an empty entry"),
        ("", "has an empty entry"),
        ("llvm -mtriple", "-mtriple needs a value: -mtriple=..."),
        ("llvm -mtriple=", "-mtriple needs a value"),
        ("llvm -system-lib=", "-system-lib needs a value"),
        ("llvm -mcpu=a -mcpu=b", "-mcpu is given twice"),
        ("vta, ext_dev", "vta is there more than once"),
        ("llvm -mcpu='a", "No closing quotation"),
        ("llvm --", "'--' is not an option"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_targets(text)


def test_the_accelerator_must_be_that_of_the_config():
    for name in (BASELINE.model, BASELINE.bitstream):
        parse_targets(f"vta -model={name}, llvm").check(BASELINE)
    parse_targets("llvm").check(BASELINE)
    with pytest.raises(UsageError, match=f"target vta -model=pynq: the hardware config describes {BASELINE.model}"):
        parse_targets("vta -model=pynq").check(BASELINE)
