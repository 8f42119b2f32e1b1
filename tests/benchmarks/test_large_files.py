"""The benchmark of large files, on a small one."""

import json

from benchmarks.large_files import main


def test_a_small_network(capsys):
    assert main(["resnet8", "--rounds", "1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["network"] == "resnet8"
    assert row["file_megabytes"] > 0.1
    assert 0 < row["shortest"] == row["median"] < row["peak_megabytes"]
