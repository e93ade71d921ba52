# python/ebb/strings.py -- StringTensor: text in the shape of a tensor, and what can be done to it.
#
# Text has no gradient and nothing here is an op: the elements are Python's str in an array of
# NumPy's, which owns storage, strides, views and broadcasting. Every op refuses such a tensor by
# name, since it is no Tensor. The way from text to numbers is hash(), length() or a vocabulary.
"""``StringTensor``; ``lower``, ``upper``, ``split``, ``length`` and ``hash`` of its elements."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import ebb
from ebb import _C

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

__all__ = ["StringTensor", "hash", "length", "lower", "split", "upper"]


class StringTensor:
    """Text in the shape of a tensor, on the CPU and without a gradient.

    Indexing as NumPy's gives views for integers, slices, ``None`` and ``...``, copies for tensors
    and lists; writing to a view writes to what it shows. Comparisons are of code points,
    broadcast, and give a bool Tensor.

    Args:
        data: A str, nested sequences of str, a NumPy array of text (bytes are read as UTF-8), or
            another StringTensor; always copied.
    Raises:
        TypeError: If an element is no text.
        ValueError: If nested sequences differ in length.
    Example:
        >>> words = ebb.StringTensor([["Now", "is"], ["the", "time"]])
        >>> ebb.strings.length(words[1]).tolist()
        [3, 4]
        >>> (words == "time").any().item()
        True
    """

    __slots__ = ("_array",)
    __array_ufunc__ = None  # `array == strings` is this class's affair

    # Which kind of tensor it is; exactly one is True of every tensor.
    is_string_tensor = True
    is_dense = is_sparse = is_sparse_csr = is_selected_rows = False

    dtype = "string"
    layout: Any = ebb.strided
    requires_grad = False

    def __init__(self, data: Any):
        self._array = _array_of(data)

    # What it is.

    @property
    def shape(self) -> ebb.Size:
        """The sizes."""
        return ebb.Size(self._array.shape)

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return self._array.ndim

    @property
    def device(self) -> ebb.device:
        """Always the CPU."""
        return ebb.device("cpu")

    @property
    def T(self) -> StringTensor:  # noqa: N802
        """The dims in reverse, as a view."""
        return _wrapped(self._array.T)

    def size(self, dim: int | None = None) -> ebb.Size | int:
        """Return the shape, or one size of it."""
        return self.shape if dim is None else self.shape[operator.index(dim)]

    def dim(self) -> int:
        """Return the number of dims."""
        return self._array.ndim

    def numel(self) -> int:
        """Return the number of elements."""
        return self._array.size

    def stride(self) -> tuple[int, ...]:
        """Return how many elements of the storage lie between neighbours of each dim."""
        return tuple(step // self._array.itemsize for step in self._array.strides)

    def is_contiguous(self) -> bool:
        """Whether the elements lie one behind the other, as ``stride`` of a new tensor says."""
        return self._array.flags.c_contiguous

    # Other forms.

    def view(self, *shape: int) -> StringTensor:
        """Return the same storage in another shape; one size may be -1.

        Raises:
            ShapeError: If the elements do not fit, or not without a copy.
        """
        import numpy as np

        seen = self.reshape(*shape)
        if self.numel() and not np.shares_memory(seen._array, self._array):
            raise _C.ShapeError(
                f"view: needs a layout that shape {list(seen.shape)} can show, got strides "
                f"{list(self.stride())} of shape {list(self.shape)}\nhint: reshape() copies"
            )
        return seen

    def reshape(self, *shape: int) -> StringTensor:
        """Return the elements in another shape: a view where that is possible, else a copy."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        try:
            return _wrapped(self._array.reshape(tuple(map(operator.index, sizes))))
        except ValueError:
            raise _C.ShapeError(
                f"reshape: shape must hold the {self.numel()} elements of input, got shape "
                f"{list(sizes)} and input of shape {list(self.shape)}"
            ) from None

    def clone(self) -> StringTensor:
        """Return a copy with a storage of its own."""
        return _wrapped(self._array.copy(order="C"))

    def item(self) -> str:
        """Return the one element."""
        if self.numel() != 1:
            raise _C.ValueError(f"item: needs a tensor of one element, got {list(self.shape)}")
        return self._array.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of str; a str if there are no dims."""
        return self._array.tolist()

    def numpy(self) -> np.ndarray:
        """Return a copy as an array of objects: in a shared one NumPy would store anything."""
        return self._array.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise _C.ValueError("__array__: needs copy=True, since text is always copied")
        return self._array.astype(dtype or object)  # astype copies

    # Elements.

    def __getitem__(self, key: Any) -> StringTensor:
        return _wrapped(self._part(_numpy_key(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        import numpy as np

        key, values = _numpy_key(key), _array_of(value)
        shape = list(self._part(key).shape)
        try:
            np.broadcast_to(values, shape)
        except ValueError:
            raise _C.ShapeError(
                f"index: the source must broadcast to shape {shape}, got {list(values.shape)}"
            ) from None
        self._array[key] = values

    def _part(self, key: tuple[Any, ...]) -> np.ndarray:
        try:
            return self._array[key]
        except IndexError as error:
            raise _C.IndexError(f"index: {error} (shape {list(self.shape)})") from None

    def __len__(self) -> int:
        if not self.ndim:
            raise _C.DTypeError("len: needs at least one dim, got a StringTensor without dims")
        return len(self._array)

    def __iter__(self) -> Iterator[StringTensor]:
        return (self[row] for row in range(len(self)))

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and bool((self._array == text).any())

    # Comparisons.

    def __eq__(self, other: object) -> Any:
        return self._compared("eq", operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._compared("ne", operator.ne, other)

    def __lt__(self, other: object) -> Any:
        return self._compared("lt", operator.lt, other)

    def __le__(self, other: object) -> Any:
        return self._compared("le", operator.le, other)

    def __gt__(self, other: object) -> Any:
        return self._compared("gt", operator.gt, other)

    def __ge__(self, other: object) -> Any:
        return self._compared("ge", operator.ge, other)

    __hash__ = object.__hash__  # of the object, as a Tensor's

    def _compared(self, name: str, compare: Callable[..., Any], other: object) -> Any:
        import numpy as np

        if not isinstance(other, str | StringTensor | list | tuple | np.ndarray):
            return NotImplemented
        theirs = _array_of(other)
        try:
            np.broadcast_shapes(self._array.shape, theirs.shape)
        except ValueError:
            raise _C.ShapeError(
                f"{name}: shapes must broadcast together, got {list(self.shape)} and "
                f"{list(theirs.shape)}"
            ) from None
        return ebb.from_numpy(np.asarray(compare(self._array, theirs), dtype=bool))

    def __repr__(self) -> str:
        import numpy as np

        shown = np.array2string(self._array, separator=", ", prefix="StringTensor(",
                                formatter={"all": repr}, threshold=1000)  # fmt: skip
        size = f", size={tuple(self.shape)}" if not self.numel() else ""
        return f"StringTensor({shown}{size})"


def lower(x: StringTensor) -> StringTensor:
    """Return each element in lower case, as Unicode says: ``str.lower``.

    Example:
        >>> ebb.strings.lower(ebb.StringTensor(["Now", "IS"])).tolist()
        ['now', 'is']
    """
    return _map(x, str.lower)


def upper(x: StringTensor) -> StringTensor:
    """Return each element in upper case, as Unicode says (``ß`` becomes ``SS``): ``str.upper``.

    Example:
        >>> ebb.strings.upper(ebb.StringTensor(["now", "is"])).tolist()
        ['NOW', 'IS']
    """
    return _map(x, str.upper)


def length(x: StringTensor, unit: str = "char") -> _C.Tensor:
    """Return how long each element is, as int64.

    Args:
        unit: "char" counts code points, "byte" the bytes of UTF-8.
    Raises:
        ValueError: For another unit.

    Example:
        >>> words = ebb.StringTensor(["now", "été"])
        >>> ebb.strings.length(words), ebb.strings.length(words, "byte")
        (tensor([3, 3]), tensor([3, 5]))
    """
    if unit not in ("char", "byte"):
        raise _C.ValueError(f"length: unit needs 'char' or 'byte', got {unit!r}")
    return _numbers(x, len if unit == "char" else lambda text: len(_utf8(text)))


def split(
    x: StringTensor, sep: str | None = None, maxsplit: int = -1
) -> tuple[StringTensor, _C.Tensor]:
    """Cut each element into pieces, as ``str.split`` does.

    Args:
        sep: What stands between pieces; None for any white space.
        maxsplit: The most cuts in one element; -1 for no limit.
    Returns:
        The pieces, in a new last dim as long as the most pieces of an element, "" behind an
        element's last; and how many each element has, as int64 of the shape of ``x``.
    Example:
        >>> pieces, counts = ebb.strings.split(ebb.StringTensor(["to be or", "not"]))
        >>> pieces.tolist(), counts.tolist()
        ([['to', 'be', 'or'], ['not', '', '']], [3, 1])
    """
    import numpy as np

    if sep == "":
        raise _C.ValueError("split: sep needs at least one character, got ''")
    array = _checked(x)
    pieces = [text.split(sep, maxsplit) for text in array.flat]
    most = max(map(len, pieces), default=0)
    table = np.full((len(pieces), most), "", object)
    for row, found in enumerate(pieces):
        table[row, : len(found)] = found
    counts = np.array(list(map(len, pieces)), np.int64).reshape(array.shape)
    return _wrapped(table.reshape(*array.shape, most)), ebb.from_numpy(counts)


def hash(x: StringTensor, buckets: int | None = None) -> _C.Tensor:
    """Return a number for each element, as int64: equal for equal text, in every process.

    BLAKE2b (RFC 7693) of the text in UTF-8, its first 8 bytes read with the lowest first.

    Args:
        buckets: If given, the numbers are from 0 to buckets - 1, such as rows of an embedding.
    Raises:
        ValueError: For less than one bucket.

    Example:
        >>> words = ebb.StringTensor(["now", "is", "now"])
        >>> rows = ebb.strings.hash(words, buckets=10)
        >>> bool(rows[0] == rows[2]), rows.shape
        (True, ebb.Size([3]))
    """
    import hashlib

    if buckets is not None and operator.index(buckets) < 1:
        raise _C.ValueError(f"hash: buckets needs at least 1, got {buckets}")

    def number(text: str) -> int:
        digest = hashlib.blake2b(_utf8(text), digest_size=8).digest()
        if buckets is None:
            return int.from_bytes(digest, "little", signed=True)
        return int.from_bytes(digest, "little") % buckets

    return _numbers(x, number)


# Arrays of str.


def _wrapped(array: np.ndarray) -> StringTensor:
    result = StringTensor.__new__(StringTensor)
    result._array = array
    return result


def _array_of(data: Any) -> np.ndarray:
    """Return a copy as an array of str."""
    import numpy as np

    if isinstance(data, StringTensor):
        return data._array.copy()
    try:
        array = np.array(data, object)
    except ValueError:  # NumPy takes rows of one length only
        raise _C.ValueError("StringTensor: needs sequences of one length in each dim") from None
    flat = array.reshape(-1)  # a view: the array is new
    for place, text in enumerate(flat):
        if isinstance(text, bytes):
            flat[place] = text.decode()
        elif isinstance(text, str):
            flat[place] = str(text)  # not NumPy's str_, nor another subclass
        else:
            at = [int(step) for step in np.unravel_index(place, array.shape)]
            is_ragged = isinstance(text, list | tuple)
            kind = "sequences of different lengths" if is_ragged else type(text).__name__
            raise _C.DTypeError(f"StringTensor: needs text, got {kind}{f' at {at}' if at else ''}")
    return array


def _checked(x: object) -> np.ndarray:
    if not isinstance(x, StringTensor):
        raise TypeError(f"needs a StringTensor, got {type(x).__name__}")
    return x._array


def _map(x: StringTensor, function: Callable[[str], str]) -> StringTensor:
    import numpy as np

    array = _checked(x)
    result = np.empty(array.shape, object)
    result.reshape(-1)[:] = [function(text) for text in array.flat]
    return _wrapped(result)


def _numbers(x: StringTensor, function: Callable[[str], int]) -> _C.Tensor:
    import numpy as np

    array = _checked(x)
    numbers = np.array([function(text) for text in array.flat], np.int64)
    return ebb.from_numpy(numbers.reshape(array.shape))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _numpy_key(key: Any) -> tuple[Any, ...]:
    """Return a key for NumPy that never gives a bare element: 0-d arrays are views."""
    parts = [part.numpy() if isinstance(part, _C.Tensor) else part
             for part in (key if isinstance(key, tuple) else (key,))]  # fmt: skip
    return tuple(parts) if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)
