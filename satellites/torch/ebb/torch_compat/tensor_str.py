# satellites/torch/ebb/torch_compat/tensor_str.py -- torch._tensor_str: how tensors are written, for
# programs
# that look into PyTorch's own options.
"""``PRINT_OPTS`` and the text of a tensor's values."""

from __future__ import annotations

import re
from typing import Any

import ebb
from ebb._C import Tensor

__all__ = ["PRINT_OPTS"]
_WRAPPED = re.compile(r"tensor\((.*?)(,\s*(dtype|device|size)=.*)?\)", re.DOTALL)


class PrinterOptions:
    """What ``set_printoptions`` set, as attributes.

    >>> from ebb.torch_compat import tensor_str
    >>> tensor_str.PRINT_OPTS.threshold == ebb.get_printoptions()["threshold"]
    True
    """

    def __getattr__(self, name: str) -> Any:
        options = ebb.get_printoptions()
        if name not in options:
            raise AttributeError(f"PRINT_OPTS has no attribute {name!r}")
        return options[name]

    def __setattr__(self, name: str, value: Any) -> None:
        ebb.set_printoptions(**{name: value})


PRINT_OPTS: PrinterOptions = PrinterOptions()


def values_text(tensor: Tensor, indent: int) -> str:
    """Return the values as they are written, lines after the first moved to the right.

    >>> from ebb.torch_compat import tensor_str
    >>> print(tensor_str.values_text(ebb.eye(2), 2))
    [[1., 0.],
       [0., 1.]]
    """
    found = _WRAPPED.fullmatch(str(tensor.detach()))
    assert found is not None
    return found[1].replace("\n" + " " * len("tensor("), "\n" + " " * indent)
