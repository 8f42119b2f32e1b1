"""Data classes behave as those of the standard library, which each case makes beside ours."""

import dataclasses
import inspect
import pickle
import subprocess
import sys
import typing  # noqa: F401 - an annotation below is a text that names it

import pytest

from vta.support.dataclass import dataclass


@pytest.fixture(params=[0, 192], autouse=True)
def _few(request, monkeypatch):
    """How many instances are made before the method that makes them is compiled."""
    monkeypatch.setattr(sys.modules["vta.support.dataclass"], "_FEW", request.param)


def cases(decorate):
    """The same classes, made by `decorate`."""

    @decorate(frozen=True)
    class Point:
        x: int
        y: int = 2
        names: list = dataclasses.field(default_factory=list, compare=False)
        values: int = dataclasses.field(default=5, repr=False)

    @decorate(frozen=True)
    class Place(Point):
        z: int = 7

        def __post_init__(self):
            object.__setattr__(self, "sum", self.x + self.y + self.z)

    @decorate(frozen=True, kw_only=True)
    class Keywords:
        a: int = 1
        b: int

    @decorate(eq=False)
    class Identity:
        a: int = 0
        made: dict = dataclasses.field(default_factory=dict, init=False)

    @decorate
    class Open:
        a: int = 0

    return Point, Place, Keywords, Identity, Open


@pytest.fixture(params=[dataclass, dataclasses.dataclass], ids=["ours", "standard"])
def made(request):
    return cases(request.param)


def test_values_defaults_and_keywords(made):
    point, place, keywords, identity, opened = made
    one, two = point(1), point(1)
    assert (one.x, one.y, one.names, one.values) == (1, 2, [], 5)
    assert one.names is not two.names
    assert place(1, z=3).sum == 6
    assert keywords(b=2) == keywords(a=1, b=2)
    assert identity().made == {}
    assert opened(3).a == 3
    wrongs = (point, lambda: point(1, q=2), lambda: point(1, x=2), lambda: point(y=2), lambda: point(1, 2, [], 5, 6))
    for wrong in (*wrongs, keywords, lambda: keywords(1, 2), lambda: identity(0, {}), lambda: identity(made={})):
        with pytest.raises(TypeError):
            wrong()


def test_equality_and_hash(made):
    point, place, _, identity, opened = made
    assert point(1, 2, [3]) == point(1, 2, [4])
    assert hash(point(1, 2, [3])) == hash(point(1, 2, [4])) == hash((1, 2, 5))
    assert point(1) != point(2)
    assert place(1) != point(1)
    assert point(1) != 1
    assert point(1).__eq__(1) is NotImplemented
    assert identity(1).__hash__() != identity(1).__hash__()
    assert opened(1) == opened(1) != opened(2)
    assert opened(float("nan")) != opened(float("nan"))
    assert identity(1) != identity(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(opened())


def test_text_names_class_and_fields(made):
    point, place, *_ = made
    assert repr(point(1)).endswith("Point(x=1, y=2, names=[])")
    assert repr(place(1)).endswith("Place(x=1, y=2, names=[], z=7)")


def test_frozen_ones_refuse_changes(made):
    point, place, _, _, opened = made
    for instance in (point(1), place(1)):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
            instance.x = 2
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
            del instance.x
    free = opened()
    free.a = 4
    assert free == opened(4)


def test_the_functions_of_the_standard_library_take_them(made):
    point, place, *_ = made
    assert dataclasses.replace(point(1), y=9) == point(1, 9)
    assert dataclasses.asdict(place(1)) == {"x": 1, "y": 2, "names": [], "values": 5, "z": 7}
    assert [field.name for field in dataclasses.fields(place)] == ["x", "y", "names", "values", "z"]
    match point(4):
        case point(x, y):
            assert (x, y) == (4, 2)


def test_fields_are_those_of_the_standard_library():
    for ours, standard in zip(cases(dataclass), cases(dataclasses.dataclass), strict=True):
        for left, right in zip(dataclasses.fields(ours), dataclasses.fields(standard), strict=True):
            assert [getattr(left, slot) for slot in _SLOTS] == [getattr(right, slot) for slot in _SLOTS]
        assert ours.__match_args__ == standard.__match_args__


_SLOTS = ("name", "type", "default", "init", "repr", "hash", "compare", "metadata", "kw_only")


@pytest.mark.parametrize("decorate", [dataclass, dataclasses.dataclass], ids=["ours", "standard"])
def test_annotations_that_make_no_field(decorate):
    namespace = {
        "__annotations__": {"shared": "typing.ClassVar[int]", "given": "dataclasses.InitVar[int]", "kept": "int"},
        "shared": 3,
        "__post_init__": lambda self, given: object.__setattr__(self, "sum", given + self.kept),
        "__module__": __name__,
    }
    made = decorate(frozen=True)(type("Made", (), namespace))
    assert [field.name for field in dataclasses.fields(made)] == ["kept"]


def test_a_default_that_is_changed_for_all_is_refused():
    with pytest.raises(ValueError, match="mutable default"):
        dataclasses.fields(dataclass(type("Made", (), {"__annotations__": {"values": "list"}, "values": []})))


def test_signatures_are_those_of_the_fields(made):
    point, place, keywords, *_ = made
    assert list(inspect.signature(place).parameters) == ["x", "y", "names", "values", "z"]
    assert inspect.signature(keywords).parameters["b"].kind is inspect.Parameter.KEYWORD_ONLY
    assert inspect.signature(point).parameters["y"].default == 2


@dataclass(frozen=True)
class Kept:
    """Pickled by its name."""

    value: int


def test_they_are_pickled():
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)


def test_methods_of_the_class_stay():
    @dataclass(frozen=True)
    class Own:
        a: int

        def __eq__(self, other):
            return True

        def __repr__(self):
            return "own"

        def __hash__(self):
            return 11

    assert Own(1) == Own(2)
    assert repr(Own(1)) == "own"
    assert hash(Own(1)) == 11


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="from 3.13 on the standard library compiles a text even for no method")
def test_none_of_it_is_written_before_an_instance_is_made():
    code = """
import builtins, dataclasses, inspect
from vta.support.dataclass import _FEW, dataclass
written = []
run = builtins.exec
builtins.exec = lambda *given: written.append(given) or run(*given)
@dataclass(frozen=True)
class Point:
    x: int = 0
assert not written
@dataclass(frozen=True, kw_only=True)
class Keywords:
    x: int
    y: int = 0
assert len({Keywords(x=1), Keywords(x=1, y=0), Keywords(x=2)}) == 2
assert not written
[Point() for _ in range(_FEW)]
assert not written
[Point() for _ in range(_FEW)]
assert len(written) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_class_with_types_for_annotations_inherits_from_one_with_texts():
    base = dataclass(frozen=True)(type("Base", (), {"__annotations__": {"one": "int"}, "__module__": __name__}))
    derived = dataclass(frozen=True)(type("Derived", (base,), {"__annotations__": {"two": int}, "__module__": __name__}))
    assert [field.name for field in dataclasses.fields(derived)] == ["one", "two"]
    assert derived(1, two=2) == derived(1, 2)
