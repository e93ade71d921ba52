# python/ebb/flags/__init__.py -- the settings of ebb: what they are, where they come from, setting
# them.
#
# The list is the library's (ebb/core/base/flags.h). A flag starts as its variable says: num_threads
# as EBB_NUM_THREADS. A variable EBB_... that no flag has, or whose value is none, is warned of when
# the package is imported.
"""``get``, ``set``, ``guard`` and ``table`` of ebb's flags; ``python -m ebb.flags`` prints them."""

from __future__ import annotations

import contextlib
import typing
import warnings
from collections.abc import Iterator, Mapping

from ebb import _C, errors

__all__ = ["Flag", "get", "guard", "set", "table"]

Value = bool | int | str


class Flag(typing.NamedTuple):
    """One flag, as it is now.

    Attributes:
        name: Such as "num_threads".
        type: bool, int or str.
        value: What holds now; of a flag that only tools of the project read, what they will see.
        default: What holds unless something else is said.
        source: "default", "environment" or "code".
        is_settable: Whether ``set`` takes it; others hold from the start.
        doc: What it does.

    Example:
        >>> flag = next(one for one in ebb.flags.table() if one.name == "detect_anomaly")
        >>> flag.type, flag.default, flag.is_settable
        (<class 'bool'>, False, True)
    """

    name: str
    type: type
    value: Value
    default: Value
    source: str
    is_settable: bool
    doc: str

    @property
    def variable(self) -> str:
        """The variable of the environment that it starts from."""
        return f"EBB_{self.name.upper()}"


def table() -> list[Flag]:
    """Return all flags, by name.

    Example:
        >>> [flag.name for flag in ebb.flags.table() if flag.type is bool][:2]
        ['bench_second_thread', 'cudnn']
    """
    return [
        Flag(name, _TYPES[kind], _read(kind, value), _read(kind, default), *rest)
        for name, kind, value, default, *rest in _C._flags()
    ]


def get(name: str) -> Value:
    """Return the value of a flag.

    Args:
        name: Its name, or its variable.
    Raises:
        KeyError: If there is no such flag.
    Example:
        >>> ebb.flags.get("kernel_fallback")
        True
    """
    return _find("get", name).value


def set(flags: Mapping[str, Value] | None = None, /, **more: Value) -> None:
    """Set flags by name: all, or none if one cannot be.

    Args:
        flags: Values by name or by variable.
        more: The same as keywords.
    Raises:
        KeyError: If there is no flag of a name.
        TypeError: If a value is not of its flag's type.
        ValueError: If a flag holds from the start, or does not take the value.
    Example:
        >>> ebb.flags.set({"kernel_fallback": True}, log=0)
    """
    _set("set", {**(flags or {}), **more})


@contextlib.contextmanager
def guard(flags: Mapping[str, Value] | None = None, /, **more: Value) -> Iterator[None]:
    """Set flags as ``set`` does, for the length of a ``with`` block.

    Example:
        >>> with ebb.flags.guard(num_threads=1):
        ...     ebb.get_num_threads()
        1
    """
    before = _set("guard", {**(flags or {}), **more})
    try:
        yield
    finally:
        _set("guard", before)


_TYPES: dict[str, typing.Any] = {"bool": bool, "int": int, "str": str}


def _read(kind: str, text: str) -> Value:
    if kind == "bool":
        return text == "true"
    return int(text) if kind == "int" and text.isdigit() else text


def _find(call: str, name: object) -> Flag:
    flags = {flag.name: flag for flag in table()}
    plain = name.lower().removeprefix("ebb_") if isinstance(name, str) else name
    if plain in flags:
        return flags[plain]
    import difflib

    near = difflib.get_close_matches(str(plain), flags, 1, 0.0)[0]
    raise errors.KeyError(
        f"{call}: needs the name of a flag, got {name!r}"
        f"\nhint: perhaps {near!r}; ebb.flags.table() has all"
    )


def _set(call: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """Set flags and return what they were."""
    found = {name: _find(call, name) for name in values}
    for name, flag in found.items():
        value = values[name]
        is_number = flag.type is str and type(value) is int  # the log's level may be 6 or "op:6"
        if type(value) is not flag.type and not is_number:
            raise _C.DTypeError(
                f"{call}: {flag.name} needs {flag.type.__name__}, got {type(value).__name__}"
            )
    before: dict[str, Value] = {}
    try:
        for name, flag in found.items():
            _C._set_flag(call, flag.name, _text(values[name]))
            before[flag.name] = flag.value
    except BaseException:
        for name, value in before.items():
            _C._set_flag(call, name, _text(value))
        raise
    return before


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _warn_of_environment() -> None:
    for text in _C._faults_of_environment():
        warnings.warn(text, stacklevel=2)
