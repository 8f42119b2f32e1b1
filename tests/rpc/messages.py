"""Messages of the protocol with arbitrary contents, and with such as are near to meaning something."""

from hypothesis import strategies as st

_INTEGERS = {13: (0, (1 << 32) - 1), 4: (0, (1 << 64) - 1), 17: (-(1 << 31), (1 << 31) - 1), 14: (0, 5)}
_DOUBLE, _BOOL, _STRING, _MESSAGE, _BYTES = 1, 8, 9, 11, 12

_KNOWN = ("", "0", "1", "0.busy", "0.timeline", "int8", "int64", "uint8", "O", "{}", "[]", "null", "sim", "cycle")
TEXTS = st.sampled_from(_KNOWN) | st.text(max_size=8)
NUMBERS = st.sampled_from([0, 1, 2, 3, 16, 1 << 31, (1 << 32) - 1, 1 << 63, (1 << 64) - 1])


def _values(field):
    if field.type == _DOUBLE:
        return st.floats()
    if field.type == _BOOL:
        return st.booleans()
    if field.type == _STRING:
        return TEXTS
    if field.type == _BYTES:
        return st.binary(max_size=40)
    low, high = _INTEGERS[field.type]
    return NUMBERS.filter(lambda value: low <= value <= high) | st.integers(low, high)


@st.composite
def messages(draw, kind, depth=3):
    """A message of a kind with some of its fields."""
    message = kind()
    for field in kind.DESCRIPTOR.fields:
        if not draw(st.booleans()):
            continue
        inner = field.message_type
        if inner is not None and (depth == 0 or inner.GetOptions().map_entry):
            continue
        repeated = hasattr(getattr(message, field.name), "extend")
        if inner is None:
            values = draw(st.lists(_values(field), max_size=3) if repeated else _values(field))
            if repeated:
                getattr(message, field.name).extend(values)
            else:
                setattr(message, field.name, values)
            continue
        given = messages(inner._concrete_class, depth - 1)
        if repeated:
            getattr(message, field.name).extend(draw(st.lists(given, max_size=3)))
        else:
            getattr(message, field.name).CopyFrom(draw(given))
    return message
