# python/ebb/profiler/traces.py -- what is done with a profile when it is ready: a file for each.
"""``tensorboard_trace_handler``, and the names of what PyTorch can note."""

from __future__ import annotations

import enum
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ebb.errors import IoError, ValueError
from ebb.io.reading import path_text

if TYPE_CHECKING:
    from ebb.profiler.recording import profile


class ProfilerActivity(enum.Enum):
    """What programs ask ``profile`` to note; it notes the CPU's work whatever they ask.

    Example:
        >>> with ebb.profiler.profile(activities=[ebb.profiler.ProfilerActivity.CPU]) as prof:
        ...     x = ebb.ones(2) + 1
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def supported_activities() -> set[ProfilerActivity]:
    """Return what is noted: the CPU's work.

    Example:
        >>> ebb.profiler.supported_activities()
        {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """Return what to pass as ``on_trace_ready`` to have a file of each trace, for Perfetto too.

    Args:
        dir_name: The folder; it is made if need be.
        worker_name: The start of each file's name; machine and process unless given.
        use_gzip: Not served: traces are plain.
    Raises:
        ValueError: With ``use_gzip``.
    Example:
        >>> import os
        >>> handler = ebb.profiler.tensorboard_trace_handler("log")
        >>> with ebb.profiler.profile(on_trace_ready=handler):
        ...     x = ebb.ones(2) + 1
        >>> [name.endswith(".pt.trace.json") for name in os.listdir("log")]
        [True]
    """
    if use_gzip:
        raise ValueError("tensorboard_trace_handler: writes plain JSON, got use_gzip=True")
    folder = path_text("tensorboard_trace_handler", dir_name)
    worker = worker_name or f"{os.uname().nodename}_{os.getpid()}"

    def write(prof: profile) -> None:
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise IoError(
                f"tensorboard_trace_handler: needs a folder, got {folder!r}: {error.strerror}"
            ) from None
        name = f"{worker}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(folder, name))

    return write
