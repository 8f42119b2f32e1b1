"""Ways to requantize as values of a sweep, and accuracy as what designs are judged by."""

import numpy as np
import pytest

from tests.tflite_models import small_net
from vta.errors import SweepError, VTAError
from vta.frontend import load_model
from vta.sweep.points import expand, points_of
from vta.sweep.ranking import rank, ranking_table
from vta.sweep.session import run_sweep
from vta.sweep.spec import load_spec


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec")
    (path / "net.tflite").write_bytes(small_net())
    (node,) = load_model(path / "net.tflite").inputs
    rng = np.random.default_rng(0)
    x = rng.integers(-128, 128, (40, *node.shape[1:]), dtype=np.int8)
    np.savez(path / "data.npz", x=x, y=rng.integers(0, 4, 40))
    return path


def spec_of(folder, more=""):
    path = folder / "s.yaml"
    path.write_text(
        "config: {LOG_BLOCK: [4, 9]}\ntiming: {bus_bits: [64, 96]}\nrequantise: [exact, shift]\n"
        f"nets: [{{model: net.tflite, samples: data.npz}}]\nweights: {{net.tflite: 3}}\n{more}"
    )
    return load_spec(path)


def test_ways_are_values_like_others(folder):
    spec = spec_of(folder)
    assert spec.weights == {"net.tflite": 3.0, "net.tflite~shift": 3.0}
    legal, illegal = expand(spec)
    assert [dict(design.values)["requantise"] for design in legal] == ["exact", "shift"]
    assert [entry.combinations for entry in illegal] == [2, 4]
    assert [point.workload for point in points_of(legal, spec.works)] == ["net.tflite", "net.tflite~shift"]


def test_fewer_cycles_for_more_errors(folder, tmp_path):
    result = run_sweep(spec_of(folder, "pareto: [cycles, accuracy]\n"), tmp_path, jobs=1)
    entries = {entry.values["requantise"]: entry for entry in rank(result)}
    assert entries["shift"].cycles < entries["exact"].cycles
    assert all(0 < entry.error <= 1 for entry in entries.values())
    assert entries["shift"].pareto
    assert "wrong" in ranking_table(rank(result)).headers


def test_accuracy_takes_samples(folder):
    spec = spec_of(folder, "objective: {accuracy: 1}\n")
    path = folder / "t.yaml"
    path.write_text("nets: [net.tflite]\npareto: [accuracy]\n")
    from vta.sweep.accuracy import Errors

    (design, *_), _ = expand(spec)
    assert Errors(spec).of(design) > 0
    with pytest.raises(SweepError, match="accuracy needs a network with samples"):
        Errors(load_spec(path)).of(design)
    ran = []
    with pytest.raises(SweepError, match="accuracy needs a network with samples"):
        run_sweep(load_spec(path), folder / "swept", watch=lambda *row: ran.append(row))
    (folder / "odd.npz").write_bytes(b"no archive")
    path.write_text("nets: [{model: net.tflite, samples: odd.npz}]\npareto: [accuracy]\n")
    with pytest.raises(VTAError, match=r"odd\.npz"):
        run_sweep(load_spec(path), folder / "swept", watch=lambda *row: ran.append(row))
    assert not ran
    assert not (folder / "swept").exists()
    path.write_text("nets: [{model: net.tflite, samples: none.npz}]\n")
    with pytest.raises(SweepError, match=r"samples = 'none\.npz'; allowed: a file of samples"):
        load_spec(path)
