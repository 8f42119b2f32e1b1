"""The pickled form of tuning records: six fields with tabs between them, four of which hold what a line of JSON holds.

Target, then base64 of pickles of the task, the schedule and the result, then the versions of the form and of the tool. A pickle
can name any function to be called. Here it may name the few classes that records have, and each becomes plain data; any other
name is refused. Pickles are written opcode by opcode, since the classes that they name are not installed.
"""

from __future__ import annotations

import base64
import binascii
import io
import pickle
import pickletools
import struct
from collections.abc import Mapping
from typing import Any

from vta.errors import TuningError
from vta.support.shorten import printable, shown

__all__ = ["from_pickled", "to_pickled"]

_LARGEST_FIELD = 1 << 20
"""Characters of one field: real ones have a few hundred."""
_MOST_SHARED = 10_000
_SPACE_MODULE = "tvm.autotvm.task.space"
_CONFIG = "ConfigEntity"
_ENTITIES = {
    "SplitEntity": ("sp", "size"),
    "OtherOptionEntity": ("ot", "val"),
    "AnnotateEntity": ("an", "anns"),
    "ReorderEntity": ("re", "perm"),
}
"""By class, the kind of knob in the JSON form, and the attribute with its value."""


def from_pickled(text: str) -> dict[str, Any]:
    """The values of a pickled line, as the JSON form has them. Raises `TuningError` naming the field that is no such thing."""
    target, task, config, result, version, _ = text.rstrip("\r\n").split("\t")
    name, args, kwargs = _expect(_loads("task", task), "task", 3)[:3]
    costs, error, all_cost, timestamp = _expect(_loads("result", result), "result", 4)[:4]
    try:
        number = float(version)
    except ValueError:
        raise TuningError(f"version {shown(version)} is not a number") from None
    return {
        "input": [target, name, args, kwargs],
        "config": _config(_loads("config", config)),
        "result": [costs, error, all_cost, timestamp],
        "version": number,
    }


def to_pickled(values: Mapping[str, Any]) -> str:
    """The pickled line, with its line break, of a record given as the values of the JSON form."""
    target, name, args, kwargs = values["input"]
    config, (costs, error, all_cost, timestamp) = values["config"], values["result"]
    knobs = {}
    for knob, kind, value in config["entity"]:
        for class_name, (known, attribute) in _ENTITIES.items():
            if known == kind:
                inner = list(value) if isinstance(value, tuple) and kind == "sp" else value
                knobs[knob] = _Object(_SPACE_MODULE, class_name, {attribute: inner})
    state = {
        **{"space_map": {}, "_collect": False, "_current": None, "_entity_map": _Ordered(knobs), "_constraints": []},
        **{"errors": [], "code_hash": config["code_hash"], "flop": 0, "cost": None, "is_fallback": False},
        **{"index": config["index"], "_space_map": None},
    }
    tupled = _tuples(args)
    fields = [
        [name, tupled, kwargs, (name, *tupled)],
        _Object(_SPACE_MODULE, _CONFIG, state),
        (tuple(costs), error, all_cost, timestamp),
    ]
    encoded = [base64.b64encode(_dumps(field)).decode() for field in fields]
    return "\t".join([target, *encoded, str(values["version"]), str(values["tvm_version"])]) + "\n"


class _Plain:
    """What an object of a pickle becomes: its class and its attributes."""

    name = ""

    def __init__(self) -> None:
        self.attributes: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):
            raise TuningError(f"{self.name}: its state is no dictionary")
        self.attributes = state


class _NumberType:
    """A NumPy data type of a number: its code, and then its byte order."""

    def __init__(self, code: Any, *_: Any) -> None:
        self.code = code
        self.order = "<"

    def __setstate__(self, state: Any) -> None:
        self.order = ">" if isinstance(state, tuple) and state[1:2] == (">",) else "<"


class _Number:
    """Makes a plain number of a NumPy one, as costs may be. A class, since a pickle could change what a function does."""

    def __new__(cls, kind: Any, data: Any) -> Any:
        """The number itself."""
        formats = {"f8": "d", "f4": "f", "i8": "q", "i4": "i"}
        if not isinstance(kind, _NumberType) or not isinstance(data, bytes) or kind.code not in formats:
            raise TuningError("a number has a data type that is not known")
        return struct.unpack(kind.order + formats[kind.code], data)[0]

    def __setstate__(self, state: Any) -> None:
        raise TuningError("a number has a state")


def _plain_class(name: str) -> type[_Plain]:
    return type(name, (_Plain,), {"name": name})


