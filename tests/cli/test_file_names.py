"""No command writes over what it reads."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from vta.cli.file_names import check_outputs, log_file, output_file, picture_file
from vta.cli.main import main
from vta.demo import model_path
from vta.errors import UsageError
from vta.runtime import save


def _options(**values: object) -> argparse.Namespace:
    return argparse.Namespace(**values)


def test_the_model_that_is_compiled_stays(tmp_path, capsys):
    model = tmp_path / "net.onnx"
    model.write_bytes(model_path().read_bytes())
    before = model.read_bytes()
    (tmp_path / "link").symlink_to(model)
    for output in (model, tmp_path / "link", tmp_path / "." / ".." / tmp_path.name / "net.onnx"):
        assert main(["compile", str(model), "-o", str(output), "--quantize-first"]) == 2
        assert "the output is the same file as the model; it would be written over: name another file" in capsys.readouterr().err
    assert main(["tune", str(model), "--config", "sim", "--records", str(model)]) == 2
    assert "what it holds is not text" in capsys.readouterr().err
    assert model.read_bytes() == before


def test_a_compiled_network_stays(tmp_path, capsys, demo_compiled):
    net = tmp_path / "net.vta"
    save(demo_compiled, net)
    before = net.read_bytes()
    for words in (
        ["run", "{}", "--outputs", "{}"],
        ["run", "{}", "--device", "cycle", "--timeline", "{}"],
        ["disasm", "{}", "-o", "{}"],
        ["report", "{}", "-o", "{}"],
        ["run", "{}", "--inputs", "{}", "--outputs", "{}"],
    ):
        assert main([word.format(net) for word in words]) == 2
        assert "is the same file as" in capsys.readouterr().err
        assert net.read_bytes() == before


def test_two_files_to_write_are_two(tmp_path):
    def given(first: str, second: str) -> argparse.Namespace:
        return _options(outputs=output_file(first), timeline=output_file(second))

    with pytest.raises(UsageError, match="both are to be written there"):
        check_outputs(given(str(tmp_path / "new"), str(tmp_path / "." / "new")))
    check_outputs(given(os.devnull, os.devnull))
    check_outputs(given(str(tmp_path / "a"), str(tmp_path / "b")))


def test_a_state_may_go_where_it_came_from(tmp_path):
    path = tmp_path / "state.npz"
    path.write_bytes(b"state")
    check_outputs(_options(load_state=path, save_state=output_file(str(path))))
    with pytest.raises(UsageError):
        check_outputs(_options(inputs=path, save_state=output_file(str(path))))


def test_values_that_are_no_files_do_not_matter(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    check_outputs(_options(output=output_file(str(path)), name="\0", words=["a" * 5000, 3, None], number=3))


def test_a_picture_is_of_a_form_that_can_be_drawn(tmp_path):
    assert picture_file(str(tmp_path / "a.PNG")).name == "a.PNG"
    for name in ("plot.txt", "plot"):
        with pytest.raises(argparse.ArgumentTypeError, match=r"allowed are names that end with \.png, \.svg, \.pdf"):
            picture_file(str(tmp_path / name))


@pytest.mark.parametrize(
    ("content", "is_log"), [(b"", True), (b'{"a": 1}\n', True), (b"\xff not UTF-8\n", True), (b"PK\x03\x04", False)]
)
def test_logs_are_text(tmp_path: Path, content: bytes, is_log: bool) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    if is_log:
        assert log_file(str(path)) == path
        return
    with pytest.raises(argparse.ArgumentTypeError, match="is no log of records"):
        log_file(str(path))
