import json
import re

import pytest

from vta.boards.files import find_board
from vta.config.files import config_path, shipped_configs
from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError


def test_every_shipped_config_loads_by_name():
    names = shipped_configs()
    assert {"sim", "cycle", "pynq", "ultra96", "zcu104", "de10nano", "intelfocl"} <= set(names)
    assert all(HardwareConfig.named(name).target for name in names)


def test_a_board_and_its_config_may_be_spelled_alike():
    assert HardwareConfig.named("de10-nano") == HardwareConfig.named("de10nano")
    assert find_board("de10-nano") == find_board("de10nano")


def test_a_path_is_loaded_as_it_is(tmp_path):
    values = json.loads(config_path("sim").read_text())
    values["LOG_BATCH"] = 1
    path = tmp_path / "wide.json"
    path.write_text(json.dumps(values))
    assert HardwareConfig.named(path).batch == 2
    assert HardwareConfig.named(str(path)).batch == 2


def test_a_shipped_name_wins_over_a_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim").write_text("{}")
    assert HardwareConfig.named("sim").target == "sim"


def test_an_unknown_name_lists_the_shipped_ones():
    listed = ", ".join(shipped_configs())
    with pytest.raises(
        ConfigError, match=re.escape(f"nowhere: no such config file, and no shipped config of this name; shipped: {listed}")
    ):
        HardwareConfig.named("nowhere")


def test_a_bad_file_is_refused_by_name_and_key(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text("{}")
    with pytest.raises(ConfigError, match=r"bad\.json: key TARGET is missing"):
        HardwareConfig.named(path)
