# python/ebb/utils/tensorboard/sinks.py -- where summaries go: event files, or lines of JSON.
#
# An event is a dict: tag, step, wall_time, kind and value. Kinds: "scalar", "double" (kept in 64
# bits), "histogram", "image", "video" (a PNG with its sizes), "audio" (a WAV), "text", "hparams",
# "tensor", "pr_curve", "mesh", "custom_scalars", "embedding" (the folder of its files).
"""``open_sink``; used by ``writer.py``."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import socket
import time
from typing import Any

Event = dict[str, Any]


def open_sink(log_dir: str, max_queue: int, flush_secs: float, suffix: str) -> Any:
    """Return what writes events into a folder."""
    if importlib.util.find_spec("tensorboard") is not None:
        from ebb.utils.tensorboard.event_file import EventFile

        return EventFile(log_dir, max_queue, flush_secs, suffix)
    return JsonLines(log_dir, suffix)


class JsonLines:
    """One line of JSON per event; bytes are base64."""

    def __init__(self, log_dir: str, suffix: str = ""):
        os.makedirs(log_dir, exist_ok=True)
        name = f"events.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}{suffix}.jsonl"
        self.path: str = os.path.join(log_dir, name)
        self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 -- closed by close()

    def write(self, event: Event) -> None:
        """Write one event."""
        self._file.write(json.dumps(event, default=_as_text) + "\n")

    def flush(self) -> None:
        """Write what is held back."""
        self._file.flush()

    def close(self) -> None:
        """Write what is held back, and end."""
        self._file.close()


def _as_text(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def append(path: str, text: str) -> None:
    """Write a text to the end of a file, which is made if there is none."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)
