# python/ebb/io/unpickler.py -- reads pickles of plain values, and runs nothing that they name.
#
# A pickle is a program for a small stack machine. This one knows the instructions that plain values
# need; where Python's would import a name and call it, it looks the name up in a table of what may
# be made (torch_names.py), and refuses every other. Start reading at Unpickler.load().
"""``Unpickler``, for the files of PyTorch."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO

MOST_BYTES_AT_ONCE = 1 << 20  # read in pieces, so that memory is taken as bytes arrive
# What names are called with they may copy, and a file can name one long value any number of times.
MOST_COPIED = 1 << 24  # elements and bytes, beside some for each byte of the file
MOST_COPIED_A_BYTE = 16
# Hashing a tuple recurses into those within, each as often as it is named.
MOST_PARTS, MOST_PARTS_OF_A_KEY, MOST_LEVELS_OF_A_KEY = 10_000, 100, 100


class RefusedError(Exception):
    """What a file holds that is not read, or not right."""


class Maker:
    """A name of the table: what it is called in files, and what is called for it.

    One that a program trusts may also be kept as it is, as a layer keeps its activation.
    """

    def __init__(self, name: str, make: Any, *, is_trusted: bool = False):
        self.is_trusted = is_trusted
        self.is_kept: bool = is_trusted or isinstance(make, type)
        self.name = name
        self.make = make  # if it is not callable, the value that the name stands for


class Unpickler:
    """Reads one object.

    Args:
        file: Where the pickle begins.
        find: Returns what stands for a module and a name, or raises ``RefusedError``.
        persistent: Returns what the file keeps elsewhere, such as the memory of a tensor.
        trusted: Classes whose objects may be given the state that the file holds.
    """

    def __init__(
        self,
        file: BinaryIO,
        find: Callable[[str, str], Maker],
        persistent: Callable[[Any], Any],
        trusted: tuple[type, ...] = (),
    ):
        self.trusted = trusted
        self._file = file
        self._find = find
        self._persistent = persistent
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []  # the stacks under each mark
        self._memo: dict[int, Any] = {}
        self._bytes_read = self._copied = 0

    def load(self) -> Any:
        """Return the object. Raises ``RefusedError``, or what Python raises over wrong operands."""
        while True:
            code = self._read(1)
            if code == b".":
                return _kept(self._pop())
            step = _STEPS.get(code)
            if step is None:
                raise RefusedError(f"its instruction {code!r} is none of plain values")
            step(self)

    # Reading.

    def _read(self, count: int) -> bytes:
        parts = []
        while count > 0:
            part = self._file.read(min(count, MOST_BYTES_AT_ONCE))
            if not part:
                raise RefusedError("it ends too early")
            parts.append(part)
            count -= len(part)
            self._bytes_read += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._read(struct.calcsize(form)))[0]

    def _line(self) -> str:
        line = self._file.readline(1 << 16)
        if not line.endswith(b"\n"):
            raise RefusedError("it ends too early")
        self._bytes_read += len(line)
        return line[:-1].decode()

    # The stack.

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        if not self._stack:
            raise RefusedError("it takes from an empty stack")
        return self._stack.pop()

    def _top(self, kind: type) -> Any:
        if not self._stack or type(self._stack[-1]) is not kind:
            raise RefusedError(f"it adds to what is no {kind.__name__}")
        return self._stack[-1]

    def _mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        if not self._below:
            raise RefusedError("it misses a mark")
        found, self._stack = self._stack, self._below.pop()
        return [_value(one) for one in found]

    # Numbers and texts.

    def _long(self) -> None:
        self._push(int.from_bytes(self._read(self._number("<B")), "little", signed=True))

    def _text(self, form: str) -> None:
        self._push(self._read(self._number(form)).decode("utf-8", "surrogatepass"))

    def _old_text(self, form: str) -> None:  # of Python 2: texts
        self._push(self._read(self._number(form)).decode("latin-1"))

    def _integer_line(self) -> None:
        line = self._line()
        self._push({"00": False, "01": True}.get(line) if line in ("00", "01") else int(line[:40]))

    # Containers.

    def _tuple(self, count: int) -> None:
        values = [_value(self._pop()) for _ in range(count)]
        self._push(tuple(reversed(values)))

    def _append(self) -> None:
        value = _kept(self._pop())
        self._top(list).append(value)

    def _appends(self) -> None:
        values = self._since_mark()
        self._top(list).extend(map(_kept, values))

    def _set_items(self, flat: list[Any]) -> None:
        target = self._stack[-1] if self._stack else None
        if not isinstance(target, dict) or len(flat) % 2:
            raise RefusedError("it adds pairs to what is no dict")
        check_hashed(flat[::2])
        target.update(zip(flat[::2], map(_kept, flat[1::2]), strict=True))

    def _set_item(self) -> None:
        value, key = _value(self._pop()), _value(self._pop())
        self._set_items([key, value])

    def _add_items(self) -> None:
        values = self._since_mark()
        check_hashed(values)
        self._top(set).update(values)

    def _frozen_set(self) -> None:
        values = self._since_mark()
        check_hashed(values)
        self._push(frozenset(values))

    def _filled_dict(self) -> None:
        flat = self._since_mark()
        self._push({})
        self._set_items(flat)

    # The memo.

    def _put(self, number: int) -> None:
        if not self._stack:
            raise RefusedError("it takes from an empty stack")
        self._memo[number] = self._stack[-1]

    def _get(self, number: int) -> None:
        if number not in self._memo:
            raise RefusedError("it names a value that it has not made")
        self._push(self._memo[number])

    # Names, and what is made by them.

    def _global(self) -> None:
        module = self._line()
        self._push(self._find(module, self._line()))

    def _global_of_stack(self) -> None:
        name, module = self._pop(), self._pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise RefusedError("it names what is no text")
        self._push(self._find(module, name))

    def _reduce(self) -> None:
        args, maker = self._pop(), self._pop()
        if not isinstance(maker, Maker) or not callable(maker.make) or type(args) is not tuple:
            raise RefusedError("it calls what is no name")
        self._count_copies(args)
        self._push(maker.make(*_operands(maker, args)))

    def _new(self) -> None:
        args, maker = self._pop(), self._pop()
        is_class = isinstance(maker, Maker) and isinstance(maker.make, type)
        if not is_class or type(args) is not tuple:
            raise RefusedError("it makes an object of what is no class")
        self._count_copies(args)
        self._push(maker.make.__new__(maker.make, *_operands(maker, args)))

    def _count_copies(self, args: tuple[Any, ...]) -> None:
        self._copied += sum(len(one) for one in args if isinstance(one, _COPIED))
        if self._copied > MOST_COPIED + MOST_COPIED_A_BYTE * self._bytes_read:
            raise RefusedError("it makes more of its values than it holds")

    def _build(self) -> None:
        state = _value(self._pop())
        target = self._stack[-1] if self._stack else None
        if type(target) is OrderedDict:
            if isinstance(state, Mapping) and "_metadata" in state:
                target._metadata = state["_metadata"]  # type: ignore[attr-defined]
        elif type(target) not in self.trusted:
            raise RefusedError(f"it changes the insides of a {type(target).__name__}")
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            slots = state[1] if isinstance(state, tuple) and len(state) == 2 else None
            vars(target).update((state if slots is None else state[0]) or {})
            for name, value in (slots or {}).items():
                setattr(target, name, value)

    def _keep_elsewhere(self) -> None:
        self._push(self._persistent(_value(self._pop())))


_COPIED = (str, bytes, bytearray, tuple, list, dict, set, frozenset)


def check_hashed(values: Iterable[Any]) -> None:
    """Refuse keys of dicts and elements of sets whose hash has no end, or needs a deep stack."""
    level = [one for one in values if type(one) is tuple]
    most = MOST_PARTS + MOST_PARTS_OF_A_KEY * len(level)
    parts = levels = 0
    while level:
        parts += sum(map(len, level))
        levels += 1
        if parts > most or levels > MOST_LEVELS_OF_A_KEY:
            raise RefusedError("it has a key of too many parts")
        level = [one for whole in level for one in whole if type(one) is tuple]


def told(value: Any) -> str:
    """Return a value as errors tell it: never what is in it, which may have no end."""
    if isinstance(value, (str, bytes)):
        return repr(value[:40])
    is_plain = value is None or isinstance(value, (bool, int, float))
    return repr(value)[:40] if is_plain else f"a {type(value).__name__}"


def _value(found: Any) -> Any:
    """Return what stands for itself; a name is its value, such as a dtype."""
    if not isinstance(found, Maker):
        return found
    return found if callable(found.make) else found.make


def _kept(found: Any) -> Any:
    """Return what a container holds; a name that is called is none of plain values."""
    if isinstance(found, Maker) and not found.is_kept:
        raise RefusedError(f"it keeps the name {found.name!r}")
    return found.make if isinstance(found, Maker) else found


def _operands(maker: Maker, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what to call a maker with; what a program trusts knows values, not names."""
    return tuple(map(_kept, args)) if maker.is_trusted else args


