"""Files that hold large constants once: the same module comes out, and what an image cannot hold is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from vta.compiler import programs
from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.errors import ArtifactError
from vta.ir.interpreter import evaluate
from vta.runtime.artifact import vta_file
from vta.runtime.artifact.container import read_container, write_container
from vta.runtime.compiled_module import load, save

HW = HardwareConfig.named("sim")
BOXES = "regions/0/boxes"


@pytest.fixture(scope="module")
def module():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs, "_LARGE", 1 << 10)
        return compile_model("resnet8", HW)


@pytest.fixture
def path(module, tmp_path):
    save(module, tmp_path / "net.vta")
    return tmp_path / "net.vta"


def constants(module):
    return [node.value for node in module.graph.nodes() if node.value is not None]


def test_a_file_holds_large_constants_once(module, path):
    members = read_container(path)
    manifest = json.loads(members["manifest.json"])
    packed = [entry["array"] for entry in manifest["regions"][0]["packed"]]
    assert manifest["version"] == vta_file.PACKED_VERSION
    assert len(packed) == len(module.regions[0].packed) > 4
    assert not any(f"arrays/{name}" in members for name in packed)


def test_the_same_module_comes_out(module, path, tmp_path):
    loaded = load(path)
    for before, after in zip(constants(module), constants(loaded), strict=True):
        assert before.dtype == after.dtype
        assert not after.flags.writeable
        np.testing.assert_array_equal(before, after)
    image = np.random.default_rng(3).integers(-9, 9, (1, 3, 32, 32)).astype(np.float32)
    (name,) = (node.name for node in module.graph.inputs)
    np.testing.assert_array_equal(evaluate(loaded.graph, {name: image})[0], evaluate(module.graph, {name: image})[0])
    save(loaded, tmp_path / "again.vta")
    assert (tmp_path / "again.vta").read_bytes() == path.read_bytes()


def test_another_image_does_not_change_the_graph(module, tmp_path):
    region = module.regions[0]
    image = region.program.image.copy()
    image[region.program.symbol("constants").offset :] ^= 1
    save(replace(module, regions=(replace(region, program=replace(region.program, image=image)),)), tmp_path / "net.vta")
    loaded = load(tmp_path / "net.vta", verified=False)
    np.testing.assert_array_equal(loaded.regions[0].program.image, image)
    assert loaded.regions[0].packed == ()
    for before, after in zip(constants(module), constants(loaded), strict=True):
        np.testing.assert_array_equal(before, after)


def test_constants_of_few_bytes_leave_the_file_as_older_programs_read_it(tmp_path):
    save(compile_model("resnet8", HW), tmp_path / "net.vta")
    assert json.loads(read_container(tmp_path / "net.vta")["manifest.json"])["version"] == vta_file.FORMAT_VERSION


def packed_of(manifest):
    return manifest["regions"][0]["packed"]


FORGERIES = [
    (lambda m: packed_of(m)[0].update(array="other"), r"member 'arrays/.*' is missing"),
    (lambda m: packed_of(m)[0].update(array=packed_of(m)[1]["array"]), r"member 'arrays/.*' is missing"),
    (lambda m: packed_of(m).append(packed_of(m)[0]), r"is no array of int8 that the graph has, or is there twice"),
    (lambda m: packed_of(m)[0].update(blocks=[1, 1, 1, 1, 16, 16]), r"no constant of shape"),
    (lambda m: packed_of(m)[0].update(blocks=[1 << 40, 1, 1, 1, 16, 16]), r"more values than the image"),
    (lambda m: packed_of(m)[0].update(blocks=[]), r"no constant of shape"),
    (lambda m: packed_of(m)[0].update(boxes=10_000), r"more boxes than there are"),
    (lambda m: packed_of(m)[0].update(boxes=0), r"0 boxes of an image of \d+ bytes"),
    (lambda m: packed_of(m)[0].update(boxes=-1), r"more boxes than there are"),
    (lambda m: packed_of(m).clear(), r"member '(arrays/.*' is missing|regions/0/boxes' is unknown)"),
]


@pytest.mark.parametrize(("change", "message"), FORGERIES)
def test_wrong_manifests_are_refused(path, change, message):
    members = read_container(path)
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    write_container(path, {**members, "manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(ArtifactError, match=rf"net\.vta: .*{message}"):
        load(path)


def test_wrong_boxes_are_refused(path):
    members = read_container(path)
    for boxes, message in (
        (members[BOXES][:-8], r"\d+ numbers are no whole number of boxes"),
        (members[BOXES][:-1], r"not a whole number of <i8 elements"),
        (members[BOXES][:-72], r"more boxes than there are"),
        (bytes(len(members[BOXES])), r"boxes of an image of"),
        (b"\xff" * len(members[BOXES]), r"boxes of an image of"),
    ):
        write_container(path, {**members, BOXES: boxes})
        with pytest.raises(ArtifactError, match=message):
            load(path)
