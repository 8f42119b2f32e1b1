"""The compiler as a list of passes: run in parts, watched, dumped, and run again after a veto."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, conv, int8_clip, widened
from vta.codegen.dump import Level
from vta.codegen.tile_text import parse_region
from vta.compiler.compile import compile_graph, compile_model, lower_model, quantize_model
from vta.compiler.options import CompileOptions, OptionChanges
from vta.compiler.pipeline import PASSES, dump, pass_named, passes_between, passes_to_dump, run_passes
from vta.compiler.state import State
from vta.demo import model_path
from vta.errors import UsageError
from vta.frontend import load_model
from vta.ir.graph import Graph, call, graph_input
from vta.ir.printer import print_graph
from vta.passes.canonicalize import canonicalize
from vta.runtime import load, save

X = graph_input("x", (1, 16, 4, 4), "int8")


def layer(data, name):
    return int8_clip(conv(data, np.ones((16, data.shape[1], 1, 1)), name), name)


def small():
    """A convolution, an operator of the host, and one more convolution."""
    return Graph((X,), (layer(call("negative", [layer(X, "a")], "host"), "b"),))


def test_passes_have_names_of_their_own_and_sentences():
    names = [step.name for step in PASSES]
    assert len(set(names)) == len(names)
    assert all(step.summary.endswith(".") and "\n" not in step.summary for step in PASSES)


def test_levels_follow_each_other():
    levels = [list(Level).index(step.level) for step in PASSES]
    assert levels == sorted(levels)
    assert set(levels) == set(range(len(Level)))


def test_options_and_their_keywords_have_the_same_names():
    assert {field.name for field in fields(CompileOptions)} == OptionChanges.__annotations__.keys()


def test_options_may_be_given_as_a_value_or_as_keywords():
    by_value = compile_graph(small(), BASELINE, options=CompileOptions(serial=True, least_gain=0))
    by_keyword = compile_graph(small(), BASELINE, serial=True)
    for one, other in zip(by_value.regions, by_keyword.regions, strict=True):
        assert np.array_equal(one.program.instructions, other.program.instructions)


def test_the_parts_of_the_pipeline_give_what_the_whole_gives():
    graph = canonicalize(load_model(model_path()))
    whole = compile_model(model_path(), BASELINE)
    integer, layers = lower_model(model_path(), BASELINE)
    assert layers is None
    assert print_graph(integer) == print_graph(quantize_model(graph, BASELINE))
    parts = compile_graph(integer, BASELINE, least_gain=None)
    assert [np.array_equal(a.program.image, b.program.image) for a, b in zip(whole.regions, parts.regions, strict=True)] == [True]
    assert whole.placements == parts.placements


def test_start_and_stop_go_along_with_the_lowered_graph():
    _, layers = lower_model(model_path(), BASELINE, start="relu2", stop="average")
    assert layers is not None
    assert "conv3" in layers
    assert "conv2" not in layers


def test_watching_sees_each_pass_once_in_order():
    seen = []
    compile_model(model_path(), BASELINE, watch=lambda step, state: seen.append(step.name))
    assert seen == [step.name for step in PASSES]


def test_a_veto_runs_the_passes_from_the_partition_again():
    seen = []
    alone = Graph((X,), (call("nn.relu", [X], "alone"),))
    compiled = compile_graph(alone, BASELINE, least_gain=None, watch=lambda step, state: seen.append(step.name))
    assert compiled.regions == ()
    assert seen.count("partition") == seen.count("check_programs") == 2
    assert [reason.rule for reason in compiled.reasons] == ["does_not_pay"]
    assert seen[-1] == "place"


def test_every_pass_can_be_dumped_after_a_veto():
    texts = {}
    alone = Graph((X,), (call("nn.relu", [X], "alone"),))
    compile_graph(
        alone,
        BASELINE,
        least_gain=None,
        watch=lambda step, state: texts.setdefault(step.name, []).append(dump(state, step.level)),
    )
    assert [bool(text) for text in texts["schedule"]] == [bool(text) for text in texts["lower_to_tiles"]] == [True, False]


def test_progress_is_told_each_stage_once():
    told = []
    compile_model(model_path(), BASELINE, progress=told.append)
    assert told == ["importing", "quantising", "compiling"]


def test_any_pass_can_be_dumped():
    texts = {}
    compile_model(model_path(), BASELINE, watch=lambda step, state: texts.__setitem__(step.name, dump(state, step.level)))
    assert "nn.conv2d(image" in texts["import"]
    assert "qnn.requantize" in texts["quantize"]
    assert "qnn.requantize" not in texts["lower"]
    assert "target=vta" in texts["partition"]
    assert "conv2" in texts["lower_to_tiles"]
    assert "tile_co" in texts["schedule"]
    assert "; region region0" in texts["codegen"]


def test_levels_and_all_stand_for_passes():
    assert passes_to_dump(["graph", "tile", "isa"]) == {"quantize", "schedule", "codegen"}
    assert passes_to_dump(["all"]) == {step.name for step in PASSES}
    assert passes_to_dump(["lower", "integer"]) == {"lower", "wide_weights"}
    with pytest.raises(UsageError, match="there is no pass or level fold; there are import, canonicalize, "):
        passes_to_dump(["fold"])


def test_a_pass_is_found_by_its_name():
    assert pass_named("im2col").level == Level.INTEGER
    with pytest.raises(UsageError, match="there is no pass unroll; there are import, "):
        pass_named("unroll")


def test_passes_may_be_run_by_themselves():
    state = run_passes(State(hw=BASELINE, imported=small()), CompileOptions(), passes_between("inline", "partition"))
    assert [len(region.operators) for region in state.partitioned.regions] == [1, 1]
    assert state.tiles == ()


def test_a_module_dumps_its_levels_and_one_from_a_file_those_that_the_file_holds(tmp_path):
    compiled = compile_graph(small(), BASELINE)
    assert compiled.dump("integer") == print_graph(compiled.graph)
    assert "@vta_0" in compiled.dump("partition")
    assert 'region "region1" {' in compiled.dump("tile")
    with pytest.raises(UsageError, match="holds no level graph; it has integer, partition, tile and isa"):
        compiled.dump("graph")
    save(compiled, tmp_path / "net.vta")
    loaded = load(tmp_path / "net.vta")
    assert loaded.dump("isa") == compiled.dump("isa")
    assert loaded.dump("integer") == compiled.dump("integer")
    with pytest.raises(UsageError, match=r"a network from a \.vta file holds no level tile; it has integer and isa"):
        loaded.dump("tile")


def test_a_module_knows_the_rules_that_keep_operators_on_the_host():
    compiled = compile_graph(small(), BASELINE)
    (reason,) = compiled.reasons
    assert (reason.rule, reason.node.name) == ("no_template", "host")
    assert str(reason) == next(placement.reason for placement in compiled.placements if placement.where == "host")


def test_weights_are_packed_once_however_often_the_graph_is_partitioned():
    """A region that does not pay is taken out; the operators of the others are those of the first partition."""
    lone = call("nn.relu", [call("negative", [layer(X, "a")], "h1")], "lone")
    graph = Graph((X,), (layer(call("negative", [lone], "h2"), "b"),))
    kept = []
    compile_graph(graph, BASELINE, least_gain=None, watch=lambda step, state: kept.append(state.lowering))
    assert len({id(lowering) for lowering in kept if lowering is not None}) == 1


def test_an_added_tensor_is_part_of_the_text_of_tiles():
    added = int8_clip(call("add", [conv(X, np.ones((16, 16, 1, 1))), widened(X)], "add"), "sum")
    text = compile_graph(Graph((X,), (added,)), BASELINE).dump("tile")
    assert parse_region(text).region.operators[0].name == "conv"
