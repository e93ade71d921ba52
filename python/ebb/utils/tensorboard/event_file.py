# python/ebb/utils/tensorboard/event_file.py -- summaries as the protocol buffers of TensorBoard.
#
# One method for each kind of event that sinks.py names; what the pages of TensorBoard's plug-ins
# read is made by those plug-ins.
"""``EventFile``; needs the package ``tensorboard``."""

from __future__ import annotations

import importlib
import json
from typing import Any

import numpy as np

Event = dict[str, Any]


def _plugin(name: str) -> Any:
    return importlib.import_module("tensorboard.plugins." + name)


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

    def _double(self, tag: str, value: float) -> list[Any]:
        content = self._tensors.TensorProto(dtype="DT_DOUBLE", double_val=[value])
        return [self._of_plugin(tag, content, self._marked("scalars"))]

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

    _video = _image

    def _audio(self, tag: str, value: dict[Any, Any]) -> list[Any]:
        made = self._summaries.Summary.Audio(
            sample_rate=value["sample_rate"],
            num_channels=value["channels"],
            length_frames=value["frames"],
            encoded_audio_string=value["wav"],
            content_type="audio/wav",
        )
        return [self._summaries.Summary.Value(tag=tag, audio=made)]

    def _text(self, tag: str, value: str) -> list[Any]:
        content = self._tensors.TensorProto(dtype="DT_STRING", string_val=[value.encode()])
        content.tensor_shape.dim.add(size=1)
        return [self._of_plugin(f"{tag}/text_summary", content, self._marked("text"))]

    def _tensor(self, tag: str, value: list[Any]) -> list[Any]:
        return [self._of_plugin(tag, self._numbers(value), self._marked("tensor"))]

    def _pr_curve(self, tag: str, value: dict[str, list[float]]) -> list[Any]:
        plugin = _plugin("pr_curve.metadata")
        rows = list(value.values())
        metadata = plugin.create_summary_metadata(tag, "", len(rows[0]))
        return [self._of_plugin(tag, self._numbers(rows), metadata)]

    def _mesh(self, tag: str, value: dict[str, Any]) -> list[Any]:
        plugin, kinds = _plugin("mesh.metadata"), _plugin("mesh.plugin_data_pb2").MeshPluginData
        found = [
            (kind, value[name])
            for name, kind in (
                ("vertices", kinds.VERTEX), ("faces", kinds.FACE), ("colors", kinds.COLOR),
            )
            if value[name] is not None
        ]  # fmt: skip
        parts = plugin.get_components_bitmask([kind for kind, _ in found])
        config = json.dumps(value["config"], sort_keys=True)
        values = []
        for kind, one in found:
            content = self._numbers(one)
            shape = [dim.size for dim in content.tensor_shape.dim]
            metadata = plugin.create_summary_metadata(
                tag, tag, kind, parts, shape, json_config=config
            )
            values.append(self._of_plugin(plugin.get_instance_name(tag, kind), content, metadata))
        return values

    def _custom_scalars(self, tag: str, value: dict[str, Any]) -> list[Any]:
        protos, plugin = _plugin("custom_scalar.layout_pb2"), _plugin("custom_scalar.metadata")
        layout = protos.Layout()
        for category, charts in value.items():
            made = layout.category.add(title=category)
            for title, (kind, tags) in charts.items():
                chart = made.chart.add(title=title)
                if kind == "Margin":
                    middle, lower, upper = tags
                    chart.margin.series.add(value=middle, lower=lower, upper=upper)
                else:
                    chart.multiline.tag.extend(tags)
        content = self._tensors.TensorProto(
            dtype="DT_STRING", string_val=[layout.SerializeToString()]
        )
        metadata = plugin.create_summary_metadata()
        return [self._of_plugin(plugin.CONFIG_SUMMARY_TAG, content, metadata)]

    def _embedding(self, tag: str, value: dict[str, Any]) -> list[Any]:
        return []  # the projector reads its files

    def _hparams(self, tag: str, value: dict[Any, Any]) -> list[Any]:
        protos, plugin = _plugin("hparams.api_pb2"), _plugin("hparams.metadata")
        kinds = {bool: protos.DATA_TYPE_BOOL, str: protos.DATA_TYPE_STRING}
        experiment = protos.Experiment()
        for name, one in value["hparams"].items():
            info = experiment.hparam_infos.add(
                name=name, type=kinds.get(type(one), protos.DATA_TYPE_FLOAT64)
            )
            for choice in value["domains"].get(name, ()):
                if isinstance(choice, (bool, str)):
                    field = "string_value" if isinstance(choice, str) else "bool_value"
                    info.domain_discrete.values.add(**{field: choice})
                else:
                    info.domain_discrete.values.add(number_value=choice)
        for name in value["metrics"]:
            experiment.metric_infos.add(name=protos.MetricName(tag=name))
        content = _plugin("hparams.plugin_data_pb2")
        start = _plugin("hparams.summary_v2").hparams_pb(value["hparams"])
        end = content.SessionEndInfo(status=protos.STATUS_SUCCESS)
        return [
            self._of_hparams(
                plugin.EXPERIMENT_TAG, content.HParamsPluginData(experiment=experiment)
            ),
            *start.value,
            self._of_hparams(
                plugin.SESSION_END_INFO_TAG, content.HParamsPluginData(session_end_info=end)
            ),
        ]

    def _of_hparams(self, tag: str, content: Any) -> Any:
        metadata = _plugin("hparams.metadata").create_summary_metadata(content)
        return self._summaries.Summary.Value(tag=tag, metadata=metadata)

    def _numbers(self, values: Any) -> Any:
        array = np.asarray(values)
        names = {"b": ("DT_BOOL", "bool_val"), "i": ("DT_INT64", "int64_val")}
        dtype, field = names.get(array.dtype.kind, ("DT_FLOAT", "float_val"))
        made = self._tensors.TensorProto(dtype=dtype, **{field: array.reshape(-1).tolist()})
        for size in array.shape:
            made.tensor_shape.dim.add(size=size)
        return made

    def _marked(self, plugin: str) -> Any:
        named = self._summaries.SummaryMetadata.PluginData(plugin_name=plugin)
        return self._summaries.SummaryMetadata(plugin_data=named)

    def _of_plugin(self, tag: str, content: Any, metadata: Any) -> Any:
        return self._summaries.Summary.Value(tag=tag, tensor=content, metadata=metadata)

    def flush(self) -> None:
        """Write what is held back."""
        self._writer.flush()

    def close(self) -> None:
        """Write what is held back, and end."""
        self._writer.close()
