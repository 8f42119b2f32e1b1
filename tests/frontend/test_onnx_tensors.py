"""Tensors in every stored form."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from vta.errors import ImportModelError
from vta.frontend.onnx.tensors import dtype_of, tensor_array


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int16", "int32", "int64", "bool"])
@pytest.mark.parametrize("raw", [True, False])
def test_types_that_stay(dtype, raw):
    value = np.array([[1, 0, 3], [0, 5, 100]]).astype(dtype)
    if raw:
        tensor = numpy_helper.from_array(value)
    else:
        tensor = helper.make_tensor("t", helper.np_dtype_to_tensor_dtype(value.dtype), value.shape, value.reshape(-1).tolist())
    got = tensor_array(tensor, None)
    assert got.dtype == dtype
    assert np.array_equal(got, value)


@pytest.mark.parametrize("code", [TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_all_floats_become_float32(code):
    tensor = helper.make_tensor("t", code, [3], [1.0, -0.5, 256.0])
    got = tensor_array(tensor, None)
    assert got.dtype == np.float32
    assert got.tolist() == [1.0, -0.5, 256.0]
    assert dtype_of(code) == "float32"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dims": [4]}, r"shape \(4,\) needs 4 values, the file has 3"),
        ({"dims": [-3]}, "negative"),
        ({"dims": [1 << 60, 8]}, "too large"),
        ({"data_type": TensorProto.STRING}, "element type STRING cannot be imported"),
        ({"data_type": 99}, "element type 99"),
        ({"raw_data": b"12345"}, "5 bytes are no whole number of float32"),
    ],
)
def test_wrong_tensors_are_named(change, message):
    tensor = numpy_helper.from_array(np.float32([1, 2, 3]), "weight")
    for field, value in change.items():
        if field == "dims":
            del tensor.dims[:]
            tensor.dims.extend(value)
        else:
            setattr(tensor, field, value)
    with pytest.raises(ImportModelError, match=f"tensor 'weight'.*{message}"):
        tensor_array(tensor, None)


def test_external_data_needs_a_file():
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    with pytest.raises(ImportModelError, match="the model is not a file"):
        tensor_array(tensor, None)
