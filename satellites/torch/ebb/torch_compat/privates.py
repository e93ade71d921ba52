# satellites/torch/ebb/torch_compat/privates.py -- more names that PyTorch keeps to itself: data,
# nn, torch.
#
# helpers.py has those of layers and optimizers. finder.py says where each is found.
"""Small functions and classes that programs copied from PyTorch import."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import ebb
from ebb import _C, nn
from ebb._C import Tensor

# dtypes of NumPy that hold no numbers, as collate functions look for them.
np_str_obj_array_pattern: re.Pattern[str] = re.compile(r"[SaUO]")


class FakeTensor(Tensor):
    """What graph compilers trace with in place of tensors; there is none."""


def is_fake(x: object) -> bool:
    """Return False: a tensor is what it is.

    >>> from ebb.torch_compat import privates
    >>> privates.is_fake(ebb.ones(1))
    False
    """
    return isinstance(x, FakeTensor)


def get_proxy_mode() -> None:
    """Return None: nothing is being traced.

    >>> from ebb.torch_compat import privates
    >>> privates.get_proxy_mode()
    """


class ExceptionWrapper:
    """An exception that another thread or process raised, to be raised here.

    >>> from ebb.torch_compat import privates
    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError:
    ...     held = privates.ExceptionWrapper(where="in a worker")
    >>> held.exc_type.__name__, held.where
    ('ZeroDivisionError', 'in a worker')
    """

    def __init__(self, exc_info: Any = None, where: str = "in background"):
        kind, error, place = exc_info or sys.exc_info()
        self.exc_type: Any = kind
        self.exc_msg: str = "".join(traceback.format_exception(kind, error, place))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same class that tells where the first was raised."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\n{self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(text) from None
        try:
            error = self.exc_type(text)
        except TypeError:  # its class wants something else
            raise RuntimeError(text) from None
        raise error


class InplaceFunction(ebb.autograd.Function):
    """A function of one's own that may write into its input; it is one as any other.

    >>> from ebb.torch_compat import privates
    >>> issubclass(privates.InplaceFunction, ebb.autograd.Function)
    True
    """


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return tensors that are leaves of their own and require gradients as the given ones do.

    >>> from ebb.torch_compat import privates
    >>> x = ebb.ones(1, requires_grad=True) * 2
    >>> privates.detach_variable((x, 3))
    (tensor([2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise _C.DTypeError(f"detach_variable: needs a tuple, got {type(inputs).__name__}")
    return tuple(
        one.detach().requires_grad_(one.requires_grad) if isinstance(one, Tensor) else one
        for one in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among them requires a gradient.

    >>> from ebb.torch_compat import privates
    >>> privates.check_backward_validity([ebb.ones(1, requires_grad=True)])
    """
    if not any(isinstance(one, Tensor) and one.requires_grad for one in inputs):
        import warnings

        warnings.warn("checkpoint: no input requires a gradient, so none comes back", stacklevel=3)


def default_restore_location(storage: Any, location: str) -> Any:
    """Return what a file holds on the device that it names.

    >>> from ebb.torch_compat import privates
    >>> privates.default_restore_location(ebb.FloatStorage([1]), "cpu").tolist()
    [1.0]
    """
    return storage.cpu() if location == "cpu" else storage.to(device=location)


def unserializable_hook(f: Any) -> Any:
    """Return a hook as it is; PyTorch marks it, so that a file of it warns.

    >>> from ebb.torch_compat import privates
    >>> privates.unserializable_hook(len) is len
    True
    """
    return f


def log_api_usage_once(name: str) -> None:
    """Do nothing.

    >>> from ebb.torch_compat import privates
    >>> privates.log_api_usage_once("python.nn_module")
    """
    del name


