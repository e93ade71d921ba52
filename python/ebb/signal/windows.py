# python/ebb/signal/windows.py -- ebb.signal.windows: windows of a signal.
#
# All take the number of elements M, `sym` (from end to end, for filters) or not (a period, for
# spectra), and dtype, layout, device and requires_grad as ebb.zeros does. All compute in float64.
"""Windows under the names of ``torch.signal.windows``.

Example:
    >>> ebb.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

import functools
import inspect
import math
from typing import Any

import ebb
from ebb._base import naming as _naming
from ebb._C import DTypeError as _DTypeError, Tensor, ValueError as _ValueError
from ebb._tensor.formats import check_leaf_options

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _window(make):
    """Let a function that computes ``exact``, in float64 on a device, take what all others take."""

    signature = inspect.signature(make)

    @functools.wraps(make)
    def window(
        M,  # noqa: N803
        *,
        dtype=None,
        layout=ebb.strided,
        device=None,
        requires_grad=False,
        **shape,
    ):
        name = make.__name__
        if M < 0:
            raise _ValueError(f"{name}: M must be at least 0, got {M}")
        check_leaf_options(name, layout, False)
        dtype = ebb.get_default_dtype() if dtype is None else dtype
        if not dtype.is_floating_point:
            raise _DTypeError(f"{name}: dtype must be of floating point, got {dtype}")
        try:
            signature.bind(M, None, **shape)
        except TypeError as error:
            raise _DTypeError(f"{name}(): {error}") from None
        made = make(M, {"dtype": ebb.float64, "device": device}, **shape)
        return made.to(dtype).requires_grad_(requires_grad)

    shared = list(inspect.signature(window, follow_wrapped=False).parameters.values())
    own = list(signature.parameters.values())
    window.__signature__ = inspect.Signature([own[0], *own[2:], *shared[1:-1]])
    del window.__wrapped__
    return window


def _end(count, sym):
    """Return the place after which a window goes on with its first element, or which mirrors it."""
    return max(count - 1, 0) if sym or count <= 1 else count


@_window
def bartlett(M: Any, exact: Any, *, sym: Any = True) -> Tensor:  # noqa: N803
    """Return a triangle from 0 to 1 and back.

    Example:
        >>> ebb.signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return ebb.bartlett_window(M, not sym, **exact)


@_window
def blackman(M: Any, exact: Any, *, sym: Any = True) -> Tensor:  # noqa: N803
    """Return 0.42 - 0.5 cos + 0.08 cos of twice the angle.

    Example:
        >>> ebb.signal.windows.blackman(5)
        tensor([-1.3878e-17,  3.4000e-01,  1.0000e+00,  3.4000e-01, -1.3878e-17])
    """
    return ebb.blackman_window(M, not sym, **exact)


@_window
def cosine(M: Any, exact: Any, *, sym: Any = True) -> Tensor:  # noqa: N803
    """Return half a period of a sine, at the middles of its M (unless ``sym``, M + 1) parts.

    Example:
        >>> ebb.signal.windows.cosine(5)
        tensor([0.3090, 0.8090, 1.0000, 0.8090, 0.3090])
    """
    places = ebb.arange(M, **exact)
    return ebb.sin((places + 0.5) * (math.pi / (_end(M, sym) + 1)))


@_window
def exponential(
    M: Any,  # noqa: N803
    exact: Any,
    *,
    center: Any = None,
    tau: Any = 1.0,
    sym: Any = True,
) -> Tensor:
    """Return exp(-abs(n - center) / tau).

    Args:
        center: Where it is 1; only if ``sym`` is False. The middle if not given.

    Example:
        >>> ebb.signal.windows.exponential(5)
        tensor([0.1353, 0.3679, 1.0000, 0.3679, 0.1353])
    """
    if tau <= 0:
        raise _ValueError(f"exponential: tau must be above 0, got {tau}")
    if sym and center is not None:
        raise _ValueError(f"exponential: center must be None for sym, got {center}")
    center = _end(M, sym) / 2 if center is None else center
    return ebb.exp(-abs(ebb.arange(M, **exact) - center) / tau)


@_window
def gaussian(M: Any, exact: Any, *, std: Any = 1.0, sym: Any = True) -> Tensor:  # noqa: N803
    """Return the bell exp(-(n - middle)^2 / (2 std^2)).

    Example:
        >>> ebb.signal.windows.gaussian(5)
        tensor([0.1353, 0.6065, 1.0000, 0.6065, 0.1353])
    """
    if std <= 0:
        raise _ValueError(f"gaussian: std must be above 0, got {std}")
    steps = (ebb.arange(M, **exact) - _end(M, sym) / 2) / std
    return ebb.exp(-0.5 * steps * steps)


@_window
def general_cosine(M: Any, exact: Any, *, a: Any, sym: Any = True) -> Tensor:  # noqa: N803
    """Return a[0] - a[1] cos x + a[2] cos 2x - ..., a weighted sum of cosines.

    Example:
        >>> ebb.signal.windows.general_cosine(5, a=[0.5, 0.5])
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    weights = [float(one) for one in a]
    if not weights:
        raise _ValueError("general_cosine: needs at least one weight in a, got none")
    if M == 1:
        return ebb.ones(1, **exact)
    angles = ebb.arange(M, **exact) * (2 * math.pi / max(_end(M, sym), 1))
    terms = [(-1) ** k * one * ebb.cos(k * angles) for k, one in enumerate(weights)]
    return sum(terms[1:], terms[0])


@_window
def general_hamming(
    M: Any,  # noqa: N803
    exact: Any,
    *,
    alpha: Any = 0.54,
    sym: Any = True,
) -> Tensor:
    """Return alpha - (1 - alpha) cos.

    Example:
        >>> ebb.signal.windows.general_hamming(5)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return ebb.hamming_window(M, not sym, alpha, 1 - alpha, **exact)


@_window
def hamming(M: Any, exact: Any, *, sym: Any = True) -> Tensor:  # noqa: N803
    """Return 0.54 - 0.46 cos.

    Example:
        >>> ebb.signal.windows.hamming(5)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return ebb.hamming_window(M, not sym, **exact)


@_window
def hann(M: Any, exact: Any, *, sym: Any = True) -> Tensor:  # noqa: N803
    """Return 0.5 - 0.5 cos.

    Example:
        >>> ebb.signal.windows.hann(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return ebb.hann_window(M, not sym, **exact)


@_window
def kaiser(M: Any, exact: Any, *, beta: Any = 12.0, sym: Any = True) -> Tensor:  # noqa: N803
    """Return Kaiser's window of shape ``beta``.

    Example:
        >>> ebb.signal.windows.kaiser(5)
        tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01, 5.2773e-05])
    """
    if beta < 0:
        raise _ValueError(f"kaiser: beta must not be negative, got {beta}")
    return ebb.kaiser_window(M, not sym, beta, **exact)


@_window
def nuttall(M: Any, exact: Any, *, sym: Any = True) -> Tensor:  # noqa: N803
    """Return the sum of four cosines whose side lobes are least, of Nuttall.

    Example:
        >>> ebb.signal.windows.nuttall(5)
        tensor([3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **exact)


_naming.name_module(__name__)
