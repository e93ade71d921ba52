# python/ebb/utils/tensorboard/sinks.py -- where summaries go: event files, or lines of JSON.
#
# An event is a dict: tag, step, wall_time, kind and value. Kinds: "scalar", "histogram", "image"
# (a PNG with its sizes), "text", "hparams". EventFile needs the package `tensorboard`.
"""``open_sink``; used by ``writer.py``."""

from __future__ import annotations

import base64
import importlib
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


class EventFile:
    """TensorBoard's format, through its package."""

    def __init__(self, log_dir: str, max_queue: int, flush_secs: float, suffix: str):
        writers = importlib.import_module("tensorboard.summary.writer.event_file_writer")
        self._writer = writers.EventFileWriter(log_dir, max_queue, flush_secs, suffix)
        proto = "tensorboard.compat.proto."
        self._events = importlib.import_module(proto + "event_pb2")
        self._summaries = importlib.import_module(proto + "summary_pb2")
        self._tensors = importlib.import_module(proto + "tensor_pb2")

    def write(self, event: Event) -> None:
        """Write one event."""
        for value in getattr(self, "_" + event["kind"])(event["tag"], event["value"]):
            made = self._events.Event(
                summary=self._summaries.Summary(value=[value]), wall_time=event["wall_time"]
            )
            if event["step"] is not None:
                made.step = event["step"]
            self._writer.add_event(made)

    def _scalar(self, tag: str, value: float) -> list[Any]:
        return [self._summaries.Summary.Value(tag=tag, simple_value=value)]

    def _histogram(self, tag: str, value: dict[Any, Any]) -> list[Any]:
        made = self._summaries.HistogramProto(**value)
        return [self._summaries.Summary.Value(tag=tag, histo=made)]

    def _image(self, tag: str, value: dict[Any, Any]) -> list[Any]:
        made = self._summaries.Summary.Image(
            height=value["height"],
            width=value["width"],
            colorspace=value["channels"],
            encoded_image_string=value["png"],
        )
        return [self._summaries.Summary.Value(tag=tag, image=made)]

    def _text(self, tag: str, value: str) -> list[Any]:
        metadata = self._summaries.SummaryMetadata(
            plugin_data=self._summaries.SummaryMetadata.PluginData(plugin_name="text")
        )
        content = self._tensors.TensorProto(dtype="DT_STRING", string_val=[value.encode()])
        content.tensor_shape.dim.add(size=1)
        return [
            self._summaries.Summary.Value(
                tag=f"{tag}/text_summary", metadata=metadata, tensor=content
            )
        ]

    def _hparams(self, tag: str, value: dict[Any, Any]) -> list[Any]:
        hparams = importlib.import_module("tensorboard.plugins.hparams.summary_v2")
        return list(hparams.hparams_pb(value["hparams"]).value)

    def flush(self) -> None:
        """Write what is held back."""
        self._writer.flush()

    def close(self) -> None:
        """Write what is held back, and end."""
        self._writer.close()
