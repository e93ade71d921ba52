# python/ebb/onnx.py -- what programs import at their top and ask for at their end.
"""``ebb.onnx``: there is no writer of ONNX; ``export`` says so.

>>> ebb.onnx.is_in_onnx_export()
False
"""

from __future__ import annotations

from typing import Any

from ebb import _C

__all__ = ["export", "is_in_onnx_export"]


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
