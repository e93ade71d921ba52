# python/ebb/cuda/__init__.py -- ebb.cuda: NVIDIA's GPUs, under the names of torch.cuda.
"""CUDA's devices: NVIDIA's GPUs, where ebb has its plug-in and the machine a driver.

Where there are none, what waits, seeds or frees does nothing, so that programs may call it; what
needs a device says that there is none.

>>> ebb.cuda.is_available(), ebb.cuda.device_count()
(False, 0)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ebb import _C, _devices
from ebb._base import naming as _naming
from ebb._base.lazy import LazyPackage
from ebb._devices import Event, Stream, cuda_device
from ebb._tensor.legacy import CudaType, cuda_types
from ebb.cuda import amp
from ebb.errors import OutOfMemoryError

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "Event",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "OutOfMemoryError",
    "ShortTensor",
    "Stream",
    "amp",
    "current_device",
    "current_stream",
    "device",
    "default_generators",
    "device_count",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "nvtx",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "stream",
    "synchronize",
]

Device = _C.device | str | int | None
nvtx: LazyPackage = LazyPackage("ebb.cuda.nvtx")
default_generators: tuple[_C.Generator, ...] = ()  # all numbers come from the CPU's
_types = cuda_types()
BFloat16Tensor: CudaType = _types["BFloat16Tensor"]
BoolTensor: CudaType = _types["BoolTensor"]
ByteTensor: CudaType = _types["ByteTensor"]
CharTensor: CudaType = _types["CharTensor"]
DoubleTensor: CudaType = _types["DoubleTensor"]
FloatTensor: CudaType = _types["FloatTensor"]
HalfTensor: CudaType = _types["HalfTensor"]
IntTensor: CudaType = _types["IntTensor"]
LongTensor: CudaType = _types["LongTensor"]
ShortTensor: CudaType = _types["ShortTensor"]


def device_count() -> int:
    """Return how many there are.

    Example:
        >>> ebb.cuda.device_count()  # of a machine without
        0
    """
    _C.device("cuda")  # whoever asks for it first loads its plug-in
    return _devices.device_count("cuda")


def is_available() -> bool:
    """Return whether there is one.

    Example:
        >>> device = "cuda" if ebb.cuda.is_available() else "cpu"
        >>> ebb.ones(2, device=device).device
        device(type='cpu')
    """
    return device_count() > 0


def is_initialized() -> bool:
    """Return whether there is one: a plug-in is ready once it is loaded.

    Example:
        >>> ebb.cuda.is_initialized()
        False
    """
    return is_available()


_initialized = False  # what programs ask that copy random states


def init() -> None:
    """Refuse if there is none; else do nothing.

    Raises:
        DeviceError: If there is none.

    Example:
        >>> if ebb.cuda.is_available():
        ...     ebb.cuda.init()
    """
    _checked("init", None)


def _checked(name: str, device: Device) -> _C.device:
    """Return the device meant, or refuse because there is none."""
    found = cuda_device(device)
    if not is_available():
        raise _C.DeviceError(
            f"cuda.{name}: needs a device of CUDA, got none\n"
            "hint: ask cuda.is_available() first; it needs a GPU with its driver, and ebb's plug-in"
        )
    return found


def current_device() -> int:
    """Return 0, the index of the first device.

    Raises:
        DeviceError: If there is none.

    Example:
        >>> if ebb.cuda.is_available():
        ...     ebb.cuda.current_device()
        >>> ebb.cuda.current_device()
        Traceback (most recent call last):
            ...
        ebb.errors.DeviceError: cuda.current_device: needs a device of CUDA, got none
        hint: ask cuda.is_available() first; ...
    """
    return _checked("current_device", None).index or 0


def set_device(device: Device) -> None:
    """Accept the first device, which is the current one.

    Raises:
        DeviceError: If there is none.

    Example:
        >>> if ebb.cuda.is_available():
        ...     ebb.cuda.set_device(0)
    """
    _checked("set_device", device)


@contextmanager
def device(device: Device) -> Iterator[None]:
    """Let new tensors be on a device within a block; of a negative index, change nothing.

    Raises:
        DeviceError: If there is none.

    Example:
        >>> with ebb.cuda.device(-1):
        ...     ebb.ones(1).device
        device(type='cpu')
    """
    if isinstance(device, int) and device < 0:
        yield
        return
    with _devices.default_device(_checked("device", device)):
        yield


def get_device_name(device: Device = None) -> str:
    """Return what a device is called by its maker.

    Raises:
        DeviceError: If there is none.

    Example:
        >>> if ebb.cuda.is_available():
        ...     print(ebb.cuda.get_device_name(0))
    """
    return _properties("get_device_name", device).name


def get_device_capability(device: Device = None) -> tuple[int, int]:
    """Return the version of a device's instructions, such as ``(9, 0)``.

    Raises:
        DeviceError: If there is none.

    Example:
        >>> if ebb.cuda.is_available() and ebb.cuda.get_device_capability() >= (8, 0):
        ...     print("computes in bfloat16")
    """
    found = _properties("get_device_capability", device)
    return found.major, found.minor


class DeviceProperties(NamedTuple):
    """What a device has: ``get_device_properties()``."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_properties(device: Device = None) -> DeviceProperties:
    """Return what a device has: name, version of its instructions, bytes, multiprocessors.

    Raises:
        DeviceError: If there is none.

    Example:
        >>> if ebb.cuda.is_available():
        ...     print(ebb.cuda.get_device_properties(0).total_memory)
    """
    return _properties("get_device_properties", device)


