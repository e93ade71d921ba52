# python/ebb/_functions.py -- functions that are not ops: whole comparisons, properties of dtypes.
"""Small functions written in terms of ops."""

import builtins
import os

import ebb
from ebb._C import Tensor


def _checked(function, name, value):
    """Return ``value`` if it is a Tensor."""
    if not isinstance(value, Tensor):
        raise ebb.DTypeError(
            f"{function}(): argument '{name}' must be Tensor, got {type(value).__name__}"
        )
    return value


def is_tensor(obj):
    """Return whether ``obj`` is a Tensor.

    Example:
        >>> ebb.is_tensor([1.0])
        False
    """
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Return whether ``input`` has a real floating dtype.

    Example:
        >>> ebb.is_floating_point(ebb.ones(2))
        True
    """
    return _checked("is_floating_point", "input", input).is_floating_point()


def is_complex(input):
    """Return whether ``input`` has a complex dtype.

    Example:
        >>> ebb.is_complex(ebb.ones(2))
        False
    """
    return _checked("is_complex", "input", input).is_complex()


def is_inference(input):
    """Return whether the memory of ``input`` was made in inference mode.

    Example:
        >>> ebb.is_inference(ebb.ones(2))
        False
    """
    return _checked("is_inference", "input", input).is_inference()


def adjoint(input):
    """Return a view of the transposed matrices of ``input``, conjugated if they are complex.

    Args:
        input: A tensor of at least 2 dims; the last two are exchanged, as ``input.mH`` does.

    Raises:
        ShapeError: For fewer dims.

    Example:
        >>> ebb.adjoint(ebb.tensor([[1.0, 2.0]])).shape
        ebb.Size([2, 1])
    """
    if _checked("adjoint", "input", input).ndim < 2:
        raise ebb.ShapeError(f"adjoint: input needs at least 2 dims, got {list(input.shape)}")
    return input.mH


def numel(input):
    """Return the number of elements.

    Example:
        >>> ebb.numel(ebb.ones(2, 3))
        6
    """
    return _checked("numel", "input", input).numel()


def equal(input, other):
    """Return whether two tensors have one shape and equal elements.

    Example:
        >>> ebb.equal(ebb.ones(2), ebb.tensor([1.0, 1.0]))
        True
    """
    if _checked("equal", "input", input).shape != _checked("equal", "other", other).shape:
        return False
    return _has_no_false(input == other)


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Return whether all elements are within ``atol + rtol * abs(other)`` of each other.

    Example:
        >>> ebb.allclose(ebb.tensor([1.0]), ebb.tensor([1.0 + 1e-7]))
        True
    """
    _checked("allclose", "input", input)
    _checked("allclose", "other", other)
    return _has_no_false(ebb.isclose(input, other, rtol, atol, equal_nan))


def _has_no_false(mask):
    return builtins.bool(ebb.logical_not(mask).sum().item() == 0)


def cond(pred, true_fn, false_fn, operands=()):
    """Return ``true_fn(*operands)`` if ``pred``, a bool or a tensor of one, else ``false_fn``'s.

    Example:
        >>> ebb.cond(True, lambda x: x + 1, lambda x: x - 1, (ebb.ones(2),))
        tensor([2., 2.])
    """
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise ebb.errors.ValueError(f"cond: pred needs one element, got {list(pred.shape)}")
    return (true_fn if builtins.bool(pred) else false_fn)(*operands)


def rand_like(
    input,
    *,
    dtype=None,
    device=None,
    generator=None,
    requires_grad=False,
    memory_format=None,
    layout=None,
    pin_memory=False,
):
    """Return numbers evenly spread over [0, 1) in the shape and dtype of ``input``, beside it.

    Example:
        >>> ebb.rand_like(ebb.ones(2, 3)).shape
        ebb.Size([2, 3])
    """
    _checked("rand_like", "input", input)
    if layout is not None or pin_memory is not False:
        ebb._formats.check_leaf_options("rand_like", layout, pin_memory)
    found = ebb.rand(
        input.shape,
        dtype=dtype or input.dtype,
        device=device or input.device,
        generator=generator,
    )
    return _arranged(found, input, memory_format).requires_grad_(requires_grad)


def randn_like(
    input,
    *,
    dtype=None,
    device=None,
    generator=None,
    requires_grad=False,
    memory_format=None,
    layout=None,
    pin_memory=False,
):
    """Return standard normal numbers in the shape and dtype of ``input``, beside it.

    Example:
        >>> ebb.randn_like(ebb.ones(2, 3)).shape
        ebb.Size([2, 3])
    """
    _checked("randn_like", "input", input)
    if layout is not None or pin_memory is not False:
        ebb._formats.check_leaf_options("randn_like", layout, pin_memory)
    found = ebb.randn(
        input.shape,
        dtype=dtype or input.dtype,
        device=device or input.device,
        generator=generator,
    )
    return _arranged(found, input, memory_format).requires_grad_(requires_grad)


