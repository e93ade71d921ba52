# tests/python/utils/test_tensorboard_rarer.py -- curves, sounds, films, points, meshes and charts.
import base64
import io
import json
import os
import struct
import wave
import zlib

import numpy as np
import pytest

import ebb
from ebb.utils.tensorboard import SummaryWriter


@pytest.fixture
def noted(tmp_path):
    """Calls a method of a writer and returns the events that it wrote."""

    def call(name, *args, **kwargs):
        with SummaryWriter(tmp_path) as writer:
            getattr(writer, name)(*args, **kwargs)
        (last,) = sorted(tmp_path.glob("*.jsonl"), key=os.path.getmtime)[-1:]
        events = [json.loads(line) for line in last.read_text().splitlines()]
        last.unlink()
        return events

    return call


def test_a_curve_has_what_is_right_and_wrong_at_each_threshold(noted):
    labels, guesses = ebb.tensor([0, 1, 1, 0]), ebb.tensor([0.1, 0.9, 0.4, 0.6])
    (event,) = noted("add_pr_curve", "p", labels, guesses, 2, num_thresholds=5)
    assert (event["kind"], event["step"]) == ("pr_curve", 2)
    assert event["value"] == {
        "true_positives": [2, 2, 1, 1, 0], "false_positives": [2, 1, 1, 0, 0],
        "true_negatives": [0, 1, 1, 2, 2], "false_negatives": [0, 0, 1, 1, 2],
        "precision": [0.5, 2 / 3, 0.5, 1, 0], "recall": [1, 1, 0.5, 0.5, 0],
    }  # fmt: skip


def test_weights_count_and_what_is_no_likelihood_does_not(noted):
    options = {"num_thresholds": 3, "weights": ebb.tensor([1.0, 2.0, 3.0])}
    (event,) = noted("add_pr_curve", "p", [1, 0, 1], [0.6, 0.2, 1.9], **options)
    assert event["value"]["true_positives"] == [1, 1, 0]
    assert event["value"]["false_positives"] == [2, 0, 0]
    (event,) = noted("add_pr_curve", "p", [True], [1.0], num_thresholds=500, weights=2)
    assert event["value"]["true_positives"] == [2] * 127


def test_a_curve_that_was_computed_elsewhere_is_kept(noted):
    rows = [ebb.tensor([1.0, 2.0]) * times for times in range(6)]
    (event,) = noted("add_pr_curve_raw", "p", *rows, num_thresholds=2)
    assert [row[1] for row in event["value"].values()] == [0, 2, 4, 6, 8, 10]


def test_counted_values_are_a_histogram(noted):
    raw = (0, 3, 4, 5.0, ebb.tensor(9.0))
    (event,) = noted("add_histogram_raw", "h", *raw, [1, 3], ebb.tensor([2, 2]))
    assert event["kind"] == "histogram" and event["value"] == {
        "min": 0, "max": 3, "num": 4, "sum": 5, "sum_squares": 9,
        "bucket_limit": [1, 3], "bucket": [2, 2],
    }  # fmt: skip


def test_a_sound_is_a_wav_file_of_16_bits(noted):
    (event,) = noted("add_audio", "a", ebb.tensor([[0.0, 0.5, -1.0, 7.0]]), sample_rate=8000)
    with wave.open(io.BytesIO(base64.b64decode(event["value"]["wav"]))) as file:
        assert file.getparams()[:4] == (1, 2, 8000, 4)
        assert struct.unpack("<4h", file.readframes(4)) == (0, 16383, -32767, 32767)


