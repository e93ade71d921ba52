# tests/python/io/test_mapped.py -- tensors that are views of a file: mmap=True and safe_open.
import json
import os
import struct

import numpy as np
import pytest

import ebb
from tests.python.held import live, live_without_garbage, mappings


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


def write_plain(path, dtype, data, shape, pad=0):
    header = {"x": {"dtype": dtype, "shape": shape, "data_offsets": [0, len(data)]}}
    text = json.dumps(header).encode() + b" " * pad
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return (8 + len(text)) % 8


def test_mapped_tensors_have_the_values_of_the_file(path):
    saved = {
        "f": ebb.randn(100, 30),
        "b": ebb.tensor([True, False]),
        "h": ebb.ones(3, dtype=ebb.bfloat16),
        "c": ebb.ones(2, dtype=ebb.complex64),
        "empty": ebb.zeros(0, 5),
        "scalar": ebb.tensor(3),
    }
    ebb.save(saved, path)
    loaded = ebb.load(path, mmap=True)
    assert list(loaded) == list(saved)
    for name, tensor in saved.items():
        assert loaded[name].dtype is tensor.dtype and loaded[name].shape == tensor.shape
        assert ebb.equal(loaded[name], tensor)
    assert loaded["f"].is_leaf and not loaded["f"].requires_grad


def test_mapping_takes_no_memory_and_ends_with_the_last_tensor(path):
    ebb.save({"a": ebb.ones(1000, 1000), "b": ebb.ones(10)}, path)
    before = live_without_garbage()
    loaded = ebb.load(path, mmap=True)
    assert live() - before < 10_000
    assert len(mappings(str(path))) == 1
    row = loaded["a"][3]
    del loaded
    assert len(mappings(str(path))) == 1 and row.sum().item() == 1000.0
    del row
    assert len(mappings(str(path))) == 0


def test_writing_changes_the_tensor_but_not_the_file(path):
    ebb.save({"a": ebb.zeros(3)}, path)
    content = path.read_bytes()
    first, second = ebb.load(path, mmap=True)["a"], ebb.load(path, mmap=True)["a"]
    first += 1
    first.numpy()[0] = 5.0
    assert first.tolist() == [5.0, 1.0, 1.0] and second.tolist() == [0.0, 0.0, 0.0]
    assert path.read_bytes() == content


def test_the_file_may_be_deleted_or_replaced(path):
    ebb.save({"a": ebb.ones(5000)}, path)
    loaded = ebb.load(path, mmap=True)["a"]
    ebb.save({"a": ebb.zeros(5000)}, path)
    replaced = ebb.load(path, mmap=True)["a"]
    os.unlink(path)
    assert loaded.sum().item() == 5000.0 and replaced.sum().item() == 0.0


def test_gradients_flow_through_mapped_parameters(path):
    ebb.save({"w": ebb.full((3,), 2.0)}, path)
    w = ebb.load(path, mmap=True)["w"].requires_grad_()
    (w * w).sum().backward()
    assert w.grad.tolist() == [4.0, 4.0, 4.0]


@pytest.mark.parametrize("pad", range(8))
def test_unaligned_data_are_read_instead(path, pad):
    values = np.arange(4.0)
    write_plain(path, "F64", values.tobytes(), [4], pad)
    assert ebb.load(path, mmap=True)["x"].tolist() == values.tolist()


def test_bools_of_other_bytes_count_as_true(path):
    write_plain(path, "BOOL", bytes([0, 1, 2, 255]), [4])
    assert ebb.load(path, mmap=True)["x"].tolist() == [False, True, True, True]
    assert path.read_bytes()[-4:] == bytes([0, 1, 2, 255])


def test_a_mapped_file_that_is_corrupt_is_refused(path):
    path.write_bytes(b"\0" * 7)
    for load in (lambda: ebb.load(path, mmap=True), lambda: ebb.io.safe_open(path)):
        with pytest.raises(ValueError, match="load: needs a safetensors file"):
            load()
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="it has 0 bytes"):
        ebb.load(path, mmap=True)
    assert len(mappings(str(path))) == 0


def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # opening it to read would wait for a writer
    for other in (tmp_path, pipe, "/dev/zero"):
        for mmap in (False, True):
            with pytest.raises(OSError, match="load: needs a regular file"):
                ebb.load(other, mmap=mmap)


def test_safe_open_gives_single_tensors_and_slices(path):
    ebb.save({"a": ebb.arange(12).reshape(4, 3), "b": ebb.ones(2)}, path, metadata={"k": "v"})
    with ebb.io.safe_open(path) as file:
        assert file.keys() == ["a", "b"] and len(file) == 2 and "a" in file and "c" not in file
        assert file.metadata() == {"k": "v"}
        part = file.get_slice("a")
        assert part.get_shape() == [4, 3] and part.get_dtype() is ebb.int64
        rows = part[1:3]
        b = file.get_tensor("b")
        with pytest.raises(KeyError, match=r"needs a tensor of .*, got 'c'"):
            file.get_tensor("c")
    assert rows.tolist() == [[3, 4, 5], [6, 7, 8]] and b.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="safe_open: needs an open file"):
        file.get_tensor("a")
    del b, part
    assert len(mappings(str(path))) == 0


def test_descriptors_are_mapped_only_as_far_as_they_reach():
    descriptor = os.memfd_create("x")
    try:
        os.ftruncate(descriptor, 10)
        assert ebb._C._map_descriptor("map", descriptor, 10).tolist() == [0] * 10
        assert ebb._C._map_descriptor("map", descriptor, 0).tolist() == []
        with pytest.raises(OSError, match="map: needs a descriptor of a file of 11 bytes"):
            ebb._C._map_descriptor("map", descriptor, 11)
    finally:
        os.close(descriptor)
    for arguments in ((descriptor, 1), (2**31 - 1, 1)):
        with pytest.raises(OSError, match="map: needs a descriptor"):
            ebb._C._map_descriptor("map", *arguments)
    for arguments in ((-1, 1), (2**40, 1), (0, -1)):
        with pytest.raises(ValueError, match="map: needs a descriptor and"):
            ebb._C._map_descriptor("map", *arguments)
    for arguments in ((), ("a", 1), (1.5, 1)):
        with pytest.raises(TypeError):
            ebb._C._map_descriptor("map", *arguments)
