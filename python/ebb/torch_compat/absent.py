# python/ebb/torch_compat/absent.py -- classes of PyTorch's that programs name in annotations or
# derive from, and seldom make: here they refuse to be made.
"""``DeviceMesh``, ``CUDAGraph`` and others that ebb has not."""

from __future__ import annotations

from typing import Any, NoReturn

from ebb import _C

__all__ = ["AuxRequest", "BlockMask", "CUDAGraph", "DTensor", "DeviceMesh", "ProcessGroup",
           "StreamContext", "TorchDispatchMode", "TorchFunctionMode", "create_block_mask",
           "flex_attention"]  # fmt: skip


_DOC = """Refuse: {why}.

Raises:
    NotImplementedError: Always.

Example:
    >>> from ebb.torch_compat import absent
    >>> try:
    ...     absent.{name}()
    ... except NotImplementedError as error:
    ...     print(str(error).partition(":")[0])
    {name}
"""


def _refusing(name: str, why: str) -> type:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise _C.NotImplementedError(f"{name}: {why}")

    doc = _DOC.format(why=why.splitlines()[0], name=name)
    return type(name, (), {"__init__": refuse, "__doc__": doc, "__module__": __name__})


_ALONE = "ebb runs in one process\nhint: run without a launcher"
_NO_MODES = (
    "calls are not passed through modes\n"
    "hint: a subclass of Tensor with __torch_function__ sees those of its objects"
)
DTensor = _refusing("DTensor", _ALONE)
DeviceMesh = _refusing("DeviceMesh", _ALONE)
ProcessGroup = _refusing("ProcessGroup", _ALONE)
CUDAGraph = _refusing("CUDAGraph", "launches are not recorded\nhint: leave it out")
_NO_FLEX = (
    "attention by a function of scores needs a compiler\n"
    "hint: nn.functional.scaled_dot_product_attention(attn_mask=)"
)
BlockMask = _refusing("BlockMask", _NO_FLEX)
create_block_mask = _refusing("create_block_mask", _NO_FLEX)
flex_attention = _refusing("flex_attention", _NO_FLEX)
AuxRequest = _refusing("AuxRequest", _NO_FLEX)
_DEFAULT_SPARSE_BLOCK_SIZE = 128
StreamContext = _refusing("StreamContext", "cuda.stream(stream) makes it")
TorchFunctionMode = _refusing("TorchFunctionMode", _NO_MODES)
TorchDispatchMode = _refusing("TorchDispatchMode", _NO_MODES)
