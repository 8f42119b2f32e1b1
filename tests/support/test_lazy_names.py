import subprocess
import sys

import pytest

import vta.frontend
import vta.quantization
import vta.runtime


@pytest.mark.parametrize("package", [vta.frontend, vta.quantization, vta.runtime], ids=lambda package: package.__name__)
def test_a_package_has_every_name_that_it_offers(package):
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nonsense'"):
        package.nonsense  # noqa: B018


def test_modules_are_imported_when_a_name_of_theirs_is_asked_for():
    code = """
import sys
import vta.runtime
assert "numpy" not in sys.modules
assert "vta.runtime.compiled_module" not in sys.modules
from vta.runtime import save
assert "vta.runtime.compiled_module" in sys.modules
assert "vta.runtime.module" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
