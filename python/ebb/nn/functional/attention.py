# python/ebb/nn/functional/attention.py -- attention in several heads, part of ebb.nn.functional.
#
# Heads are views of the projected operands; attend() is what the module and the function share.
"""``multi_head_attention_forward``, and what ``nn.MultiheadAttention`` is made of."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ebb import _C
from ebb._C import Tensor, linear, scaled_dot_product_attention
from ebb.nn.functional.index import pad

__all__ = ["multi_head_attention_forward"]


class Masks(NamedTuple):
    """Which keys are hidden: from whom, as in ``nn.MultiheadAttention``."""

    padding: Tensor | None
    given: Tensor | None
    is_causal: bool


def attend(
    op: str,
    projected: list[Tensor],
    num_heads: int,
    batch_dim: int,
    masks: Masks,
    more: tuple[Tensor, Tensor] | None,
    add_zeros: bool,
    p: float,
    need_weights: bool,
    average: bool,
) -> tuple[Tensor, Tensor | None]:
    """Return what all heads see, joined, and the weights if asked for.

    Args:
        op: Named in errors.
        projected: Query, key and value, ``[B, L, E]`` or ``[L, B, E]`` as ``batch_dim`` says.
        more: A key and a value, ``[1, 1, E]``, behind the others.
        add_zeros: Whether there are a key and a value of zeros, last of all.
        p: Probability that a weight is dropped.
    """
    query, key, value = projected
    batch, length = query.shape[batch_dim], query.shape[1 - batch_dim]
    columns = key.shape[1 - batch_dim]
    key, value = _with_more_keys(key, value, more, add_zeros, 1 - batch_dim)
    heads = [_heads(one, num_heads, batch_dim) for one in (query, key, value)]
    added = heads[1].shape[2] - columns
    is_causal = masks.is_causal and masks.given is None
    mask = _mask(op, masks, num_heads, (batch, length, columns), query.dtype)
    if need_weights or added > 0 or (is_causal and mask is not None):
        mask = _with_causal(op, mask, is_causal, length, columns, query.dtype)
        is_causal = False
    if added > 0 and mask is not None:
        mask = pad(mask, (0, added))  # nobody is kept from seeing these
    weights = None
    if need_weights:
        out, weights = _explicit(heads, mask, p)
        if average:
            weights = weights.mean(1)
    else:
        out = scaled_dot_product_attention(*heads, mask, p, is_causal)
    out = out.permute((0, 2, 1, 3) if batch_dim == 0 else (2, 0, 1, 3))
    return out.reshape((*out.shape[:2], out.shape[2] * out.shape[3])), weights


def _with_more_keys(
    key: Tensor, value: Tensor, more: tuple[Tensor, Tensor] | None, add_zeros: bool, dim: int
) -> tuple[Tensor, Tensor]:
    shape = list(key.shape)
    shape[dim] = 1
    if more is not None:
        key = _C.cat([key, more[0].expand(shape)], dim)
        value = _C.cat([value, more[1].expand(shape)], dim)
    if add_zeros:
        key = _C.cat([key, key.new_zeros(shape)], dim)
        value = _C.cat([value, value.new_zeros(shape)], dim)
    return key, value


def _heads(projected: Tensor, num_heads: int, batch_dim: int) -> Tensor:
    """View ``[B, L, E]`` or ``[L, B, E]`` as ``[B, heads, L, E / heads]``."""
    width = projected.shape[2] // num_heads
    split = projected.reshape((*projected.shape[:2], num_heads, width))
    return split.permute((0, 2, 1, 3) if batch_dim == 0 else (1, 2, 0, 3))


def _mask(
    op: str, masks: Masks, num_heads: int, sizes: tuple[int, int, int], dtype: Any
) -> Tensor | None:
    """Return both masks as numbers to add to ``[B, heads, L, S]``."""
    batch, length, columns = sizes
    total = None
    if masks.given is not None:
        numbers = _as_numbers(op, "attn_mask", masks.given, dtype)
        shape = tuple(masks.given.shape)
        if shape == (batch * num_heads, length, columns):
            total = numbers.reshape((batch, num_heads, length, columns))
        elif shape == (length, columns):
            total = numbers.unsqueeze(0).unsqueeze(0)
        else:
            raise _C.ShapeError(
                f"{op}: attn_mask needs shape {[length, columns]} or "
                f"{[batch * num_heads, length, columns]}, got {list(shape)}"
            )
    if masks.padding is not None:
        if tuple(masks.padding.shape) != (batch, columns):
            raise _C.ShapeError(
                f"{op}: key_padding_mask needs shape {[batch, columns]}, "
                f"got {list(masks.padding.shape)}"
            )
        numbers = _as_numbers(op, "key_padding_mask", masks.padding, dtype)
        numbers = numbers.unsqueeze(1).unsqueeze(1)
        total = numbers if total is None else total + numbers
    return total


def _with_causal(
    op: str, mask: Tensor | None, is_causal: bool, length: int, columns: int, dtype: Any
) -> Tensor | None:
    if not is_causal:
        return mask
    hidden = _C.arange(columns).unsqueeze(0) > _C.arange(length).unsqueeze(1)
    numbers = _as_numbers(op, "attn_mask", hidden, dtype)
    return numbers if mask is None else mask + numbers


def _explicit(heads: list[Tensor], mask: Tensor | None, p: float) -> tuple[Tensor, Tensor]:
    query, key, value = heads
    scores = (query * (1 / math.sqrt(query.shape[-1]))).matmul(key.transpose(-1, -2))
    if mask is not None:
        scores = scores + mask
    weights = _C.dropout(_C.softmax(scores, -1), p)
    return weights.matmul(value), weights


def _as_numbers(op: str, name: str, mask: Tensor, dtype: Any) -> Tensor:
    """Return a mask as numbers to add: -inf where a bool one is true."""
    if not isinstance(mask, Tensor):
        raise _C.DTypeError(f"{op}: {name} needs a tensor, got {type(mask).__name__}")
    if mask.dtype == _C.bool:
        return _C.where(mask, -math.inf, _C.zeros(tuple(mask.shape), dtype=dtype))
    if not mask.dtype.is_floating_point:
        raise _C.DTypeError(f"{op}: {name} needs bool or a floating dtype, got {mask.dtype}")
    return mask if mask.dtype == dtype else mask.to(dtype)


def _check_operands(
    op: str, operands: tuple[Tensor, Tensor, Tensor], embed_dim: int, num_heads: int
) -> None:
    query, key, value = operands
    if query.ndim not in (2, 3) or any(one.ndim != query.ndim for one in operands):
        raise _C.ShapeError(
            f"{op}: query, key and value need 2 or 3 dims, all the same, got "
            f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        )
    width = query.shape[-1]
    if width != embed_dim or num_heads < 1 or width % num_heads:
        raise _C.ShapeError(
            f"{op}: query needs a last size of {embed_dim}, which num_heads divides, got "
            f"{list(query.shape)} and {num_heads}"
        )


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return the output of ``nn.MultiheadAttention`` with these parameters, and its weights.

    Args:
        query: ``[L, B, E]`` or ``[L, E]``; key and value likewise.
        in_proj_weight: That of query, key and value, one above the other.
        use_separate_proj_weight: Whether ``q_proj_weight`` and the like take its place.
        static_k: Not supported; must be None, like ``static_v``.
        is_causal: Whether position i sees keys 0 to i; with ``attn_mask``, that it says so.

    Example:
        >>> m = ebb.nn.MultiheadAttention(4, 2)
        >>> x = ebb.ones(3, 1, 4)
        >>> out, weights = ebb.nn.functional.multi_head_attention_forward(
        ...     x, x, x, 4, 2, m.in_proj_weight, m.in_proj_bias, None, None, False, 0.0,
        ...     m.out_proj.weight, m.out_proj.bias,
        ... )
        >>> out.shape, weights.shape
        (ebb.Size([3, 1, 4]), ebb.Size([1, 3, 3]))
    """
    op = "multi_head_attention_forward"
    if static_k is not None or static_v is not None:
        raise _C.NotImplementedError(f"{op}: needs static_k and static_v None, got tensors")
    _check_operands(op, (query, key, value), embed_dim_to_check, num_heads)
    weights_in = [q_proj_weight, k_proj_weight, v_proj_weight]
    if not use_separate_proj_weight and in_proj_weight is not None:
        weights_in = list(in_proj_weight.chunk(3))
    if any(one is None for one in weights_in):
        raise _C.ValueError(f"{op}: needs in_proj_weight, or all of the separate ones")
    biases = [None] * 3 if in_proj_bias is None else list(in_proj_bias.chunk(3))
    is_batched = query.ndim == 3
    operands = [query, key, value]
    if not is_batched:
        operands = [one.unsqueeze(1) for one in operands]
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    joined, weights = attend(
        op,
        [linear(*parts) for parts in zip(operands, weights_in, biases, strict=True)],
        num_heads,
        1,
        Masks(key_padding_mask, attn_mask, is_causal),
        None if bias_k is None else (bias_k, bias_v),
        add_zero_attn,
        dropout_p if training else 0.0,
        need_weights,
        average_attn_weights,
    )
    output = linear(joined, out_proj_weight, out_proj_bias)
    if not is_batched:
        output = output.squeeze(1)
        weights = None if weights is None else weights.squeeze(0)
    return output, weights
