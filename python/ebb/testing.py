# python/ebb/testing.py -- ebb.testing: assert_close, for programs' own tests.
#
# Containers are compared entry by entry; what is compared at last are tensors, made of numbers and
# arrays where they are none. Start reading at assert_close().
"""``ebb.testing.assert_close``: two results agree within tolerances of their dtypes.

>>> ebb.testing.assert_close(ebb.tensor([1.0, 2.0]), ebb.tensor([1.0, 2.0 + 1e-6]))
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import ebb
from ebb._base import naming as _naming
from ebb._base.arguments import check_depth
from ebb._C import Tensor
from ebb.errors import DTypeError, ValueError

__all__ = ["assert_close"]

_NARROW = (1.3e-6, 1e-5)
_TOLERANCES = {  # relative and absolute; 0 for all others
    ebb.float16: (1e-3, 1e-5),
    ebb.bfloat16: (1.6e-2, 1e-5),
    ebb.float32: _NARROW,
    ebb.float64: (1e-7, 1e-7),
    ebb.complex64: _NARROW,
    ebb.complex128: (1e-7, 1e-7),
}


class _Options(NamedTuple):
    """What assert_close() was asked for."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        """Return those that were given, or the wider ones of the dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(one[0] for one in known), max(one[1] for one in known)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise an error unless all of ``actual`` is near ``expected``.

    An element is near if it differs by at most ``atol + rtol * abs(expected)``. Unless given, both
    are as for the dtypes: 1.3e-6 and 1e-5 for float32, 1e-7 both for float64, 0 for integers.

    Args:
        actual: A tensor or what ``ebb.as_tensor`` takes; or a sequence or mapping of such.
        expected: The same.
        allow_subclasses: Whether the classes may differ; else tensors need one class.
        rtol: Relative tolerance; give both or none.
        atol: Absolute tolerance.
        equal_nan: Whether NaN is near NaN.
        check_device: Whether devices must be the same.
        check_dtype: Whether dtypes must be.
        check_layout: Whether layouts must be.
        check_stride: Whether strides must be.
        msg: What the error says, or a function of what it would say.
    Raises:
        AssertionError: If they are not close; it says where, how many and by how much.
        ValueError: If one tolerance is given without the other.
    Example:
        >>> try:
        ...     ebb.testing.assert_close(ebb.tensor([1.0, 2.0]), ebb.tensor([1.0, 2.5]))
        ... except AssertionError as error:
        ...     print(str(error).splitlines()[0])
        assert_close: 1 of 2 elements differ (50.0%)
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"assert_close: needs both rtol and atol or none of them, got {rtol} and {atol}"
        )
    if not (msg is None or isinstance(msg, str) or callable(msg)):
        raise DTypeError(f"assert_close: msg needs a text or a function, got {type(msg).__name__}")
    options = _Options(rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    complaint = _difference(actual, expected, options, "", allow_subclasses, 0)
    if not complaint:
        return
    text = f"assert_close: {complaint}"
    raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg)


def _difference(
    actual: Any, expected: Any, options: _Options, where: str, mixed: bool, level: int
) -> str:
    """Return what is wrong, or "" if nothing is."""
    check_depth("assert_close", level)
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        if set(actual) != set(expected):
            return f"keys differ{_at(where)}: {list(actual)[:9]} and {list(expected)[:9]}"
        keys: Any = list(expected)
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"lengths differ{_at(where)}: {len(actual)} and {len(expected)}"
        keys = builtins.range(len(expected))
    else:
        return _difference_of_leaves(actual, expected, options, where, mixed)
    for key in keys:
        inner = f"{where}[{key!r}]"
        found = _difference(actual[key], expected[key], options, inner, mixed, level + 1)
        if found:
            return found
    return ""


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _at(where: str) -> str:
    return f" at {where}" if where else ""


