# python/ebb/nn/activations.py -- activation functions as modules.
"""Each holds its options; the arithmetic is in ``ebb.nn.functional``."""

from __future__ import annotations

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional as F
from ebb.nn import init
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter


class _Activation(Module):
    """Base: shows the options named in ``_shown``, and ``inplace`` where it is on."""

    _shown: tuple[str, ...] = ()
    inplace = False

    def extra_repr(self) -> str:
        """Return the options."""
        shown = [f"{name}={getattr(self, name)!r}" for name in self._shown]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)


class _InplaceActivation(_Activation):
    """Base of those that have no option but ``inplace``."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


class ReLU(_InplaceActivation):
    """max(x, 0), element by element.

    Args:
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.relu(input, self.inplace)


class ReLU6(_InplaceActivation):
    """min(max(x, 0), 6), element by element.

    Args:
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.relu6(input, self.inplace)


class SELU(_InplaceActivation):
    """The scaled ELU whose constants keep mean 0 and variance 1.

    Args:
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.selu(input, self.inplace)


class SiLU(_InplaceActivation):
    """``x * sigmoid(x)``, element by element.

    Args:
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.silu(input, self.inplace)


class Mish(_InplaceActivation):
    """``x * tanh(softplus(x))``, element by element.

    Args:
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.mish(input, self.inplace)


class Hardswish(_InplaceActivation):
    """``x * relu6(x + 3) / 6``, element by element.

    Args:
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.hardswish(input, self.inplace)


class Hardsigmoid(_InplaceActivation):
    """``relu6(x + 3) / 6``, element by element.

    Args:
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.hardsigmoid(input, self.inplace)


class LeakyReLU(_Activation):
    """x where it is positive, else ``negative_slope * x``.

    Args:
        negative_slope: The slope below zero.
        inplace: Overwrite the input.
    """

    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ELU(_Activation):
    """x where it is positive, else ``alpha * (exp(x) - 1)``.

    Args:
        alpha: Where it tends to for large negative x, negated.
        inplace: Overwrite the input.
    """

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.elu(input, self.alpha, self.inplace)


class CELU(ELU):
    """x where it is positive, else ``alpha * (exp(x / alpha) - 1)``.

    Args:
        alpha: Not 0.
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.celu(input, self.alpha, self.inplace)


class GELU(_Activation):
    """x times the normal distribution's probability of less than x.

    Args:
        approximate: "none", or "tanh" for the faster formula of GPT-2.
    """

    _shown = ("approximate",)

    def __init__(self, approximate: str = "none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.gelu(input, approximate=self.approximate)


class Softplus(_Activation):
    """``log(1 + exp(beta * x)) / beta``: a smooth ReLU.

    Args:
        beta: How sharp the bend is.
        threshold: Where ``beta * x`` is above it, the result is x.
    """

    _shown = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.softplus(input, self.beta, self.threshold)


class Hardtanh(_Activation):
    """x, bounded by ``min_val`` and ``max_val``.

    Args:
        min_val: The least result.
        max_val: The largest result.
        inplace: Overwrite the input.
    """

    _shown = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        super().__init__()
        if not min_val < max_val:
            raise _C.ValueError(f"Hardtanh: needs min_val < max_val, got {min_val} and {max_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class Threshold(_Activation):
    """x where it is above ``threshold``, else ``value``.

    Args:
        threshold: The bound.
        value: What stands for x at and below it.
        inplace: Overwrite the input.
    """

    _shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.threshold(input, self.threshold, self.value, self.inplace)


class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``, element by element."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return _C.sigmoid(input)


class Tanh(_Activation):
    """tanh(x), element by element."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return _C.tanh(input)


class LogSigmoid(_Activation):
    """log(sigmoid(x)), element by element."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.logsigmoid(input)


class Softsign(_Activation):
    """``x / (1 + abs(x))``, element by element."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.softsign(input)


class Tanhshrink(_Activation):
    """``x - tanh(x)``, element by element."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.tanhshrink(input)


class Hardshrink(_Activation):
    """x where it is outside of [-lambd, lambd], else 0.

    Args:
        lambd: The bound.
    """

    _shown = ("lambd",)

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.hardshrink(input, self.lambd)


class Softshrink(Hardshrink):
    """x moved towards 0 by ``lambd``, and 0 within that.

    Args:
        lambd: How far.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.softshrink(input, self.lambd)


class GLU(_Activation):
    """The first half along ``dim`` times the sigmoid of the second.

    Args:
        dim: Along which the input is cut.
    """

    _shown = ("dim",)

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.glu(input, self.dim)


class Softmax(_Activation):
    """Exponentials that add up to 1 along ``dim``.

    Args:
        dim: Along which they add up.
    """

    _shown = ("dim",)

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.softmax(input, self.dim)


class LogSoftmax(Softmax):
    """The logarithm of the softmax along ``dim``.

    Args:
        dim: Along which the exponentials add up to 1.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.log_softmax(input, self.dim)


class Softmin(Softmax):
    """The softmax of -x along ``dim``.

    Args:
        dim: Along which it adds up to 1.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.softmin(input, self.dim)


class PReLU(_Activation):
    """x where it is positive, else ``weight * x`` with a weight that is trained.

    Args:
        num_parameters: 1, or the number of channels (dim 1 of the input).
        init: Where the weight begins.
        dtype: Of the weight; float32 if None.
    """

    _shown = ("num_parameters",)
    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype=None):
        super().__init__()
        if num_parameters < 1:
            raise _C.ValueError(f"PReLU: needs num_parameters >= 1, got {num_parameters}")
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(_C.empty((num_parameters,), dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to its beginning."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.prelu(input, self.weight)
