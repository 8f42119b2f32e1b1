import subprocess
import sys

import pytest

from vta.frontend.tflite.schema import schema


def test_classes_are_those_of_the_package():
    import tflite

    for name in ("Model", "Padding", "Conv2DOptions", "BuiltinOperator"):
        assert schema(name) is getattr(tflite, name)


def test_one_that_is_not_there():
    with pytest.raises(ImportError, match="TFLite's schema has no Nonsense"):
        schema("Nonsense")


def test_the_package_can_be_imported_afterwards():
    code = "from vta.frontend.tflite.schema import schema; model = schema('Model'); import tflite; "
    code += "assert tflite.Model is model and tflite.SubGraphStart and tflite.TensorType.INT8 == 9"
    subprocess.run([sys.executable, "-c", code], check=True)
