# tests/python/strings/test_string_tensor.py -- text in the shape of a tensor: what it holds, what
# views of it share, how it compares, and that no op takes it.
import copy
import inspect
import pickle
import re

import numpy as np
import pytest

import ebb
from ebb import StringTensor, strings
from tests.cases import each_of

HOSTILE = ["", "a\0", "ß", "e\u0301", "\U0001f600", "line\nbreak", "'\"", "\ud800", " "]


def words():
    return StringTensor([["Now", "is"], ["the", "time"], ["for", "all"]])


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        ("text", ()), ([], (0,)), ([[], []], (2, 0)), (["a"], (1,)), ((("a", "b"),), (1, 2)),
        (np.array([["a"], ["bc"]]), (2, 1)), (np.array(["a", "b"], object), (2,)),
        (np.array([b"x", b"\xc3\x9f"]), (2,)), (["a", np.str_("b")], (2,)), (HOSTILE, (9,)),
        (words(), (3, 2)), ([words()[0], words()[1]], (2, 2)),
    ],
)  # fmt: skip
def test_what_is_given_comes_back(data, shape):
    made = StringTensor(data)
    assert made.shape == shape and made.numel() == np.prod(shape) and made.dim() == len(shape)
    assert {type(text) for text in made.numpy().flat} <= {str}
    assert StringTensor(made.tolist() if made.numel() else data).tolist() == made.tolist()
    if isinstance(data, str | list) and made.numel() and not isinstance(data[0], StringTensor):
        assert made.tolist() == data


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (3, "got int"), (None, "got NoneType"), ([["a", 1]], r"got int at \[0, 1\]"),
        (["a", ["b"]], r"got sequences of different lengths at \[1\]"), ({"a": 1}, "got dict"),
        (np.ones(2), r"got float at \[0\]"), (ebb.ones(2), r"got float at \[0\]"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_refused_with_its_place(data, got):
    with pytest.raises(ebb.errors.DTypeError, match=f"^StringTensor: needs text, {got}"):
        StringTensor(data)


def test_rows_of_different_lengths_are_refused():
    with pytest.raises((ebb.errors.DTypeError, ValueError), match="StringTensor: needs"):
        StringTensor([["a", "b"], ["c"]])


def test_bytes_that_are_no_utf8_are_refused():
    with pytest.raises(ValueError, match=r"StringTensor: .*utf-8"):
        StringTensor([b"\xff"])


KEYS = (
    0, -1, (1, 0), slice(None), slice(None, None, -1), slice(1, 1), ..., (..., 1), None,
    (None, 1, ..., None), [0, 2], ([0, 1], [1, 0]), np.array([True, False, True]), (),
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_is_numpys(key):
    found = words()[key]
    assert isinstance(found, StringTensor)
    expected = words().numpy()[key]
    assert found.tolist() == (expected.tolist() if isinstance(expected, np.ndarray) else expected)


def test_tensors_index_as_arrays_do():
    assert words()[ebb.tensor([2, 0])].tolist() == [["for", "all"], ["Now", "is"]]
    assert words()[words() > "is"].tolist() == ["the", "time"]


@pytest.mark.parametrize("key", [3, (0, 0, 0), "a", 0.5])
def test_errors_of_indices_name_indexing(key):
    with pytest.raises(IndexError, match=r"^index: .*shape"):
        words()[key]


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[0], lambda x: x[0, 0], lambda x: x[::2], lambda x: x[None], lambda x: x.T,
        lambda x: x.view(-1), lambda x: x.reshape([2, 3]), lambda x: x[...],
    ],
)  # fmt: skip
def test_writing_to_a_view_writes_to_what_it_shows(view):
    whole = words()
    view(whole)[...] = "new"
    assert whole[0, 0].item() == "new"


def test_writing_broadcasts_and_overlapping_writes_read_first():
    whole = words()
    whole[:, 1] = ["x", "y", "z"]
    whole[1:, 0] = whole[:-1, 0]
    assert whole.tolist() == [["Now", "x"], ["Now", "y"], ["the", "z"]]
    with pytest.raises(TypeError, match=r"needs text, got int"):
        whole[0] = 3
    with pytest.raises(ebb.errors.ShapeError, match=r"^index: .* to shape \[2\], got \[3\]"):
        whole[0] = ["a", "b", "c"]


def test_copies_share_nothing():
    whole = words()
    for other in (whole.clone(), StringTensor(whole), copy.copy(whole).clone(),
                  copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):  # fmt: skip
        assert isinstance(other, StringTensor) and other.tolist() == whole.tolist()
        other[0] = "new"
    for array in (whole.numpy(), np.asarray(whole)):
        array[...] = 3
    assert whole.tolist() == words().tolist()


def test_a_view_that_needs_a_copy_is_refused():
    with pytest.raises(ebb.errors.ShapeError, match=r"^view: .* strides \[1, 2\]"):
        words().T.view(6)
    with pytest.raises(ebb.errors.ShapeError, match=r"^reshape: shape must hold the 6 elements"):
        words().reshape(4)
    assert words().T.reshape(6).tolist() == ["Now", "the", "for", "is", "time", "all"]
    assert words().T.is_contiguous() is False and words()[1:].is_contiguous()