def _properties(function: str, device: Device) -> DeviceProperties:
    found = _checked(function, device)
    name, major, minor, units = _C._describe_device(f"cuda.{function}", found)
    total = _devices.device_memory_stats(found)["total"]
    return DeviceProperties(name, major, minor, total, units)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether there is a device; its plug-in's kernels convert where they must.

    Example:
        >>> ebb.cuda.is_bf16_supported()
        False
    """
    del including_emulation
    return is_available()


def synchronize(device: Device = None) -> None:
    """Wait until all work of a device is done.

    Example:
        >>> ebb.cuda.synchronize()  # nothing to wait for on the CPU
    """
    if is_available():
        _devices.synchronize(cuda_device(device))


def current_stream(device: Device = None) -> Stream:
    """Return the stream that work goes to.

    Raises:
        DeviceError: If there is none.

    Example:
        >>> if ebb.cuda.is_available():
        ...     ebb.cuda.current_stream().synchronize()
    """
    return _devices.current_stream(_checked("current_stream", device))


def stream(stream: Stream | None) -> Any:
    """Let work go to a stream within a block.

    Example:
        >>> with ebb.cuda.stream(None):
        ...     ebb.ones(1) + 1
        tensor([2.])
    """
    return _devices.stream(stream) if stream is not None else _nothing()


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def manual_seed(seed: int) -> None:
    """Seed a device's numbers, if there is one: by ``ebb.manual_seed``, for all come from there.

    Example:
        >>> ebb.cuda.manual_seed(0)
    """
    if is_available():
        _C.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Do as ``manual_seed`` does.

    Example:
        >>> ebb.cuda.manual_seed_all(0)
    """
    manual_seed(seed)


def seed() -> None:
    """Start a sequence that nobody knows, if there is a device.

    Example:
        >>> ebb.cuda.seed()
    """
    if is_available():
        _C.default_generator.seed()


def seed_all() -> None:
    """Do as ``seed`` does.

    Example:
        >>> ebb.cuda.seed_all()
    """
    seed()


def get_rng_state(device: Device = "cuda") -> _C.Tensor:
    """Return the state of a device's numbers, which is that of the CPU's.

    Raises:
        DeviceError: If there is no such device.

    Example:
        >>> states = [ebb.cuda.get_rng_state(n) for n in range(ebb.cuda.device_count())]
    """
    _check_there("get_rng_state")
    return _C.default_generator.get_state()


def get_rng_state_all() -> list[_C.Tensor]:
    """Return the states of all devices' numbers; none if there is no device.

    Example:
        >>> len(ebb.cuda.get_rng_state_all()) == ebb.cuda.device_count()
        True
    """
    return [_C.default_generator.get_state() for _ in range(device_count())]


def set_rng_state(new_state: _C.Tensor, device: Device = "cuda") -> None:
    """Take a state back, if there is a device: for the CPU's numbers too.

    Example:
        >>> ebb.cuda.set_rng_state(ebb.get_rng_state())
    """
    del device
    if device_count():
        _C.default_generator.set_state(new_state)


def set_rng_state_all(new_states: Iterable[_C.Tensor]) -> None:
    """Take back what ``get_rng_state_all`` returned.

    Example:
        >>> ebb.cuda.set_rng_state_all(ebb.cuda.get_rng_state_all())
    """
    for state in new_states:
        set_rng_state(state)


def initial_seed() -> int:
    """Return the seed of the numbers.

    Raises:
        DeviceError: If there is no device.

    Example:
        >>> seeds = [ebb.cuda.initial_seed() for _ in range(ebb.cuda.device_count())]
    """
    _check_there("initial_seed")
    return _C.default_generator.initial_seed()


