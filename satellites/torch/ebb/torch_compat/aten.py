# satellites/torch/ebb/torch_compat/aten.py -- torch.ops.aten: ops by the names of PyTorch's table.
#
# `aten.mul` calls `ebb.mul`, or the method of that name, with the arguments as they are; so does
# `aten.mul.Tensor`, whichever overload is named. Libraries keep ops as keys of tables that are
# never looked into: what is in _NAMED is there too, and refuses its call.
"""``torch.ops.aten.add``, and ``torch.ops.aten.add.Tensor``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import ebb
from ebb import _C
from ebb._C import _ops

# PyTorch's table has other arguments for these: the matrix first, factors of the input, and for
# losses the reduction as a number. They would be taken for something else.
_ARRANGED = ("embedding", "elu", "binary_cross_entropy", "binary_cross_entropy_with_logits")
# In PyTorch's table, and not to be called here.
_NAMED = frozenset(
    (
        *_ARRANGED,
        "_adaptive_avg_pool2d", "_addmm_activation", "_efficient_attention_forward",
        "_flash_attention_forward", "_fused_adam_", "_fused_adamw_", "_local_scalar_dense",
        "_log_softmax", "_log_softmax_backward_data", "_pin_memory", "_reshape_alias",
        "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_mm", "_softmax", "_softmax_backward_data", "_sparse_addmm",
        "_sparse_mm_reduce_impl", "_to_copy", "_unsafe_view", "alias", "batch_norm",
        "convolution", "convolution_backward", "copy", "cudnn_batch_norm",
        "embedding_dense_backward", "empty_strided", "fft_fft", "fft_rfft", "gelu_backward",
        "gru", "index", "instance_norm", "is_non_overlapping_and_dense", "l1_loss",
        "lift_fresh", "lift_fresh_copy", "linalg_vector_norm", "linear_backward", "lstm",
        "mse_loss", "native_batch_norm", "native_batch_norm_backward", "native_dropout",
        "native_group_norm", "native_layer_norm", "nll_loss", "nll_loss_forward", "pad",
        "record_stream", "sigmoid_backward", "slice", "smooth_l1_loss", "tanh_backward",
        "threshold_backward", "upsample_bilinear2d", "upsample_nearest2d",
    )
)  # fmt: skip


class Overload:
    """One overload of an op, which is called as all of them are.

    Example:
        >>> from ebb.torch_compat import aten
        >>> aten.add.Tensor
        <Overload 'aten.add.Tensor'>
    """

    def __init__(self, name: str, call: Callable[..., Any]):
        self._name = name
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function of this name returns."""
        return self._call(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r}>"

    def __str__(self) -> str:
        return self._name


class Packet(Overload):
    """An op; its attributes are its overloads.

    Example:
        >>> from ebb.torch_compat import aten
        >>> aten.mul.Tensor(ebb.ones(2), 3.0), aten.mul(ebb.ones(2), 3.0)
        (tensor([3., 3.]), tensor([3., 3.]))
    """

    def __getattr__(self, name: str) -> Overload:
        if name.startswith("_"):
            raise AttributeError(f"{self._name} has no attribute {name!r}")
        made = Overload(f"{self._name}.{name}", self._call)
        setattr(self, name, made)  # programs keep overloads as keys
        return made


def _function_of(name: str) -> Callable[..., Any] | None:
    if name.endswith(("loss", "cross_entropy")) or name in _ARRANGED:
        return None
    found = getattr(ebb, name, None) if name in vars(_ops) else None
    return found if callable(found) else getattr(ebb.Tensor, name, None)


def _refusal(name: str) -> str:
    return (
        f"ops.aten.{name}: ebb has no function or method of Tensor of this name that takes "
        "PyTorch's arguments\nhint: call what torch or torch.nn.functional spells"
    )


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise _C.NotImplementedError(_refusal(name))

    return refuse


def __getattr__(name: str) -> Any:
    call = None if name.startswith("_") else _function_of(name)
    if not callable(call):
        if name not in _NAMED:
            raise AttributeError(_refusal(name))
        call = _refusing(name)
    made = Packet(f"aten.{name}", call)
    globals()[name] = made
    return made