def randint_like(
    input,
    low=0,
    high=None,
    *,
    dtype=None,
    device=None,
    generator=None,
    requires_grad=False,
    memory_format=None,
    layout=None,
    pin_memory=False,
):
    """Return integers from ``low`` to ``high - 1`` in the shape and dtype of ``input``, beside it.

    ``randint_like(input, high)`` starts at 0.

    Example:
        >>> bool((ebb.randint_like(ebb.ones(9), 0, 5) < 5).all())
        True
    """
    _checked("randint_like", "input", input)
    if layout is not None or pin_memory is not False:
        ebb._formats.check_leaf_options("randint_like", layout, pin_memory)
    low, high = (0, low) if high is None else (low, high)
    found = ebb.randint(
        low,
        high,
        input.shape,
        dtype=dtype or input.dtype,
        device=device or input.device,
        generator=generator,
    )
    return _arranged(found, input, memory_format).requires_grad_(requires_grad)


def _arranged(found, like, memory_format):
    """Return ``found`` with its dims in memory as a format, or ``like`` itself, has them."""
    if memory_format is None:
        return found
    where = {"dtype": found.dtype, "device": found.device}
    return ebb.empty_like(like, memory_format=memory_format, **where).copy_(found)


# Bits, exponent of the smallest normal number, of the largest, and of the step at 1.
_FLOATS = {
    "float16": (16, -14, 15, -10),
    "bfloat16": (16, -126, 127, -7),
    "float32": (32, -126, 127, -23),
    "float64": (64, -1022, 1023, -52),
}


class finfo:  # noqa: N801
    """Limits of a floating dtype: bits, eps, max, min, tiny.

    Example:
        >>> ebb.finfo(ebb.float32).max
        3.4028234663852886e+38
    """

    def __init__(self, dtype=None):
        dtype = dtype or ebb.get_default_dtype()
        parts = {"complex64": "float32", "complex128": "float64"}
        name = parts.get(dtype.name, dtype.name)
        if name not in _FLOATS:
            raise ebb.DTypeError(f"finfo: needs a floating or complex dtype, got {dtype.name}")
        self.bits, smallest, largest, step = _FLOATS[name]
        self.dtype = name  # of a complex dtype, that of its parts
        self.eps = 2.0**step
        self.tiny = self.smallest_normal = 2.0**smallest
        self.max = 2.0**largest * (2.0 - self.eps)
        self.min = -self.max
        self.resolution = 10.0 ** -len(str(int(1 / self.eps))[1:])

    def __repr__(self):
        return f"finfo(dtype={self.dtype}, eps={self.eps}, max={self.max}, tiny={self.tiny})"


class iinfo:  # noqa: N801
    """Limits of an integer dtype: bits, max, min.

    Example:
        >>> ebb.iinfo(ebb.int8).max
        127
    """

    def __init__(self, dtype):
        if dtype.is_floating_point or dtype.is_complex or dtype.name == "bool":
            raise ebb.DTypeError(f"iinfo: needs an integer dtype, got {dtype.name}")
        self.bits = dtype.itemsize * 8
        self.dtype = dtype.name
        self.max = 2 ** (self.bits - dtype.is_signed) - 1
        self.min = -self.max - 1 if dtype.is_signed else 0

    def __repr__(self):
        return f"iinfo(dtype={self.dtype}, min={self.min}, max={self.max})"


Tensor.equal = equal
Tensor.allclose = allclose


Tensor.adjoint = adjoint


def cmake_prefix_path():
    """Return the folder for CMAKE_PREFIX_PATH: C++ programs then find this ebb.

    That of a wheel, or of the build folder that the package lies in.

    Raises:
        IoError: If there are no headers and no library beside the package.

    Example:
        >>> import os
        >>> os.path.isdir(ebb.cmake_prefix_path())
        True
    """
    package = os.path.dirname(__file__)
    build = os.path.dirname(os.path.dirname(package))
    for folder, config in ((package, "lib/cmake/ebb/ebbConfig.cmake"), (build, "ebbConfig.cmake")):
        if os.path.exists(os.path.join(folder, config)):
            return folder
    raise ebb.errors.IoError(
        f"cmake_prefix_path: needs ebbConfig.cmake in {build} or in lib/cmake/ebb below {package}, "
        "found none\nhint: install the wheel, or build with -DEBB_INSTALL=ON"
    )
