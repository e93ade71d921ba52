# tests/python/tensor/test_repr.py -- the text of tensors, as PyTorch prints them.
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
        (lambda: ebb.tensor([float("nan"), float("inf"), 1.0]), "tensor([nan, inf, 1.])"),
        (lambda: ebb.tensor([1 + 2j]), "tensor([1.+2.j], dtype=ebb.complex64)"),
        (lambda: ebb.tensor([[1.0, 2.0], [3.0, 4.0]]), "tensor([[1., 2.],\n        [3., 4.]])"),
        (lambda: ebb.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: ebb.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<MulScalarBackward>)"),
        (lambda: ebb.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    ],
)
def test_text_of_a_tensor(make, text):
    assert repr(make()) == text


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
