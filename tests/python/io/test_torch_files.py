# tests/python/io/test_torch_files.py -- PyTorch's files: what is read and written.
import argparse
import base64
import copy
import io
import json
import os
import pathlib
import zipfile

import numpy as np
import pytest

import ebb
from ebb import nn, optim
from tests.python.io import reference_torch_files as reference

RECORDED = json.loads(pathlib.Path(__file__).with_name("reference_torch_files.json").read_text())


def written(obj):
    file = io.BytesIO()
    ebb.save(obj, file)
    return io.BytesIO(file.getvalue())


@pytest.mark.parametrize("kind", RECORDED)
def test_files_of_pytorch_are_read(kind):
    file = io.BytesIO(base64.b64decode(RECORDED[kind]))
    assert reference.same(ebb.load(file), reference.contents(ebb, kind == "stream"))


@pytest.mark.parametrize("name", ["x.pt", "x.pth", "x.ckpt"])
def test_what_is_written_is_read(name, tmp_path):
    made = reference.contents(ebb)
    ebb.save(made, tmp_path / name)
    assert zipfile.is_zipfile(tmp_path / name)
    assert reference.same(ebb.load(tmp_path / name), made)


def test_the_format_is_found_by_the_content(tmp_path):
    ebb.save({"x": ebb.ones(2)}, tmp_path / "x.pt")
    os.rename(tmp_path / "x.pt", tmp_path / "weights")
    assert ebb.load(tmp_path / "weights")["x"].tolist() == [1.0, 1.0]


def test_special_values_are_kept_to_the_bit():
    bits = ebb.tensor([float("nan"), -0.0, float("-inf"), 1e-45])
    for dtype in (ebb.float32, ebb.float64, ebb.bfloat16, ebb.float16):
        x = bits.to(dtype)
        (found,) = ebb.load(written([x]))
        assert found.dtype is dtype and str(found.tolist()) == str(x.tolist())


def test_tensors_that_share_memory_do_so_again():
    whole = ebb.arange(6.0)
    found = ebb.load(written({"whole": whole, "part": whole[2:4], "twice": [whole, whole]}))
    found["whole"][2] = 9.0
    assert found["part"].tolist() == [9.0, 3.0]
    assert found["twice"][0] is found["twice"][1]


def test_of_a_large_memory_only_what_is_used_is_written():
    whole = ebb.arange(100_000.0)
    file = written([whole[1000:1010], whole[1020:1030:3]])
    assert len(file.getvalue()) < 2000
    first, second = ebb.load(file)
    assert first.tolist() == list(range(1000, 1010)) and second.tolist() == [1020, 1023, 1026, 1029]


def test_members_begin_at_multiples_of_64_bytes(tmp_path):
    ebb.save([ebb.ones(3), ebb.ones(5), ebb.zeros(1)], tmp_path / "x.pt")
    content = (tmp_path / "x.pt").read_bytes()
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        assert [one.filename for one in archive.infolist()] == [
            "x/data.pkl", "x/byteorder", "x/data/0", "x/data/1", "x/data/2", "x/version",
        ]  # fmt: skip
        for one in archive.infolist():
            name, extra = (content[one.header_offset + at : one.header_offset + at + 2]
                           for at in (26, 28))  # fmt: skip
            lengths = int.from_bytes(name, "little") + int.from_bytes(extra, "little")
            assert (one.header_offset + 30 + lengths) % 64 == 0


def test_equal_objects_give_equal_files():
    assert written({"x": ebb.ones(3)}).getvalue() == written({"x": ebb.ones(3)}).getvalue()


def test_a_file_that_cannot_seek_is_read_from_where_it_is():
    class Pipe:
        def __init__(self, content):
            self.left = io.BytesIO(content)

        def read(self, count=-1):
            return self.left.read(count)

    assert ebb.load(Pipe(written([7]).getvalue())) == [7]
    file = io.BytesIO(b"before" + written([7]).getvalue())
    file.seek(6)
    assert ebb.load(file) == [7]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    ebb.save([1], path)
    with pytest.raises(ebb.errors.DTypeError, match="needs what can be pickled"):
        ebb.save([lambda: None], path)
    assert ebb.load(path) == [1] and os.listdir(tmp_path) == ["x.pt"]


# Devices.


