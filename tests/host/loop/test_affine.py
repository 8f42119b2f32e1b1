"""Quotients and rests that are sums, where the extents of loops say so."""

from hypothesis import given
from hypothesis import strategies as st

from vta.host.loop.affine import affine_of, step_along, without_divisions
from vta.host.loop.expression import Binary, Var, binary, index, substitute
from vta.host.loop.interpret import _value

EXTENTS = {"a": 5, "b": 4, "c": 16}


def line(constant, factors):
    total = index(constant)
    for name, factor in factors.items():
        total = binary("add", total, binary("mul", Var(name), index(factor)))
    return total


@given(
    st.integers(-40, 40), st.fixed_dictionaries({name: st.sampled_from([0, 1, 4, 16, -16, 32, 3]) for name in EXTENTS}), st.data()
)
def test_values_stay(constant, factors, data):
    at = {name: data.draw(st.integers(0, size - 1)) for name, size in EXTENTS.items()}
    for operation in ("floordiv", "mod"):
        whole = binary(operation, line(constant, factors), index(16))
        places = {name: index(value) for name, value in at.items()}
        want, got = (_value(substitute(item, places), {}, {}) for item in (whole, without_divisions(whole, EXTENTS)))
        assert got == want


def test_a_block_and_its_lane():
    whole = line(0, {"a": 16, "c": 1})
    assert affine_of(without_divisions(binary("floordiv", whole, index(16)), EXTENTS)).factors == {"a": 1}
    assert affine_of(without_divisions(binary("mod", whole, index(16)), EXTENTS)).factors == {"c": 1}
    assert isinstance(without_divisions(binary("mod", whole, index(8)), EXTENTS), Binary)


@given(st.integers(-5, 5), st.integers(-9, 9), st.integers(1, 5), st.integers(1, 5))
def test_the_step_along_a_variable(factor, constant, divisor, times):
    """A start that is no sum does not matter; what divides the variable has no step."""
    start = binary("mod", binary("floordiv", Var("a"), index(divisor)), index(3))
    moved = binary("add", binary("mul", Var("c"), index(factor)), index(constant))
    position = binary("mul", binary("sub", start, moved), index(times))
    step = step_along(position, "c")
    assert step == -factor * times
    first, second = (_value(substitute(position, {"a": index(7), "c": index(at)}), {}, {}) for at in (2, 3))
    assert second - first == step
    assert step_along(affine_of(moved), "c") == factor
    assert step_along(start, "a") is None
    assert step_along(binary("mul", Var("c"), Var("c")), "c") is None
