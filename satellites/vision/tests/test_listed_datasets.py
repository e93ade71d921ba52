# satellites/vision/tests/test_listed_datasets.py -- ImageNet, COCO and QMNIST from files made here.
import gzip
import json
import struct
import sys

import numpy as np
import pytest

import ebb
from ebb.vision import datasets


def _name(path):
    return path.replace("\\", "/").rpartition("/")[2]


def test_photographs_have_the_names_of_their_classes(tmp_path):
    for number in ("n02", "n01"):
        (tmp_path / "train" / number).mkdir(parents=True)
        (tmp_path / "train" / number / f"{number}_1.JPEG").write_text("")
    plain = datasets.ImageNet(tmp_path, loader=_name)
    assert plain.wnids == ["n01", "n02"] and plain.classes == [("n01",), ("n02",)]
    ebb.save(({"n01": ("tench", "Tinca"), "n02": ("goldfish",)}, []), str(tmp_path / "meta.bin"))
    found = datasets.ImageNet(tmp_path, "train", loader=_name, target_transform=str)
    assert [found[i] for i in range(2)] == [("n01_1.JPEG", "0"), ("n02_1.JPEG", "1")]
    assert found.class_to_idx == {"tench": 0, "Tinca": 0, "goldfish": 1}
    assert found.wnid_to_idx == {"n01": 0, "n02": 1} and found.root == str(tmp_path)
    ebb.save({"n01": "tench"}, str(tmp_path / "meta.bin"))
    with pytest.raises(ValueError, match=r"ImageNet: needs names of classes in .*meta\.bin"):
        datasets.ImageNet(tmp_path, loader=_name)


def test_photographs_that_are_not_there_are_told(tmp_path):
    with pytest.raises(OSError, match=r"ImageNet: needs the folder .*val"):
        datasets.ImageNet(tmp_path, split="val")
    with pytest.raises(ValueError, match="ImageNet: needs a 'split' of train or val, got 'test'"):
        datasets.ImageNet(tmp_path, split="test")


COCO = {
    "images": [{"id": 9, "file_name": "b.png"}, {"id": 4, "file_name": "a.png"}],
    "annotations": [
        {"id": 1, "image_id": 9, "bbox": [0, 0, 1, 1], "category_id": 2, "caption": "one"},
        {"id": 2, "image_id": 9, "bbox": [1, 1, 2, 2], "category_id": 2, "caption": "two"},
    ],
    "categories": [{"id": 2, "name": "cat"}],
}


@pytest.fixture
def coco(tmp_path, monkeypatch):
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(COCO))
    monkeypatch.setattr("ebb.vision.datasets.listed.default_loader", _name)
    return path


def test_things_in_photographs_are_their_annotations(tmp_path, coco):
    found = datasets.CocoDetection(tmp_path, coco)
    assert len(found) == 2 and found.ids == [4, 9]
    assert found[0] == ("a.png", [])
    assert found[1] == ("b.png", COCO["annotations"])
    both = datasets.CocoDetection(tmp_path, coco, transforms=lambda image, target: len(target))
    assert [both[0], both[1]] == [0, 2]
    one = datasets.CocoDetection(tmp_path, str(coco), transform=str.upper, target_transform=len)
    assert one[1] == ("B.PNG", 2)
    assert datasets.CocoCaptions(tmp_path, coco)[1] == ("b.png", ["one", "two"])


def test_annotations_are_found_under_pycocotools_names(tmp_path, coco):
    index = datasets.CocoDetection(tmp_path, coco).coco
    assert index.getImgIds() == [9, 4] and index.getCatIds() == [2]
    assert index.getAnnIds() == index.getAnnIds(imgIds=[4, 9]) == index.getAnnIds(9) == [1, 2]
    assert index.getAnnIds(4) == []
    assert index.loadAnns([2]) == COCO["annotations"][1:]
    assert index.loadImgs(4) == [COCO["images"][1]] and index.loadCats([2])[0]["name"] == "cat"


@pytest.mark.parametrize("kind", ["CocoDetection", "CocoCaptions"])
def test_files_that_are_no_annotations_are_told(tmp_path, kind):
    path = tmp_path / "wrong.json"
    make = getattr(datasets, kind)
    with pytest.raises(OSError, match=rf"^{kind}: needs .*wrong\.json.*, got no such file"):
        make(tmp_path, path)
    for text, problem in {
        "{": "needs JSON",
        "[]": "needs lists of 'images' and 'annotations'",
        "{}": "got a file without: 'images'",
        '{"images": [{"id": 1}], "annotations": [{"id": 1}]}': "without: 'image_id'",
    }.items():
        path.write_text(text)
        with pytest.raises(ebb.errors.ValueError, match=f"^{kind}: .*{problem}"):
            make(tmp_path, path)


def _write_digits(folder, labels):
    folder.mkdir(parents=True)
    count = len(labels)
    pixels = np.arange(count * 784, dtype=np.uint8).tobytes()
    images = struct.pack(">4i", 0x803, count, 28, 28) + pixels
    (folder / "qmnist-test-images-idx3-ubyte").write_bytes(images)
    rows = struct.pack(">3i", 0xC02, *labels.shape) + labels.astype(">i4").tobytes()
    (folder / "qmnist-test-labels-idx2-int.gz").write_bytes(gzip.compress(rows))


def test_digits_made_anew_have_eight_numbers_each(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    labels = np.arange(24).reshape(3, 8) * 1000 - 7
    _write_digits(tmp_path / "QMNIST" / "raw", labels)
    found = datasets.QMNIST(tmp_path, train=False)
    assert [found[i][1] for i in range(3)] == labels[:, 0].tolist()
    assert found[2][0].shape == (28, 28) and found.classes[3] == "3"
    rows = datasets.QMNIST(tmp_path, "test", compat=False)
    assert rows[1][1].tolist() == labels[1].tolist()
    assert len(datasets.QMNIST(tmp_path, "test10k")) == 3
    assert len(datasets.QMNIST(tmp_path, "test50k")) == 0
    with pytest.raises(ValueError, match="QMNIST: needs a 'what' of"):
        datasets.QMNIST(tmp_path, "nist")
    with pytest.raises(OSError, match="qmnist-train-images-idx3-ubyte"):
        datasets.QMNIST(tmp_path)


def test_labels_without_eight_numbers_are_refused(tmp_path):
    _write_digits(tmp_path / "QMNIST" / "raw", np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"QMNIST: needs eight numbers for each image, got \[2, "):
        datasets.QMNIST(tmp_path, "test")
