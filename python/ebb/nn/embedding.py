# python/ebb/nn/embedding.py -- Embedding and EmbeddingBag: one trained row per word.
"""Look-up tables as modules."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional as F, init
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter


def _given_weight(layer: str, weight: Tensor, count: int, length: int) -> Parameter:
    """Return a weight that was given, over its memory."""
    if list(weight.shape) != [count, length]:
        raise _C.ShapeError(
            f"{layer}: _weight needs shape {[count, length]}, got {list(weight.shape)}"
        )
    return weight if isinstance(weight, Parameter) else Parameter(weight.detach())


class Embedding(Module):
    """Returns the rows of its weight that the input names.

    The weight is drawn from the normal distribution; the row ``padding_idx`` is zero.

    Args:
        num_embeddings: How many rows there are.
        embedding_dim: How long each is.
        padding_idx: A row that is not trained; counted from the end if negative.
        max_norm: Rows that are looked up are first scaled, in place, to at most this length.
        norm_type: The order of that norm.
        scale_grad_by_freq: Whether the gradient of a row is divided by how often it was named.
        sparse: Whether the gradient of the weight is a selected_rows tensor of the rows that were
            looked up. SGD, Adagrad and SparseAdam then update those rows only.
        device: Where they are; the default one if None.
        dtype: Of the weight; float32 if None.

    Example:
        >>> layer = ebb.nn.Embedding(10, 3)
        >>> layer(ebb.tensor([[1, 2], [4, 9]])).shape
        ebb.Size([2, 2, 3])
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_embeddings < 0 or embedding_dim < 0:
            raise _C.ValueError(
                f"Embedding: needs sizes >= 0, got {num_embeddings} and {embedding_dim}"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx: int | None = _checked_row(num_embeddings, padding_idx)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is not None:
            self.weight = _given_weight("Embedding", _weight, num_embeddings, embedding_dim)
            self.weight.requires_grad_(not _freeze)
            return
        self.weight = Parameter(
            _C.empty((num_embeddings, embedding_dim), device=device, dtype=dtype), not _freeze
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with _C.no_grad():
                self.weight[self.padding_idx].zero_()

    def forward(self, input: Tensor) -> Tensor:
        """Return the rows."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """Make a layer over the memory of a given matrix.

        Args:
            embeddings: The matrix.
            freeze: Whether it is kept from training.
            padding_idx: See the class.
            max_norm: See the class.
            norm_type: See the class.
            scale_grad_by_freq: See the class.
            sparse: See the class.
        """
        if embeddings.ndim != 2:
            raise _C.ShapeError(
                f"from_pretrained: needs a matrix, got shape {list(embeddings.shape)}"
            )
        count, length = embeddings.shape
        layer = cls(
            0, length, None, max_norm, norm_type, scale_grad_by_freq, sparse,
            dtype=embeddings.dtype, device=embeddings.device,
        )  # fmt: skip
        layer.num_embeddings = count
        layer.padding_idx = _checked_row(count, padding_idx)
        layer.weight = Parameter(embeddings.detach(), requires_grad=not freeze)
        return layer

    def extra_repr(self) -> str:
        """Return the sizes and what differs from the defaults."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.sparse:
            text += ", sparse=True"
        return text


class EmbeddingBag(Module):
    """Returns the sum, mean or max of the rows of its weight that each bag names.

    Args:
        num_embeddings: How many rows there are.
        embedding_dim: How long each is.
        max_norm: Rows that are looked up are first scaled, in place, to at most this length.
        norm_type: The order of that norm.
        scale_grad_by_freq: Whether the gradient of a row is divided by how often it was named.
        mode: "sum", "mean" or "max".
        sparse: Whether the gradient of the weight has the rows that count alone; not for "max".
        include_last_offset: Whether the last of the offsets is where the last bag ends.
        padding_idx: A row that does not count; counted from the end if negative.
        device: Where they are; the default one if None.
        dtype: Of the weight; float32 if None.

    Example:
        >>> layer = ebb.nn.EmbeddingBag(10, 3, mode="sum")
        >>> layer(ebb.tensor([[1, 2], [4, 9]])).shape
        ebb.Size([2, 3])
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_embeddings < 0 or embedding_dim < 0:
            raise _C.ValueError(
                f"EmbeddingBag: needs sizes >= 0, got {num_embeddings} and {embedding_dim}"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.padding_idx: int | None = _checked_row(num_embeddings, padding_idx, "EmbeddingBag")
        if _weight is not None:
            self.weight = _given_weight("EmbeddingBag", _weight, num_embeddings, embedding_dim)
            return
        self.weight = Parameter(
            _C.empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with _C.no_grad():
                self.weight[self.padding_idx].zero_()

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """Return a row for each bag; see ``nn.functional.embedding_bag``."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            mode=self.mode,
            sparse=self.sparse,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Make a layer over the memory of a given matrix.

        Args:
            embeddings: The matrix.
            freeze: Whether it is kept from training.
            max_norm: See the class.
            norm_type: See the class.
            scale_grad_by_freq: See the class.
            mode: See the class.
            sparse: See the class.
            include_last_offset: See the class.
            padding_idx: See the class.
        """
        if embeddings.ndim != 2:
            raise _C.ShapeError(
                f"from_pretrained: needs a matrix, got shape {list(embeddings.shape)}"
            )
        count, length = embeddings.shape
        layer = cls(
            0, length, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
            include_last_offset=include_last_offset,
            dtype=embeddings.dtype, device=embeddings.device,
        )  # fmt: skip
        layer.num_embeddings = count
        layer.padding_idx = _checked_row(count, padding_idx, "EmbeddingBag")
        layer.weight = Parameter(embeddings.detach(), requires_grad=not freeze)
        return layer

    def extra_repr(self) -> str:
        """Return the sizes, the mode and what differs from the defaults."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text


def _checked_row(count: int, padding_idx: int | None, layer: str = "Embedding") -> int | None:
    if padding_idx is None:
        return None
    if not -count <= padding_idx < count:
        raise _C.IndexError(
            f"{layer}: needs padding_idx from {-count} to {count - 1}, got {padding_idx}"
        )
    return padding_idx % count