_ALLOWED: dict[tuple[str, str], type] = {
    **{(_SPACE_MODULE, name): _plain_class(name) for name in (_CONFIG, *_ENTITIES)},
    ("collections", "OrderedDict"): dict,
    **{(f"numpy.{core}.multiarray", "scalar"): _Number for core in ("core", "_core")},
    ("numpy", "dtype"): _NumberType,
}
"""All that a pickle may name, and what it gets."""


class _Reader(pickle.Unpickler):
    """Gives plain data: no name of a pickle is ever imported."""

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for; one that records do not have is refused."""
        if (module, name) not in _ALLOWED:
            raise TuningError(f"its pickle names {printable(f'{module}.{name}', 80)}, which no record has")
        return _ALLOWED[module, name]


def _loads(what: str, field: str) -> Any:
    if len(field) > _LARGEST_FIELD:
        raise TuningError(f"{what}: {len(field)} characters; allowed: up to {_LARGEST_FIELD}")
    try:
        data = base64.b64decode(field, validate=True)
        _check_memo(data)
        return _Reader(io.BytesIO(data)).load()
    except TuningError as error:
        raise TuningError(f"{what}: {error}") from None
    except binascii.Error as error:
        raise TuningError(f"{what}: not base64: {error}") from None
    except Exception as error:  # A broken pickle raises whatever its opcodes come upon.
        raise TuningError(f"{what}: not a pickle of a record: {type(error).__name__}: {printable(str(error), 100)}") from None


def _check_memo(data: bytes) -> None:
    """Refuse places in the memo that no record needs: the reader makes room for all places before one."""
    for opcode, place, _ in pickletools.genops(data):
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and isinstance(place, int) and not 0 <= place <= _MOST_SHARED:
            raise TuningError(f"its pickle has place {shown(place)} in the memo; allowed: up to {_MOST_SHARED}")


def _expect(value: Any, what: str, least: int) -> Any:
    if not isinstance(value, (list, tuple)) or len(value) < least:
        raise TuningError(f"{what}: a list of {least} or more entries is needed")
    return value


def _config(value: Any) -> dict[str, Any]:
    if not isinstance(value, _Plain) or value.name != _CONFIG:
        raise TuningError(f"config: it holds no {_CONFIG}")
    knobs = value.attributes.get("_entity_map")
    if not isinstance(knobs, dict):
        raise TuningError("config: _entity_map is no dictionary")
    index, code_hash = value.attributes.get("index"), value.attributes.get("code_hash")
    return {"index": index, "code_hash": code_hash, "entity": [_knob(name, knob) for name, knob in knobs.items()]}


def _knob(name: Any, knob: Any) -> list[Any]:
    if not isinstance(knob, _Plain) or knob.name not in _ENTITIES:
        raise TuningError(f"config: knob {shown(name)} is none of {', '.join(_ENTITIES)}")
    kind, attribute = _ENTITIES[knob.name]
    if attribute not in knob.attributes:
        raise TuningError(f"config: knob {shown(name)} has no {attribute}")
    return [name, kind, knob.attributes[attribute]]


class _Object:
    """An object to be written: class and attributes."""

    def __init__(self, module: str, name: str, state: dict[str, Any]) -> None:
        self.module, self.name, self.state = module, name, state


class _Ordered(dict[str, Any]):
    """A dictionary to be written as an ordered one."""


def _dumps(value: Any) -> bytes:
    """A pickle of protocol 2, which every Python reads."""
    return pickle.PROTO + b"\x02" + _opcodes(value) + pickle.STOP


def _opcodes(value: Any) -> bytes:
    if isinstance(value, _Object):
        return _global(value.module, value.name) + pickle.EMPTY_TUPLE + pickle.NEWOBJ + _opcodes(value.state) + pickle.BUILD
    if isinstance(value, _Ordered):
        made = _global("collections", "OrderedDict") + pickle.EMPTY_TUPLE + pickle.REDUCE
        return made + _items(value)
    if isinstance(value, dict):
        return pickle.EMPTY_DICT + _items(value)
    if isinstance(value, list):
        return pickle.EMPTY_LIST + pickle.MARK + b"".join(map(_opcodes, value)) + pickle.APPENDS
    if isinstance(value, tuple):
        return pickle.MARK + b"".join(map(_opcodes, value)) + pickle.TUPLE
    # Scalars have no names; what is left are the opcodes between the frame that `pickle` writes around them.
    return pickle.dumps(value, protocol=2)[2:-1]


def _items(values: dict[str, Any]) -> bytes:
    pairs = b"".join(_opcodes(key) + _opcodes(value) for key, value in values.items())
    return pickle.MARK + pairs + pickle.SETITEMS


def _global(module: str, name: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value
