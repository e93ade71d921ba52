# tests/python/io/test_io.py -- ebb.save and ebb.load: what is kept, what is refused.
import json
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

import ebb
from ebb import nn


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


def write(path, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)


def test_values_names_and_order_are_kept(path):
    ebb.save({"b": ebb.tensor([[1.0, 2.0]]), "a": ebb.tensor(3)}, path)
    loaded = ebb.load(path)
    assert list(loaded) == ["b", "a"]
    assert loaded["b"].tolist() == [[1.0, 2.0]] and loaded["b"].dtype is ebb.float32
    assert loaded["a"].item() == 3 and loaded["a"].dtype is ebb.int64


def test_file_is_a_safetensors_file(path):
    ebb.save({"w": ebb.tensor([1.0, 2.0])}, str(path), metadata={"epoch": "3"})
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    assert header == {
        "__metadata__": {"epoch": "3"},
        "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
    }
    assert np.frombuffer(content[8 + length :], np.float32).tolist() == [1.0, 2.0]


def test_metadata_is_kept(path):
    ebb.save({}, path, metadata={"made by": "ü"})
    assert ebb.io.load_metadata(path) == {"made by": "ü"}
    assert ebb.load(path) == {}


def test_a_file_by_others_is_read(path):
    write(
        path,
        {"x": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}},
        np.array([1.5, -2.0]).tobytes(),
    )
    assert ebb.load(path)["x"].tolist() == [1.5, -2.0]


def test_a_state_dict_comes_back(path):
    first, second = nn.Linear(3, 4), nn.Linear(3, 4)
    ebb.save(first.state_dict(), path)
    second.load_state_dict(ebb.load(path))
    assert np.array_equal(first.weight.detach().numpy(), second.weight.detach().numpy())


def test_views_are_stored_as_their_values(path):
    ebb.save({"t": ebb.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]).transpose(0, 1)}, path)
    assert ebb.load(path)["t"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


@pytest.mark.parametrize(
    "obj, text",
    [
        (3.0, "save: needs a dict of Tensors, got float\nhint: save model.state_dict()"),
        (ebb.ones(1), "save: needs a dict of Tensors, got Tensor"),
        (nn.ReLU(), "save: needs a dict of Tensors, got ReLU"),
        ({"a": [np.ones(1)]}, "save: needs Tensors, numbers, text, dicts and lists, got ndarray"),
        ({"a": {3.5: 1}}, "save: needs keys as str or int, got float 3.5 at ['a']"),
        ({"a": {1, 2}}, "save: needs Tensors, numbers, text, dicts and lists, got set at ['a']"),
        ({"a": b"b"}, "save: needs Tensors, numbers, text, dicts and lists, got bytes at ['a']"),
        ({"a": ebb.zeros(1, dtype=ebb.complex128)}, "save: needs a dtype that safetensors"),
    ],
)
def test_anything_but_named_tensors_is_a_type_error(path, obj, text):
    with pytest.raises(TypeError) as caught:
        ebb.save(obj, path)
    assert str(caught.value).startswith(text)
    assert not path.exists()


def test_metadata_must_be_text(path):
    with pytest.raises(TypeError, match="save: needs metadata as valid text, got int"):
        ebb.save({}, path, metadata={"a": 1})
    with pytest.raises(TypeError, match="save: needs metadata as a dict, got list"):
        ebb.save({}, path, metadata=["a"])


def test_names_that_are_not_unicode_are_refused(path):
    with pytest.raises(TypeError, match="save: needs names as valid text"):
        ebb.save({"\ud800": ebb.ones(1)}, path)


def test_paths_that_do_not_work(tmp_path):
    with pytest.raises(OSError, match="load: needs a readable file"):
        ebb.load(tmp_path / "missing")
    with pytest.raises(OSError, match="save: needs a writable file"):
        ebb.save({}, tmp_path / "missing" / "x")
    with pytest.raises(ValueError, match="load: needs a path, got ''"):
        ebb.load("")
    with pytest.raises(TypeError):
        ebb.load(3)
    with pytest.raises(ValueError):
        ebb.load("a\0b")


def test_a_corrupt_file_is_a_value_error_that_names_the_rule(path):
    # Every rule of the format has its row in tests/io/corrupt_file_test.cpp.
    write(path, {"t": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, b"\0" * 4)
    with pytest.raises(ValueError, match="load: needs a safetensors file") as caught:
        ebb.load(path)
    assert "takes 8 bytes, but its offsets span 4" in str(caught.value)


def test_a_pickle_is_not_opened(path):
    import pickle

    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ValueError, match="load: needs a safetensors file"):
        ebb.load(path)


SAVE_FOREVER = """
import sys, ebb
print("ready", flush=True)
for number in range(10**9):
    ebb.save({"t": ebb.full((50_000,), float(number))}, sys.argv[1])
"""


def test_a_killed_save_leaves_a_whole_file(path):
    for wait in (0.0, 0.001, 0.003, 0.01, 0.03):
        child = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOREVER, str(path)], stdout=subprocess.PIPE
        )
        child.stdout.readline()
        time.sleep(0.01 + wait)
        child.kill()
        child.wait()
        child.stdout.close()
        if path.exists():
            values = ebb.load(path)["t"]
            assert len(values) == 50_000 and len(set(values[::1000].tolist())) == 1
    ebb.save({}, path)  # clears away what the killed ones left
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_the_safetensors_package_agrees(path):
    other = pytest.importorskip("safetensors.numpy", reason="the package is optional")
    ebb.save({"a": ebb.arange(6).reshape(2, 3), "b": ebb.tensor([0.5])}, path)
    loaded = other.load_file(path)
    assert loaded["a"].tolist() == [[0, 1, 2], [3, 4, 5]] and loaded["b"].tolist() == [0.5]
    other.save_file({"c": np.arange(4.0)}, path)
    assert ebb.load(path)["c"].tolist() == [0.0, 1.0, 2.0, 3.0]
