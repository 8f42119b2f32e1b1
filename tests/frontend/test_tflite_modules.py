from importlib import import_module
from pathlib import Path

from vta.frontend.tflite import converters


def test_the_table_says_what_the_modules_convert():
    stems = sorted(path.stem for path in Path(converters.__file__).parent.glob("[a-z]*.py"))
    modules = {stem: import_module(f"vta.frontend.tflite.converters.{stem}") for stem in stems}
    found = {stem: set(module.CONVERTERS) for stem, module in modules.items()}
    assert {module: set(kinds) for module, kinds in converters._MODULES.items()} == found
    assert set(converters.CONVERTERS) == {kind for kinds in found.values() for kind in kinds}
    assert converters.CONVERTERS["CONV_2D"] is modules["weighted"].CONVERTERS["CONV_2D"]
    assert "NONSENSE" not in converters.CONVERTERS
