"""Constants that refer to the same bytes of a file: some may, and together they are no more than a few times the file."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.refusals import refusal
from vta.errors import ImportModelError
from vta.frontend import load_model
from vta.testing.parser_fuzz.tflite_seed import tflite_model

BYTES = 4 * 3 * 3 * 3 * 4


def external(path, copies, nbytes=BYTES):
    """A model whose convolutions share their weights in a file beside it."""
    names = [f"w{index}" for index in range(copies)]
    nodes = [helper.make_node("Conv", ["x", name], [f"y{name}"], pads=[1, 1, 1, 1]) for name in names]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 4, 4])]
    outputs = [helper.make_tensor_value_info(f"y{name}", TensorProto.FLOAT, None) for name in names]
    graph = helper.make_graph(nodes, "net", inputs, outputs)
    for name in names:
        tensor = graph.initializer.add(name=name, data_type=TensorProto.FLOAT, dims=[4, 3, 3, 3])
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="data.bin")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    (path.parent / "data.bin").write_bytes(np.arange(nbytes // 4, dtype="<f4").tobytes())
    return path


def test_tied_weights_are_read(tmp_path):
    assert len(load_model(external(tmp_path / "net.onnx", 4)).outputs) == 4


def test_external_data_is_not_far_more_than_its_file(tmp_path):
    words = rf"net\.onnx: tensors claim {5 * BYTES} bytes of external data 'data.bin'; the limit is {4 * BYTES}"
    with pytest.raises(ImportModelError, match=words):
        load_model(external(tmp_path / "net.onnx", 5))


def test_a_location_that_is_no_text(tmp_path):
    content = external(tmp_path / "net.onnx", 1).read_bytes()
    (tmp_path / "net.onnx").write_bytes(content.replace(b"data.bin", b"\xff\xfe\xfd.bin"))
    with pytest.raises(ImportModelError, match=r"net\.onnx"):
        load_model(tmp_path / "net.onnx")


def test_external_data_is_inside_its_file(tmp_path):
    with pytest.raises(ImportModelError, match=r"net\.onnx: tensor 'w0': external data data\.bin ends after 428 of 432 bytes"):
        load_model(external(tmp_path / "net.onnx", 1, BYTES - 4))


def test_external_data_is_a_regular_file(tmp_path):
    external(tmp_path / "net.onnx", 1)
    (tmp_path / "data.bin").unlink()
    (tmp_path / "data.bin").symlink_to("/dev/zero")
    with pytest.raises(ImportModelError, match=r"net\.onnx: tensor 'w0': external data"):
        load_model(tmp_path / "net.onnx")


@pytest.mark.parametrize(("shared", "fits"), [(2, True), (10, False)])
def test_tensors_of_tflite_share_buffers(shared, fits, tmp_path):
    (tmp_path / "net.tflite").write_bytes(tflite_model(500, shared))
    if fits:
        assert len(load_model(tmp_path / "net.tflite").outputs) == 1
        return
    with pytest.raises(ImportModelError, match=r"net\.tflite: constants claim \d+ bytes of a file of \d+; the limit is \d+"):
        load_model(tmp_path / "net.tflite")


def test_more_tensors_than_a_file_has_room_for(tmp_path):
    content = tflite_model()
    found = 0
    for at in range(8, len(content) - 4, 4):
        if content[at : at + 4] == (8).to_bytes(4, "little"):
            (tmp_path / "net.tflite").write_bytes(content[:at] + (1 << 20).to_bytes(4, "little") + content[at + 4 :])
            words = refusal(lambda: load_model(tmp_path / "net.tflite"), ImportModelError)
            found += f"lists 1048576 tensors; {len(content)} bytes have room for" in words
    assert found == 1