@pytest.mark.parametrize("name", ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
@pytest.mark.parametrize("other", ["is", words(), words()[0], ["is", "the"], np.array(["time"])])
def test_comparisons_broadcast_and_give_bool_tensors(name, other):
    found = getattr(words(), name)(other)
    theirs = np.asarray(other, object)
    expected = np.vectorize(lambda one, two: getattr(one, name)(two), otypes=[bool])
    assert found.dtype is ebb.bool and np.array_equal(found, expected(words().numpy(), theirs))


def test_comparisons_with_what_is_no_text_are_pythons():
    assert (words() == 3) is False and (words() != None) is True  # noqa: E711
    with pytest.raises(TypeError, match="not supported"):
        words() < 3  # noqa: B015
    with pytest.raises(ebb.errors.ShapeError, match=r"^eq: .* got \[3, 2\] and \[3\]"):
        words() == ["a", "b", "c"]  # noqa: B015
    assert (np.array(["is"], object) == words()).sum().item() == 1


def test_it_is_a_sequence_of_rows():
    assert len(words()) == 3 and [row.tolist() for row in words()] == words().tolist()
    assert "time" in words() and "no" not in words() and 3 not in words()
    with pytest.raises(TypeError, match="len: needs at least one dim"):
        len(StringTensor("a"))
    with pytest.raises(ValueError, match="item: needs a tensor of one element"):
        words().item()


def test_every_kind_of_tensor_answers_what_a_tensor_is():
    coo = ebb.eye(2).to_sparse()
    csr = ebb.sparse_csr_tensor(ebb.tensor([0, 1, 2]), ebb.tensor([0, 1]), ebb.ones(2))
    table = ebb.nn.Embedding(3, 2, sparse=True)
    table(ebb.tensor([1])).sum().backward()
    kinds = {
        "is_dense": ebb.ones(2), "is_sparse": coo, "is_sparse_csr": csr,
        "is_selected_rows": table.weight.grad, "is_string_tensor": words(),
    }  # fmt: skip
    for kind, tensor in kinds.items():
        assert [name for name in kinds if getattr(tensor, name)] == [kind]
        assert tensor.numel() > 0 and tensor.dim() == len(tensor.shape) == tensor.ndim
        assert tensor.device == ebb.device("cpu") and tensor.dtype and tensor.layout
        assert not tensor.requires_grad and repr(tensor) and tensor.clone() is not tensor


OPS = sorted(set(ebb.ops.__all__))


@each_of(OPS)
def test_every_op_refuses_text_by_its_name(name):
    function = getattr(ebb.ops, name)
    with pytest.raises(ebb.Error, match=f"^{name}\\b.*") as caught:
        function(words())
    assert re.search("StringTensor|needs argument", str(caught.value))


def test_operators_and_tensors_of_numbers_refuse_text():
    with pytest.raises(TypeError, match="StringTensor"):
        ebb.ones(3, 2) + words()
    with pytest.raises(TypeError, match="StringTensor"):
        words() * 2
    with pytest.raises(TypeError, match=r"got str\nhint: ebb.StringTensor holds text"):
        ebb.tensor(["a"])
    assert not ebb.is_tensor(words())


def test_it_prints_as_it_was_written():
    assert repr(words()[:2]) == ("StringTensor([['Now', 'is'],\n              ['the', 'time']])")
    assert repr(StringTensor("it's")) == 'StringTensor("it\'s")'
    assert repr(StringTensor([[], []])) == "StringTensor([], size=(2, 0))"
    assert len(repr(StringTensor(["word"] * 10**6))) < 1000


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,), (9,), (3, 1, 3)])
def test_files_bring_it_back(tmp_path, shape):
    texts = [*HOSTILE[:7], "x", "y"][: int(np.prod(shape))]
    saved = StringTensor(texts).reshape(shape)
    tree = {"words": saved.T, "deep": [saved, ebb.ones(2)], "number": 1}
    ebb.save(tree, tmp_path / "words.safetensors")
    loaded = ebb.load(tmp_path / "words.safetensors")
    assert loaded["words"].tolist() == saved.T.tolist() and loaded["words"].shape == saved.T.shape
    assert loaded["deep"][0].tolist() == saved.tolist()


@pytest.mark.parametrize(
    "node",
    ["[]", "[[2], [\"a\"]]", "[[1], [1]]", "[[-1], []]", "[[1], [\"a\"], 0]", "3", "[[1], \"a\"]",
     "[[true], [\"a\"]]", "[[" + "1," * 40 + "1], [\"a\"]]", "{}"],
)  # fmt: skip
def test_a_corrupt_entry_of_a_file_is_refused(tmp_path, node):
    path = tmp_path / "words.safetensors"
    tree = '{"list": [{"strings": ' + node + "}]}"
    ebb._C._save(path, (), (), {"ebb.tree": tree})
    with pytest.raises(ValueError, match=r"load: needs a tree as ebb\.save writes it"):
        ebb.load(path)


def test_everything_public_has_a_docstring():
    for name in strings.__all__:
        assert inspect.getdoc(getattr(strings, name))
