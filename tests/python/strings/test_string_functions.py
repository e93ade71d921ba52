# tests/python/strings/test_string_functions.py -- functions of text, each beside Python's own.

import numpy as np
import pytest

import ebb
from ebb import StringTensor, strings
from tests.python.fresh import printed

TEXTS = ["", "a\0", "Straße", "e\u0301", "\U0001f600 x", "two\nlines here", "\ud800", "  ", "İ"]
SHAPES = [(), (1,), (0,), (2, 0), (9,), (3, 3), (3, 1, 3)]


def texts(shape):
    return StringTensor(TEXTS[: int(np.prod(shape))]).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["lower", "upper"])
def test_letters_change_as_unicode_says(name, shape):
    for x in (texts(shape), texts(shape).T):
        found = getattr(strings, name)(x)
        expected = [getattr(text, name)() for text in x.reshape(-1).tolist()]
        assert found.shape == x.shape and found.reshape(-1).tolist() == expected


@pytest.mark.parametrize("shape", SHAPES)
def test_lengths_are_of_code_points_or_bytes(shape):
    x = texts(shape).T
    for unit, size in (("char", len), ("byte", lambda t: len(t.encode("utf-8", "surrogatepass")))):
        found = strings.length(x, unit)
        assert found.dtype is ebb.int64 and found.shape == x.shape
        assert found.reshape(-1).tolist() == [size(text) for text in x.reshape(-1).tolist()]
    with pytest.raises(ValueError, match="length: unit needs 'char' or 'byte', got 'word'"):
        strings.length(x, "word")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("arguments", [(), (" ",), ("\0",), (None, 1), ("e", 1), (None, 0)])
def test_pieces_are_pythons_with_empty_ones_behind(shape, arguments):
    x = texts(shape)
    pieces, counts = strings.split(x, *arguments)
    expected = [text.split(*arguments) for text in x.reshape(-1).tolist()]
    most = max(map(len, expected), default=0)
    assert pieces.shape == (*shape, most) and counts.shape == shape and counts.dtype is ebb.int64
    assert counts.reshape(-1).tolist() == [len(one) for one in expected]
    padded = [text for one in expected for text in one + [""] * (most - len(one))]
    assert pieces.reshape(-1).tolist() == padded


def test_hashes_are_of_the_text_alone():
    code = "import ebb; print(ebb.strings.hash(ebb.StringTensor(['a', 'b', 'a'])).tolist())"
    runs = {printed(code) for _ in range(2)}
    found = strings.hash(StringTensor(["a", "b", "a"]))
    assert runs == {f"{found.tolist()}\n"} and found.dtype is ebb.int64
    assert found[0] == found[2] and found[0] != found[1]


def test_hashes_fill_buckets_evenly():
    x = StringTensor([f"word {number}" for number in range(10_000)])
    found = strings.hash(x, 10)
    assert found.min().item() == 0 and found.max().item() == 9
    counts = np.bincount(found.numpy())
    assert counts.min() > 900 and counts.max() < 1100  # 3.3 standard deviations
    assert len(set(strings.hash(x).tolist())) == 10_000
    with pytest.raises(ValueError, match="hash: buckets needs at least 1, got 0"):
        strings.hash(x, 0)


@pytest.mark.parametrize("name", ["lower", "upper", "length", "split", "hash"])
@pytest.mark.parametrize("wrong", ["text", ["a"], ebb.ones(2), None])
def test_what_is_no_string_tensor_is_refused_by_name(name, wrong):
    with pytest.raises(ebb.errors.DTypeError, match=f"^{name}.*StringTensor"):
        getattr(strings, name)(wrong)


def test_the_way_from_text_to_an_embedding():
    rows = strings.hash(strings.split(strings.lower(StringTensor(["To be", "be TO"])))[0], 100)
    table = ebb.nn.Embedding(100, 4)
    out = table(rows)
    assert out.shape == (2, 2, 4) and ebb.equal(out[0, 0], out[1, 1])
    with pytest.raises(ValueError, match="split: sep needs at least one character, got ''"):
        strings.split(StringTensor("a"), "")
