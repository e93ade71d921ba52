# python/ebb/nn/class_losses.py -- losses with weights or a function of their own.
"""Losses whose modules are no rows of ``ops/modules``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ebb import _C
from ebb._base.arguments import check_callable
from ebb._C import Tensor
from ebb.nn import functional as F
from ebb.nn._bases import _Loss, _WeightedLoss
from ebb.nn.containers import ModuleList, Sequential
from ebb.nn.layers import Linear
from ebb.nn.module import Module

__all__ = [
    "AdaptiveLogSoftmaxWithLoss",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "TripletMarginWithDistanceLoss",
]


class TripletMarginWithDistanceLoss(_Loss):
    """How far what should be near is from being nearer than what should be far.

    Args:
        distance_function: What measures; ``pairwise_distance`` unless given.
        margin: By how much it should be nearer; above 0.
        swap: Whether the distance of both from each other counts where it is less.
        reduction: "mean", "sum" or "none".

    Example:
        >>> loss = ebb.nn.TripletMarginWithDistanceLoss()
        >>> loss(ebb.zeros(1, 2), ebb.zeros(1, 2), ebb.ones(1, 2)).shape
        ebb.Size([])
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ):
        super().__init__()
        if distance_function is not None:
            check_callable(distance_function)
        if not margin > 0:
            raise _C.ValueError(
                f"TripletMarginWithDistanceLoss: margin must be above 0, got {margin}"
            )
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap
        self.reduction = reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Return the loss."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class LinearCrossEntropyOptions:
    """How PyTorch cuts LinearCrossEntropyLoss into chunks: taken, and of no effect.

    Example:
        >>> options = ebb.nn.LinearCrossEntropyOptions(batch_chunk_size=16)
        >>> loss = ebb.nn.LinearCrossEntropyLoss(4, 10, options=options)
    """

    def __init__(
        self,
        allow_retain_graph: bool = False,
        batch_chunk_size: int | None = None,
        chunking_method: str | None = "auto",
        acc_policy: str = "auto",
        acc_dtype: Any = None,
    ):
        self.allow_retain_graph = allow_retain_graph
        self.batch_chunk_size = batch_chunk_size
        self.chunking_method = chunking_method
        self.acc_policy = acc_policy
        self.acc_dtype = acc_dtype

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in vars(self).items())
        return f"LinearCrossEntropyOptions({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearCrossEntropyOptions) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of targets with a linear map of the input, whose weight is trained.

    Args:
        in_features: Size of the input's last dim.
        num_classes: How many classes there are.
        out_features: Sizes of further dims: each of their places has a map of its own.
        bias: Whether the map has a bias.
        device: Where they are; the default one if None.
        dtype: Of weight and bias; float32 if None.
        reduction: "mean", "sum" or "none".
        weight: The factor of each class.
        ignore_index: Targets of this value count for nothing; None stands for -100.
        label_smoothing: Share of the target that is spread over all classes.
        options: LinearCrossEntropyOptions, which change nothing here.

    Example:
        >>> loss = ebb.nn.LinearCrossEntropyLoss(4, 10)
        >>> loss(ebb.ones(2, 4), ebb.tensor([1, 8])).shape
        ebb.Size([])
    """

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: Sequence[int] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__()
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise _C.ShapeError(
                "LinearCrossEntropyLoss: weight needs one element per class, got "
                f"{list(weight.shape)} for {num_classes} classes"
            )
        self.register_buffer("weight", weight)
        self.num_classes = num_classes
        self.out_features: tuple[int, ...] = tuple(out_features)
        self.linear: Linear = Linear(
            in_features,
            num_classes * math.prod(self.out_features),
            bias=bias,
            device=device,
            dtype=dtype,
        )
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        dims = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*dims, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(dims),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """Return the sizes and options."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class ClassLosses(NamedTuple):
    """What AdaptiveLogSoftmaxWithLoss returns."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-probabilities of many classes, the rarer ones in clusters of fewer features.

    Class 0 is the most frequent one. Classes below the first cutoff, and the clusters, are those
    of the head; a class in a cluster has the probability of the cluster times its own in there.

    Args:
        in_features: Size of the input's last dim.
        n_classes: How many classes there are.
        cutoffs: The first class of each cluster, rising.
        div_value: By how much each cluster has fewer features than the one before.
        head_bias: Whether the head has a bias.
        device: Where they are; the default one if None.
        dtype: Of all weights; float32 if None.

    Example:
        >>> layer = ebb.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6])
        >>> output, loss = layer(ebb.ones(2, 4), ebb.tensor([1, 8]))
        >>> output.shape, loss.shape
        (ebb.Size([2]), ebb.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        given = list(cutoffs)
        if (
            not given
            or any(not isinstance(one, int) for one in given)
            or given != sorted(set(given))
            or given[0] < 1
            or given[-1] > n_classes - 1
        ):
            raise _C.ValueError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs need ints that rise from 1 to at most "
                f"{n_classes - 1}, got {given}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs: list[int] = [*given, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size: int = given[0]
        self.n_clusters: int = len(given)
        self.head_size: int = self.shortlist_size + self.n_clusters
        self.head: Linear = Linear(
            in_features, self.head_size, bias=head_bias, device=device, dtype=dtype
        )
        self.tail: ModuleList = ModuleList()
        for number in range(self.n_clusters):
            width = int(in_features // div_value ** (number + 1))
            count = self.cutoffs[number + 1] - self.cutoffs[number]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, device=device, dtype=dtype),
                    Linear(width, count, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for narrow, wide in self.tail:
            narrow.reset_parameters()
            wide.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ClassLosses:
        """Return each target's log-probability, and minus their mean."""
        self._check(input_, target_)
        is_batch = input_.ndim == 2
        rows, classes = (input_, target_) if is_batch else (input_[None], target_.reshape(1))
        head = F.log_softmax(self.head(rows), 1)
        bounds = [0, *self.cutoffs]
        parts, places = [], []
        for number, (low, high) in enumerate(itertools.pairwise(bounds)):
            place = ((classes >= low) & (classes < high)).nonzero().reshape(-1)
            if len(place) == 0:
                continue
            if number == 0:
                own = head[place].gather(1, classes[place].unsqueeze(1))
            else:
                own = F.log_softmax(self.tail[number - 1](rows[place]), 1)
                own = own.gather(1, (classes[place] - low).unsqueeze(1))
                own = own + head[place, self.shortlist_size + number - 1].unsqueeze(1)
            parts.append(own.reshape(-1))
            places.append(place)
        if not parts:
            output = head.new_zeros(0)
        else:
            output = _C.cat(parts).index_select(0, _C.cat(places).argsort())
        loss = -output.mean()
        return ClassLosses(output if is_batch else output.reshape(()), loss)

    def _check(self, input: Tensor, target: Tensor) -> None:
        if input.ndim not in (1, 2) or tuple(target.shape) != tuple(input.shape[:-1]):
            raise _C.ShapeError(
                "AdaptiveLogSoftmaxWithLoss: needs an input [N, C] and targets [N], or [C] and "
                f"one, got {list(input.shape)} and {list(target.shape)}"
            )
        is_good = target.numel() == 0 or (
            target.min().item() >= 0 and target.max().item() < self.n_classes
        )
        if not is_good:
            raise _C.ValueError(
                f"AdaptiveLogSoftmaxWithLoss: targets must be from 0 to {self.n_classes - 1}, got "
                f"{target.min().item()} to {target.max().item()}"
            )

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes, [N, n_classes]."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for number, tail in enumerate(self.tail):
            own = F.log_softmax(tail(input), 1)
            parts.append(own + head[:, self.shortlist_size + number].unsqueeze(1))
        return _C.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most likely class of each row."""
        return self.log_prob(input).argmax(1)