def parts_of(content):
    """Name and content of each part of a PNG file."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    at = 8
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        yield content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        at += 12 + length


def test_a_film_is_a_png_file_with_all_frames(noted):
    film = ebb.zeros(2, 3, 1, 1, 2, dtype=ebb.uint8)
    film[1, :, 0, 0, 0] = ebb.tensor([7, 8, 9], dtype=ebb.uint8)
    (event,) = noted("add_video", "v", film, fps=2)
    value = event["value"]
    assert (value["height"], value["width"], value["frames"], value["fps"]) == (1, 4, 3, 2)
    parts = list(parts_of(base64.b64decode(value["png"])))
    names = [b"IHDR", b"acTL", b"fcTL", b"IDAT", *[b"fcTL", b"fdAT"] * 2, b"IEND"]
    assert [name for name, _ in parts] == names
    controls = [struct.unpack(">5I2H2B", one) for name, one in parts if name == b"fcTL"]
    assert [one[0] for one in controls] == [0, 1, 3] and controls[2][5:7] == (500, 1000)
    pixels = [one[4:] if name == b"fdAT" else one for name, one in parts if name[1:] == b"dAT"]
    pixels.insert(0, dict(parts)[b"IDAT"])
    assert [list(zlib.decompress(one)) for one in pixels] == [
        [0, 0, 0, 7, 0], [0, 0, 0, 8, 0], [0, 0, 0, 9, 0],
    ]  # fmt: skip


def pixels_of(event):
    """The bytes of an image without filters."""
    value = event["value"]
    content = dict(parts_of(base64.b64decode(value["png"])))[b"IDAT"]
    rows = np.frombuffer(zlib.decompress(content), np.uint8).reshape(value["height"], -1)
    return rows[:, 1:].reshape(value["height"], value["width"], value["channels"])


def test_boxes_are_red_frames_in_the_larger_picture(noted):
    image, box = ebb.zeros(1, 8, 10), ebb.tensor([[1.0, 1.0, 4.0, 3.0]])
    (event,) = noted("add_image_with_boxes", "i", image, box, rescale=2)
    red = pixels_of(event)[..., 0]
    assert red.shape == (16, 20) and not pixels_of(event)[..., 1:].any()
    expected = np.zeros((16, 20), np.uint8)
    expected[2:7, 2:9] = 255
    expected[4:5, 4:7] = 0
    assert np.array_equal(red, expected)


def test_a_box_that_leaves_the_picture_is_cut(noted):
    boxes = [[-5, -5, 3, 3], [20, 20, 30, 30], [-9, -9, -4, -4]]
    (event,) = noted("add_image_with_boxes", "i", np.zeros((6, 6), np.uint8), boxes,
                     dataformats="HW", labels="x")  # fmt: skip
    red = pixels_of(event)[..., 0] == 255
    assert not red[:2, :2].any() and red[2:4, :4].all() and red[:4, 2:4].all()
    assert not red[4:].any() and not red[:, 4:].any()


def test_the_elements_of_a_tensor_are_kept(noted):
    (event,) = noted("add_tensor", "t", ebb.tensor([[1, 2], [3, 4]]), 5)
    assert (event["kind"], event["step"], event["value"]) == ("tensor", 5, [[1, 2], [3, 4]])


def test_points_are_files_that_the_projector_finds(noted, tmp_path):
    points, images = ebb.arange(12.0).reshape(4, 3), ebb.ones(4, 3, 5, 2)
    (event,) = noted("add_embedding", points, list("abcd"), images, 7, "net/x")
    folder = event["value"]["folder"]
    assert folder == "00007/net%2fx" and event["tag"] == "net/x"
    assert (tmp_path / folder / "tensors.tsv").read_text().split("\n")[1] == "3.0\t4.0\t5.0"
    assert (tmp_path / folder / "metadata.tsv").read_text() == "a\nb\nc\nd\n"
    head = next(parts_of((tmp_path / folder / "sprite.png").read_bytes()))[1]
    assert struct.unpack(">II", head[:8]) == (4, 10)  # 2 x 2 pictures of 2 columns, 5 rows
    assert (tmp_path / "projector_config.pbtxt").read_text() == (
        'embeddings {\n  tensor_name: "net/x:00007"\n'
        '  tensor_path: "00007/net%2fx/tensors.tsv"\n'
        '  metadata_path: "00007/net%2fx/metadata.tsv"\n'
        '  sprite {\n    image_path: "00007/net%2fx/sprite.png"\n'
        "    single_image_dim: 2\n    single_image_dim: 5\n  }\n}\n"
    )


def test_columns_of_metadata_have_names_and_entries_add_up(noted, tmp_path):
    noted("add_embedding", ebb.ones(2, 2))
    noted("add_embedding", ebb.ones(2, 2), [["a", 1], ["b", 2]], metadata_header=["n", "m"])
    assert (tmp_path / "00000/default/metadata.tsv").read_text() == "n\tm\na\t1\nb\t2\n"
    assert (tmp_path / "projector_config.pbtxt").read_text().count("embeddings {") == 2


def test_meshes_are_places_colors_and_faces(noted):
    options = {"faces": ebb.tensor([[[0, 1, 1]]]), "config_dict": {"camera": 1}}
    (event,) = noted("add_mesh", "m", ebb.ones(1, 2, 3), **options)
    assert event["value"] == {
        "vertices": [[[1, 1, 1], [1, 1, 1]]], "colors": None, "faces": [[[0, 1, 1]]],
        "config": {"camera": 1},
    }  # fmt: skip


def test_charts_name_their_scalars(noted):
    layout = {"A": {"x": ["Multiline", ("a", "b")], "y": ["Margin", ["c", "d", "e"]]}}
    (event,) = noted("add_custom_scalars", layout)
    assert event["value"] == {
        "A": {"x": ["Multiline", ["a", "b"]], "y": ["Margin", ["c", "d", "e"]]}
    }
    (event,) = noted("add_custom_scalars_multilinechart", ["a"], title="t")
    assert event["value"] == {"default": {"t": ["Multiline", ["a"]]}}
    (event,) = noted("add_custom_scalars_marginchart", ["a", "b", "c"], "k")
    assert event["value"] == {"k": {"untitled": ["Margin", ["a", "b", "c"]]}}


@pytest.mark.parametrize("name, args, kind, text", [
    ("add_pr_curve", ("p", [1, 0], [0.5]), "Shape", "labels as predictions and weights, got 2, 1"),
    ("add_pr_curve", ("p", [1], [0.5], None, 1), "Value", "num_thresholds of at least 2, got 1"),
    ("add_pr_curve_raw", ("p", *[[1.0]] * 6), "Shape", "127 values, as num_thresholds says"),
    ("add_histogram_raw", ("h", 0, 1, 2, 3, 4, [1], [1, 2]), "Shape", "got 1 and 2"),
    ("add_audio", ("a", ebb.zeros(2, 3)), "Shape", r"samples in one dim, got \[2, 3\]"),
    ("add_video", ("v", ebb.zeros(3, 1, 2, 2)), "Shape", r"got \[3, 1, 2, 2\]"),
    ("add_video", ("v", ebb.zeros(1, 1, 1, 2, 2), None, 0), "Value", "fps above 0, got 0"),
    ("add_image_with_boxes", ("i", ebb.zeros(1, 2, 2), [1, 2, 3]), "Shape", "got 3 edges"),
    ("add_image_with_boxes", ("i", ebb.zeros(1, 2, 2), [], None, None, 0.1), "Value", "got 0.1"),
    ("add_embedding", (ebb.zeros(3),), "Shape", r"mat of \[N, D\], got \[3\]"),
    ("add_embedding", (ebb.zeros(3, 1), ["a"]), "Value", "each of 3 points, got 1 rows"),
    ("add_embedding", (ebb.zeros(1, 1), ["a"], None, None, "t", ["n", "m"]), "Value", "columns"),
    ("add_embedding", (ebb.zeros(1, 1), None, ebb.zeros(2, 1, 1, 1)), "Shape", "label_img of"),
    ("add_mesh", ("m", ebb.zeros(2, 3)), "Shape", r"vertices of \[B, N, 3\], got \[2, 3\]"),
    ("add_custom_scalars", ({"A": {"x": ["Pie", ["a"]]}},), "Value", "got 'Pie' for 'x'"),
    ("add_custom_scalars_marginchart", (["a"],), "Value", "three tags .* got 1"),
    ("add_onnx_graph", ("net.onnx",), "NotImplemented", "ebb reads no ONNX, got 'net.onnx'"),
])  # fmt: skip
def test_what_cannot_be_noted_is_refused(tmp_path, name, args, kind, text):
    error = getattr(ebb.errors, kind + "Error")
    with SummaryWriter(tmp_path) as writer, pytest.raises(error, match=f"^{name}: .*{text}"):
        getattr(writer, name)(*args)
    assert not list(tmp_path.rglob("*.tsv"))