class Reduction:
    """``nn._reduction``: what ``size_average`` and ``reduce`` mean together.

    >>> from ebb.torch_compat import privates
    >>> privates.Reduction.legacy_get_string(False, None)
    'sum'
    """

    @staticmethod
    def get_enum(reduction: str) -> int:
        """Return the number that PyTorch has for a way to reduce."""
        numbers = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}
        if reduction not in numbers:
            raise _C.ValueError(f"get_enum: needs none, mean or sum, got {reduction!r}")
        return numbers[reduction]

    @staticmethod
    def legacy_get_string(
        size_average: bool | None, reduce: bool | None, emit_warning: bool = True
    ) -> str:
        """Return the way to reduce that two older options mean."""
        del emit_warning
        if reduce is False:
            return "none"
        return "sum" if size_average is False else "mean"


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norm of each slice along a dim, with all dims; of the whole if dim is -1.

    >>> from ebb.torch_compat import privates
    >>> privates.norm_except_dim(ebb.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return v.norm(pow)
    others = [one for one in range(v.ndim) if one != dim % v.ndim]
    return v.norm(pow, others, keepdim=True) if others else v.abs()


def scalar_tensor(s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                  pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Return a tensor without dims, of the default dtype if none is given.

    >>> from ebb.torch_compat import privates
    >>> privates.scalar_tensor(3)
    tensor(3.)
    """
    del layout, pin_memory
    wanted = dtype or _C.get_default_dtype()
    return _C.tensor(s, dtype=wanted, device=device, requires_grad=requires_grad)


def typename(obj: Any) -> str:
    """Return the name of a tensor's type, or of the class of anything else with its module.

    >>> from ebb.torch_compat import privates
    >>> privates.typename(ebb.ones(1)), privates.typename(1.5)
    ('torch.FloatTensor', 'float')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    room = "" if kind.__module__ in ("builtins", "__builtin__", None) else f"{kind.__module__}."
    return room + kind.__qualname__


def is_signed(input: Tensor) -> bool:
    """Return whether the dtype has negative numbers.

    >>> from ebb.torch_compat import privates
    >>> privates.is_signed(ebb.ones(1, dtype=ebb.uint8))
    False
    """
    return input.is_signed()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have one shape.

    >>> from ebb.torch_compat import privates
    >>> privates.is_same_size(ebb.ones(2), ebb.ones(3))
    False
    """
    return input.shape == other.shape


def get_device(input: Tensor) -> int:
    """Return the number of a tensor's device, -1 for the CPU.

    >>> from ebb.torch_compat import privates
    >>> privates.get_device(ebb.ones(1))
    -1
    """
    return input.get_device()


def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """Do as ``nn.functional.batch_norm`` does, with arguments in PyTorch's inner order.

    >>> from ebb.torch_compat import privates
    >>> x = ebb.tensor([[1.0], [3.0]])
    >>> privates.batch_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[-1.],
            [ 1.]])
    """
    del cudnn_enabled
    return nn.functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
    cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """Do as ``nn.functional.instance_norm`` does, with arguments in PyTorch's inner order.

    >>> from ebb.torch_compat import privates
    >>> x = ebb.tensor([[[1.0, 3.0]]])
    >>> privates.instance_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    del cudnn_enabled
    return nn.functional.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


sym_int: Callable[[Any], int] = int
sym_float: Callable[[Any], float] = float
sym_max: Callable[..., Any] = max
sym_min: Callable[..., Any] = min
sym_sum: Callable[..., Any] = sum


def sym_not(a: Any) -> bool:
    """Return whether something is false.

    >>> from ebb.torch_compat import privates
    >>> privates.sym_not(0)
    True
    """
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Return ``t`` if ``b`` is true, else ``f``.

    >>> from ebb.torch_compat import privates
    >>> privates.sym_ite(True, 1, 2)
    1
    """
    return t if b else f


TensorMeta: type = type(Tensor)
DEFAULT_PROTOCOL: int = 2  # of pickles, as torch.save writes them


def device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the number of a device; of the CPU -1, if it may be that.

    Raises:
        ValueError: If it is the CPU and may not be, or has no number.

    >>> from ebb.torch_compat import privates
    >>> privates.device_index("cuda:1"), privates.device_index("cpu", allow_cpu=True)
    (1, -1)
    """
    if isinstance(device, int):
        return device
    place = None if device is None else ebb.device(device)
    if place is not None and place.type == "cpu":
        if allow_cpu:
            return -1
        raise _C.ValueError("_get_device_index: needs a device that is not the CPU, got cpu")
    if place is not None and place.index is not None:
        return place.index
    if optional:
        return ebb.cuda.current_device()
    raise _C.ValueError(f"_get_device_index: needs a device with a number, got {device!r}")


