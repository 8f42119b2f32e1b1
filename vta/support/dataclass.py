"""`dataclass` as the standard library has it, for modules that are imported by short commands.

The standard one compiles the source of six methods for each class, half a millisecond for each, and a command that imports
two hundred classes makes instances of a few of them. Here a method that depends on the fields is made when it is first called,
and the fields are made when they are first asked for.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

_Method = Callable[..., Any]

_FIELDS, _MATCHED, _PARAMETERS = "__dataclass_fields__", "__match_args__", "__dataclass_params__"
"""What the standard decorator makes of the fields of a class, and what it was called with."""
_FEW = 192
"""Instances that are made before it is worth to compile how."""
_NO_FIELDS = ("ClassVar", "InitVar", "KW_ONLY")
"""Annotations that make no field of their own have one of these in them; only the standard decorator tells which it is."""

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, eq: bool = True, repr: bool = True, kw_only: bool = False
    ) -> type | Callable[[type], type]:
        """Make a data class of `cls`; classes that inherit from it are to be made by this function too."""
        if cls is None:
            return lambda made: _made(made, frozen, eq, repr, kw_only)
        return _made(cls, frozen, eq, repr, kw_only)


def _made(cls: type, frozen: bool, eq: bool, shown: bool, kw_only: bool) -> type:
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # the standard one would take long to put the signature there
    own = dict(vars(cls))
    if dataclasses.Field in map(type, own.values()):
        _make_fields(cls, kw_only)  # which puts the defaults into their places
    else:
        for name in (_FIELDS, _MATCHED):
            setattr(cls, name, _MadeLater(cls, name, kw_only))
    methods: dict[str, Any] = {
        "__init__": _init_in_steps(cls),
        "__signature__": _Signature(),
    }
    if shown:
        methods["__repr__"] = _made_later(cls, "__repr__", _standard_repr)
    if eq:
        methods["__eq__"] = _made_later(cls, "__eq__", _equal)
        methods["__hash__"] = _made_later(cls, "__hash__", _hash) if frozen else None
    if frozen:
        methods.update(__setattr__=_refuse_to_set, __delattr__=_refuse_to_delete)
    if "__eq__" in own and own.get("__hash__") is None:
        del own["__hash__"]  # which Python itself set to None
    for name in methods.keys() - own.keys():
        setattr(cls, name, methods[name])
    return cls


def _make_fields(cls: type, kw_only: bool) -> None:
    """Do what the standard decorator does, without methods. Nothing is different if two threads do."""
    own = vars(cls).get("__annotations__", {})
    if all(_is_plain(vars(cls), name, kind) for name, kind in own.items()):
        _make_plain_fields(cls, own, kw_only)
    else:
        dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False, kw_only=kw_only)(cls)
    fields = dataclasses.fields(cls)
    setattr(cls, _MATCHED, tuple(field.name for field in fields if field.init and not field.kw_only))


def _is_plain(own: Mapping[str, Any], name: str, kind: Any) -> bool:
    """Whether a field is just a name, a type as a text, and perhaps a default that nothing changes.

    The standard decorator is asked about all others: it takes a tenth of a millisecond for a class, most of it to read the types.
    """
    if not isinstance(kind, str) or any(word in kind for word in _NO_FIELDS):
        return False
    default = own.get(name)
    if isinstance(default, dataclasses.Field):
        default = default.default
    return type(default).__hash__ is not None and not hasattr(default, "__get__")


def _make_plain_fields(cls: type, own: Mapping[str, str], kw_only: bool) -> None:
    made: dict[str, Any] = {}
    for base in cls.__mro__[:0:-1]:
        made.update(getattr(base, _FIELDS, {}))
    for name, kind in own.items():
        given = vars(cls).get(name, dataclasses.MISSING)
        field: Any = given if isinstance(given, dataclasses.Field) else dataclasses.field(default=given)
        if field is given:
            if field.default is dataclasses.MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, field.default)
        if field.kw_only is dataclasses.MISSING:
            field.kw_only = kw_only
        field.name, field.type, field._field_type = name, kind, _A_FIELD
        made[name] = field
    setattr(cls, _FIELDS, made)
    setattr(cls, _PARAMETERS, getattr(_One, _PARAMETERS))  # it asks for those of a base
    if sys.version_info >= (3, 13) and "__replace__" not in vars(cls):
        cls.__replace__ = dataclasses.replace  # type: ignore[attr-defined]


@dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)
class _One:
    """Has a text: the standard decorator would import a large module to write one."""

    field: int


_A_FIELD = _One.__dataclass_fields__["field"]._field_type  # type: ignore[attr-defined]
"""What the standard library puts into a field that is one."""


class _MadeLater:
    """An attribute of a class, and of those that inherit from it, that `_make_fields` puts into its place."""

    def __init__(self, cls: type, name: str, kw_only: bool) -> None:
        self._cls, self._name, self._kw_only = cls, name, kw_only

    def __get__(self, instance: object, owner: type) -> Any:
        _make_fields(self._cls, self._kw_only)
        return getattr(self._cls, self._name)


def _made_later(cls: type, name: str, make: Callable[[type], _Method]) -> _Method:
    """A method that puts the one that `make` gives for `cls` into its own place when it is first called."""

    def first(self: object, *arguments: Any, **named: Any) -> Any:
        method = make(cls)
        method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
        return method(self, *arguments, **named)

    first.__name__ = name
    first.__qualname__ = f"{cls.__qualname__}.{name}"
    return first


def _init_in_steps(cls: type) -> _Method:
    """An `__init__` that sets fields one by one for the first few instances, and then is compiled.

    Of most classes a command makes few, and compiling takes as long as two hundred of them.
    """
    left = _FEW
    plan: _Plan | None = None

    def init(self: object, *arguments: Any, **named: Any) -> None:
        nonlocal left, plan
        left -= 1
        if plan is None:
            plan = _Plan(cls)
        if left < 0 or not plan.set_fields(self, arguments, named):
            method = _init(cls)
            method.__name__, method.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
            cls.__init__ = method  # type: ignore[misc]
            method(self, *arguments, **named)

    init.__name__, init.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    return init


class _Plan:
    """How fields are set from the arguments of an `__init__`."""

    def __init__(self, cls: type) -> None:
        fields = dataclasses.fields(cls)
        self._fields = [(field.name, field.default, field.default_factory, field.init) for field in fields]
        self._in_order = [field.name for field in fields if field.init and not field.kw_only]
        self._all_in_order = len(self._in_order) == len(fields)
        self._is_checked = hasattr(cls, "__post_init__")

    def set_fields(self, instance: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
        """Set all; False, and none is set, where arguments do not fit: what they are refused with is not for here."""
        set_field, names = object.__setattr__, self._in_order
        if not named and self._all_in_order and len(arguments) == len(names):
            for name, value in zip(names, arguments):  # noqa: B905 - they are as many
                set_field(instance, name, value)
        else:
            values = self._values(arguments, named)
            if values is None:
                return False
            for name, value in values.items():
                set_field(instance, name, value)
        if self._is_checked:
            instance.__post_init__()
        return True

    def _values(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any] | None:
        """The values of all fields that get one; None where arguments do not fit."""
        values = dict(zip(self._in_order, arguments))  # noqa: B905 - there may be fewer
        taken = len(values)
        for name, default, factory, is_argument in self._fields:
            if name in named:
                if name in values or not is_argument:
                    return None
                values[name] = named[name]
                taken += 1
            elif name not in values:
                if default is not dataclasses.MISSING:
                    values[name] = default
                elif factory is not dataclasses.MISSING:
                    values[name] = factory()
                elif is_argument:
                    return None
        return values if taken == len(arguments) + len(named) else None


def _init(cls: type) -> _Method:
    """Sets each field to an argument or its default, which a frozen class refuses all others to do."""
    fields = dataclasses.fields(cls)
    defaults = {f"__default_{field.name}__": field for field in fields}
    known: dict[str, Any] = {"__set__": object.__setattr__, "__absent__": dataclasses.MISSING}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    body = []
    for name, field in defaults.items():
        value = field.name
        made = field.default_factory is not dataclasses.MISSING
        default = made or field.default is not dataclasses.MISSING
        known[name] = field.default_factory if made else field.default
        if field.init:
            parameters[field.kw_only is True].append(value + (f"={'__absent__' if made else name}" if default else ""))
            value = f"{name}() if {value} is __absent__ else {value}" if made else value
        elif made:
            value = f"{name}()"
        else:
            continue
        body.append(f" __set__(self, {field.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    listed = ", ".join(["self", *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])])
    exec("\n".join([f"def __init__({listed}):", *(body or [" pass"])]), known)
    method: _Method = known["__init__"]
    method.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    return method


def _equal(cls: type) -> _Method:
    """Compares what counts of two instances of one class, as the standard method does."""
    parts = _parts(field.name for field in dataclasses.fields(cls) if field.compare)

    def equal(self: Any, other: object) -> Any:
        return parts(self) == parts(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(cls: type) -> _Method:
    """Is equal for instances that are, as the standard method is."""
    counted = (field.name for field in dataclasses.fields(cls) if (field.compare if field.hash is None else field.hash))
    parts = _parts(counted)
    return lambda self: hash(parts(self))


def _parts(names: Iterable[str]) -> Callable[[object], tuple[Any, ...]]:
    """A function that returns the values of fields."""
    listed = tuple(names)
    return attrgetter(*listed) if len(listed) > 1 else lambda self: tuple([getattr(self, name) for name in listed])


def _standard_repr(cls: type) -> _Method:
    """The method that the standard library makes."""
    fields = [(field.name, field.type, field) for field in dataclasses.fields(cls)]
    # Without a text of its own the class would get its signature for one, which takes ten times as long as all the rest.
    made = dataclasses.make_dataclass(cls.__name__, fields, init=False, eq=False, namespace={"__doc__": cls.__doc__})
    method: _Method = made.__repr__
    return method


class _Signature:
    """The signature of a class, for `help` and for editors: that of the `__init__` that it will have."""

    def __get__(self, instance: object, owner: type) -> Any:
        import inspect

        made = next(cls for cls in owner.__mro__ if "__init__" in vars(cls))
        init = _init(made) if "__signature__" in vars(made) else vars(made)["__init__"]
        signature = inspect.signature(init)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
