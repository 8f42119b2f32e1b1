"""`vta sweep`."""

import json

import pytest

from vta.bitstream import fits
from vta.bitstream.clock.estimate import KnownClock
from vta.cli.main import main

WORKLOAD = "conv2d_packed.vta:1x1x6x6x1x16:1x1x3x3x16x16:1x1:1x1x1x1:1x1"


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "s.yaml"
    path.write_text(f"config: {{LOG_BLOCK: [4, 5, 7]}}\nworkloads: [{WORKLOAD}]\n")
    return path


def test_what_scripts_rely_on_and_what_people_see(spec, tmp_path, capsys):
    assert main(["sweep", str(spec), "-o", str(tmp_path / "out"), "--json"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert [entry["config"]["LOG_BLOCK"] for entry in result["configs"]["legal"]] == [4, 5]
    (illegal,) = result["configs"]["illegal"]
    reason = "LOG_BLOCK = 7 is out of range; allowed: 2 to 6"
    assert illegal == {"values": {"LOG_BLOCK": 7}, "reason": reason, "combinations": 1}
    assert result["table"] == str(tmp_path / "out" / "sweep.csv")
    assert [(row["point"], row["status"]) for row in result["rows"]] == [(0, "ok"), (1, "ok")]
    assert (tmp_path / "out" / "sweep.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(entry["LOG_BLOCK"] for entry in result["ranking"]) == [4, 5]
    assert [(effect["key"], effect["before"], effect["after"]) for effect in result["effects"]] == [("LOG_BLOCK", 4, 5)]
    assert (tmp_path / "out" / "ranking.csv").read_text().startswith("rank,config,bus_bits,read_latency,LOG_BLOCK,cycles,")
    for words in ("illegal: LOG_BLOCK = 7: LOG_BLOCK = 7 is out of range", "3 combinations: 2 legal, 1 illegal; 2 points"):
        assert words in printed.err


def test_ctrl_c_leaves_a_table_that_goes_on(spec, tmp_path, capsys, monkeypatch):
    def interrupted(self, row):
        append(self, row)
        raise KeyboardInterrupt

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        from vta.sweep.table import Table

        append = Table.append
        patch.setattr(Table, "append", interrupted)
        assert main(["sweep", str(spec), "-o", str(out), "--jobs", "1"]) == 130
    assert len((out / "sweep.csv").read_text().splitlines()) == 2
    assert main(["sweep", str(spec), "-o", str(out)]) == 1
    assert "resume it, or name another directory (--resume)" in capsys.readouterr().err
    assert main(["sweep", str(spec), "-o", str(out), "--resume"]) == 0
    assert len((out / "sweep.csv").read_text().splitlines()) == 3


def test_a_core_that_is_slower_than_its_board_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(fits, "known_clock", lambda hw, board, timing: KnownClock(44.5, "estimated", 0.1))
    work = WORKLOAD.replace("16", "8")
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"base": "sim_1x8", "timing": {"bus_bits": 128}, "workloads": [work], "board": "ecpix5"}))
    assert main(["sweep", str(path), "-o", str(tmp_path / "out"), "--jobs", "1", "--json"]) == 0
    printed = capsys.readouterr()
    (entry,) = json.loads(printed.out)["ranking"]
    assert (entry["clock_mhz"], entry["fmax_mhz"], entry["fmax_source"]) == (44.5, 44.5, "estimated")
    words = f"slower than the 50 MHz that board ecpix5 is built for: {entry['config']} 44.5 MHz (estimated)\n"
    assert words in printed.err


def test_no_result_at_all_is_an_error(tmp_path, capsys):
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"workloads": [WORKLOAD.replace("1x1x6x6", "1x1x1x1").replace("1x1x1x1:1x1", "0x0x0x0:1x1")]}))
    assert main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 1
    assert "no point has a result; the first: failed: " in capsys.readouterr().err


def test_wrong_files(tmp_path, capsys):
    assert main(["sweep", str(tmp_path / "none.yaml"), "-o", str(tmp_path)]) == 2
    path = tmp_path / "s.yaml"
    path.write_text("trails: 3\n")
    assert main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 1
    assert f"{path}: unknown key trails = 3; allowed: base, config" in capsys.readouterr().err
