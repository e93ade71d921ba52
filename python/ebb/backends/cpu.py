# python/ebb/backends/cpu.py -- what the processor can do.
"""The processor."""

from ebb import _C

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """Return the vector instructions that kernels use, as PyTorch names them: "AVX512", "AVX2".

    Example:
        >>> ebb.backends.cpu.get_cpu_capability().isupper()
        True
    """
    name = _C._build_info()["instruction set in use"].upper()
    return "AVX512" if name.startswith("AVX3") else name
