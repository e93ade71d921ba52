# python/ebb/nn/init.py -- fills tensors with starting values, under PyTorch's names.
"""All write in place, unrecorded, and return their argument; they are those of ebb/nn/init.h.

Random ones draw from ``generator``, or else from the default one: one seed gives one network in C++
and in Python.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ebb import _C
from ebb._base.deprecation import deprecated
from ebb._base.signature import takes
from ebb._C import Generator, Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
    *("constant", "dirac", "eye", "kaiming_normal", "kaiming_uniform", "normal"),
    *("orthogonal", "sparse", "uniform", "xavier_normal", "xavier_uniform"),
]

_fills_nothing = ContextVar("_fills_nothing", default=False)


@contextmanager
def filling_nothing() -> Iterator[None]:
    """Let all functions of this module leave tensors as they are, in the block and its thread."""
    token = _fills_nothing.set(True)
    try:
        yield
    finally:
        _fills_nothing.reset(token)


def _fill(name: str, tensor: Tensor, generator: Generator | None, *options: Any) -> Tensor:
    return tensor if _fills_nothing.get() else _C._init(name, tensor, generator, *options)


def _fill_kaiming(name: str, tensor: Tensor, *options: Any) -> Tensor:
    return tensor if _fills_nothing.get() else _C._init_kaiming(name, tensor, *options)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return what a nonlinearity multiplies the deviation with to keep the variance.

    Args:
        nonlinearity: "linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
        param: The slope of the leaky ReLU, 0.01 if None.

    Example:
        >>> ebb.nn.init.calculate_gain("tanh")
        1.6666666666666667
    """
    return _C._init_gain(nonlinearity, 0.01 if param is None else param)


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers drawn uniformly from [a, b).

    Example:
        >>> ebb.nn.init.uniform_(ebb.empty(3, 4)).shape
        ebb.Size([3, 4])
    """
    return _fill("uniform_", tensor, generator, a, b)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers drawn from a normal distribution.

    Example:
        >>> ebb.nn.init.normal_(ebb.empty(3, 4)).shape
        ebb.Size([3, 4])
    """
    return _fill("normal_", tensor, generator, mean, std)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with numbers drawn from a normal distribution, but only such in [a, b].

    Example:
        >>> ebb.nn.init.trunc_normal_(ebb.empty(3, 4)).shape
        ebb.Size([3, 4])
    """
    return _fill("trunc_normal_", tensor, generator, mean, std, a, b)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    Example:
        >>> ebb.nn.init.constant_(ebb.empty(3), 0.5)
        tensor([0.5000, 0.5000, 0.5000])
    """
    if _fills_nothing.get():
        return tensor
    with _C.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    Example:
        >>> ebb.nn.init.ones_(ebb.empty(3))
        tensor([1., 1., 1.])
    """
    return constant_(tensor, 1)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    Example:
        >>> ebb.nn.init.zeros_(ebb.empty(3))
        tensor([0., 0., 0.])
    """
    return constant_(tensor, 0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix, cut or filled up with zeros.

    Example:
        >>> ebb.nn.init.eye_(ebb.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    return _fill("eye_", tensor, None)


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that as many channels as possible pass unchanged.

    Args:
        tensor: A weight of 3 to 5 dims.
        groups: Groups of the convolution; each passes its own channels.

    Example:
        >>> ebb.nn.init.dirac_(ebb.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]])
    """
    return _fill("dirac_", tensor, None, operator.index(groups))


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers drawn uniformly from +-gain * sqrt(6 / (fan_in + fan_out)).

    Example:
        >>> ebb.nn.init.xavier_uniform_(ebb.empty(3, 4)).shape
        ebb.Size([3, 4])
    """
    return _fill("xavier_uniform_", tensor, generator, gain)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers of deviation gain * sqrt(2 / (fan_in + fan_out)).

    Example:
        >>> ebb.nn.init.xavier_normal_(ebb.empty(3, 4)).shape
        ebb.Size([3, 4])
    """
    return _fill("xavier_normal_", tensor, generator, gain)


def _kaiming(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> tuple[Any, ...]:
    return tensor, generator, a, mode, nonlinearity


@takes(_kaiming)
def kaiming_uniform_(*given: Any) -> Tensor:
    """Fill with numbers drawn uniformly from +-b, where b = gain * sqrt(3 / fan).

    Args:
        tensor: A weight.
        a: Slope of the leaky ReLU that follows.
        mode: "fan_in" keeps the variance in the forward pass, "fan_out" in the backward pass.
        nonlinearity: What follows; see ``calculate_gain``.

    Example:
        >>> ebb.nn.init.kaiming_uniform_(ebb.empty(3, 4)).shape
        ebb.Size([3, 4])
    """
    return _fill_kaiming("kaiming_uniform_", *given)


@takes(_kaiming)
def kaiming_normal_(*given: Any) -> Tensor:
    """Fill with normal numbers of deviation gain / sqrt(fan); see ``kaiming_uniform_``.

    Example:
        >>> ebb.nn.init.kaiming_normal_(ebb.empty(3, 4)).shape
        ebb.Size([3, 4])
    """
    return _fill_kaiming("kaiming_normal_", *given)


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with rows that are orthogonal and of length ``gain``, or columns if rows are more.

    Dims after the first are taken together.

    Example:
        >>> q = ebb.nn.init.orthogonal_(ebb.empty(3, 3))
        >>> bool(ebb.allclose(q @ q.T, ebb.eye(3), atol=1e-5))
        True
    """
    return _fill("orthogonal_", tensor, generator, gain)


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers, and set a share of each column to zero.

    Args:
        tensor: A matrix.
        sparsity: The share, from 0 to 1.
        std: Deviation of the numbers.

    Example:
        >>> int((ebb.nn.init.sparse_(ebb.empty(4, 2), 0.5) == 0).sum())
        4
    """
    return _fill("sparse_", tensor, generator, sparsity, std)


def _older(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the older spelling of a function, which warns."""
    new = function.__name__
    name = new.removesuffix("_")

    @deprecated(f"nn.init.{name}", instead=f"nn.init.{new}", since="0.1.0")
    @functools.wraps(function)
    def older(*args: Any, **kwargs: Any) -> Tensor:
        return function(*args, **kwargs)

    older.__name__ = older.__qualname__ = name
    example = (function.__doc__ or "").partition("    Example:\n")[2]
    older.__doc__ = f"Do what ``{new}`` does; an older spelling.\n\n    Example:\n{example}"
    return older


