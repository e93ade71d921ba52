# python/ebb/utils/tensorboard/writer.py -- SummaryWriter: what a program notes of its training.
"""The one class of ``ebb.utils.tensorboard``."""

from __future__ import annotations

import datetime
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from ebb import _C
from ebb.utils.tensorboard import summaries
from ebb.utils.tensorboard.rarer import RarerSummaries
from ebb.utils.tensorboard.sinks import open_sink


class SummaryWriter(RarerSummaries):
    """Writes figures of a training into a folder.

    With the package ``tensorboard`` they are event files, which TensorBoard shows; without it,
    lines of JSON, each with ``tag``, ``step``, ``wall_time``, ``kind`` and ``value``.

    Args:
        log_dir: The folder; if None one below ``runs``, named by time and machine.
        comment: Put behind that name.
        purge_step: Taken for PyTorch's sake.
        max_queue: Events that are held back, at most.
        flush_secs: Seconds for which they are.
        filename_suffix: Put behind the files' names.
    Example:
        >>> import tempfile
        >>> with ebb.utils.tensorboard.SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     writer.add_scalar("loss", ebb.tensor(0.5), global_step=1)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ):
        if not log_dir:
            now = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir: str = os.fspath(log_dir)
        self._options = (max_queue, flush_secs, filename_suffix)
        self._sinks: dict[str, Any] = {}
        self._sink(self.log_dir)

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Note a number, or the only element of a tensor or array.

        Args:
            new_style: With ``double_precision`` event files keep 64 bits; else they keep 32.
        """
        number = summaries.number_of("add_scalar", scalar_value)
        kind = "double" if new_style and double_precision else "scalar"
        self._write(kind, tag, number, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Note numbers that belong into one picture, each in a folder of its own."""
        for name, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{name}")
            number = summaries.number_of("add_scalars", value)
            self._write("scalar", main_tag, number, global_step, walltime, folder)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Note how values are spread.

        Args:
            values: A tensor, array or list of finite numbers.
            bins: "tensorflow" for limits that grow by a tenth, or what ``numpy.histogram`` takes.
            max_bins: Put neighbours together until there are no more.
        """
        made = summaries.histogram("add_histogram", values, bins, max_bins)
        self._write("histogram", tag, made, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Note an image: floats from 0 to 1, or bytes.

        Args:
            dataformats: What the dims are: C channels (1, 3 or 4), H rows, W columns.
        """
        self._add_picture("add_image", tag, img_tensor, global_step, walltime, dataformats)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Note several images, eight in a row; N counts them."""
        self._add_picture("add_images", tag, img_tensor, global_step, walltime, dataformats)

    def _add_picture(
        self, op: str, tag: str, values: Any, step: Any, walltime: Any, layout: str
    ) -> None:
        image = summaries.picture(op, values, layout.upper())
        self._write("image", tag, summaries.noted_picture(image), step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Note a figure of matplotlib, or several.

        Args:
            close: Close it afterwards.
        """
        for one in figure if isinstance(figure, list) else [figure]:
            one.canvas.draw()
            pixels = summaries.np.asarray(one.canvas.buffer_rgba())
            self._add_picture("add_figure", tag, pixels[..., :3], global_step, walltime, "HWC")
            if close:
                import matplotlib.pyplot as plt

                plt.close(one)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Note a text, which TensorBoard reads as Markdown."""
        self._write("text", tag, str(text_string), global_step, walltime)

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Note the parts of a model, as a text."""
        self.add_text("graph", f"```\n{model!r}\n```")

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, Any] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Note what a training was told and what came of it, in a folder of their own.

        Args:
            hparam_domain_discrete: All values that some of them may have.
            run_name: The folder; the time if None.
        """
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        told = {key: _plain(value) for key, value in hparam_dict.items() if value is not None}
        domains = {key: list(choices) for key, choices in (hparam_domain_discrete or {}).items()}
        noted = {"hparams": told, "domains": domains, "metrics": list(metric_dict)}
        self._write("hparams", "hparams", noted, global_step, None, folder)
        for name, value in metric_dict.items():
            self._write("scalar", name, float(value), global_step, None, folder)

    def _write(
        self, kind: str, tag: str, value: Any, step: Any, walltime: float | None,
        folder: str | None = None,
    ) -> None:  # fmt: skip
        step = None if step is None else int(step)
        wall = time.time() if walltime is None else walltime
        event = {"tag": tag, "step": step, "wall_time": wall, "kind": kind, "value": value}
        self._sink(folder or self.log_dir).write(event)

    def _sink(self, folder: str) -> Any:
        if folder not in self._sinks:
            self._sinks[folder] = open_sink(folder, *self._options)
        return self._sinks[folder]

    def flush(self) -> None:
        """Write all that is held back."""
        for sink in self._sinks.values():
            sink.flush()

    def close(self) -> None:
        """Write all that is held back; what is added later goes into new files."""
        for sink in self._sinks.values():
            sink.close()
        self._sinks.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, _C.Tensor) else value
