"""Every schedule of a space computes what the kernel says, and fits the processor."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.autotune.auto.examples import LIMITS, MACHINE, convolutions, small_kernel, tasks_of
from tests.host.computes import random_arrays
from vta.autotune.auto.measure import run_arrays
from vta.autotune.auto.space import ScheduleSpace
from vta.autotune.auto.structure import structure_of
from vta.host.llvm.jit import compile_program
from vta.host.loop.interpret import evaluate_kernel, run_program
from vta.host.loop.size import local_bytes
from vta.ir import names as ops
from vta.ir.graph import call, graph_input

KERNEL = small_kernel()


@given(st.integers(0, 10_000), st.sampled_from([(2, 3, 1, 5), (1, 7, 2, 8), (3, 1, 3, 9)]))
@settings(max_examples=8, deadline=None)
def test_any_genome_gives_the_same_values(seed, sizes):
    rows, columns, channels, outputs = sizes
    kernel = small_kernel(rows=rows, columns=columns, channels=channels, outputs=outputs)
    space, rng = ScheduleSpace(kernel, MACHINE), np.random.default_rng(seed)
    genome = space.random(rng)
    other = space.mutated(space.crossed(genome, space.random(rng), rng), rng)
    arrays = random_arrays(kernel)
    for made in space.make_all([other]):
        np.testing.assert_array_equal(run_program(made.program, arrays), evaluate_kernel(kernel, arrays))
        assert local_bytes(made.program) <= LIMITS.local_bytes


def some_tasks():
    matrix, other = (graph_input(name, shape, "float32") for name, shape in (("a", (2, 12, 20)), ("b", (2, 20, 40))))
    image = graph_input("image", (1, 9, 10, 3), "float32")
    return {
        **{f"convolution {at}": task for at, task in enumerate(convolutions())},
        "product of matrices": tasks_of([call(ops.MATMUL, [matrix, other])], matrix, other)[0],
        "transpose": tasks_of([call(ops.TRANSPOSE, [image], axes=(0, 3, 1, 2))], image)[0],
        "softmax": tasks_of([call(ops.SOFTMAX, [matrix], axis=-1)], matrix)[0],
    }


@pytest.mark.parametrize("name", some_tasks())
def test_kernels_of_networks_give_what_their_default_gives(name):
    task, rng = some_tasks()[name], np.random.default_rng(7)
    arrays = run_arrays(task)
    want = compile_program(task.default).run(arrays)
    made = [task.space.make(task.space.random(rng)) for _ in range(2)]
    assert any(made), "some schedules are legal"
    for item in filter(None, made):
        np.testing.assert_allclose(compile_program(item.program).run(arrays), want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def test_choices_are_found_again():
    space = ScheduleSpace(KERNEL, MACHINE)
    genome = space.random(np.random.default_rng(1))
    assert space.genome(genome.sketch, space.choices(genome)) == genome
    assert space.genome("no sketch", {}) is None
    assert space.genome(genome.sketch, {**space.choices(genome), "step": 3}) is None


def test_tiles_fit_the_registers():
    space = ScheduleSpace(KERNEL, MACHINE)
    (sketch,) = space.sketches.values()
    choices = space.choices(space.random(np.random.default_rng(1)))
    large = {**choices, "tile.y": 4, "outer.y": 4, "tile.x": 6, "outer.x": 6}
    assert sketch.problem(large) == "the registers"
    assert sketch.problem({**choices, "tile.y": 2, "outer.y": 1}) == "a tile larger than the one around it"


def test_the_structure_names_what_feeds_a_reduction_and_what_reads_it():
    task = next(task for task in convolutions() if task.weight == 2)
    structure = structure_of(task.kernel)
    assert (structure.main.name, structure.reader.name, structure.turned) == ("sums", "result", None)
    assert [stage.name for stage in structure.producers] == ["prepared"]
    assert structure_of(small_kernel()).reader.name == "relu"