def _push_each(value: Callable[[], Any]) -> Callable[[Unpickler], None]:
    return lambda machine: machine._push(value())


def _pushed(form: str) -> Callable[[Unpickler], None]:
    return lambda machine: machine._push(machine._number(form))


def _pushed_bytes(form: str, kind: type = bytes) -> Callable[[Unpickler], None]:
    return lambda machine: machine._push(kind(machine._read(machine._number(form))))


_STEPS: dict[bytes, Callable[[Unpickler], Any]] = {
    b"\x80": lambda m: m._read(1),  # protocol
    b"\x95": lambda m: m._read(8),  # frame
    b"(": Unpickler._mark,
    b"0": lambda m: m._pop(),
    b"1": lambda m: m._since_mark(),
    b"N": _push_each(lambda: None),
    b"\x88": _push_each(lambda: True),
    b"\x89": _push_each(lambda: False),
    b"K": _pushed("<B"),
    b"M": _pushed("<H"),
    b"J": _pushed("<i"),
    b"G": _pushed(">d"),
    b"\x8a": Unpickler._long,
    b"I": Unpickler._integer_line,
    b"L": lambda m: m._push(int(m._line()[:40].rstrip("L"))),
    b"X": lambda m: m._text("<I"),
    b"\x8c": lambda m: m._text("<B"),
    b"\x8d": lambda m: m._text("<Q"),
    b"U": lambda m: m._old_text("<B"),
    b"T": lambda m: m._old_text("<I"),
    b"C": _pushed_bytes("<B"),
    b"B": _pushed_bytes("<I"),
    b"\x8e": _pushed_bytes("<Q"),
    b"\x96": _pushed_bytes("<Q", bytearray),
    b"}": _push_each(dict),
    b"]": _push_each(list),
    b")": _push_each(tuple),
    b"\x8f": _push_each(set),
    b"\x85": lambda m: m._tuple(1),
    b"\x86": lambda m: m._tuple(2),
    b"\x87": lambda m: m._tuple(3),
    b"t": lambda m: m._push(tuple(m._since_mark())),
    b"l": lambda m: m._push(m._since_mark()),
    b"d": Unpickler._filled_dict,
    b"\x91": Unpickler._frozen_set,
    b"a": Unpickler._append,
    b"e": Unpickler._appends,
    b"s": Unpickler._set_item,
    b"u": lambda m: m._set_items(m._since_mark()),
    b"\x90": Unpickler._add_items,
    b"q": lambda m: m._put(m._number("<B")),
    b"r": lambda m: m._put(m._number("<I")),
    b"\x94": lambda m: m._put(len(m._memo)),
    b"h": lambda m: m._get(m._number("<B")),
    b"j": lambda m: m._get(m._number("<I")),
    b"c": Unpickler._global,
    b"\x93": Unpickler._global_of_stack,
    b"R": Unpickler._reduce,
    b"\x81": Unpickler._new,
    b"b": Unpickler._build,
    b"Q": Unpickler._keep_elsewhere,
}
