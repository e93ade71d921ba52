# tests/python/utils/test_tensorboard_files.py -- event files, where the package tensorboard is.
#
# It is not pinned: `pip install --target FOLDER tensorboard`, then PYTHONPATH=...:FOLDER.
import numpy as np
import pytest

import ebb
from ebb.utils.tensorboard import SummaryWriter

event_accumulator = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator"
)  # fmt: skip


@pytest.fixture
def values(tmp_path):
    """Calls a method of a writer and returns the values that TensorBoard reads, by tag."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    def call(name, *args, folder="", **kwargs):
        with SummaryWriter(tmp_path) as writer:
            getattr(writer, name)(*args, **kwargs)
        (file,) = (tmp_path / folder).glob("events*")
        found = [value for event in EventFileLoader(str(file)).Load()
                 for value in event.summary.value]  # fmt: skip
        return {value.tag: value for value in found}

    return call


def test_a_curve_is_a_tensor_of_six_rows(values):
    from tensorboard.plugins.pr_curve.metadata import parse_plugin_metadata
    from tensorboard.util.tensor_util import make_ndarray

    value = values("add_pr_curve", "p", [0, 1], [0.2, 0.8], num_thresholds=3)["p"]
    assert value.metadata.plugin_data.plugin_name == "pr_curves"
    assert parse_plugin_metadata(value.metadata.plugin_data.content).num_thresholds == 3
    rows = make_ndarray(value.tensor)
    assert rows.dtype == np.float32
    assert rows.tolist() == [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1], [0.5, 1, 0], [1, 1, 0]]


def test_meshes_are_a_value_for_each_part(values):
    from tensorboard.plugins.mesh.metadata import parse_plugin_metadata
    from tensorboard.util.tensor_util import make_ndarray

    found = values("add_mesh", "m", ebb.ones(1, 2, 3), faces=ebb.tensor([[[0, 1, 1]]]),
                   config_dict={"a": 1})  # fmt: skip
    assert set(found) == {"m_VERTEX", "m_FACE"}
    assert make_ndarray(found["m_FACE"].tensor).tolist() == [[[0, 1, 1]]]
    told = parse_plugin_metadata(found["m_VERTEX"].metadata.plugin_data.content)
    assert (told.name, list(told.shape), told.json_config) == ("m", [1, 2, 3], '{"a": 1}')


def test_charts_are_a_layout(values):
    from tensorboard.plugins.custom_scalar.layout_pb2 import Layout

    charts = {"x": ["Multiline", ["a", "b"]], "y": ["Margin", ["c", "d", "e"]]}
    (value,) = values("add_custom_scalars", {"A": charts}).values()
    (category,) = Layout.FromString(value.tensor.string_val[0]).category
    lines, margin = category.chart
    assert (category.title, list(lines.multiline.tag)) == ("A", ["a", "b"])
    (series,) = margin.margin.series
    assert (series.value, series.lower, series.upper) == ("c", "d", "e")


def test_the_experiment_knows_kinds_metrics_and_the_end(values):
    from tensorboard.plugins.hparams.api_pb2 import STATUS_SUCCESS
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    hparams = {"lr": 0.1, "fast": True, "name": "x"}
    found = values("add_hparams", hparams, {"acc": 1}, {"lr": [0.1, 0.2]}, "r", folder="r")
    told = {
        tag: HParamsPluginData.FromString(value.metadata.plugin_data.content)
        for tag, value in found.items()
        if tag.startswith("_hparams_")
    }
    experiment = told["_hparams_/experiment"].experiment
    assert {one.name: one.type for one in experiment.hparam_infos} == {
        "lr": 3,
        "fast": 2,
        "name": 1,
    }
    (lr,) = (one for one in experiment.hparam_infos if one.name == "lr")
    assert [one.number_value for one in lr.domain_discrete.values] == [0.1, 0.2]
    assert [one.name.tag for one in experiment.metric_infos] == ["acc"] and "acc" in found
    assert set(told["_hparams_/session_start_info"].session_start_info.hparams) == set(hparams)
    assert told["_hparams_/session_end_info"].session_end_info.status == STATUS_SUCCESS


def test_sounds_films_tensors_texts_and_doubles_are_read(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("d", 1 / 3, 1, new_style=True, double_precision=True)
        writer.add_scalar("s", 0.5, 2)
        writer.add_audio("a", ebb.zeros(5), sample_rate=8000)
        writer.add_video("v", ebb.zeros(1, 2, 3, 4, 4))
        writer.add_tensor("t", ebb.tensor([1, 2]))
        writer.add_tensor("b", ebb.tensor([True]))
        writer.add_text("x", "*text*")
        writer.add_histogram_raw("h", 0, 1, 2, 3, 4, [1.0], [2])
        writer.add_embedding(ebb.zeros(1, 2))
    read = event_accumulator.EventAccumulator(str(tmp_path), size_guidance={"tensors": 0})
    read.Reload()
    assert read.Scalars("s")[0].value == 0.5
    assert read.Tensors("d")[0].tensor_proto.double_val[0] == 1 / 3
    (sound,), (film,) = read.Audio("a"), read.Images("v")
    assert (sound.sample_rate, sound.length_frames) == (8000, 5) and film.width == 4
    assert list(read.Tensors("t")[0].tensor_proto.int64_val) == [1, 2]
    assert list(read.Tensors("b")[0].tensor_proto.bool_val) == [True]
    assert read.Tensors("x/text_summary")[0].tensor_proto.string_val[0] == b"*text*"
    assert read.Histograms("h")[0].histogram_value.bucket == [2]


def test_the_projector_reads_the_entries(tmp_path):
    text_format = pytest.importorskip("google.protobuf.text_format")
    from tensorboard.plugins.projector import projector_config_pb2

    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(ebb.zeros(1, 2), ['"'], ebb.ones(1, 1, 2, 2), 3, 'a"b')
    config = text_format.Parse(
        (tmp_path / "projector_config.pbtxt").read_text(), projector_config_pb2.ProjectorConfig()
    )
    (entry,) = config.embeddings
    assert entry.tensor_name == 'a"b:00003' and list(entry.sprite.single_image_dim) == [2, 2]
    assert (tmp_path / entry.metadata_path).read_text() == '"\n'
