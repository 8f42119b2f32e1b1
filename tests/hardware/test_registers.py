"""The register map is one that a bus can decode."""

from pathlib import Path

from vta.hardware.registers import REGISTERS, register_table


def test_offsets_are_words_and_differ():
    offsets = [register.offset for register in REGISTERS.values()]
    assert len(set(offsets)) == len(offsets)
    assert all(offset % 4 == 0 and 0 <= offset < 1 << 16 for offset in offsets)


def test_published_registers_are_where_drivers_expect_them():
    bases = [f"{name}_base" for name in ("instruction", "uop", "inp", "wgt", "acc", "out")]
    names = ["control", "cycles", "instruction_count", *bases]
    assert [REGISTERS[name].offset for name in names] == list(range(0, 0x24, 4))
    assert REGISTERS["acc_writes"].offset == 0x24


def test_the_document_has_the_table():
    document = Path(__file__).resolve().parents[2] / "docs" / "hardware.md"
    assert register_table() in document.read_text(encoding="utf-8")
