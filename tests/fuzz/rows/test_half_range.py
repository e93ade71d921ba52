# tests/fuzz/rows/test_half_range.py -- half types are float64's numbers, rounded, at the ends of
# range.
#
# In `make test` a sample of the rows of the op table with a few trials each, in `make test-long`
# all of them (half_range.py). A row that cannot do better says why in its `special` key, and is
# wrong there: the list is exact. `python -m tests.fuzz.rows.half_range` prints what is wrong.
from collections import Counter

import pytest

from tests.fuzz import seeds
from tests.fuzz.rows import half_range, narrow

SAMPLE = 20
FEW = 3
PAIRS = [(row, dtype) for row in narrow.ROWS for dtype in narrow.NARROW if dtype in row.dtypes]
SAMPLED = seeds.fixed("half_range", "sample").sample(PAIRS, min(SAMPLE, len(PAIRS)))


def is_named(row):
    return "half" in row.test.get("special", {})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("row", "dtype"), SAMPLED, ids=str)
def test_some_ops_keep_half_types_in_range(row, dtype):
    wrong = half_range.wrong_in(row, dtype, 0, Counter(), FEW)
    assert is_named(row) or not wrong, wrong


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("row", narrow.ROWS, ids=str)
def test_every_op_keeps_half_types_in_range_but_those_named(row):
    counts = Counter()
    dtypes = [one for one in narrow.NARROW if one in row.dtypes]
    wrong = [text for one in dtypes for text in half_range.wrong_in(row, one, 0, counts)]
    assert bool(wrong) == is_named(row), wrong[:4] or "its `half` is out of date"


def test_a_sum_of_products_that_is_off_by_more_than_float32_loses_is_found(monkeypatch):
    row = next(row for row in narrow.ROWS if "products" in row.test)
    trials = list(half_range.range_trials(row, "float16", 0, FEW))
    honest = half_range.Trial.outcome

    def off(self, arguments, seconds):
        found = honest(self, arguments, seconds)
        if arguments is self.arguments:
            found.parts["value"] = [one * (1 + 2.0**-7) for one in found.parts["value"]]
        return found

    for trial in trials:
        trial.check(False)
    monkeypatch.setattr(half_range.Trial, "outcome", off)
    for trial in trials:
        with pytest.raises(half_range.WrongError):
            trial.check(False)
