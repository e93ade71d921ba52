# python/ebb/nn/transformer.py -- layers and stacks of the transformer.
"""Encoder and decoder layers, under PyTorch's names.

Attention runs fused, without its matrix of weights, unless a mask is to be trained.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional, init
from ebb.nn.attention import MultiheadAttention
from ebb.nn.containers import ModuleList, check_layer_count
from ebb.nn.dropout import Dropout
from ebb.nn.layers import Linear
from ebb.nn.module import Module
from ebb.nn.normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _activation(op: str, given: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    if callable(given):
        return given
    if given not in ("relu", "gelu"):
        raise _C.ValueError(f"{op}: activation needs relu, gelu or a function, got {given!r}")
    return getattr(functional, given)


class _Layer(Module):
    """What both kinds of layer share: the feed-forward part, and options."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.norm_first = norm_first
        self.activation: Callable[[Tensor], Tensor] = _activation(type(self).__name__, activation)
        self._options = {"dropout": dropout, "bias": bias, "batch_first": batch_first}
        self.self_attn: MultiheadAttention = MultiheadAttention(
            d_model, nhead, device=device, dtype=dtype, **self._options
        )
        self._add_attention(d_model, nhead, device, dtype)
        self.linear1: Linear = Linear(
            d_model, dim_feedforward, bias=bias, device=device, dtype=dtype
        )
        self.dropout: Dropout = Dropout(dropout)
        self.linear2: Linear = Linear(
            dim_feedforward, d_model, bias=bias, device=device, dtype=dtype
        )
        for number in range(self._norms):
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
            setattr(self, f"norm{number + 1}", norm)
        for number in range(self._norms):
            setattr(self, f"dropout{number + 1}", Dropout(dropout))

    _norms = 2

    def _add_attention(self, d_model: int, nhead: int, device: Any, dtype: Any) -> None:
        """Add what comes between the self-attention and the feed-forward part."""

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _attend(
        self, attention: MultiheadAttention, x: Tensor, memory: Tensor, masks: tuple[Any, ...]
    ) -> Tensor:
        mask, padding, is_causal = masks
        out, _ = attention(
            x, memory, memory, padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )
        return out

    def _around(self, x: Tensor, number: int, part: Callable[[Tensor], Tensor]) -> Tensor:
        """Add what a part makes, with dropout, to its input; normalise before or after."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        return x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a shortcut and a normalisation.

    Example:
        >>> layer = ebb.nn.TransformerEncoderLayer(8, 2)
        >>> layer(ebb.ones(5, 1, 8)).shape
        ebb.Size([5, 1, 8])
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's output; masks are those of ``MultiheadAttention``."""
        masks = (src_mask, src_key_padding_mask, is_causal)
        attend = lambda x: self._attend(self.self_attn, x, x, masks)  # noqa: E731
        x = self._around(src, 1, attend)
        return self._around(x, 2, self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to an encoder's output, and a feed-forward network.

    Example:
        >>> layer = ebb.nn.TransformerDecoderLayer(8, 2)
        >>> layer(ebb.ones(3, 1, 8), ebb.ones(5, 1, 8)).shape
        ebb.Size([3, 1, 8])
    """

    _norms = 3

    def _add_attention(self, d_model: int, nhead: int, device: Any, dtype: Any) -> None:
        self.multihead_attn: MultiheadAttention = MultiheadAttention(
            d_model, nhead, device=device, dtype=dtype, **self._options
        )

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's output; ``memory`` is the output of an encoder."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        attend = lambda x: self._attend(self.self_attn, x, x, own)  # noqa: E731
        look = lambda x: self._attend(self.multihead_attn, x, memory, other)  # noqa: E731
        x = self._around(tgt, 1, attend)
        x = self._around(x, 2, look)
        return self._around(x, 3, self._feed_forward)


class _Stack(Module):
    """Copies of a layer, one after the other, and perhaps a normalisation at the end."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__()
        check_layer_count(type(self).__name__, num_layers)
        self.layers: ModuleList = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _finish(self, x: Tensor) -> Tensor:
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """A stack of ``TransformerEncoderLayer``.

    Args:
        encoder_layer: What is copied.
        num_layers: How many copies there are.
        norm: What comes behind the last one.
        enable_nested_tensor: Taken for PyTorch's sake: there are no nested tensors.
        mask_check: Taken likewise.

    Example:
        >>> layer = ebb.nn.TransformerEncoderLayer(8, 2)
        >>> net = ebb.nn.TransformerEncoder(layer, 2)
        >>> net(ebb.ones(5, 1, 8)).shape
        ebb.Size([5, 1, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ):
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the last layer's output."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return self._finish(src)


class TransformerDecoder(_Stack):
    """A stack of ``TransformerDecoderLayer``.

    Args:
        decoder_layer: What is copied.
        num_layers: How many copies there are.
        norm: What comes behind the last one.

    Example:
        >>> layer = ebb.nn.TransformerDecoderLayer(8, 2)
        >>> net = ebb.nn.TransformerDecoder(layer, 2)
        >>> net(ebb.ones(3, 1, 8), ebb.ones(5, 1, 8)).shape
        ebb.Size([3, 1, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt: Tensor, memory: Tensor, *masks: Any, **more_masks: Any) -> Tensor:
        """Return the last layer's output; masks are those of the layer."""
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **more_masks)
        return self._finish(tgt)


class Transformer(Module):
    """An encoder and a decoder, each a stack of layers and a normalisation.

    Args:
        d_model: Features of source, target and output.
        nhead: Heads of all attentions.
        num_encoder_layers: How many layers the encoder has.
        num_decoder_layers: How many the decoder has.
        dim_feedforward: Features inside the feed-forward parts.
        dropout: With this probability, in training.
        activation: "relu", "gelu" or a function.
        custom_encoder: What takes the encoder's place.
        custom_decoder: What takes the decoder's place.
        layer_norm_eps: Added to variances.
        batch_first: Whether operands are ``[B, L, E]`` and not ``[L, B, E]``.
        norm_first: Whether parts normalise before and not after.
        bias: Whether linear layers and norms have biases.
        device: Where they are; the default one if None.
        dtype: Of all parameters; float32 if None.

    Example:
        >>> net = ebb.nn.Transformer(8, 2, 1, 1, 16)
        >>> net(ebb.ones(5, 1, 8), ebb.ones(3, 1, 8)).shape
        ebb.Size([3, 1, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                   batch_first, norm_first, bias, device, dtype)  # fmt: skip
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
            layer = TransformerEncoderLayer(*options)
            self.encoder: Module = TransformerEncoder(layer, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
            layer = TransformerDecoderLayer(*options)
            self.decoder: Module = TransformerDecoder(layer, num_decoder_layers, norm)
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the decoder's output for ``tgt``, which sees the encoder's for ``src``.

        Args:
            src_mask: Masks are those of ``MultiheadAttention``.
            src_is_causal: Whether position i sees 0 to i, or that the mask says so.
        """
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise _C.ShapeError(
                f"Transformer: src and tgt need a last size of {self.d_model}, got "
                f"{list(src.shape)} and {list(tgt.shape)}"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask, bool(src_is_causal))
        return self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            bool(tgt_is_causal),
            memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the mask, [sz, sz], that hides from each position all later ones.

        Args:
            sz: How many positions there are.
            device: Where the mask is.
            dtype: Of the mask; float32 if None.
        """
        return _C.full((sz, sz), float("-inf"), device=device, dtype=dtype).triu(1)
