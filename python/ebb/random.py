# python/ebb/random.py -- the state of the default generator: seeds, states, a fork.
"""Names of ``torch.random``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from ebb._C import Generator, default_generator, get_rng_state, manual_seed, set_rng_state

__all__ = [
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def seed() -> int:
    """Start a sequence that nobody knows, and return its seed.

    Example:
        >>> isinstance(ebb.seed(), int)
        True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed that the default generator started from.

    Example:
        >>> generator = ebb.manual_seed(7)
        >>> ebb.initial_seed()
        7
    """
    return default_generator.initial_seed()


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[object] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Let what is drawn inside leave the default generator as it was.

    Args:
        devices, device_type: Taken for PyTorch's sake: all devices draw from the one generator.
        enabled: False leaves the generator alone.

    Example:
        >>> with ebb.random.fork_rng(): x = ebb.rand(3)
        >>> x.shape
        ebb.Size([3])
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def thread_safe_generator() -> Generator | None:
    """Return the generator of this thread's worker of a DataLoader: None, the default one.

    Workers are processes, each with a default generator of its own.

    Example:
        >>> ebb.rand(2, generator=ebb.random.thread_safe_generator()).shape
        ebb.Size([2])
    """
    return None
