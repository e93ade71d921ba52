# satellites/torch/ebb/torch_compat/parallel_functions.py -- torch.nn.parallel._functions, on one
# device.
#
# Copied layers that norm over several devices import them, and call them where there are several.
# Each is made of ebb's ops, whose gradients are those of PyTorch's functions.
"""``Broadcast``, ``ReduceAddCoalesced``, ``Gather`` and ``Scatter``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ebb import _C
from ebb._C import Tensor

__all__ = ["Broadcast", "Gather", "ReduceAddCoalesced", "Scatter"]


class Broadcast:
    """Gives tensors to each of several devices.

    >>> from ebb.torch_compat import parallel_functions
    >>> x = ebb.tensor([1.0])
    >>> parallel_functions.Broadcast.apply([0, 1], x)
    (tensor([1.]), tensor([1.]))
    """

    @staticmethod
    def apply(target_gpus: Sequence[Any], *inputs: Tensor) -> tuple[Tensor, ...]:
        """Return the inputs once for each device, one device after the other."""
        return tuple(one.view_as(one) for _ in target_gpus for one in inputs)


class ReduceAddCoalesced:
    """Sums what several devices hold.

    >>> from ebb.torch_compat import parallel_functions
    >>> x, y = ebb.tensor([1.0]), ebb.tensor([2.0])
    >>> parallel_functions.ReduceAddCoalesced.apply(0, 2, x, y, x, y)
    (tensor([2.]), tensor([4.]))
    """

    @staticmethod
    def apply(destination: Any, num_inputs: int, *grads: Tensor) -> tuple[Tensor, ...]:
        """Return ``num_inputs`` sums, each of every ``num_inputs``-th tensor."""
        del destination
        parts = [grads[number::num_inputs] for number in range(num_inputs)]
        return tuple(_C.stack(part).sum(0) for part in parts)


class Gather:
    """Joins what several devices hold.

    >>> from ebb.torch_compat import parallel_functions
    >>> parallel_functions.Gather.apply("cpu", 0, ebb.tensor([1]), ebb.tensor([2]))
    tensor([1, 2])
    """

    @staticmethod
    def apply(target_device: Any, dim: int, *inputs: Tensor) -> Tensor:
        """Return them along a dim; those without dims as the elements of one."""
        del target_device
        if all(one.ndim == 0 for one in inputs) and dim == 0:
            return _C.stack(inputs)
        return _C.cat(inputs, dim)


class Scatter:
    """Shares a tensor out to several devices.

    >>> from ebb.torch_compat import parallel_functions
    >>> parallel_functions.Scatter.apply([0, 1], None, 0, ebb.arange(4))
    (tensor([0, 1]), tensor([2, 3]))
    """

    @staticmethod
    def apply(
        target_gpus: Sequence[Any], chunk_sizes: Sequence[int] | None, dim: int, input: Tensor
    ) -> tuple[Tensor, ...]:
        """Return the shares, of the sizes given or else of equal ones."""
        if chunk_sizes is not None:
            return tuple(input.split(list(chunk_sizes), dim))
        return tuple(input.chunk(len(target_gpus), dim))
