# python/ebb/nn/parallel.py -- DataParallel, SyncBatchNorm and others, which run in one process.
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


def _check_devices(name: str, devices: Sequence[Any]) -> None:
    if len(devices) > 1:
        raise _C.NotImplementedError(f"{name}: needs at most one device, got {len(devices)}")


def scatter(inputs: Any, target_gpus: Sequence[Any] = (), dim: int = 0) -> Any:
    """Return the share of each device: all, for the one that there is.

    Args:
        inputs: A tensor, whose shares are a tuple, or anything else, whose are a list.
        target_gpus: At most one device.
        dim: Along which tensors would be split.
    Raises:
        NotImplementedError: If there are several devices.
    Example:
        >>> ebb.nn.parallel.scatter({"x": ebb.ones(2)}, [0])
        [{'x': tensor([1., 1.])}]
    """
    del dim
    _check_devices("scatter", target_gpus)
    return (inputs,) if isinstance(inputs, Tensor) else [inputs]


def scatter_kwargs(
    inputs: Any, kwargs: dict[str, Any] | None, target_gpus: Sequence[Any] = (), dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Return ``scatter`` of positional and of keyword arguments, as tuples.

    Args:
        inputs: The positional ones.
        kwargs: The others; None for none.
        target_gpus: At most one device.
        dim: Along which tensors would be split.
    Example:
        >>> ebb.nn.parallel.scatter_kwargs((1, 2), None, [0])
        (((1, 2),), ({},))
    """
    return tuple(scatter(inputs, target_gpus, dim)), tuple(scatter(kwargs or {}, target_gpus, dim))


def gather(outputs: Sequence[Any], target_device: Any = None, dim: int = 0) -> Any:
    """Return outputs of several calls as one: tensors joined along ``dim``, containers by part.

    Args:
        outputs: Tensors, or dicts, tuples and lists of them, all alike; numbers become a vector.
        target_device: Where they would be gathered; they stay where they are.
        dim: Along which tensors are joined.
    Raises:
        ValueError: If they are not alike, or there are none.
    Example:
        >>> ebb.nn.parallel.gather([{"x": ebb.ones(1)}, {"x": ebb.zeros(2)}])
        {'x': tensor([1., 0., 0.])}
    """
    del target_device
    return _gathered(list(outputs), dim)


def _gathered(outputs: list[Any], dim: int) -> Any:
    kinds = {type(one) for one in outputs if not isinstance(one, Tensor)}
    is_tensors = bool(outputs) and not kinds
    if is_tensors:
        if all(one.ndim == 0 for one in outputs) and len(outputs) > 1:
            return _C.stack(outputs)
        return outputs[0] if len(outputs) == 1 else _C.cat(outputs, dim)
    first = outputs[0] if outputs else ()
    if len(kinds) != 1 or any(isinstance(one, Tensor) for one in outputs):
        raise _C.ValueError(
            f"gather: needs outputs of one kind, got {sorted(one.__name__ for one in kinds)}"
        )
    if first is None:
        return None
    if isinstance(first, dict):
        if any(one.keys() != first.keys() for one in outputs):
            raise _C.ValueError("gather: needs dicts of the same keys")
        return type(first)((key, _gathered([one[key] for one in outputs], dim)) for key in first)
    if not isinstance(first, tuple | list) or any(len(one) != len(first) for one in outputs):
        raise _C.ValueError(
            "gather: needs tensors, or dicts, tuples and lists of one length, got "
            f"{type(first).__name__}"
        )
    parts = [_gathered(list(one), dim) for one in zip(*outputs, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


def replicate(network: Module, devices: Sequence[Any] = (), detach: bool = False) -> list[Module]:
    """Return a network for each device: itself, for the one that there is.

    Args:
        network: What would be copied.
        devices: At most one device.
        detach: Whether copies would give the first no gradients.
    Raises:
        NotImplementedError: If there are several devices.
    Example:
        >>> layer = ebb.nn.ReLU()
        >>> ebb.nn.parallel.replicate(layer, [0])[0] is layer
        True
    """
    del detach
    _check_devices("replicate", devices)
    return [network]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Return what each module makes of its inputs; they run one after the other.

    Args:
        modules: What runs.
        inputs: The argument of each, or a tuple of them.
        kwargs_tup: The keyword arguments of each.
        devices: Where each would run; modules stay where they are.
    Raises:
        ValueError: If there are not as many inputs as modules.
    Example:
        >>> ebb.nn.parallel.parallel_apply([ebb.nn.ReLU()], [ebb.tensor([-1.0, 1.0])])
        [tensor([0., 1.])]
    """
    kwargs = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    counts = [len(modules), len(inputs), len(kwargs), len(devices or modules)]
    if len(set(counts)) != 1:
        raise _C.ValueError(
            f"parallel_apply: needs inputs, keyword arguments and devices for {counts[0]} modules, "
            f"got {counts[1]}, {counts[2]} and {counts[3]}"
        )
    return [
        module(*(given if isinstance(given, tuple | list) else (given,)), **(options or {}))
        for module, given, options in zip(modules, inputs, kwargs, strict=True)
    ]


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
