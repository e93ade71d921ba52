# tests/python/tensor/test_repr.py -- the text of tensors, as PyTorch prints them.
import sys
import unicodedata

import numpy as np
import pytest

import ebb


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ebb.tensor(1.5), "tensor(1.5000)"),
        (lambda: ebb.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (lambda: ebb.tensor([1.5, -2.0]), "tensor([ 1.5000, -2.0000])"),
        (lambda: ebb.tensor([1, 20, 300]), "tensor([  1,  20, 300])"),
        (lambda: ebb.tensor([True, False]), "tensor([ True, False])"),
        (lambda: ebb.tensor([]), "tensor([])"),
        (lambda: ebb.zeros(2, 0), "tensor([], size=(2, 0))"),
        (lambda: ebb.zeros(0, dtype=ebb.int64), "tensor([], dtype=ebb.int64)"),
        (lambda: ebb.ones(2, dtype=ebb.float64), "tensor([1., 1.], dtype=ebb.float64)"),
        (lambda: ebb.tensor([1e-8, 1.0]), "tensor([1.0000e-08, 1.0000e+00])"),
        (lambda: ebb.tensor([1.0, 1000.0]), "tensor([   1., 1000.])"),
        (lambda: ebb.tensor([1.0, 2000.0]), "tensor([1.0000e+00, 2.0000e+03])"),
        (lambda: ebb.tensor([1e5, 9e7]), "tensor([  100000., 90000000.])"),
        (lambda: ebb.tensor([float("nan"), float("inf"), 1.0]), "tensor([nan, inf, 1.])"),
        (lambda: ebb.tensor([1 + 2j]), "tensor([1.+2.j])"),
        (lambda: ebb.tensor([1j, -0.5]), "tensor([ 0.0000+1.j, -0.5000+0.j])"),
        (lambda: ebb.tensor([1 - 0.5j, 10]), "tensor([ 1.-0.5000j, 10.+0.0000j])"),
        (lambda: ebb.tensor([complex("nan-infj"), 2]), "tensor([nan-infj, 2.+0.j])"),
        (lambda: ebb.tensor([2j]).to(ebb.complex128), "tensor([0.+2.j], dtype=ebb.complex128)"),
        (lambda: ebb.tensor([2j])[1:], "tensor([], dtype=ebb.complex64)"),
        (lambda: ebb.tensor([[1.0, 2.0], [3.0, 4.0]]), "tensor([[1., 2.],\n        [3., 4.]])"),
        (lambda: ebb.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: ebb.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<MulScalarBackward>)"),
        (lambda: ebb.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    ],
)
def test_text_of_a_tensor(make, text):
    assert repr(make()) == text


def test_results_of_one_op_have_a_line_each():
    found = ebb.tensor([[1.0, 3.0], [2.0, 0.5]]).max(1)
    text = "ebb.return_types.max(\nvalues=tensor([3., 2.]),\nindices=tensor([1, 0]))"
    assert repr(found) == text == str(found)
    assert found == (found.values, found.indices) and len(found) == 2


def test_three_dims_are_separated_by_an_empty_line():
    text = "tensor([[[0, 1]],\n\n        [[2, 3]]])"
    assert repr(ebb.arange(4).reshape(2, 1, 2)) == text


def test_long_rows_are_broken():
    text = repr(ebb.arange(100))
    assert max(len(line) for line in text.splitlines()) <= 80 and text.count("\n") > 3


def test_a_large_tensor_is_summarised_quickly():
    text = repr(ebb.zeros(300, 300, 300))
    assert text.count("...") == 25 - 12 or "..." in text
    assert len(text) < 5000


@pytest.mark.parametrize("shape", [(2, 3, 4, 5, 6, 7) * 2, (2,) * 32, (9,) * 12])
def test_many_dims_are_summarised_too(shape):
    text = repr(ebb.zeros(1).expand(*shape))
    assert 1000 < text.count("0.") <= 10_000 and "..." in text


def test_printing_records_nothing():
    x = ebb.ones(3, requires_grad=True)
    before = (x * 1).grad_fn._sequence_nr()
    repr(x * 2)
    assert (x * 1).grad_fn._sequence_nr() - before <= 2


# Every code point that Python's own Unicode table gives a meaning, UTF-16's halves apart.
LETTERS = "".join(
    letter
    for letter in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(letter) not in ("Cn", "Cs")
)
NAMES = ("it's", 'say "w"', "'\"", "\\", "two\nlines", "\\'", "\x1b[31mred", "\u202eltr", "é 重み")


@pytest.mark.parametrize("name", [*NAMES, LETTERS, LETTERS.replace("'", "")])
def test_a_name_is_quoted_as_python_quotes_it(name):
    x = ebb.ones(2)
    x.name = name
    expected = f"name={name!r})"
    assert repr(x).endswith(expected)
    sparse = x.to_sparse()
    sparse.name = name
    assert repr(sparse).endswith(expected)


def test_the_largest_integers_are_printed_and_read():
    values = [2**64 - 1, 2**63, 0]
    x = ebb.from_numpy(np.array(values, dtype=np.uint64))
    assert repr(x[0]) == f"tensor({2**64 - 1}, dtype=ebb.uint64)"
    assert x.tolist() == values and x[1].item() == 2**63
