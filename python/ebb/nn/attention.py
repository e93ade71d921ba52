# python/ebb/nn/attention.py -- MultiheadAttention, and sdpa_kernel(), the choice of its kernel.
"""Attention as a module, under PyTorch's names.

Heads are views of one projection; ``ebb.scaled_dot_product_attention`` reads them where they lie.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ebb import _C
from ebb._C import Tensor, linear
from ebb.nn import init
from ebb.nn.functional.attention import Masks, attend
from ebb.nn.layers import Linear
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter
from ebb.nn.recurrent import _check_sizes

__all__ = ["MultiheadAttention", "SDPBackend", "sdpa_kernel"]


class MultiheadAttention(Module):
    """Attention in several heads, each over its own part of the projected features.

    Args:
        embed_dim: Features of query and output; a multiple of ``num_heads``.
        dropout: Probability that a weight is dropped while training.
        add_bias_kv: Whether there is one more key and value, trained.
        add_zero_attn: Whether there is one more key and value of zeros.
        kdim: Features of key, ``embed_dim`` if None; likewise ``vdim`` of value.
        batch_first: Whether operands are ``[B, L, E]`` and not ``[L, B, E]``.
        device: Where the parameters are; the default one if None.

    Example:
        >>> layer = ebb.nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = ebb.ones(1, 5, 8)
        >>> output, weights = layer(x, x, x)
        >>> output.shape, weights.shape
        (ebb.Size([1, 5, 8]), ebb.Size([1, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        _check_sizes("MultiheadAttention", embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads != 0:
            raise _C.ValueError(
                f"MultiheadAttention: embed_dim needs a multiple of num_heads, "
                f"got {embed_dim} and {num_heads}"
            )
        if not 0 <= dropout <= 1:
            raise _C.ValueError(
                f"MultiheadAttention: dropout needs a probability from 0 to 1, got {dropout}"
            )
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim: int = embed_dim // num_heads
        self.dropout: float = float(dropout)
        self.kdim: int = embed_dim if kdim is None else kdim
        self.vdim: int = embed_dim if vdim is None else vdim
        _check_sizes("MultiheadAttention", kdim=self.kdim, vdim=self.vdim)
        self.batch_first = batch_first
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        widths = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        for name, width in widths.items():
            weight = None
            if not self._qkv_same_embed_dim:
                weight = Parameter(_C.empty((embed_dim, width), device=device, dtype=dtype))
            self.register_parameter(f"{name}_proj_weight", weight)
        joint = (3 * embed_dim, embed_dim)
        weight = None
        if self._qkv_same_embed_dim:
            weight = Parameter(_C.empty(joint, device=device, dtype=dtype))
        self.register_parameter("in_proj_weight", weight)
        own_bias = (
            Parameter(_C.empty((3 * embed_dim,), device=device, dtype=dtype)) if bias else None
        )
        self.register_parameter("in_proj_bias", own_bias)
        self.out_proj: Linear = Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.add_zero_attn = add_zero_attn
        for name in ("bias_k", "bias_v"):
            shape = (1, 1, embed_dim)
            more = Parameter(_C.empty(shape, device=device, dtype=dtype)) if add_bias_kv else None
            self.register_parameter(name, more)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights of the projections anew; biases become zero."""
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for more in (self.bias_k, self.bias_v):
            if more is not None:
                init.xavier_normal_(more)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the output, and the weights if asked for: that needs memory for all of them.

        Args:
            query: ``[L, B, E]``, ``[B, L, E]`` if ``batch_first``, or without batch ``[L, E]``.
            key_padding_mask: ``[B, S]``: bool, true where a key is hidden, or added to the scores.
            attn_mask: ``[L, S]`` or ``[B * num_heads, L, S]``, of the same two kinds.
            average_attn_weights: Whether the weights are averaged over the heads.
            is_causal: Position i sees keys 0 to i. With ``attn_mask`` it only says that the mask
                says so already.
        """
        is_batched = self._check(query, key, value)
        if not is_batched:
            same = query is key, key is value
            query = query.unsqueeze(1)
            key = query if same[0] else key.unsqueeze(1)
            value = key if same[1] else value.unsqueeze(1)
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        batch_dim = 0 if is_batched and self.batch_first else 1
        joined, weights = attend(
            "MultiheadAttention",
            self._project(query, key, value),
            self.num_heads,
            batch_dim,
            Masks(key_padding_mask, attn_mask, is_causal),
            (self.bias_k, self.bias_v) if self.bias_k is not None else None,
            self.add_zero_attn,
            self.dropout if self.training else 0.0,
            need_weights,
            average_attn_weights,
        )
        output = self.out_proj(joined)
        if not is_batched:
            output = output.squeeze(1)
            weights = None if weights is None else weights.squeeze(0)
        return output, weights

    def _check(self, query: Any, key: Any, value: Any) -> bool:
        """Check ranks and sizes; return whether there is a batch."""
        name = "MultiheadAttention"
        given = {"query": query, "key": key, "value": value}
        for what, one in given.items():
            if not isinstance(one, Tensor):
                raise _C.DTypeError(f"{name}: {what} needs a tensor, got {type(one).__name__}")
        shapes = [list(one.shape) for one in given.values()]
        if query.ndim not in (2, 3) or any(one.ndim != query.ndim for one in (key, value)):
            raise _C.ShapeError(
                f"{name}: query, key and value need 2 or 3 dims, all the same, got "
                f"{shapes[0]}, {shapes[1]} and {shapes[2]}"
            )
        widths = [shape[-1] for shape in shapes]
        if widths != [self.embed_dim, self.kdim, self.vdim]:
            raise _C.ShapeError(
                f"{name}: query, key and value need last sizes {self.embed_dim}, {self.kdim} and "
                f"{self.vdim}, got {shapes[0]}, {shapes[1]} and {shapes[2]}"
            )
        if shapes[1][:-1] != shapes[2][:-1]:
            raise _C.ShapeError(
                f"{name}: key and value need the same sizes, got {shapes[1]} and {shapes[2]}"
            )
        batch_dim = 0 if self.batch_first else 1
        if query.ndim == 3 and shapes[0][batch_dim] != shapes[1][batch_dim]:
            raise _C.ShapeError(
                f"{name}: query and key need one batch size, got {shapes[0]} and {shapes[1]}"
            )
        return query.ndim == 3

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        size, bias = self.embed_dim, self.in_proj_bias
        is_joint = self._qkv_same_embed_dim
        if is_joint and query is key and key is value:  # one product instead of three
            joint = linear(query, self.in_proj_weight, bias)
            return [joint.narrow(-1, part * size, size) for part in range(3)]
        projected = []
        for part, (name, one) in enumerate(zip("qkv", (query, key, value), strict=True)):
            if is_joint:
                weight = self.in_proj_weight.narrow(0, part * size, size)
            else:
                weight = getattr(self, f"{name}_proj_weight")
            own_bias = None if bias is None else bias.narrow(0, part * size, size)
            projected.append(linear(one, weight, own_bias))
        return projected

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}"


class SDPBackend(enum.IntEnum):
    """Kernels of attention by PyTorch's names; ebb's own, exact and in blocks, stands for all.

    Example:
        >>> with ebb.nn.attention.sdpa_kernel(ebb.nn.attention.SDPBackend.MATH):
        ...     x = ebb.scaled_dot_product_attention(*[ebb.ones(1, 2, 4)] * 3)
        >>> x.shape
        ebb.Size([1, 2, 4])
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """Take a choice of kernels, and change nothing: there is one for all.

    Args:
        backends: One or several of ``SDPBackend``.
        set_priority: Whether their order counts.
    Raises:
        DTypeError: If something else is given.
    Example:
        >>> from ebb.nn.attention import SDPBackend, sdpa_kernel
        >>> q = ebb.ones(1, 2, 4)
        >>> with sdpa_kernel(SDPBackend.MATH):
        ...     print(ebb.nn.functional.scaled_dot_product_attention(q, q, q).shape)
        ebb.Size([1, 2, 4])
    """
    del set_priority
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for one in chosen:
        if not isinstance(one, SDPBackend):
            raise _C.DTypeError(f"sdpa_kernel: needs an SDPBackend, got {one!r}")
    yield
