# satellites/vision/tests/test_more_datasets.py -- other sets of images, and their files.
import hashlib
import io
import sys
import tarfile
import types
import zipfile

import numpy as np
import pytest

import ebb
from ebb.vision import datasets
from ebb.vision.datasets import utils

RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def _without_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)


def test_files_in_folders_are_samples(tmp_path):
    for label, names in (("a", ["2.npy", "1.npy"]), ("b", ["3.NPY", "no.txt"])):
        (tmp_path / label).mkdir()
        for name in names:
            (tmp_path / label / name).write_text(name)
    found = datasets.DatasetFolder(tmp_path, lambda path: path[-5:], ".npy", str.upper)
    assert [found[i] for i in range(len(found))] == [("1.NPY", 0), ("2.NPY", 0), ("3.NPY", 1)]
    assert found.targets == [0, 0, 1] and found.find_classes(tmp_path)[0] == ["a", "b"]
    with pytest.raises(ebb.errors.ValueError, match="either 'extensions' or 'is_valid_file'"):
        datasets.DatasetFolder(tmp_path, len)


def test_changes_of_image_and_target_are_one_function_or_two():
    both = datasets.VisionDataset("x", transforms=lambda image, target: (target, image))
    assert both.transforms(1, 2) == (2, 1)
    two = datasets.VisionDataset("x", transform=str, target_transform=float)
    assert two.transforms(1, 2) == ("1", 2.0)
    with pytest.raises(ebb.errors.ValueError, match="either 'transforms' or 'transform'"):
        datasets.VisionDataset("x", transforms=max, transform=str)


def test_numbers_of_houses_come_from_matlabs_files(tmp_path, monkeypatch):
    pixels = RNG.integers(0, 256, (32, 32, 3, 4), dtype=np.uint8)
    content = {"X": pixels, "y": np.array([[1], [10], [3], [9]], np.uint8)}
    matlab = types.SimpleNamespace(loadmat=lambda file: content)  # a stand-in for SciPy
    (tmp_path / "test_32x32.mat").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "scipy", types.ModuleType("scipy"))
    monkeypatch.setitem(sys.modules, "scipy.io", matlab)
    found = datasets.SVHN(tmp_path, split="test")
    image, label = found[1]
    assert label == 0 and found.labels.tolist() == [1, 0, 3, 9]
    assert np.array_equal(image, pixels[..., 1])
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    with pytest.raises(NotImplementedError, match="needs the package SciPy"):
        datasets.SVHN(tmp_path, split="test")
    with pytest.raises(
        ebb.errors.ValueError, match="SVHN: needs a 'split' of train, test or extra"
    ):
        datasets.SVHN(tmp_path, split="valid")


def put_stl(folder, name, count, labels=None):
    folder.mkdir(exist_ok=True)
    pixels = RNG.integers(0, 256, (count, 3, 96, 96), dtype=np.uint8)
    (folder / f"{name}_X.bin").write_bytes(pixels.tobytes())
    if labels is not None:
        (folder / f"{name}_y.bin").write_bytes(bytes(labels))
    return pixels


def test_large_pictures_have_columns_first_in_their_file(tmp_path):
    folder = tmp_path / "stl10_binary"
    pixels = put_stl(folder, "train", 2, [1, 10])
    put_stl(folder, "unlabeled", 1)
    found = datasets.STL10(tmp_path)
    image, label = found[1]
    assert label == 9 and np.array_equal(image, pixels[1].transpose(2, 1, 0))
    assert datasets.STL10(tmp_path, split="train+unlabeled").labels.tolist() == [0, 9, -1]
    put_stl(folder, "test", 2, [1])
    with pytest.raises(ebb.errors.ValueError, match="a label for each image, got 1 for 2"):
        datasets.STL10(tmp_path, split="test")
    (folder / "test_X.bin").write_bytes(b"123")
    with pytest.raises(ebb.errors.ValueError, match="STL10: needs images of 3 by 96 by 96 bytes"):
        datasets.STL10(tmp_path, split="test")
    with pytest.raises(ebb.errors.ValueError, match="STL10: needs a 'split' of"):
        datasets.STL10(tmp_path, split="x")
    with pytest.raises(NotImplementedError, match="'folds' of None"):
        datasets.STL10(tmp_path, folds=1)


