# satellites/torch/ebb/torch_compat/absent.py -- classes of PyTorch's that programs name in
# annotations or
# derive from, and seldom make: here they refuse to be made. Those of NAMES stand in files of
# PyTorch's that ebb has not; finder.py finds them here.
"""``DeviceMesh``, ``CUDAGraph`` and others that ebb has not."""

from __future__ import annotations

import logging
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


def refusing(name: str, why: str) -> type:
    """Return a class that may be named and derived from, and says why there are no objects."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise _C.NotImplementedError(f"{name}: {why}")

    doc = _DOC.format(why=why.splitlines()[0], name=name)
    return type(name, (), {"__init__": refuse, "__doc__": doc, "__module__": __name__})


ALONE = "ebb runs in one process\nhint: run without a launcher"
_NO_MODES = (
    "calls are not passed through modes\n"
    "hint: a subclass of Tensor with __torch_function__ sees those of its objects"
)
DTensor = refusing("DTensor", ALONE)
DeviceMesh = refusing("DeviceMesh", ALONE)
ProcessGroup = refusing("ProcessGroup", ALONE)
CUDAGraph = refusing("CUDAGraph", "launches are not recorded\nhint: leave it out")
_NO_FLEX = (
    "attention by a function of scores needs a compiler\n"
    "hint: nn.functional.scaled_dot_product_attention(attn_mask=)"
)
BlockMask = refusing("BlockMask", _NO_FLEX)
create_block_mask = refusing("create_block_mask", _NO_FLEX)
flex_attention = refusing("flex_attention", _NO_FLEX)
AuxRequest = refusing("AuxRequest", _NO_FLEX)
_DEFAULT_SPARSE_BLOCK_SIZE = 128
StreamContext = refusing("StreamContext", "cuda.stream(stream) makes it")
_NO_TRACE = "modules are not traced\nhint: ebb.graph(loss) has the backward graph as data"
_NO_FILE = "files are read and written whole\nhint: torch.load and torch.save"
_NO_FLOPS = "ebb counts no operations\nhint: torch.profiler has the time of each"
_NO_COMPILER = "there is no compiler\nhint: leave it out"
# PyTorch's name: why there is none.
NAMES = {
    "torch._C.Graph": _NO_TRACE,
    "torch._C.Value": _NO_TRACE,
    "torch._C.ListType": _NO_TRACE,
    "torch._C.DispatchKeySet": "kernels are chosen by device and dtype alone",
    "torch.PyTorchFileReader": _NO_FILE,
    "torch.PyTorchFileWriter": _NO_FILE,
    "torch._C.PyTorchFileReader": _NO_FILE,
    "torch._dynamo.OptimizedModule": _NO_COMPILER,
    "torch._dynamo.eval_frame.OptimizedModule": _NO_COMPILER,
    "torch._ops.HigherOrderOperator": _NO_COMPILER,
    "torch.onnx.ONNXProgram": "there is no exporter\nhint: torch.save(module.state_dict(), file)",
    "torch.cuda.profiler.profile": "kernels of devices are not traced\nhint: torch.profiler",
}
globals().update(
    {name.rpartition(".")[2]: refusing(name.rpartition(".")[2], NAMES[name]) for name in NAMES}
)


class FlopCounterMode:
    """Counts no operations, which the log says when it is entered; it refuses to tell numbers.

    Args:
        mods, depth, display, custom_mapping: Taken, and nothing done.
    Example:
        >>> from ebb.torch_compat import absent
        >>> try:
        ...     absent.FlopCounterMode(display=False).get_total_flops()
        ... except NotImplementedError as error:
        ...     print(str(error).splitlines()[0])
        get_total_flops: ebb counts no operations
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True,
                 custom_mapping: Any = None):  # fmt: skip
        del mods, depth, display, custom_mapping

    def __enter__(self) -> FlopCounterMode:
        logging.getLogger("ebb").warning("FlopCounterMode: ebb counts no operations")
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def get_total_flops(self) -> NoReturn:
        """Refuse: a number would be taken for true."""
        raise _C.NotImplementedError(f"get_total_flops: {_NO_FLOPS}")

    def get_flop_counts(self) -> NoReturn:
        """Refuse, as ``get_total_flops``."""
        raise _C.NotImplementedError(f"get_flop_counts: {_NO_FLOPS}")


TorchFunctionMode = refusing("TorchFunctionMode", _NO_MODES)
TorchDispatchMode = refusing("TorchDispatchMode", _NO_MODES)
