"""Sessions of one server keep their own states."""

from __future__ import annotations

import numpy as np

from tests.integer_graphs import BASELINE
from tests.state_nets import frames, streaming_net
from vta.compiler.compile import compile_graph
from vta.ir.stream import evaluate_stream
from vta.runtime.compiled_module import save


def test_each_session_has_its_own_states(serve, take, tmp_path):
    graph = streaming_net(np.random.default_rng(0))
    data = frames(np.random.default_rng(1), graph, 4)
    expected = list(evaluate_stream(graph, ({"x": frame} for frame in data)))
    save(compile_graph(graph, BASELINE), tmp_path / "net.vta")
    serve("sim")
    for _ in range(2):
        with take() as session, session.load(tmp_path / "net.vta") as first, session.load(tmp_path / "net.vta") as second:
            got = first.run_frames(data[:2]).outputs["y"]
            np.testing.assert_array_equal(second.run(data[0]).outputs["y"], expected[0][0][0])
            checked = first.check(data[2])
            assert checked.bit_exact
            np.testing.assert_array_equal(got, [results[0] for results, _ in expected[:2]])
            np.testing.assert_array_equal(first.state["second"], expected[2][1]["second"])
            first.reset()
            np.testing.assert_array_equal(first.run(data[0]).outputs["y"], expected[0][0][0])
            np.testing.assert_array_equal(second.run(data[1]).outputs["y"], expected[1][0][0])
