"""PyTorch networks against PyTorch, and the files that are refused. What needs PyTorch is skipped where it is not installed."""

from __future__ import annotations

import json
import pickle
import sys
import zipfile

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from vta.compiler.compile import compile_model
from vta.devices.sim import SimDevice
from vta.errors import ImportModelError, UsageError
from vta.frontend import load_model
from vta.frontend.torch import load_torch
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate
from vta.runtime import Module


@pytest.fixture(scope="module")
def torch():
    pytest.importorskip("onnxscript", reason="needs the extra torch: pip install 'vta[torch]'")
    return pytest.importorskip("torch", reason="needs the extra torch: pip install 'vta[torch]'")


def networks(torch):
    """Networks by what is in them, with the shape of their input."""
    nn = torch.nn

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
            self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8))
            self.head = nn.Linear(8, 5)

        def forward(self, image):
            value = self.first(image)
            value = torch.relu(self.second(value) + value)
            return self.head(nn.functional.adaptive_avg_pool2d(value, 1).flatten(1))

    class Pyramid(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(3, 6, 3, stride=2, padding=1)
            self.up = nn.ConvTranspose2d(6, 6, 2, stride=2)

        def forward(self, image):
            low = nn.functional.leaky_relu(self.down(image), 0.1)
            wide = nn.functional.interpolate(low, scale_factor=2.0, mode="bilinear", align_corners=False)
            near = nn.functional.interpolate(low, scale_factor=2.0, mode="nearest")
            return torch.cat([wide, near, self.up(low)], 1)

    mobile = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.ReLU6(),
        nn.Conv2d(8, 8, 3, padding=1, groups=8),
        nn.Hardswish(),
        nn.Conv2d(8, 12, 1),
        nn.SiLU(),
        nn.MaxPool2d(2),
        nn.Dropout(),
        nn.Flatten(),
        nn.Linear(12 * 4 * 4, 4),
        nn.Softmax(1),
    )
    words = nn.Sequential(nn.Conv1d(4, 6, 3, padding=1), nn.GELU(), nn.LayerNorm(10), nn.AvgPool1d(2))
    return {
        "residual": (Residual(), (1, 3, 8, 8)),
        "pyramid": (Pyramid(), (1, 3, 8, 8)),
        "mobile": (mobile, (2, 3, 16, 16)),
        "words": (words, (2, 4, 10)),
    }


def trained(torch, name):
    """A network with statistics that are not those of a new one, in training mode."""
    torch.manual_seed(0)
    module, shape = networks(torch)[name]
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.uniform_(-1, 1)
            part.running_var.uniform_(0.5, 2)
    return module, torch.randn(shape)


def check(torch, graph, module, example):
    assert isinstance(graph, Graph)
    module.eval()
    want = module(example).detach().numpy()
    got = evaluate(graph, {graph.inputs[0].name: example.numpy()})[0]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["residual", "pyramid", "mobile", "words"])
def test_a_module_is_the_network_that_pytorch_runs(torch, name):
    module, example = trained(torch, name)
    graph = load_torch(module, (example,))
    assert module.training
    check(torch, graph, module, example)


def test_an_exported_program_and_its_file(torch, tmp_path):
    module, example = trained(torch, "residual")
    program = torch.export.export(module.eval(), (example,))
    check(torch, load_torch(program), module, example)
    torch.export.save(program, tmp_path / "net.pt2")
    graph = load_model(tmp_path / "net.pt2")
    assert graph.inputs[0].name == "image"
    check(torch, graph, module, example)


def test_an_exported_module_runs_on_the_accelerator(torch):
    module, example = trained(torch, "residual")
    compiled = compile_model(load_torch(module, (example,)), BASELINE, calibration={"image": example.numpy()})
    assert any(placement.where == "vta" for placement in compiled.placements)
    with Module(compiled, SimDevice(BASELINE)) as running:
        assert running.check({"image": example.numpy()}).bit_exact


def test_open_dimensions_get_a_shape(torch):
    module, example = trained(torch, "residual")
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(module.eval(), (torch.cat([example] * 2),), dynamic_shapes=({0: batch},))
    graph = load_torch(program, shapes={"image": (3, 3, 8, 8)})
    check(torch, graph, module, torch.cat([example] * 3))


@pytest.mark.parametrize("rows", [False, True])
def test_open_dimensions_of_a_file_get_a_shape(torch, tmp_path, rows):
    module, example = trained(torch, "residual")
    batch = {0: torch.export.Dim("batch", min=2), **({2: torch.export.Dim("rows", min=4, max=64)} if rows else {})}
    program = torch.export.export(module.eval(), (torch.cat([example] * 2),), dynamic_shapes=(batch,))
    torch.export.save(program, tmp_path / "net.pt2")
    graph = load_model(tmp_path / "net.pt2", {"image": (3, 3, 8, 8)})
    check(torch, graph, module, torch.cat([example] * 3))


