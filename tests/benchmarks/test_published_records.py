"""Rows of the published log, replayed."""

import pytest

from benchmarks.published_records import is_exact, replayed
from vta.autotune.usable import use_problem
from vta.records.log import read_log


@pytest.mark.parametrize("row", range(3))
def test_transposed_convolutions_give_the_bits_of_the_reference(shared, row):
    lines = [line.record for line in read_log(shared / "tophub" / "vta_v0.10.log") if line.record]
    record = [record for record in lines if record.workload.name == "conv2d_transpose_packed.vta"][row]
    assert use_problem(record) == ""
    assert is_exact(*replayed(record))
