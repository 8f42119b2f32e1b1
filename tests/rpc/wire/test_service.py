"""What servers tell of errors."""

import tempfile

from vta.errors import DeviceError
from vta.rpc.server.temp_dir import TempDir
from vta.rpc.wire.service import describe_error, reason_of


def test_the_folders_of_a_server_are_nothing_to_its_clients():
    folder = TempDir()
    try:
        path = folder.path / "3" / "made.bit"
        assert describe_error(DeviceError(f"{path}: no bitstream for part xck26")) == "made.bit: no bitstream for part xck26"
        assert reason_of(FileNotFoundError(2, "No such file", str(folder.path / "module.vta"))) == "module.vta: No such file"
        elsewhere = f"{tempfile.gettempdir()}/other/a.bit: damaged"
        assert describe_error(DeviceError(elsewhere)) == elsewhere
    finally:
        folder.close()
