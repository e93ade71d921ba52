# python/ebb/data/progress.py -- a progress bar: one line on a terminal, a few plain lines in a log.
"""``progress`` wraps what is iterated over, or counts by hand, and shows values beside the bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

_WIDTH = 24
_SECONDS_BETWEEN_DRAWS = 0.05
_LINES = 10  # in a log, where the total is known
_LONGEST_PAUSE_S = 60.0  # in a log, where it is not


class Progress:
    """What ``progress`` returns.

    Example:
        >>> import io
        >>> bar = ebb.data.progress(range(3), "epoch 1", stream=io.StringIO())
        >>> for batch in bar:
        ...     bar.set(loss=0.5)
    """

    def __init__(
        self, iterable: Iterable[Any] | None, total: int | None, title: str, unit: str,
        stream: TextIO,
    ):  # fmt: skip
        self.total = total
        self.done: int = 0
        self._iterable = iterable
        self._title = title
        self._unit = unit
        self._stream = stream
        self._values: dict[str, Any] = {}
        self._is_terminal = bool(getattr(stream, "isatty", bool)())
        self._start = time.perf_counter()
        self._drawn_at = self._start - _SECONDS_BETWEEN_DRAWS
        self._drawn = -1  # what was done then
        self._next_share = 1 / _LINES
        self._pause = 1.0
        self._is_closed = False

    def update(self, count: int = 1, **values: Any) -> None:
        """Count ``count`` more; show the values, such as ``loss=0.5``, from now on."""
        self.done += count
        if values:
            self._values.update(values)
        now = time.perf_counter()
        if self._is_due(now):
            self._draw(now)

    def set(self, **values: Any) -> None:
        """Show the values from the next count on; tensors of one element and text are fine."""
        self._values.update(values)

    def close(self) -> None:
        """Show where it ended, and end the line."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._is_terminal or self._drawn != self.done:
            self._draw(time.perf_counter())
        if self._is_terminal:
            self._stream.write("\n")
            self._stream.flush()

    def __iter__(self) -> Iterator[Any]:
        if self._iterable is None:
            raise TypeError("progress: needs something to iterate over, got only a total")
        try:
            for item in self._iterable:
                yield item
                self.update()
        finally:
            self.close()

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("progress: needs a known total for len(), got none")
        return self.total

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _is_due(self, now: float) -> bool:
        if self._is_terminal:
            return now - self._drawn_at >= _SECONDS_BETWEEN_DRAWS
        if self.total:
            share = self.done / self.total
            return share >= self._next_share - 1e-9 or self.done == self.total
        return now - self._drawn_at >= self._pause

    def _draw(self, now: float) -> None:
        self._drawn_at, self._drawn = now, self.done
        if self.total:
            self._next_share = self.done / self.total + 1 / _LINES
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
        line = self._line(now - self._start)
        if self._is_terminal:
            # A line that wraps could not be drawn over.
            columns = max(_columns() - 1, 10)
            self._stream.write(f"\r{line[:columns]}\x1b[K")
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def _line(self, seconds: float) -> str:
        rate = self.done / max(seconds, 1e-9)
        values = [f"{name} {_text_of(value)}" for name, value in self._values.items()]
        speed = f"{rate:9,.0f}" if rate >= 100 else f"{rate:9.2f}"
        after = [*values, f"{speed} {self._unit}/s"]
        if not self.total:
            before = f"{self._title} {self.done:,} {self._unit}".strip()
            return "  ".join([before, *after, _duration(seconds)])
        share = min(self.done / self.total, 1.0)
        left = max(self.total - self.done, 0) / max(rate, 1e-9) if self.done else 0.0
        end = f"{_duration(left)} left" if self.done < self.total else _duration(seconds)
        text = "  ".join([f"{share:4.0%}", *after, end])
        title = f"{self._title} " if self._title else ""
        width = _WIDTH
        if self._is_terminal:
            room = _columns() - len(title) - len(text) - 4
            width = max(2, min(_WIDTH, room))
        filled = round(width * share)
        return f"{title}[{'#' * filled}{'.' * (width - filled)}] {text}"


def progress(
    iterable: Iterable[Any] | None = None,
    title: str = "",
    *,
    total: int | None = None,
    unit: str = "it",
    stream: TextIO | None = None,
) -> Progress:
    """Show how far a loop has come: a bar, the values of ``set``, the rate, the time left.

    On a terminal one line is drawn over and over; elsewhere about ten lines are written.

    Args:
        iterable: What to go over; without it, call ``update`` and ``close``.
        title: Stands before the bar.
        total: How many there will be; ``len(iterable)`` if None.
        unit: What is counted.
        stream: Where to write; ``sys.stderr`` if None.
    Example:
        >>> import io
        >>> bar = ebb.data.progress(range(3), "training", unit="batches", stream=io.StringIO())
        >>> for batch in bar:
        ...     bar.set(loss=0.5)
    """
    if total is None and iterable is not None:
        try:
            total = len(iterable)  # type: ignore[arg-type]
        except (TypeError, NotImplementedError):
            total = None
    return Progress(iterable, total, title, unit, sys.stderr if stream is None else stream)


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _text_of(value: Any) -> str:
    if isinstance(value, str | bool | int):
        return str(value)
    try:
        return f"{float(value):.4f}" if 1e-3 <= abs(float(value)) < 1e5 else f"{float(value):.3g}"
    except (TypeError, ValueError):
        return str(value)


def _duration(seconds: float) -> str:
    seconds = round(seconds)
    if seconds < 100:
        return f"{seconds:3d} s"
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
