"""What a run printed."""

import json

import pytest

from vta.pages.data.run_file import RunFileError, load_run


def test_a_run_is_read_back(run_file, module):
    run = load_run(run_file)
    assert {span.operator for span in run.spans} == {record.name for region in module.regions for record in region.operators}
    assert sum(row.cycles for row in run.layers if row.where == "vta") == run.cycles
    assert run.units["compute"]["busy"] <= run.cycles


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layers": None}, "does not count cycles"),
        ({"units": 3}, "is not what 'vta run' prints"),
        ({"operators": [{}]}, "is not what 'vta run' prints"),
    ],
)
def test_what_is_missing_is_said(change, words, run_file, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**json.loads(run_file.read_text()), **change}))
    with pytest.raises(RunFileError, match=words) as caught:
        load_run(path)
    assert str(path) in str(caught.value)
