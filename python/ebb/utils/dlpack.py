# python/ebb/utils/dlpack.py -- memory shared by DLPack, where PyTorch has it.
"""``from_dlpack`` and ``to_dlpack``, which ``ebb`` has too."""

from ebb._tensor.exchange import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
