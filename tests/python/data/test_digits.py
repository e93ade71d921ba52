# tests/python/data/test_digits.py -- the digits and batches.
import pytest

import ebb
from ebb import data


def test_digits_are_split_as_documented():
    digits = data.digits.load()
    assert digits.train_images.shape == (1438, 64) and digits.test_images.shape == (359, 64)
    assert digits.train_images.dtype is ebb.float32 and digits.train_labels.dtype is ebb.int64
    assert digits.test_labels[:2].tolist() == [4, 9]  # every fifth, from the source's 0 1 2 3 4 ...
    assert digits.train_images[0, :8].tolist() == [v / 16 for v in (0, 0, 5, 13, 9, 1, 0, 0)]


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    path.write_bytes(data.digits.default_path().read_bytes()[:3000])
    with pytest.raises(ValueError, match=r"load: needs a safetensors file"):
        data.digits.load(path)
    ebb.save({"images": ebb.zeros(3)}, path)
    with pytest.raises(ValueError, match=r"load_digits: .* 'images' is float32 \[3\] instead"):
        data.digits.load(path)
    with pytest.raises(OSError, match="load: needs a readable file"):
        data.digits.load(tmp_path / "missing")


def test_batches_visit_every_row_once():
    rows, squares = ebb.arange(10), ebb.arange(10) * ebb.arange(10)
    seen, sizes = [], []
    for x, y in data.batches(rows, squares, batch_size=4):
        assert (x * x).tolist() == y.tolist()
        seen += x.tolist()
        sizes.append(len(x))
    assert sorted(seen) == list(range(10)) and seen != list(range(10))
    assert sizes == [4, 4, 2]


def test_batches_repeat_with_the_seed_and_may_keep_the_order():
    def order(**options):
        ebb.manual_seed(1)
        return [x.tolist() for (x,) in data.batches(ebb.arange(7), batch_size=3, **options)]

    assert order() == order()
    assert order(shuffle=False, drop_last=True) == [[0, 1, 2], [3, 4, 5]]


def test_batches_refuse_bad_arguments():
    with pytest.raises(ValueError, match="batches: needs batch_size >= 1, got 0"):
        data.batches(ebb.arange(3), batch_size=0)
    with pytest.raises(ValueError, match=r"needs tensors of equal length, got \[2, 3\]"):
        data.batches(ebb.arange(3), ebb.arange(2), batch_size=1)
