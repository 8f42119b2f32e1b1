"""`vta completion`."""

import shutil
import subprocess
import sys

import pytest

from vta.cli.commands.machines.completion import SHELLS
from vta.cli.main import COMMANDS, main


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_name_all_commands(shell, capsys):
    pytest.importorskip("shtab", reason="needs the extra completion")
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)
    assert "timing-only" in text


def test_bash_completes_with_it(capsys, tmp_path):
    pytest.importorskip("shtab", reason="needs the extra completion")
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "vta.bash"
    script.write_text(capsys.readouterr().out)
    ask = f'. {script}; COMP_WORDS=(vta rep); COMP_CWORD=1; _shtab_vta vta rep vta; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run([bash, "-c", ask], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["report"]


def test_without_the_package_it_is_said_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'vta[completion]'" in capsys.readouterr().err
