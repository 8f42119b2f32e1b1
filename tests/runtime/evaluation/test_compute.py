"""Many samples by compiled kernels."""

import numpy as np

from vta.runtime.evaluation import compute
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.values.batches import interpret_batches


def test_kernels_give_what_the_references_give(module_builder, monkeypatch):
    monkeypatch.setattr(compute, "_WORTH_SECONDS", 0.0)
    module = module_builder()
    rng = np.random.default_rng(3)
    samples = {node.name: rng.integers(-9, 9, (5, *node.shape[1:])).astype(node.dtype) for node in module.graph.inputs}
    got = compute.compute_exactly(module, HostOptions(), samples, None)
    for ours, theirs in zip(got, interpret_batches(module.graph, samples), strict=True):
        np.testing.assert_array_equal(ours, theirs)