def element_size(dtype: _C.dtype) -> int:
    """Return how many bytes a number of a dtype has.

    >>> from ebb.torch_compat import privates
    >>> privates.element_size(ebb.float64)
    8
    """
    return dtype.itemsize


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return what the arguments of ``Module.to`` mean: device, dtype, non_blocking, memory format.

    >>> from ebb.torch_compat import privates
    >>> privates.parse_to(ebb.ones(1), non_blocking=True)
    (device(type='cpu'), ebb.float32, True, None)
    """
    asked = dict(zip(("device", "dtype", "non_blocking", "copy"), args, strict=False)) | kwargs
    first = asked.get("device", kwargs.get("tensor"))
    if isinstance(first, _C.dtype):
        asked = dict(zip(("dtype", "non_blocking", "copy"), args, strict=False)) | kwargs
    elif isinstance(first, Tensor):
        asked = dict(zip(("tensor", "non_blocking", "copy"), args, strict=False)) | kwargs
        asked |= {"device": first.device, "dtype": first.dtype}
    place = asked.get("device")
    place = None if place is None else ebb.device(place)
    held = asked.get("memory_format")
    return place, asked.get("dtype"), bool(asked.get("non_blocking", False)), held


disabled_torch_function_impl: Callable[..., Any] = _C._disabled_override


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """Return whether the class of an argument takes part in functions.

    >>> from ebb.torch_compat import privates
    >>> privates.has_torch_function_unary(ebb.ones(1))
    False
    """
    return _C._has_override(relevant_arg)


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Return whether the class of one of the arguments takes part in functions.

    >>> from ebb.torch_compat import privates
    >>> privates.has_torch_function_variadic(ebb.ones(1), 2)
    False
    """
    return _C._has_override(*relevant_args)


def resolve_name(f: Callable[..., Any]) -> str:
    """Return how PyTorch's programs write a function.

    >>> from ebb.torch_compat import privates
    >>> privates.resolve_name(ebb.matmul)
    'torch.matmul'
    """
    owner, dot, name = ebb.overrides.resolve_name(f).partition(".")
    return f"torch{dot}{name}" if owner == "ebb" else f"{owner}{dot}{name}"


def false() -> bool:
    """Return False: PyTorch's own profiler does not run.

    >>> from ebb.torch_compat import privates
    >>> privates.false()
    False
    """
    return False


def same(obj: Any) -> Any:
    """Return an object as it is.

    >>> from ebb.torch_compat import privates
    >>> privates.same(len) is len
    True
    """
    return obj


class Attribute(NamedTuple):
    """``torch.jit.Attribute``: a value and the type that TorchScript would give it.

    >>> from ebb.torch_compat import privates
    >>> privates.Attribute(1, int).value
    1
    """

    value: Any
    type: Any


NAMES: dict[str, str] = {
    "torch._C._TensorMeta": "TensorMeta",
    "torch._utils._get_device_index": "device_index",
    "torch._utils._element_size": "element_size",
    "torch._C._nn._parse_to": "parse_to",
    "torch._C._disabled_torch_function_impl": "disabled_torch_function_impl",
    "torch.autograd._profiler_enabled": "false",
    "torch.profiler.kineto_available": "false",
    "torch.jit._overload": "same",
    "torch.jit._overload_method": "same",
    "torch.jit.Attribute": "Attribute",
    "torch._subclasses.fake_tensor.FakeTensor": "FakeTensor",
    "torch._subclasses.fake_tensor.is_fake": "is_fake",
    "torch.fx.experimental.proxy_tensor.get_proxy_mode": "get_proxy_mode",
    "torch._C._get_tracing_state": "get_proxy_mode",
    "torch._utils.ExceptionWrapper": "ExceptionWrapper",
    "torch.autograd.function.InplaceFunction": "InplaceFunction",
    "torch.utils.checkpoint.detach_variable": "detach_variable",
    "torch.utils.checkpoint.check_backward_validity": "check_backward_validity",
    "torch.serialization.default_restore_location": "default_restore_location",
    "torch.utils.hooks.unserializable_hook": "unserializable_hook",
    "torch._C._log_api_usage_once": "log_api_usage_once",
    "torch.utils.data._utils.collate.np_str_obj_array_pattern": "np_str_obj_array_pattern",
    "torch.nn.functional._Reduction": "Reduction",
    **{f"torch.{name}": name for name in (
        *("norm_except_dim", "scalar_tensor", "typename", "is_signed", "is_same_size"),
        *("get_device", "batch_norm", "instance_norm", "sym_int", "sym_float", "sym_max"),
        *("sym_min", "sym_sum", "sym_not", "sym_ite"),
    )},
}  # fmt: skip