def _difference_of_leaves(
    actual: Any, expected: Any, options: _Options, where: str, mixed: bool
) -> str:
    if actual is None or expected is None or isinstance(expected, (str, bytes)):
        is_same = type(actual) is type(expected) and actual == expected
        return "" if is_same else f"{actual!r} is not {expected!r}{_at(where)}"
    if not mixed and type(actual) is not type(expected):
        kinds = f"{type(actual).__name__} and {type(expected).__name__}"
        return f"classes differ{_at(where)}: {kinds}"
    are_numbers = not isinstance(actual, Tensor) and not isinstance(expected, Tensor)
    lhs, rhs = _tensor_of(actual), _tensor_of(expected)
    if are_numbers and not hasattr(actual, "dtype"):  # Python's, whose types may differ
        options = options._replace(check_dtype=False)
        if options.rtol is None and type(actual) is type(expected):
            lhs, rhs = (one.double() if one.is_floating_point() else one for one in (lhs, rhs))
    return _difference_of_tensors(lhs, rhs, options, where)


def _tensor_of(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value.detach()
    try:
        if isinstance(value, float):
            return ebb.tensor(value, dtype=ebb.float64)
        if isinstance(value, complex):
            return ebb.tensor(value, dtype=ebb.complex128)
        return ebb.as_tensor(value)
    except (TypeError, RuntimeError) as error:
        raise DTypeError(
            f"assert_close: needs tensors, numbers or containers of them, got "
            f"{type(value).__name__}"
        ) from error


def _difference_of_tensors(lhs: Tensor, rhs: Tensor, options: _Options, where: str) -> str:
    checks = (
        (True, "shapes", lambda one: list(one.shape)),
        (options.check_device, "devices", lambda one: str(one.device)),
        (options.check_layout, "layouts", lambda one: str(one.layout)),
        (options.check_dtype, "dtypes", lambda one: one.dtype.name),
    )
    for is_asked, what, look in checks:
        if is_asked and look(lhs) != look(rhs):
            return f"{what} differ{_at(where)}: {look(lhs)} and {look(rhs)}"
    lhs, rhs = (one.to_dense() if one.layout != ebb.strided else one for one in (lhs, rhs))
    if options.check_stride and lhs.stride() != rhs.stride():
        return f"strides differ{_at(where)}: {list(lhs.stride())} and {list(rhs.stride())}"
    rtol, atol = options.tolerances(lhs.dtype, rhs.dtype)
    lhs, rhs = lhs.cpu(), rhs.cpu()
    if lhs.dtype != rhs.dtype:
        wide = ebb.promote_types(lhs.dtype, rhs.dtype)
        lhs, rhs = lhs.to(wide), rhs.to(wide)
    near = ebb.isclose(lhs, rhs, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    return "" if near.all().item() else _described(lhs, rhs, near, (rtol, atol), where)


def _described(
    lhs: Tensor, rhs: Tensor, near: Tensor, allowed: tuple[float, float], where: str
) -> str:
    """Return how many elements differ, and where by how much most of all."""
    count, total = int((~near).sum().item()), near.numel()
    wide = ebb.complex128 if lhs.is_complex() else ebb.float64
    apart = (lhs.to(wide) - rhs.to(wide)).abs().where(~near, -1.0).flatten()
    ratio = (apart / rhs.to(wide).abs().flatten()).where(~near.flatten(), -1.0)
    lines = [f"{count} of {total} elements differ{_at(where)} ({100 * count / total:.1f}%)"]
    for name, values, most in zip(("atol", "rtol"), (apart, ratio), reversed(allowed), strict=True):
        # NaN, which no number is near, counts as the greatest
        place = int(values.nan_to_num(ebb.inf, posinf=ebb.inf).argmax().item())
        spot = _indices(place, lhs.shape)
        spot_text = f" at {spot}" if spot else ""
        values_there = f"{lhs.flatten()[place].item()} and {rhs.flatten()[place].item()}"
        kind = "absolute" if name == "atol" else "relative"
        lines.append(
            f"greatest {kind} difference: {values[place].item():.6g}{spot_text}, of "
            f"{values_there}; {name} is {most:g}"
        )
    return "\n".join(lines)


def _indices(place: int, shape: Sequence[int]) -> list[int]:
    """Return the index along each dim of an element that is the place-th of all."""
    found: list[int] = []
    for size in reversed(shape):
        found.insert(0, place % size)
        place //= size
    return found


_naming.name_module(__name__)
