# tests/fuzz/rows/test_geometry.py -- every op at sizes, strides and numbers that nobody thought of.
#
# Each row of the op table that says how to call its op, and each function that Python composes of
# ops (function_rows.py), is tried with drawn geometry (geometry.py) against slow results
# (slow_reference.py): values, gradients and second derivatives, in every floating dtype. A row that
# says nothing of inputs gives its reason under `test: none`. A failure is the smallest that
# drawing.py finds, and is tried first in the next run.
from collections import Counter

import numpy as np
import pytest

from tests.fuzz import drawing, seeds
from tests.fuzz.rows import geometry
from tests.fuzz.rows.function_rows import CASES, composed_functions, composed_rows
from tests.fuzz.rows.geometry_trial import Trials
from tests.fuzz.rows.slow_reference import agree, difference, in_order, is_close
from tests.python.ops.op_rows import Array, Case, Row, load_rows, make_arguments

ROWS = [row for row in load_rows() if "inputs" in row.test and row.main]
TRIED = [*ROWS, *composed_rows()]
SAMPLE, LONG = 12, 350
# Of so many trials so many must come to a call that the op takes.
LEAST_TAKEN = 0.6
# The drawn shapes of losses broadcast, of which losses warn.
pytestmark = pytest.mark.filterwarnings("ignore:.*should have one shape:UserWarning")

PARAMS = [{"name": "input", "type": "Tensor"}, {"name": "dim", "type": "int[]?"}]
PARAMS = [{**param, "default": None, "keyword_only": False} for param in PARAMS]
MADE_UP = Row(
    {
        "op": "made_up",
        "name": "made_up",
        "params": PARAMS,
        "dtypes": {},
        "family": "reduce",
        "test": {"inputs": "reduce"},
    }
)


@pytest.mark.parametrize("row", TRIED, ids=str)
def test_drawn_geometry_gives_what_slow_means_give(row):
    trials, name = Trials(row), f"geometry {row.op}"
    drawing.try_all(name, trials.run_blob, drawing.sample(name, SAMPLE))
    assert trials.counts["cases"] >= LEAST_TAKEN * SAMPLE, trials.counts


@pytest.mark.long
@pytest.mark.parametrize("row", TRIED, ids=str)
def test_much_drawn_geometry_gives_what_slow_means_give(row):
    trials, name = Trials(row), f"geometry {row.op}"
    drawing.try_all(name, trials.run_blob, drawing.sample(name, LONG, seeds.fresh))
    assert trials.counts["cases"] >= LEAST_TAKEN * LONG, trials.counts


def has_geometry(row):
    """Whether an op has a parameter of sizes, dims, strides or counts."""
    return any(p["type"].rstrip("?") in ("int", "int[]", "Tensor[]") for p in row.params)


def test_every_op_with_geometry_is_drawn_or_says_in_its_row_why_not():
    for row in load_rows():
        if has_geometry(row) and row not in ROWS and not row.is_creation:
            assert row.test.get("none"), f"{row.op} needs test inputs, or none: why"


def test_every_composed_function_is_drawn_or_says_why_not():
    assert set(CASES) == set(composed_functions())


def test_the_draws_cover_what_breaks_ops():
    rng = seeds.fixed("coverage")
    cases = [geometry.draw_case(rng, MADE_UP, MADE_UP.cases()) for _ in range(400)]
    shapes = [one.shape for case in cases for one in geometry.arrays_of(case)]
    assert {0, 1} <= {size for shape in shapes for size in shape}
    assert {0, 1, 2, 3} <= {len(shape) for shape in shapes}
    seen = Counter()
    for layout in geometry.LAYOUTS:
        for _ in range(50):
            place = geometry.draw_place(rng, (3, 4), layout)
            seen["expanded"] += 0 in place.strides
            seen["permuted"] += place.strides == (1, 3)
            seen["overlapping"] += 0 < place.strides[0] < 4 and place.strides[1] == 1
            seen["offset"] += place.offset > 0
    assert min(seen[kind] for kind in ("expanded", "permuted", "overlapping", "offset")) > 3


def test_a_place_shows_the_memory_through_its_strides():
    place = geometry.draw_place(seeds.fixed("place"), (2, 3), "overlapping")
    case = Case({"input": Array((2, 3), place=place)})
    tensor = make_arguments(MADE_UP, case, "float64")["input"]
    assert tuple(tensor.shape) == (2, 3)
    assert tensor.stride() == place.strides


def test_a_wrong_number_a_wrong_shape_and_a_wrong_slope_are_seen():
    wanted = np.ones((2, 3))
    assert not difference("value", wanted + 1e-15, wanted, "float64", 0.0)
    assert "at (0, 0), not 1.0" in difference("value", wanted + 1e-3, wanted, "float32", 0.0)
    assert "shape (6,)" in difference("value", wanted.reshape(6), wanted, "float64", 0.0)
    assert is_close(1.0, 1.0 + 1e-6)
    assert not is_close(1.0, 1.001)
    assert agree([5.0, 1.0, 1.0001])
    assert not agree([1e3, 1e4, 1e5])


def test_where_rounding_moves_a_result_by_all_it_is_it_need_not_be_finite():
    wanted, got = np.array([1.0, 0.5, 2.0]), np.array([1.0, np.nan, 2.0])
    assert not difference("value", got, wanted, "float16", np.array([0.0, np.inf, 0.0]))
    assert "nan at (1,)" in difference("value", got, wanted, "float16", np.array([9.0, 0.0, 9.0]))
    assert "nan at (1,)" in difference("value", got, wanted, "float16", 0.1)
    assert "3.0 at (2,)" in difference("value", np.array([1.0, 0.5, 3.0]), wanted, "float16", 0.1)


def test_results_without_an_order_are_sorted_by_the_first_of_them():
    row = Row(
        {"results": ["values", "size", "vectors"], "test": {"unordered": ["values", "vectors"]}}
    )
    values = np.array([[2.0 + 0j, 1 + 1j, 1.0000001 - 1j]])
    vectors = np.array([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
    found = in_order(row, [values, 7, vectors])
    np.testing.assert_array_equal(found[0], values[:, [2, 1, 0]])
    np.testing.assert_array_equal(found[2], vectors[..., [2, 1, 0]])
    assert found[1] == 7


def test_a_derivative_that_the_row_says_is_refused_is_left_and_no_other():
    row = next(row for row in ROWS if "refuses" in row.test)
    case = Case({"A": Array((4, 2)), "mode": "complete"})
    trials = Trials(row)
    assert not trials._try_dense(case, 1)
    assert trials.counts["without derivative"] == 1
    other = Row(row.data | {"test": {**row.test, "refuses": {}}})
    with pytest.raises(NotImplementedError, match="needs mode reduced"):
        Trials(other)._try_dense(case, 1)