def _check_there(function: str) -> None:
    if not is_available():
        raise _C.DeviceError(f"{function}: needs a device of CUDA, got none")


def empty_cache() -> None:
    """Give the memory that no tensor uses back to the devices, for other programs.

    Example:
        >>> ebb.cuda.empty_cache()
    """
    for index in range(device_count()):
        _C._empty_device_cache(_C.device("cuda", index))


def ipc_collect() -> None:
    """Do nothing: memory is not shared between processes.

    Example:
        >>> ebb.cuda.ipc_collect()
    """


def _stat(name: str, device: Device) -> int:
    if not is_available():
        return 0
    return int(_devices.device_memory_stats(cuda_device(device))[name])


def memory_allocated(device: Device = None) -> int:
    """Return the bytes that tensors on a device take; 0 if there is none.

    Example:
        >>> ebb.cuda.memory_allocated()
        0
    """
    return _stat("live", device)


def max_memory_allocated(device: Device = None) -> int:
    """Return the most bytes that tensors on a device took at a time.

    Example:
        >>> ebb.cuda.max_memory_allocated()
        0
    """
    return _stat("peak", device)


def memory_reserved(device: Device = None) -> int:
    """Return the bytes that ebb holds of a device, in tensors or for the next ones.

    Example:
        >>> ebb.cuda.memory_reserved()
        0
    """
    return int(_C._reserved_device_bytes(cuda_device(device))[0]) if is_available() else 0


def max_memory_reserved(device: Device = None) -> int:
    """Return the most bytes that ebb held of a device at a time.

    Example:
        >>> ebb.cuda.max_memory_reserved()
        0
    """
    return int(_C._reserved_device_bytes(cuda_device(device))[1]) if is_available() else 0


def memory_cached(device: Device = None) -> int:
    """Return what ``memory_reserved`` does; its older name.

    Example:
        >>> ebb.cuda.memory_cached() == ebb.cuda.memory_reserved()
        True
    """
    return memory_reserved(device)


def max_memory_cached(device: Device = None) -> int:
    """Return what ``max_memory_reserved`` does; its older name.

    Example:
        >>> ebb.cuda.max_memory_cached() == ebb.cuda.max_memory_reserved()
        True
    """
    return max_memory_reserved(device)


def memory_stats(device: Device = None) -> dict[str, int]:
    """Return bytes now and at most, under PyTorch's keys; nothing if there is no device.

    Example:
        >>> ebb.cuda.memory_stats().get("allocated_bytes.all.current", 0)
        0
    """
    if not is_available():
        return {}
    return {
        "allocated_bytes.all.current": memory_allocated(device),
        "allocated_bytes.all.peak": max_memory_allocated(device),
        "reserved_bytes.all.current": memory_reserved(device),
        "reserved_bytes.all.peak": max_memory_reserved(device),
    }


def is_current_stream_capturing() -> bool:
    """Return False: there are no graphs of launches.

    Example:
        >>> ebb.cuda.is_current_stream_capturing()
        False
    """
    return False


def get_arch_list() -> list[str]:
    """Return nothing: kernels are compiled for the device that is there.

    Example:
        >>> ebb.cuda.get_arch_list()
        []
    """
    return []


def reset_peak_memory_stats(device: Device = None) -> None:
    """Count the peak from now on.

    Example:
        >>> ebb.cuda.reset_peak_memory_stats()
    """
    if is_available():
        _devices.reset_peak_device_memory(cuda_device(device))


def reset_max_memory_allocated(device: Device = None) -> None:
    """Do as ``reset_peak_memory_stats`` does.

    Example:
        >>> ebb.cuda.reset_max_memory_allocated()
    """
    reset_peak_memory_stats(device)


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """Return the free and the whole memory of a device, in bytes.

    Raises:
        DeviceError: If there is none.

    Example:
        >>> if ebb.cuda.is_available():
        ...     free, total = ebb.cuda.mem_get_info()
    """
    stats = _devices.device_memory_stats(_checked("mem_get_info", device))
    return stats["free"], stats["total"]


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """Return live and peak bytes as a line.

    Example:
        >>> ebb.cuda.memory_summary()
        '0 bytes live, 0 at most'
    """
    del abbreviated
    return f"{memory_allocated(device)} bytes live, {max_memory_allocated(device)} at most"


for _name in ("", ".amp"):
    _naming.name_module(__name__ + _name)