def put_faces(folder):
    folder.mkdir()
    (folder / "list_eval_partition.txt").write_text("1.jpg 0\n2.jpg 1\n3.jpg 0\n")
    (folder / "list_attr_celeba.txt").write_text(
        "3\nBald Smiling\n1.jpg -1 1\n2.jpg 1 1\n3.jpg 1 -1\n"
    )
    (folder / "identity_CelebA.txt").write_text("1.jpg 7\n2.jpg 8\n3.jpg 9\n")


def test_faces_have_attributes_and_identities(tmp_path, monkeypatch):
    with pytest.raises(OSError, match=r"CelebA: needs .*list_eval_partition"):
        datasets.CelebA(tmp_path)
    put_faces(tmp_path / "celeba")
    found = datasets.CelebA(tmp_path, target_type=["attr", "identity"])
    assert found.filename == ["1.jpg", "3.jpg"] and found.attr_names == ["Bald", "Smiling"]
    monkeypatch.setattr(datasets.folders, "default_loader", lambda path: path[-5:])
    image, (attributes, identity) = found[1]
    assert image == "3.jpg" and attributes.tolist() == [1, 0] and identity.tolist() == [9]
    assert len(datasets.CelebA(tmp_path, split="all")) == 3
    with pytest.raises(ebb.errors.ValueError, match="CelebA: needs a 'target_type' of attr"):
        datasets.CelebA(tmp_path, target_type="bbox")
    with pytest.raises(ebb.errors.ValueError, match="CelebA: needs a 'split'"):
        datasets.CelebA(tmp_path, split="x")


def test_letters_are_told_by_their_part(tmp_path):
    with pytest.raises(OSError, match=r"EMNIST: needs .*emnist-letters-train-images-idx3-ubyte"):
        datasets.EMNIST(tmp_path, "letters")
    with pytest.raises(ebb.errors.ValueError, match="EMNIST: needs a 'split'"):
        datasets.EMNIST(tmp_path, "x")


def test_files_are_whole_or_not(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"hello")
    md5 = hashlib.md5(b"hello").hexdigest()
    assert utils.check_integrity(path) and utils.check_integrity(path, md5)
    assert not utils.check_integrity(path, "0") and not utils.check_integrity(tmp_path / "b")
    assert utils.download_url("https://x.org/a.bin", str(tmp_path), md5=md5) is None
    with pytest.raises(OSError, match="got another content\nhint: nothing is downloaded"):
        utils.download_url("https://x.org/a.bin", str(tmp_path), md5="0")
    with pytest.raises(
        OSError, match=r"download_file_from_google_drive: needs .* got no such file"
    ):
        utils.download_file_from_google_drive("id", str(tmp_path))


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_archives_are_unpacked_where_they_are(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("in/x.txt", "good")
    else:
        with tarfile.open(path, "w:gz") as packed:
            part = tarfile.TarInfo("in/x.txt")
            part.size = 4
            packed.addfile(part, io.BytesIO(b"good"))
    utils.download_and_extract_archive(f"https://x.org/a.{kind}", tmp_path, remove_finished=True)
    assert (tmp_path / "in" / "x.txt").read_text() == "good" and not path.exists()
    assert utils.list_dir(tmp_path) == ["in"]
    assert utils.list_files(tmp_path / "in", ".txt", prefix=True) == [
        str(tmp_path / "in" / "x.txt")
    ]


def test_archives_that_reach_outside_are_refused(tmp_path):
    path = tmp_path / "bad.tar"
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    for part in (tarfile.TarInfo("../out.txt"), tarfile.TarInfo("/out.txt"), link):
        with tarfile.open(path, "w") as packed:
            packed.addfile(part, io.BytesIO(b""))
        with pytest.raises(ebb.errors.ValueError, match="files and folders inside the archive's"):
            utils.extract_archive(str(path))
    assert [one.name for one in tmp_path.iterdir()] == ["bad.tar"]
    path.write_text("x")
    with pytest.raises(ebb.errors.ValueError, match=r"extract_archive: needs a \.zip or \.tar"):
        utils.extract_archive(str(path))


def test_texts_are_checked():
    assert utils.verify_str_arg("a", "split", ("a", "b")) == "a"
    with pytest.raises(ebb.errors.ValueError, match=r"needs 'split' of \['a', 'b'\], got 'c'"):
        utils.verify_str_arg("c", "split", ("a", "b"))
    with pytest.raises(ebb.errors.DTypeError, match="needs a text for 'split', got 3"):
        utils.verify_str_arg(3, "split")
