"""What passes say about layers."""

from vta.ir.diagnostics import INEXACT, OVERFLOW, WRAPS, Diagnostic, Diagnostics


def test_the_latest_of_one_kind_counts_for_a_layer():
    said = Diagnostics()
    said.add(INEXACT, "a", "2 off")
    said.add(INEXACT, "a", "1 off")
    said.add(WRAPS, "a", "wraps")
    assert [str(entry) for entry in said] == ["a: 1 off", "a: wraps"]


def test_kinds_are_told_apart():
    said = Diagnostics()
    said.extend([Diagnostic(OVERFLOW, "b", "large"), Diagnostic(INEXACT, "c", "off")])
    assert len(said) == 2
    assert said.of(OVERFLOW) == {"b": Diagnostic(OVERFLOW, "b", "large")}
    assert said.of(WRAPS) == {}
