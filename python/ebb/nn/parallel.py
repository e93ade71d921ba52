# python/ebb/nn/parallel.py -- what spreads a network over devices or processes, in one process.
"""``DataParallel``, ``SyncBatchNorm`` and others, for programs written for several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn.module import Module
from ebb.nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, _BatchNorm

__all__ = ["DataParallel", "SyncBatchNorm"]  # what nn has; the others are in nn.parallel


class DataParallel(Module):
    """Runs a module, as one device does; names in ``state_dict`` begin with ``module.``.

    Args:
        module: What runs.
        device_ids: At most one device.
        output_device: Where the output would be gathered; it stays where it is.
        dim: Along which inputs would be split.

    Example:
        >>> ebb.nn.DataParallel(ebb.nn.Linear(4, 3))(ebb.ones(2, 4)).shape
        ebb.Size([2, 3])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ):
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise _C.NotImplementedError(
                f"DataParallel: needs at most one device, got {len(device_ids)}"
            )
        self.dim = dim
        self.module = module
        self.device_ids: list[Any] = [] if device_ids is None else list(device_ids)
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return what the module returns."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """Refuses: there are no other processes to share gradients with.

    Raises:
        NotImplementedError: Always.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any):
        raise _C.NotImplementedError(
            "DistributedDataParallel: ebb runs in one process\n"
            "hint: run without a launcher, and train the module itself"
        )


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Return what a module makes of inputs; see ``DataParallel``.

    Args:
        module: What runs.
        inputs: Its argument, or a tuple of them.
        device_ids: At most one device.
        output_device: As in ``DataParallel``.
        dim: The same.
        module_kwargs: Its keyword arguments.
    Example:
        >>> ebb.nn.parallel.data_parallel(ebb.nn.ReLU(), ebb.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """
    whole = DataParallel(module, device_ids, output_device, dim)
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return whole(*arguments, **(module_kwargs or {}))


class SyncBatchNorm(_BatchNorm):
    """BatchNorm of any number of dims over the batches of all processes, of which there is one.

    Args:
        num_features: The number of channels, the size of dim 1.
        eps: Added to the variance.
        momentum: How far each batch moves the running statistics; None averages all batches.
        affine: Whether there are a weight and a bias per channel.
        track_running_stats: Whether there are running statistics.
        process_group: The processes; None, or what stands for this one alone.
        device: Where they are; the default one if None.
        dtype: Of parameters and statistics; float32 if None.
        bias: Whether ``affine`` brings a bias too.

    Example:
        >>> layer = ebb.nn.SyncBatchNorm(3)
        >>> layer(ebb.ones(4, 3)).shape
        ebb.Size([4, 3])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input(self, input: Tensor) -> None:
        if input.ndim < 2 or input.shape[1] != self.num_features:
            raise _C.ValueError(
                f"SyncBatchNorm: needs an input of at least 2 dims with {self.num_features} "
                f"channels, got {list(input.shape)}"
            )

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return the module with a SyncBatchNorm of the same parameters for each BatchNorm.

        Args:
            module: A network, which changes, or one BatchNorm.
            process_group: What the new layers are told.
        """
        if isinstance(module, BatchNorm1d | BatchNorm2d | BatchNorm3d):
            return cls._of(module, process_group)
        for parent in list(module.modules()):
            for name, child in parent.named_children():
                if isinstance(child, BatchNorm1d | BatchNorm2d | BatchNorm3d):
                    setattr(parent, name, cls._of(child, process_group))
        return module

    @classmethod
    def _of(cls, module: _BatchNorm, process_group: Any) -> SyncBatchNorm:
        made = cls(
            module.num_features,
            module.eps,
            module.momentum,
            module.affine,
            module.track_running_stats,
            process_group,
        )
        names = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
        for name in names:
            setattr(made, name, getattr(module, name))
        made.train(module.training)
        return made
