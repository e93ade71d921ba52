# python/ebb/_modes.py -- switches of PyTorch: deterministic algorithms, precision of products.
#
# There is no compiler: programs that ask for one run all the same, and the log tells so once. All
# kernels give the same bits whatever the number of threads: programs may ask for that, and read
# back what they asked for. Products of float32 compute in float32, but on GPUs where TF32 is
# allowed.
"""Determinism and the precision of products."""

from __future__ import annotations

from typing import Any

from ebb import _C

_PRECISIONS = ("highest", "high", "medium")
_DEBUG_MODES = ("default", "warn", "error")
_asked = {"deterministic": False, "warn_only": False, "precision": "highest"}
_asked["warn_always"] = False


def use_deterministic_algorithms(mode: Any, *, warn_only: Any = False) -> None:
    """Ask for the same results each time: all kernels give them anyway.

    Example:
        >>> ebb.use_deterministic_algorithms(True)
        >>> ebb.are_deterministic_algorithms_enabled()
        True
        >>> ebb.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise _C.DTypeError(
            f"use_deterministic_algorithms: needs a bool, got {type(mode).__name__}"
        )
    _asked.update(deterministic=mode, warn_only=mode and bool(warn_only))


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether ``use_deterministic_algorithms`` asked for them.

    Example:
        >>> ebb.are_deterministic_algorithms_enabled()
        False
    """
    return _asked["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether only warnings were asked for.

    Example:
        >>> ebb.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return _asked["warn_only"]


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """Ask for "default", "warn" or "error", also written 0, 1 or 2.

    Example:
        >>> ebb.set_deterministic_debug_mode("default")
    """
    known = dict(enumerate(_DEBUG_MODES))
    mode = known.get(debug_mode, debug_mode)
    if mode not in _DEBUG_MODES:
        raise _C.ValueError(
            "set_deterministic_debug_mode: needs 'default', 'warn', 'error' or 0 to 2, "
            f"got {debug_mode!r}"
        )
    use_deterministic_algorithms(mode != "default", warn_only=mode == "warn")


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 for warnings only, or 2.

    Example:
        >>> ebb.get_deterministic_debug_mode()
        0
    """
    return _asked["deterministic"] * (1 if _asked["warn_only"] else 2)


def set_float32_matmul_precision(precision: Any) -> None:
    """Allow TF32 in products of float32 on GPUs ("high" or "medium"), or not ("highest").

    TF32 has 10 bits of mantissa. Elsewhere products have the highest precision anyway.

    Example:
        >>> ebb.set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        raise _C.ValueError(
            f"set_float32_matmul_precision: needs 'highest', 'high' or 'medium', got {precision!r}"
        )
    _asked["precision"] = precision
    set_tf32("set_float32_matmul_precision", precision != "highest")


def get_float32_matmul_precision() -> str:
    """Return what ``set_float32_matmul_precision`` or ``backends.cuda.matmul.allow_tf32`` set.

    Example:
        >>> ebb.get_float32_matmul_precision()
        'highest'
    """
    asked, allowed = _asked["precision"], is_tf32()
    if allowed == (asked != "highest"):
        return asked
    return "high" if allowed else "highest"  # somebody set the flag itself


def is_tf32() -> bool:
    """Return whether products of float32 on GPUs may use TF32: the flag ``tf32``."""
    return next(value for name, _, value, *_ in _C._flags() if name == "tf32") == "true"


def set_tf32(caller: str, allowed: bool) -> None:
    """Set the flag ``tf32``, in the name of a caller."""
    _C._set_flag(caller, "tf32", "true" if allowed else "false")


def set_flush_denormal(mode: Any) -> bool:
    """Set whether numbers below the smallest normal one count as 0; return whether that can be.

    It is a mode of the calling thread, which other threads of ebb have while they work for it, and
    threads that it starts from then on; float16 and bfloat16 are computed in float32.

    Example:
        >>> ebb.set_flush_denormal(True)
        True
        >>> ebb.tensor(1e-300, dtype=ebb.float64) * 1e-10
        tensor(0., dtype=ebb.float64)
        >>> ebb.set_flush_denormal(False)
        True
    """
    return _C._set_flush_denormal(mode)


def set_num_interop_threads(num: Any) -> None:
    """Ask for threads that run operations side by side: they run one after the other anyway.

    Example:
        >>> ebb.set_num_interop_threads(1)
    """
    if not isinstance(num, int) or num < 1:
        raise _C.ValueError(f"set_num_interop_threads: needs an int from 1 on, got {num!r}")


def get_num_interop_threads() -> int:
    """Return 1.

    Example:
        >>> ebb.get_num_interop_threads()
        1
    """
    return 1


def set_warn_always(b: bool) -> None:
    """Ask for warnings each time: Python's filters of warnings decide it.

    Example:
        >>> ebb.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise _C.DTypeError(f"set_warn_always: needs a bool, got {type(b).__name__}")
    _asked["warn_always"] = b


def is_warn_always_enabled() -> Any:
    """Return what ``set_warn_always`` was given.

    Example:
        >>> ebb.is_warn_always_enabled()
        False
    """
    return _asked["warn_always"]


_told = set()


def tell_once(name):
    """Write to the log, the first time, that a function returns what it was given."""
    import logging  # seldom needed

    if name not in _told:
        _told.add(name)
        logging.getLogger("ebb").info(
            "%s: returns what it was given; ebb runs each operation at once", name
        )


def compile(
    model: Any = None,
    *,
    fullgraph: Any = False,
    dynamic: Any = None,
    backend: Any = "inductor",
    mode: Any = None,
    options: Any = None,
    disable: Any = False,
    recompile_limit: Any = None,
    isolate_recompiles: Any = False,
    dynamic_shapes: Any = None,
    name: Any = None,
) -> Any:
    """Return a function or module as it is; without one, a decorator that does.

    The other parameters are PyTorch's and change nothing.

    Raises:
        DTypeError: If ``model`` cannot be called.
    Example:
        >>> ebb.compile(ebb.nn.Linear(2, 3))
        Linear(in_features=2, out_features=3, bias=True)
    """
    del fullgraph, dynamic, backend, mode, options, disable
    del recompile_limit, isolate_recompiles, dynamic_shapes, name
    if model is None:
        return compile
    if not callable(model):
        raise _C.DTypeError(
            f"compile: 'model' must be a function or Module, got {type(model).__name__}"
        )
    tell_once("compile")
    return model
