# satellites/vision/tests/test_vision_datasets.py -- sets of images, from small files made here.
import gzip
import os
import pickle
import struct
import sys
import types

import numpy as np
import pytest

import ebb
from ebb.vision import datasets, readers, transforms


@pytest.fixture(autouse=True)
def _without_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)


def idx(array):
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


IMAGES = np.arange(3 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(3, 28, 28)


def put_digits(folder, kind, pack=lambda content: content, end=""):
    os.makedirs(folder, exist_ok=True)
    files = {"images-idx3": IMAGES, "labels-idx1": np.array([7, 0, 9], np.uint8)}
    for what, array in files.items():
        with open(os.path.join(folder, f"{kind}-{what}-ubyte{end}"), "wb") as file:
            file.write(pack(idx(array)))


@pytest.mark.parametrize("pack, end", [(bytes, ""), (gzip.compress, ".gz")])
@pytest.mark.parametrize("make", [datasets.MNIST, datasets.FashionMNIST, datasets.KMNIST])
def test_digits_are_read_where_torchvision_puts_them(make, pack, end, tmp_path):
    put_digits(tmp_path / make.__name__ / "raw", "t10k", pack, end)
    found = make(tmp_path, train=False)
    image, label = found[2]
    assert len(found) == 3 and label == 9 and found.targets.tolist() == [7, 0, 9]
    assert np.array_equal(image, IMAGES[2]) and len(make.classes) == 10
    assert found.test_labels is found.targets and found.train_data is found.data
    assert found.class_to_idx[make.classes[3]] == 3 and found.raw_folder.endswith("raw")
    assert found.data.dtype is ebb.uint8 and list(found.data.shape) == [3, 28, 28]
    with pytest.raises(OSError, match=f"{make.__name__}: needs .*train-images"):
        make(tmp_path)


def test_samples_are_transformed_and_batched(tmp_path):
    put_digits(tmp_path, "train")
    found = datasets.MNIST(
        str(tmp_path), transform=transforms.ToTensor(), target_transform=lambda label: label + 1
    )
    images, labels = next(iter(ebb.data.DataLoader(found, 3)))
    assert list(images.shape) == [3, 1, 28, 28] and labels.tolist() == [8, 1, 10]
    np.testing.assert_allclose(images[1, 0].numpy(), IMAGES[1] / np.float32(255))


@pytest.mark.parametrize("content, problem", [
    (b"", "it has no"),
    (idx(IMAGES)[:-1], r"it has no 2352 bytes of \[3, 28, 28\]"),
    (idx(IMAGES) + b"x", "it has no 2352 bytes"),
    (b"\0\0\x0d\x01" + bytes(8), "it has no"),
    (b"\0\0\x08\x02" + b"\xff" * 8, "it has no"),
])  # fmt: skip
def test_damaged_digits_are_refused(content, problem, tmp_path):
    put_digits(tmp_path, "train")
    (tmp_path / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(ebb.errors.ValueError, match=problem):
        datasets.MNIST(tmp_path)


def put_cifar(folder, files, label_key, protocol=2):
    folder.mkdir()
    for number, name in enumerate(files):
        data = np.full((2, 3072), number, np.uint8)
        data[:, 1024] = 200  # the first green
        batch = {b"batch_label": b"x", label_key: [number, 1], b"data": data}
        (folder / name).write_bytes(pickle.dumps(batch, protocol))


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_small_pictures_are_read_from_their_pickles(protocol, tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    names = [f"data_batch_{number}" for number in range(1, 6)]
    put_cifar(folder, names, b"labels", protocol)
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["plane", "car"]}, 2))
    found = datasets.CIFAR10(tmp_path)
    image, label = found[4]
    assert len(found) == 10 and label == 2 and image.shape == (32, 32, 3)
    assert image[0, 0].tolist() == [2, 200, 2] and image[1, 0].tolist() == [2, 2, 2]
    assert found.classes == ["plane", "car"] and found.class_to_idx["car"] == 1


def test_a_hundred_kinds_have_fine_labels(tmp_path):
    put_cifar(tmp_path / "cifar-100-python", ["test"], b"fine_labels")
    assert datasets.CIFAR100(tmp_path, train=False).targets == [0, 1]


class Runs:
    def __reduce__(self):
        return os.system, ("touch harmed",)


