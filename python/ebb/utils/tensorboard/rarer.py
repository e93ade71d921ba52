# python/ebb/utils/tensorboard/rarer.py -- what only TensorBoard's plug-ins show, of SummaryWriter.
"""``RarerSummaries``, the base of ``SummaryWriter``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ebb import _C
from ebb.utils.tensorboard import curves, embeddings, summaries

_CHARTS = {"Multiline": None, "Margin": 3}


class RarerSummaries:
    """Curves, sounds, films, points, meshes and charts; ``_write`` is its heirs'."""

    log_dir: str

    def _write(
        self, kind: str, tag: str, value: Any, step: Any, walltime: float | None,
        folder: str | None = None,
    ) -> None:  # fmt: skip
        raise NotImplementedError

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Note how values are spread that were counted elsewhere.

        Args:
            bucket_limits: The right limit of each bucket, growing.
            bucket_counts: How many values are in each.
        Raises:
            ShapeError: If these two differ in length.
        """
        limits = summaries.array_of("add_histogram_raw", bucket_limits).reshape(-1)
        counts = summaries.array_of("add_histogram_raw", bucket_counts).reshape(-1)
        if len(limits) != len(counts):
            raise _C.ShapeError(
                "add_histogram_raw: needs as many bucket_limits as bucket_counts, "
                f"got {len(limits)} and {len(counts)}"
            )
        numbers = {"min": min, "max": max, "num": num, "sum": sum, "sum_squares": sum_squares}
        made = {
            name: summaries.number_of("add_histogram_raw", one) for name, one in numbers.items()
        }
        buckets = {"bucket_limit": limits.tolist(), "bucket": counts.tolist()}
        self._write("histogram", tag, {**made, **buckets}, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Note precision and recall at thresholds from 0 to 1.

        Args:
            labels: True, or not 0, for what is to be found.
            predictions: How likely each is; one that is not from 0 to 1 is not counted.
            num_thresholds: At least 2; above 127 there are 127.
            weights: How much each counts, or all.
        Raises:
            ShapeError: If labels and predictions, or weights, differ in size.
        """
        count = curves.threshold_count("add_pr_curve", num_thresholds)
        made = curves.pr_curve(labels, predictions, count, weights)
        self._write("pr_curve", tag, made, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Note precision and recall that were computed elsewhere, at ``num_thresholds`` each.

        Raises:
            ShapeError: If one has another number of values.
        """
        count = curves.threshold_count("add_pr_curve_raw", num_thresholds)
        positives = (true_positive_counts, false_positive_counts)
        negatives = (true_negative_counts, false_negative_counts)
        made = {}
        for name, one in zip(curves.ROWS, (*positives, *negatives, precision, recall), strict=True):
            row = summaries.array_of("add_pr_curve_raw", one).reshape(-1)
            if len(row) != count:
                raise _C.ShapeError(
                    f"add_pr_curve_raw: needs {count} values, as num_thresholds says, of {name}, "
                    f"got {len(row)}"
                )
            made[name] = row.astype(np.float64).tolist()
        self._write("pr_curve", tag, made, global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Note a sound of one channel, as a WAV file of 16 bits.

        Args:
            snd_tensor: Samples from -1 to 1, ``[L]`` or ``[1, L]``; what is louder is cut off.
        """
        made = curves.sound(snd_tensor, sample_rate)
        self._write("audio", tag, made, global_step, walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Note films, eight in a row, as one PNG file that moves; no other package is needed.

        Args:
            vid_tensor: ``[N, T, C, H, W]``: floats from 0 to 1, or bytes.
            fps: Frames in a second.
        """
        self._write("video", tag, curves.film(vid_tensor, fps), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: str | Sequence[str] | None = None,
    ) -> None:
        """Note an image with red frames.

        Args:
            box_tensor: ``[N, 4]``: left, top, right and lower edge of each.
            rescale: How much larger the picture becomes, boxes included.
            labels: A name for each box, or one for all: drawn where Pillow is installed.
        """
        op = "add_image_with_boxes"
        image = summaries.picture(op, img_tensor, dataformats.upper())
        names = [labels] * len(box_tensor) if isinstance(labels, str) else labels
        image = curves.boxed(op, image, box_tensor, rescale, names)
        self._write("image", tag, summaries.noted_picture(image), global_step, walltime)

    def add_tensor(
        self,
        tag: str,
        tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Note all elements of a tensor."""
        made = summaries.array_of("add_tensor", tensor).tolist()
        self._write("tensor", tag, made, global_step, walltime)

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Note points for TensorBoard's projector: files in a folder for this step and tag.

        Args:
            mat: ``[N, D]``, a row for each point.
            metadata: What each point is; rows of columns if ``metadata_header`` names them.
            label_img: ``[N, C, H, W]``, a picture of each.
        """
        step = 0 if global_step is None else int(global_step)
        folder = embeddings.write(
            self.log_dir, tag, step, mat, metadata, metadata_header, label_img
        )
        self._write("embedding", tag, {"folder": folder}, global_step, None)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Note meshes or clouds of points.

        Args:
            vertices: ``[B, N, 3]``, places in space.
            colors: ``[B, N, 3]``, from 0 to 255.
            faces: ``[B, M, 3]``, which three vertices make each.
            config_dict: What three.js is told.
        Raises:
            ShapeError: If one has other dims.
        """
        made: dict[str, Any] = {}
        for name, one in (("vertices", vertices), ("colors", colors), ("faces", faces)):
            found = None if one is None else summaries.array_of("add_mesh", one)
            if found is not None and (found.ndim != 3 or found.shape[2] != 3):
                raise _C.ShapeError(f"add_mesh: needs {name} of [B, N, 3], got {list(found.shape)}")
            made[name] = None if found is None else found.tolist()
        made["config"] = dict(config_dict or {})
        self._write("mesh", tag, made, global_step, walltime)

    def add_custom_scalars(
        self, layout: Mapping[str, Mapping[str, Sequence[Any]]]
    ) -> None:  # fmt: skip
        """Say which scalars TensorBoard shows in one chart; call it once for a writer.

        Args:
            layout: By category and title of the chart, ``["Multiline", tags]`` or
                ``["Margin", [value, lower, upper]]``.
        Raises:
            ValueError: If a chart is of another kind, or a margin not of three tags.
        """
        made: dict[str, dict[str, Any]] = {}
        for category, charts in layout.items():
            made[category] = {}
            for title, chart in charts.items():
                kind, tags = _chart("add_custom_scalars", title, *chart)
                made[category][title] = [kind, tags]
        self._write("custom_scalars", "custom_scalars__config__", made, None, None)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Say that TensorBoard shows some scalars in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", list(tags)]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Say that TensorBoard shows a scalar between two others; three tags."""
        _, checked = _chart("add_custom_scalars_marginchart", title, "Margin", tags)
        self.add_custom_scalars({category: {title: ["Margin", checked]}})

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Refuse: ebb reads no ONNX; ``add_graph`` notes the parts of a model.

        Raises:
            NotImplementedError: Always.
        """
        raise _C.NotImplementedError(
            f"add_onnx_graph: ebb reads no ONNX, got {prototxt!r}\n"
            "hint: add_graph(model) notes the parts of a model"
        )


def _chart(op: str, title: str, kind: str, tags: Sequence[str]) -> tuple[str, list[str]]:
    if kind not in _CHARTS:
        raise _C.ValueError(f"{op}: needs a chart of {list(_CHARTS)}, got {kind!r} for {title!r}")
    if _CHARTS[kind] not in (None, len(tags)):
        raise _C.ValueError(
            f"{op}: needs three tags (value, lower, upper) for a margin, got {len(tags)} "
            f"for {title!r}"
        )
    return kind, list(tags)