def test_what_pytorch_cannot_export_is_said(torch):
    class Branch(torch.nn.Module):
        def forward(self, x):
            return x if float(x.sum()) > 0 else -x

    with pytest.raises(ImportModelError, match=r"^Branch: PyTorch cannot export it: \w+"):
        load_torch(Branch(), (torch.ones(2),))


def test_operators_that_are_missing_here_are_listed(torch):
    class Volume(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.det(x)

    with pytest.raises(ImportModelError, match="Volume: cannot import 1 node"):
        load_torch(Volume(), (torch.ones(3, 3),))


def test_what_pytorch_cannot_convert_is_said(torch):
    class Distances(torch.nn.Module):
        def forward(self, x):
            return torch.cdist(x, x)

    with pytest.raises(ImportModelError, match=r"^Distances: PyTorch cannot convert it to ONNX: \w+: No ONNX function.*_cdist"):
        load_torch(Distances(), (torch.ones(2, 3),))


@pytest.mark.parametrize("divisor", [None, 5])
def test_an_average_with_another_divisor_is_refused(torch, divisor):
    class Average(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.avg_pool2d(x, (2, 3), divisor_override=divisor)

    example = torch.randn(1, 2, 6, 6)
    if divisor is None:
        return check(torch, load_torch(Average(), (example,)), Average(), example)
    with pytest.raises(ImportModelError, match="Average: avg_pool2d: divisor_override=5 of an average"):
        load_torch(Average(), (example,))


@pytest.mark.parametrize(
    ("argument", "message"), [("module", "needs example_inputs"), ("text", "or an exported program, got str")]
)
def test_arguments_that_do_not_fit(torch, argument, message):
    with pytest.raises(UsageError, match=message):
        load_torch(torch.nn.ReLU() if argument == "module" else "net.onnx")


def test_how_to_install_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(UsageError, match=r"onnxscript is not installed: pip install 'vta\[torch\]'"):
        load_torch(object())


@pytest.mark.parametrize("suffix", [".pth", ".pt", ".ckpt"])
def test_a_pickled_file_is_refused_with_what_to_do(tmp_path, suffix):
    path = tmp_path / f"net{suffix}"
    path.write_bytes(pickle.dumps({"weight": 1}))
    with pytest.raises(ImportModelError, match=r"is pickled.*load_torch.*torch\.export\.save"):
        load_model(path)


def archive(path, documents):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("net/archive_format", "pt2")
        for name, document in documents:
            file.writestr(f"net/{name}", document if isinstance(document, str) else json.dumps(document))
    return path


PICKLED = {"config": {"w": {"path_name": "weight_0", "use_pickle": True}}}
OBJECT = {"config": {"o": {"path_name": "opaque_obj_0", "use_pickle": False}}}
SIZES = [
    "__import__('os').system('true')",
    "open('passwd')",
    "Symbol(open('passwd'))",
    "Symbol('s0', eval('x'))",
    "Symbol('s0').free_symbols",
    "xSymbol('s0')",
    "Symbol('a', positive=True) + 'b'",
]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([("data/weights/model_weights_config.json", PICKLED)], "weight_0 is a pickled object"),
        ([("data/constants/model_constants_config.json", OBJECT)], "opaque_obj_0 is a pickled object"),
        *([([("models/model.json", {"sizes": [{"as_expr": {"expr_str": size}}]})], "is no size of a tensor") for size in SIZES]),
        ([("models/model.json", "{")], "not a file of torch.export.save, or damaged"),
        ([("models/model.json", "[" * 100_000)], "not a file of torch.export.save, or damaged"),
    ],
)
def test_a_file_that_could_run_code_is_refused_before_pytorch_sees_it(tmp_path, documents, message, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    path = archive(tmp_path / "net.pt2", documents)
    with pytest.raises(ImportModelError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def test_sizes_that_were_left_open_are_no_reason_to_refuse_a_file(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    size = "Mul(Integer(2), Symbol('s39', positive=True, integer=True))"
    path = archive(tmp_path / "net.pt2", [("models/model.json", {"sizes": [{"as_expr": {"expr_str": size}}]})])
    with pytest.raises(UsageError, match="needs PyTorch"):
        load_model(path)


@pytest.mark.parametrize("content", [b"", b"PK", b"hello" * 100])
def test_garbage_is_no_exported_program(tmp_path, content):
    path = tmp_path / "net.pt2"
    path.write_bytes(content)
    with pytest.raises(ImportModelError, match=r"net\.pt2: not a file of torch\.export\.save"):
        load_model(path)


def test_a_zip_of_something_else_is_no_exported_program(tmp_path):
    path = tmp_path / "net.pt2"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("readme.txt", "hello")
    with pytest.raises(ImportModelError, match=r"not a file of torch\.export\.save"):
        load_model(path)
