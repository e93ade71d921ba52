# satellites/torch/tests/test_testing.py -- assert_close: what is close, and what the error says.
import numpy as np
import pytest

import ebb
from ebb.testing import assert_close


@pytest.mark.parametrize(
    "dtype, step, is_close",
    [
        (ebb.float64, 1e-7, True),
        (ebb.float64, 1e-6, False),
        (ebb.float32, 1e-5, True),
        (ebb.float32, 1e-4, False),
        (ebb.bfloat16, 1.6e-2, True),
        (ebb.bfloat16, 4e-2, False),
        (ebb.int64, 1, False),
        (ebb.complex64, 1e-4, False),
    ],
)
def test_tolerances_are_those_of_the_dtype(dtype, step, is_close):
    expected = ebb.ones(3, dtype=dtype)
    actual = expected + step
    if is_close:
        assert_close(actual, expected)
    else:
        with pytest.raises(AssertionError, match=r"^assert_close: 3 of 3 elements differ"):
            assert_close(actual, expected)


def test_tolerances_that_are_given_count_for_all():
    assert_close(ebb.tensor([1, 2]), ebb.tensor([1, 3]), rtol=0, atol=1)
    with pytest.raises(ValueError, match="assert_close: needs both rtol and atol or none"):
        assert_close(ebb.ones(1), ebb.ones(1), rtol=0.1)


@pytest.mark.parametrize(
    "actual, expected, text",
    [
        (ebb.ones(2), ebb.ones(3), r"shapes differ: \[2\] and \[3\]"),
        (ebb.ones(2), ebb.ones(2, dtype=ebb.float64), "dtypes differ: float32 and float64"),
        ([ebb.ones(1)], [], "lengths differ: 1 and 0"),
        ({"a": 1}, {"b": 1}, "keys differ: "),
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.5]}, r"elements differ at \['a'\]\[1\]"),
        (None, 1, "None is not 1"),
        (1.0, 1.1, "1 of 1 elements differ"),
    ],
)
def test_the_error_says_what_differs_and_where(actual, expected, text):
    with pytest.raises(AssertionError, match=f"^assert_close: .*{text}"):
        assert_close(actual, expected)


def test_the_error_tells_the_greatest_differences_and_their_places():
    expected = ebb.tensor([[1.0, 2.0], [100.0, 4.0]])
    with pytest.raises(AssertionError) as caught:
        assert_close(expected + ebb.tensor([[0.0, 1.0], [10.0, 0.0]]), expected)
    lines = str(caught.value).splitlines()
    assert lines[0] == "assert_close: 2 of 4 elements differ (50.0%)"
    assert lines[1].startswith("greatest absolute difference: 10 at [1, 0], of 110.0 and 100.0")
    assert lines[2].startswith("greatest relative difference: 0.5 at [0, 1], of 3.0 and 2.0")


def test_nan_is_near_nan_only_if_asked():
    x = ebb.tensor([1.0, float("nan")])
    with pytest.raises(AssertionError, match=r"relative difference: nan at \[1\]"):
        assert_close(x, x)
    assert_close(x, x, equal_nan=True)


def test_checks_may_be_left_out_or_added():
    assert_close(ebb.ones(2), ebb.ones(2, dtype=ebb.float64), check_dtype=False)
    tall, wide = ebb.ones(2, 3), ebb.ones(3, 2).T
    assert_close(tall, wide)
    with pytest.raises(AssertionError, match=r"strides differ: \[3, 1\] and \[1, 2\]"):
        assert_close(tall, wide, check_stride=True)
    assert_close(ebb.nn.Parameter(ebb.ones(2)), ebb.ones(2))
    with pytest.raises(AssertionError, match="classes differ: Parameter and Tensor"):
        assert_close(ebb.nn.Parameter(ebb.ones(2)), ebb.ones(2), allow_subclasses=False)


def test_messages_and_other_operands():
    with pytest.raises(AssertionError, match=r"^off$"):
        assert_close(1, 2, msg="off")
    with pytest.raises(AssertionError, match=r"^step 3: assert_close: "):
        assert_close(1, 2, msg=lambda text: f"step 3: {text}")
    assert_close(np.ones(2), np.ones(2))
    with pytest.raises(TypeError, match=r"^assert_close: needs tensors, numbers or containers"):
        assert_close(object(), 1)
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="a deeper nesting or a cycle"):
        assert_close(endless, endless)
