# satellites/torch/ebb/onnx.py -- ebb.onnx: the names of torch.onnx; export() says that there is
# none.
"""``ebb.onnx``: there is no writer of ONNX; ``export`` says so.

>>> ebb.onnx.is_in_onnx_export()
False
"""

from __future__ import annotations

import enum
from typing import Any

from ebb import _C

__all__ = [
    "OperatorExportTypes",
    "TrainingMode",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]


class TrainingMode(enum.Enum):
    """How PyTorch's ``export`` sets a module; taken by programs' own functions as a default.

    Example:
        >>> ebb.onnx.TrainingMode.EVAL.name
        'EVAL'
    """

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """How PyTorch's ``export`` writes ops; taken by programs' own functions as a default.

    Example:
        >>> ebb.onnx.OperatorExportTypes.ONNX.name
        'ONNX'
    """

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Do nothing: nothing is exported.

    Example:
        >>> ebb.onnx.register_custom_op_symbolic("mine::op", print, 11)
    """
    del symbolic_name, symbolic_fn, opset_version


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Do nothing.

    Example:
        >>> ebb.onnx.unregister_custom_op_symbolic("mine::op", 11)
    """
    del symbolic_name, opset_version


def export(model: Any, *args: Any, **kwargs: Any) -> None:
    """Refuse: modules run as Python and are not written as graphs.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> ebb.onnx.export(ebb.nn.Linear(2, 1), ebb.ones(1, 2), "layer.onnx")
        Traceback (most recent call last):
            ...
        ebb.errors.NotImplementedError: onnx.export: ebb writes no ONNX
        hint: save module.state_dict(), load it in PyTorch, and export there
    """
    raise _C.NotImplementedError(
        "onnx.export: ebb writes no ONNX\n"
        "hint: save module.state_dict(), load it in PyTorch, and export there"
    )


def is_in_onnx_export() -> bool:
    """Return False.

    Example:
        >>> ebb.onnx.is_in_onnx_export()
        False
    """
    return False
