# tests/python/utils/test_tensorboard.py -- what a training notes, with and without TensorBoard.
import base64
import json
import os
import struct
import sys
import types
import zlib

import numpy as np
import pytest

import ebb
from ebb.utils.tensorboard import SummaryWriter


def events(folder):
    """All lines of the files in one folder."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found += [json.loads(line) for line in file]
    return found


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as made:
        yield made


def written(writer):
    writer.close()
    return events(writer.get_logdir())


def test_scalars_are_lines_with_tag_step_and_time(writer):
    writer.add_scalar("loss", ebb.tensor(0.5, requires_grad=True), global_step=3, walltime=7.0)
    writer.add_scalar("loss", 2)
    first, second = written(writer)
    assert first == {"tag": "loss", "step": 3, "wall_time": 7.0, "kind": "scalar", "value": 0.5}
    assert second["value"] == 2.0 and second["step"] is None and second["wall_time"] > 1e9


@pytest.mark.parametrize(
    "one", [np.array([3.0]), np.float32(3), np.array(3), [3], ebb.tensor([[3]]), True * 3]
)
def test_the_only_element_of_anything_is_a_scalar(writer, one):
    writer.add_scalar("return", one)
    assert written(writer)[0]["value"] == 3.0
    with pytest.raises(ebb.errors.ValueError, match="add_scalar: needs one number, got 2 elements"):
        writer.add_scalar("return", [1, 2])


def test_scalars_of_one_picture_have_folders(writer):
    writer.add_scalars("run/loss", {"a": 1, "b": ebb.tensor(2)}, 1)
    assert written(writer) == []
    for name, value in (("a", 1.0), ("b", 2.0)):
        (event,) = events(os.path.join(writer.log_dir, f"run_loss_{name}"))
        assert event["tag"] == "run/loss" and event["value"] == value


def test_a_histogram_counts_between_limits(writer):
    writer.add_histogram("h", ebb.tensor([1, 2, 2, 4]), bins=[0, 1.5, 3, 5, 9])
    writer.add_histogram("h", ebb.tensor([1.0, 2.0]).bfloat16())
    first, second = (event["value"] for event in written(writer))
    assert first == {
        "min": 1.0, "max": 4.0, "num": 4, "sum": 9.0, "sum_squares": 25.0,
        "bucket_limit": [0.0, 1.5, 3.0, 5.0], "bucket": [0, 1, 2, 1],
    }  # fmt: skip
    assert sum(second["bucket"]) == 2 and len(second["bucket"]) == len(second["bucket_limit"])
    assert all(np.diff(second["bucket_limit"]) > 0)


def test_neighbouring_counts_are_put_together(writer):
    writer.add_histogram("h", np.arange(8), bins=np.arange(9), max_bins=3)
    (event,) = written(writer)
    assert event["value"]["bucket"] == [0, 3, 3, 2]
    assert event["value"]["bucket_limit"] == [0.0, 3.0, 6.0, 8.0]


def pixels(event):
    """The bytes of an image, read back from its PNG."""
    value = event["value"]
    content = base64.b64decode(value["png"])
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    at, data = 8, b""
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        name, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        (check,) = struct.unpack(">I", content[at + 8 + length : at + 12 + length])
        assert check == zlib.crc32(name + body)
        data += body if name == b"IDAT" else b""
        at += 12 + length
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(value["height"], -1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(value["height"], value["width"], value["channels"])


@pytest.mark.parametrize(
    "layout, axes", [("CHW", (2, 0, 1)), ("HWC", (0, 1, 2)), ("WCH", (1, 2, 0))]
)
def test_an_image_has_its_channels_where_it_is_told(writer, layout, axes):
    image = np.arange(2 * 4 * 3, dtype=np.uint8).reshape(2, 4, 3)
    writer.add_image("i", image.transpose(axes), dataformats=layout)
    writer.add_image("i", ebb.tensor([[0.0, 0.5], [1.0, 7.0]]), dataformats="HW")
    first, second = written(writer)
    assert np.array_equal(pixels(first), image)
    assert pixels(second)[..., 0].tolist() == [[0, 127], [255, 255]]


def test_several_images_are_rows_of_eight(writer):
    writer.add_images("i", ebb.arange(10).reshape(10, 1, 1, 1).to(ebb.uint8))
    (event,) = written(writer)
    assert pixels(event)[..., 0].tolist() == [list(range(8)), [8, 9, 0, 0, 0, 0, 0, 0]]


def test_texts_graphs_and_hparams_are_noted(writer):
    writer.add_text("t", "*x*", 1)
    writer.add_graph(ebb.nn.Linear(2, 3))
    writer.add_hparams({"lr": ebb.tensor(0.5), "name": "a", "no": None}, {"acc": 1}, run_name="r")
    text, graph = written(writer)
    assert text["value"] == "*x*" and "Linear(in_features=2" in graph["value"]
    told, metric = events(os.path.join(writer.log_dir, "r"))
    assert told["value"]["hparams"] == {"lr": 0.5, "name": "a"} and metric["value"] == 1.0
    assert told["value"]["metrics"] == ["acc"] and told["value"]["domains"] == {}


@pytest.mark.parametrize("call, error, text", [
    (lambda w: w.add_histogram("h", []), ebb.errors.ValueError, "at least one value"),
    (lambda w: w.add_histogram("h", [float("nan")]), ebb.errors.ValueError, "finite values"),
    (lambda w: w.add_image("i", ebb.ones(2, 2)), ebb.errors.ShapeError, "dims CHW"),
    (lambda w: w.add_image("i", ebb.ones(2, 2, 2)), ebb.errors.ShapeError, "1, 3 or 4 channels"),
    (lambda w: w.add_images("i", ["a"]), ebb.errors.DTypeError, "needs numbers"),
    (lambda w: w.add_mash("m", None), AttributeError, "has no attribute 'add_mash'"),
])  # fmt: skip
def test_what_cannot_be_noted_is_refused(writer, call, error, text):
    with pytest.raises(error, match=text):
        call(writer)


def test_without_a_folder_there_is_one_below_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_x") as writer:
        assert writer.get_logdir().startswith("runs") and writer.get_logdir().endswith("_x")
    assert os.path.isdir(tmp_path / writer.get_logdir())


class Message(types.SimpleNamespace):
    """Stands for a class of protocol buffers: keeps what it is made with."""


def test_with_the_package_events_go_to_its_writer(tmp_path, monkeypatch):
    """A stand-in for the package, since it is not installed here: names and arguments only."""
    made = []

    class EventFileWriter:
        def __init__(self, *args):
            self.args = args

        def add_event(self, event):
            made.append(event)

        def flush(self):
            made.append("flush")

        close = flush

    proto = types.SimpleNamespace(Event=Message)
    summary = types.SimpleNamespace(Summary=type("Summary", (Message,), {"Value": Message}))
    names = {
        "tensorboard.summary.writer.event_file_writer": types.SimpleNamespace(
            EventFileWriter=EventFileWriter
        ),
        "tensorboard.compat.proto.event_pb2": proto,
        "tensorboard.compat.proto.summary_pb2": summary,
        "tensorboard.compat.proto.tensor_pb2": None,
    }
    from ebb.utils.tensorboard import event_file, sinks

    monkeypatch.setattr(event_file.importlib, "import_module", names.__getitem__)
    monkeypatch.setattr(sinks.importlib.util, "find_spec", lambda name: name == "tensorboard")
    with SummaryWriter(tmp_path, max_queue=3) as writer:
        writer.add_scalar("loss", 2.0, 5, walltime=1.0)
    event, end = made
    (value,) = event.summary.value
    assert (value.tag, value.simple_value, event.step, event.wall_time) == ("loss", 2.0, 5, 1.0)
    assert end == "flush" and "tensorboard" not in sys.modules
