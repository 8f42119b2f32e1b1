import numpy as np
import onnx

from vta.demo import PIXEL_MAX, load_digits, model_path


def test_held_out_images_and_calibration_images_differ():
    digits = load_digits()
    assert digits.x.shape == (360, 1, 8, 8)
    assert digits.y.shape == (360,)
    assert digits.calibration.shape == (64, 1, 8, 8)
    assert digits.x.max() == digits.calibration.max() == PIXEL_MAX
    held_out = {image.tobytes() for image in digits.x}
    assert not any(image.tobytes() in held_out for image in digits.calibration)
    assert np.bincount(digits.y).min() > 30


def test_the_network_is_small_and_has_a_residual_add_and_four_convolutions():
    assert model_path().stat().st_size < 300_000
    model = onnx.load(model_path())
    onnx.checker.check_model(model, full_check=True)
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("Conv") == 4
    assert {"Add", "MaxPool", "GlobalAveragePool", "Gemm", "BatchNormalization"} <= set(kinds)