constant: Callable[..., Tensor] = _older(constant_)
dirac: Callable[..., Tensor] = _older(dirac_)
eye: Callable[..., Tensor] = _older(eye_)
kaiming_normal: Callable[..., Tensor] = _older(kaiming_normal_)
kaiming_uniform: Callable[..., Tensor] = _older(kaiming_uniform_)
normal: Callable[..., Tensor] = _older(normal_)
orthogonal: Callable[..., Tensor] = _older(orthogonal_)
sparse: Callable[..., Tensor] = _older(sparse_)
uniform: Callable[..., Tensor] = _older(uniform_)
xavier_normal: Callable[..., Tensor] = _older(xavier_normal_)
xavier_uniform: Callable[..., Tensor] = _older(xavier_uniform_)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs and outputs each unit of a weight has; programs copy PyTorch's name."""
    if tensor.ndim < 2:
        raise _C.ShapeError(
            "_calculate_fan_in_and_fan_out: needs a weight of at least 2 dims, got "
            f"{list(tensor.shape)}"
        )
    field = tensor[0, 0].numel()
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """The one of both that a mode names."""
    modes = ("fan_in", "fan_out")
    if str(mode).lower() not in modes:
        raise _C.ValueError(f"_calculate_correct_fan: needs 'fan_in' or 'fan_out', got {mode!r}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]