@pytest.mark.parametrize("value", [
    {b"data": Runs()}, {b"data": np.ones((2, 3072)), b"labels": [1, 2]}, [1], {b"labels": [1]},
    {b"data": np.ones((2, 3072), np.uint8), b"labels": [1]},
    {b"data": np.array([Runs()], object), b"labels": [1]},
])  # fmt: skip
def test_other_pickles_are_refused_and_never_run(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    (folder / "train").write_bytes(pickle.dumps(value, 2))
    with pytest.raises(
        ebb.errors.ValueError, match=r"CIFAR100: needs|needs images as their makers"
    ):
        datasets.CIFAR100(tmp_path)
    assert os.listdir(tmp_path) == ["cifar-100-python"]


ARRAY = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR"
KEYS = b"}(U\x04data", b"U\x06labels"
DOUBLED = b")" + b"".join(b"\x94h" + bytes([i]) + b"\x86" for i in range(40))


@pytest.mark.parametrize("text, problem", [
    (KEYS[0] + ARRAY + KEYS[1] + b"]u.", "it holds an array without content"),
    (KEYS[0] + b"K\x01" + KEYS[1] + b"](" + ARRAY + b"eu.", "holds a _Array where numbers or te"),
    (KEYS[0] + b"K\x01" + KEYS[1] + b"}u.", "holds a dict where numbers or texts should be"),
    (b"}K\x01K\x02s.", "it has 1 for a name"),
    (b"}" + b")" + b"\x85" * 300_000 + b"Ns.", "it has a key of too many parts"),
    (b"}" + DOUBLED + b"Ns.", "it has a key of too many parts"),
    (b"cnumpy\ndtype\n(" + DOUBLED + b"tR.", "it holds an array of a tuple"),
])  # fmt: skip
def test_pictures_without_content_and_endless_keys_are_refused(text, problem, tmp_path):
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    (folder / "train").write_bytes(b"\x80\x02" + text)
    with pytest.raises(ebb.errors.ValueError, match=problem):
        datasets.CIFAR100(tmp_path)


def put_folders(root):
    for name in ("dog/b.png", "cat/2.PNG", "cat/1.jpg", "cat/deep/0.bmp", "cat/note.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")


def test_folders_are_classes_in_their_order(tmp_path):
    put_folders(tmp_path)
    found = datasets.ImageFolder(tmp_path, loader=os.path.basename, transform=str.upper)
    assert found.classes == ["cat", "dog"] and found.class_to_idx == {"cat": 0, "dog": 1}
    assert [found[i] for i in range(4)] == [("1.JPG", 0), ("2.PNG", 0), ("0.BMP", 0), ("B.PNG", 1)]
    notes = {"is_valid_file": lambda path: path.endswith("txt")}
    with pytest.raises(ebb.errors.ValueError, match=r"got none for \['dog'\]"):
        datasets.ImageFolder(tmp_path, **notes)
    only = datasets.ImageFolder(tmp_path, allow_empty=True, **notes)
    assert [os.path.basename(path) for path, _ in only.samples] == ["note.txt"]
    assert found.targets == [0, 0, 0, 1]


def test_reading_images_needs_pillow(tmp_path, monkeypatch):
    put_folders(tmp_path)
    found = datasets.ImageFolder(tmp_path)
    with pytest.raises(NotImplementedError, match="needs the package Pillow, got none"):
        found[0]

    class Picture:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def convert(self, mode):
            return mode

    images = types.SimpleNamespace(open=lambda file: Picture())  # a stand-in
    monkeypatch.setitem(sys.modules, "PIL", types.ModuleType("PIL"))
    monkeypatch.setitem(sys.modules, "PIL.Image", images)
    assert found[0] == ("RGB", 0)


def test_a_folder_without_images_is_refused(tmp_path):
    with pytest.raises(ebb.errors.ValueError, match="ImageFolder: needs files in folders"):
        datasets.ImageFolder(tmp_path)


def test_fake_samples_are_the_same_each_time():
    found = datasets.FakeData(5, (3, 4, 6), num_classes=2, transform=transforms.ToTensor())
    assert len(found) == 5 and list(found[0][0].shape) == [3, 4, 6]
    assert ebb.equal(found[1][0], found[1][0]) and not ebb.equal(found[0][0], found[1][0])
    assert {label for _, label in found} <= {0, 1}
    assert datasets.FakeData(5, (1, 4, 6))[0][0].shape == (4, 6)


def test_pillow_is_not_looked_for_again_with_each_image(monkeypatch, tmp_path):
    asked = []

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.startswith("PIL"):
                asked.append(name)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    image = np.zeros((2, 2), np.uint8)
    for _ in range(3):
        assert readers.as_image(image) is image and not readers.is_pillow(image)
    assert asked == []