def test_tensors_are_put_where_map_location_says():
    file = written({"x": ebb.arange(4.0), "n": 1})
    calls = []

    def place(storage, location):
        calls.append((storage.shape.numel(), location))
        return storage * 2

    assert ebb.load(file, place)["x"].tolist() == [0.0, 2.0, 4.0, 6.0] and calls == [(4, "cpu")]
    for where in ("cpu", ebb.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: None):
        file.seek(0)
        assert ebb.load(file, map_location=where)["x"].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_device_that_is_not_here_needs_a_map():
    content = written([ebb.ones(2)]).getvalue()
    moved = _renamed(content, b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:7")
    with pytest.raises(
        ebb.errors.ValueError, match=r"needs the device 'cuda:7'(.|\n)*map_location"
    ):
        ebb.load(io.BytesIO(moved))
    assert ebb.load(io.BytesIO(moved), {"cuda:7": "cpu"})[0].tolist() == [1.0, 1.0]
    assert ebb.load(io.BytesIO(moved), "cpu")[0].tolist() == [1.0, 1.0]


def _renamed(content, old, new):
    """Return an archive whose pickle has other bytes at a place."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(file, "w") as target:
        for one in source.infolist():
            target.writestr(one.filename, source.read(one).replace(old, new))
    return file.getvalue()


# Objects.


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.again = self.layer

    def forward(self, x):
        return self.again(self.layer(x)[..., :2])


def test_whole_modules_are_read_when_asked_for():
    model = Net()
    file = written(model)
    with pytest.raises(ebb.errors.ValueError, match=r"names .*Net, which may not be made"):
        ebb.load(file)
    file.seek(0)
    found = ebb.load(file, weights_only=False)
    assert isinstance(found, Net) and found.again is found.layer
    assert isinstance(found.layer.weight, nn.Parameter)
    x = ebb.ones(1, 2)
    assert ebb.equal(found(x), model(x))


def test_classes_that_a_program_trusts_may_be_made():
    file = written({"args": argparse.Namespace(lr=0.1), "x": ebb.ones(1)})
    with pytest.raises(ebb.errors.ValueError, match=r"names argparse\.Namespace"):
        ebb.load(file)
    with ebb.serialization.safe_globals([argparse.Namespace]):
        file.seek(0)
        assert ebb.load(file)["args"].lr == 0.1
    assert ebb.serialization.get_safe_globals() == []


def test_a_function_that_a_program_allows_may_be_kept_in_what_is_loaded(tmp_path):
    relu = ebb.nn.functional.relu
    ebb.save(argparse.Namespace(activation=relu), tmp_path / "layer.pt")
    with ebb.serialization.safe_globals([argparse.Namespace, relu]):
        assert ebb.load(tmp_path / "layer.pt").activation is relu
    with (
        ebb.serialization.safe_globals([argparse.Namespace]),
        pytest.raises(ValueError, match=r"relu, which may not be made"),
    ):
        ebb.load(tmp_path / "layer.pt")


def test_arrays_of_numpy_are_read_where_their_parts_are_trusted():
    file = written(np.arange(6.0).reshape(2, 3))
    with pytest.raises(ValueError, match=r"names numpy\._core\.multiarray\._reconstruct"):
        ebb.load(file)
    parts = [np.ndarray, np.dtype, np.dtypes.Float64DType, np._core.multiarray._reconstruct]
    with ebb.serialization.safe_globals(parts):
        file.seek(0)
        assert ebb.load(file).tolist() == [[0, 1, 2], [3, 4, 5]]
    with ebb.serialization.safe_globals(parts[1:]):
        file.seek(0)
        with pytest.raises(ValueError, match=r"names numpy\.ndarray, which may not be made"):
            ebb.load(file)


def test_functions_of_the_system_are_never_trusted():
    with pytest.raises(ebb.errors.ValueError, match=r"needs names outside .* got posix\.system"):
        ebb.serialization.add_safe_globals([os.system])
    with pytest.raises(ebb.errors.DTypeError, match="needs classes and functions, got int"):
        ebb.serialization.add_safe_globals([3])
    with pytest.raises(ebb.errors.ValueError, match=r"needs names outside .* got builtins\.eval"):
        ebb.serialization.add_safe_globals([eval])


def test_containers_of_python_are_trusted_anyway():
    with ebb.serialization.safe_globals([dict, list, bytearray]):
        assert dict in ebb.serialization.get_safe_globals()


# Checkpoints.


def trained(until, checkpoint=None, resume=None):
    """Train for some steps with noise; save after, or go on from, a checkpoint."""
    ebb.manual_seed(3)
    model = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
    optimizer = optim.Adam(model.parameters(), lr=0.1, amsgrad=True)
    schedule = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3)
    first = 0
    if resume is not None:
        kept = ebb.load(resume)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        schedule.load_state_dict(kept["schedule"])
        ebb.set_rng_state(kept["random"])
        first = kept["step"]
    for _ in range(first, until):
        optimizer.zero_grad()
        (model(ebb.randn(8, 2)) ** 2).mean().backward()
        optimizer.step()
        schedule.step()
    if checkpoint is not None:
        parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
        states = {name: part.state_dict() for name, part in parts.items()}
        ebb.save({**states, "random": ebb.get_rng_state(), "step": until}, checkpoint)
    return [p.tolist() for p in model.state_dict().values()]


@pytest.mark.parametrize("name", ["x.pt", "x.safetensors"])
def test_training_resumes_from_a_checkpoint_to_the_bit(name, tmp_path):
    straight = trained(7)
    trained(4, checkpoint=tmp_path / name)
    assert trained(7, resume=tmp_path / name) == straight


def test_a_state_dict_keeps_its_versions():
    state = nn.BatchNorm1d(2).state_dict()
    assert ebb.load(written(state))._metadata == state._metadata
    assert copy.deepcopy(state)._metadata == state._metadata
