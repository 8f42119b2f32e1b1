import json

import pytest

from vta.cli.main import main
from vta.config.files import config_path


@pytest.fixture
def bad_config(tmp_path):
    def write(**changes):
        values = {**json.loads(config_path("sim").read_text()), **changes}
        path = tmp_path / "bad.json"
        path.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))
        return str(path)

    return write


def test_check_accepts_names_and_files(capsys):
    for file in ("sim", str(config_path("pynq"))):
        assert main(["config", "check", file]) == 0
    assert "good; sim_1x16_i8w8a32_15_15_18_17" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"TARGET": None}, "key TARGET is missing"),
        ({"LOG_BLOCKS": 4}, "unknown key LOG_BLOCKS = 4"),
        ({"LOG_BATCH": "0"}, "LOG_BATCH = '0' is not an integer"),
        ({"LOG_BATCH": -1}, "LOG_BATCH = -1 is out of range; allowed: 0 to 6"),
        ({"TARGET": "moon"}, "TARGET = 'moon' is unknown; allowed: "),
        ({"LOG_ACC_BUFF_SIZE": 18}, "uop_word needs 34 bits and has 32"),
    ],
)
def test_check_refuses_naming_file_key_value_and_limit(changes, words, bad_config, capsys):
    file = bad_config(**changes)
    assert main(["config", "check", file]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"vta config: error: {file}: ")
    assert words in printed.err
    assert printed.err.count("\n") == 1


def test_list_names_the_shipped_configs(capsys):
    assert main(["config", "list", "--json"]) == 0
    configs = json.loads(capsys.readouterr().out)["configs"]
    assert configs["sim"] == "1x16_i8w8a32_15_15_18_17"
    assert main(["config", "list"]) == 0
    assert "intelfocl" in capsys.readouterr().out


def test_show_prints_the_config_and_what_follows_from_it(capsys):
    assert main(["config", "show", "pynq", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["config"] == json.loads(config_path("pynq").read_text())
    assert shown["inp_depth"] == 2048
    assert shown["multiply"] is False
    assert main(["config", "show", "pynq"]) == 0
    assert "xc7z020clg484-1" in capsys.readouterr().out
