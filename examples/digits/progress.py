# examples/digits/progress.py -- a progress bar: one line on a terminal, plain lines in a log.
"""Shows loss, accuracy, speed and the time that is left."""

import shutil
import sys
import time

WIDTH = 24
TEXT_WIDTH = 71  # what stands beside the bar, and one column for the cursor
SECONDS_BETWEEN_DRAWS = 0.05


class Progress:
    """Counts samples and shows how far a training has come."""

    def __init__(self, total: int, stream=None):
        self.total = total
        self.done = 0
        self.stream = stream or sys.stdout
        self.is_terminal = self.stream.isatty()
        self.start = time.perf_counter()
        self._drawn_at = 0.0
        self._next_line = 0.1  # share of the work after which a log gets its next line

    def update(self, samples: int, loss: float, accuracy: float) -> None:
        """Count ``samples`` more; show loss and accuracy now and then."""
        self.done += samples
        now = time.perf_counter()
        share = self.done / self.total
        if self.is_terminal:
            is_due = now - self._drawn_at >= SECONDS_BETWEEN_DRAWS
        else:
            is_due = share >= self._next_line - 1e-9
        if not is_due and self.done < self.total:
            return
        self._drawn_at = now
        self._next_line = share + 0.1
        self._show(self._line(share, loss, accuracy, now - self.start))

    def close(self) -> None:
        """End the line."""
        if self.is_terminal:
            self.stream.write("\n")
            self.stream.flush()

    def _line(self, share: float, loss: float, accuracy: float, seconds: float) -> str:
        width = WIDTH
        if self.is_terminal:  # a line that wraps could not be drawn over
            width = max(2, min(WIDTH, shutil.get_terminal_size().columns - TEXT_WIDTH))
        filled = round(width * share)
        speed = self.done / max(seconds, 1e-9)
        left = (self.total - self.done) / max(speed, 1e-9)
        return (
            f"[{'#' * filled}{'.' * (width - filled)}] {share:4.0%}  loss {loss:6.4f}  "
            f"accuracy {accuracy:6.1%}  {speed:9,.0f} samples/s  {left:3.0f} s left"
        )

    def _show(self, line: str) -> None:
        if self.is_terminal:
            self.stream.write(f"\r{line}\x1b[K")
        else:
            self.stream.write(line + "\n")
        self.stream.flush()
