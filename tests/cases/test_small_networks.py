"""Small ONNX networks, cut up by the partition, quantised, compiled and run: every engine gives what the interpreter gives."""

import inspect
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import vta
from tests.cases._nets import SHIPPED, config
from tests.engines import ENGINES, open_engine
from tests.onnx_oracle import onnx_values
from vta.errors import UsageError
from vta.ir.interpreter import evaluate
from vta.isa.verify import verify
from vta.quantization import QuantizeConfig
from vta.report.layers import placement_rows
from vta.runtime import Module

QUANTIZE = QuantizeConfig(skip_conv_layers=())
NETWORKS = {}


class Net:
    """An ONNX model under construction, with random weights; values are named by number."""

    def __init__(self, channels, size=32):
        self.rng = np.random.default_rng(7)
        self.shape = (1, channels, size, size)
        self.nodes, self.constants, self.count = [], [], 0

    def op(self, kind, *inputs, name=None, **attributes):
        """Append a node; arrays among its inputs become constants. Returns its output."""
        self.count += 1
        names = []
        for index, value in enumerate(inputs):
            if isinstance(value, str):
                names.append(value)
                continue
            names.append(f"k{self.count}_{index}")
            self.constants.append(numpy_helper.from_array(np.asarray(value), names[-1]))
        output = f"v{self.count}"
        self.nodes.append(helper.make_node(kind, names, [output], name=name or f"{kind.lower()}{self.count}", **attributes))
        return output

    def conv(self, data, inp, out, kernel=3, name=None, groups=1, stride=1):
        fan_in = inp // groups * kernel * kernel
        weight = self.rng.standard_normal((out, inp // groups, kernel, kernel)) * np.sqrt(2 / fan_in)
        bias = self.rng.uniform(-0.2, 0.2, out)
        pads, arrays = [kernel // 2] * 4, (weight.astype(np.float32), bias.astype(np.float32))
        return self.op("Conv", data, *arrays, name=name, pads=pads, group=groups, strides=[stride, stride])

    def norm(self, data, channels, name=None):
        low, high = (0.8, -0.1, -0.1, 0.8), (1.2, 0.1, 0.1, 1.2)
        parts = [self.rng.uniform(a, b, channels).astype(np.float32) for a, b in zip(low, high, strict=True)]
        return self.op("BatchNormalization", data, *parts, name=name)

    def model(self, *outputs):
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, self.shape)
        ends = [helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None) for output in outputs]
        graph = helper.make_graph(self.nodes, "case", [x], ends, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


def network(build):
    """Name a network after the function that builds its model."""
    NETWORKS[build.__name__] = build
    return build


@network
def repeated_names():
    net = Net(16)
    value = net.op("Add", "x", "x", name="add")
    for _ in range(2):
        inner = net.norm(net.conv(value, 16, 16, name="conv"), 16, name="bn")
        value = net.op("Add", net.op("LeakyRelu", inner, name="leaky", alpha=0.1), value, name="add")
    return net.model(value)


@network
def small_u_net():
    net = Net(8)
    skip = net.op("Relu", net.conv("x", 8, 16))
    deep = net.op("Relu", net.conv(net.op("MaxPool", skip, kernel_shape=[2, 2], strides=[2, 2]), 16, 32))
    scales = np.float32([1, 1, 2, 2])
    up = net.op("Resize", deep, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return net.model(net.conv(net.op("Concat", up, skip, axis=1), 48, 1, kernel=1))


def inverted_residual(stride, out):
    net = Net(16)

    def activated(value):
        return net.op("Clip", value, np.float32(0), np.float32(6))

    wide = activated(net.conv("x", 16, 96, kernel=1))
    deep = activated(net.conv(wide, 96, 96, groups=96, stride=stride))
    value = net.conv(deep, 96, out, kernel=1)
    return net.model(net.op("Add", value, "x") if stride == 1 else value)


@network
def mobile_block():
    return inverted_residual(2, 24)


@network
def mobile_block_with_residual():
    return inverted_residual(1, 16)


@network
def two_heads():
    net = Net(16)
    body = net.op("Relu", net.conv("x", 16, 32))
    boxes = net.op("Transpose", net.conv(body, 32, 255, kernel=1), perm=[0, 2, 3, 1])
    back = net.op("Transpose", boxes, perm=[0, 3, 1, 2])
    return net.model(boxes, net.conv(back, 255, 18, kernel=1))


@network
def hundred_convolutions():
    net = Net(8, size=6)
    value = "x"
    for index in range(100):
        value = net.op("Relu", net.conv(value, 8, 8, name=f"layer{index}"))
    return net.model(value)


@network
def two_consumers():
    net = Net(16)
    value = net.conv("x", 16, 24)
    return net.model(net.conv(value, 24, 8, kernel=1), net.op("Relu", net.conv(value, 24, 20)))


@network
def detection_head():
    """255 channels as 3 anchors of 85 values."""
    net = Net(32, size=26)
    return net.model(net.op("Reshape", net.conv("x", 32, 255, kernel=1), np.int64([1, 3, 85, 26, 26])))


def compiled_for(tmp_path, name, hw, **options):
    """Compile the ONNX file of a network as a user does."""
    model = NETWORKS[name]()
    path = tmp_path / f"{name}.onnx"
    onnx.save(model, path)
    shape = tuple(dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim)
    samples = np.random.default_rng(3).standard_normal((4, *shape[1:])).astype(np.float32)
    module = vta.compile(path, hw, calibration={"x": samples}, quantize=QUANTIZE, least_gain=0, **options)
    return module, {"x": samples[:1]}


def assert_exact(module, inputs, engine="sim"):
    """The program is sound, and the device gives the bits of the interpreter, in any order."""
    for region in module.regions:
        assert verify(region.program) == []
    wanted = evaluate(module.graph, inputs)
    with Module(module, open_engine(engine, module.hw)) as loaded:
        for seed in (None, 1) if engine == "sim" else (None,):
            for want, got in zip(wanted, loaded.run(inputs, seed=seed).outputs, strict=True):
                np.testing.assert_array_equal(got, want)
        report = loaded.check(inputs)
    assert report.bit_exact, str(report.mismatch)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("case", [name for name in NETWORKS if name != "hundred_convolutions"])
def test_every_config_gives_what_the_interpreter_gives(tmp_path, case, name):
    assert_exact(*compiled_for(tmp_path, case, config(name)))


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "sim"])
@pytest.mark.parametrize("case", [name for name in NETWORKS if name != "hundred_convolutions"])
def test_every_engine_gives_what_the_interpreter_gives(tmp_path, case, engine):
    assert_exact(*compiled_for(tmp_path, case, config("sim")), engine)


@pytest.mark.parametrize("case", NETWORKS)
def test_quantized_results_follow_onnx_runtime(tmp_path, case):
    module, inputs = compiled_for(tmp_path, case, config("sim"))
    # ONNX Runtime asks for distinct names; none is no name.
    model = NETWORKS[case]()
    for node in model.graph.node:
        node.ClearField("name")
    # A hundred layers add up a hundred roundings.
    limit = 0.5 if case == "hundred_convolutions" else 0.1
    for want, got in zip(onnx_values(model, inputs), evaluate(module.graph, inputs), strict=True):
        assert got.shape == want.shape
        assert np.sqrt(np.mean((got - want) ** 2) / np.mean(want**2)) < limit


@pytest.mark.parametrize("case", NETWORKS)
def test_the_report_lists_each_operator_with_where_and_why(tmp_path, case):
    module, _ = compiled_for(tmp_path, case, config("sim"))
    listed = [(placement.layer, placement.op) for placement in module.placements]
    assert sorted(listed) == sorted((node.name, node.op) for node in module.graph.calls())
    for row in placement_rows(module):
        assert row.where in ("vta", "host")
        assert row.reason


@pytest.mark.parametrize("case", ["repeated_names", "small_u_net", "mobile_block", "mobile_block_with_residual", "two_consumers"])
def test_all_between_the_borders_is_one_region(tmp_path, case):
    module, _ = compiled_for(tmp_path, case, config("sim"))
    assert len(module.regions) == 1
    left = {placement.op for placement in module.placements if placement.where == "host"}
    # An addition of the input comes before all that is integer, an activation of an output after it; windows lay out the input.
    assert left <= {"qnn.quantize", "qnn.dequantize", "add", "nn.relu", "nn.windows"}


def test_names_that_repeat_are_numbered(tmp_path):
    module, _ = compiled_for(tmp_path, "repeated_names", config("sim"))
    names = [record.name for record in module.regions[0].operators]
    assert len(set(names)) == len(names)
    assert {name.partition("#")[0] for name in names} <= {"add", "conv", "leaky", "bn"}


@pytest.mark.parametrize(
    ("limits", "option"),
    [({"start": "no_such_layer"}, "start"), ({"stop": "no_such_layer"}, "stop"), ({"start": "nn.max_pool2d"}, "start")],
)
def test_names_that_do_not_exist_are_an_error_that_lists_those_that_do(tmp_path, limits, option):
    with pytest.raises(UsageError) as caught:
        compiled_for(tmp_path, "repeated_names", config("sim"), **limits)
    (wanted,) = limits.values()
    text = str(caught.value)
    assert text.startswith(f"{option} {wanted}: no operator or layer is called {wanted}")
    assert "operators: add, nn.bias_add, nn.conv2d, nn.leaky_relu" in text
    assert "layers: add, conv, " in text


def test_a_chain_of_100_convolutions_needs_no_recursion(tmp_path):
    module, inputs = compiled_for(tmp_path, "hundred_convolutions", config("sim"))
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 90)
    try:
        module, inputs = compiled_for(tmp_path, "hundred_convolutions", config("sim"))
        assert_exact(module, inputs)
    finally:
        sys.setrecursionlimit(before)
    (region,) = module.regions
    assert len(region.operators) == 100


def test_a_detection_head_has_its_shape(tmp_path):
    module, inputs = compiled_for(tmp_path, "detection_head", config("sim_1x32"))
    with Module(module, open_engine("sim", module.hw)) as loaded:
        (output,) = loaded.run(inputs).outputs
    assert output.shape == (1, 3, 85, 26, 26)
    assert output.size == 172380
