# tests/codegen/test_kinds.py -- a reduction or scan is its row: body, checks and kernel of devices.
import pytest

from codegen.emit.devices import emit as emit_devices
from codegen.emit.ops import emit as emit_ops
from codegen.signature import SchemaError
from tests.codegen.little_table import family_of

TABLE = """\
- op: squares(Tensor input, int dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor out
  doc: A test.
  dtypes: floating
  kind: reduce
  kernel: ReduceKernel squares
  dtype: widened
  nothing: refused
  device: {map: x * x}
  grad: none
  test: {none: a test}

- op: longest(Tensor input) -> Tensor out
  doc: A test.
  dtypes: ordered
  kind: reduce
  kernel: ReduceKernel longest
  device: {init: LEAST, combine: "larger(x, y)"}
  grad: none
  test: {none: a test}

- op: peak(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  doc: A test.
  kind: reduce
  kernel: MaxDimKernel peak
  grad: none
  test: {none: a test}

- op: put(Tensor input, int dim, Tensor index, Tensor src) -> Tensor out
  doc: A test.
  kind: index
  kernel: ScatterKernel put
  inplace: true
  grad: none
  test: {none: a test}

- op: back(Tensor input, int dim) -> Tensor out
  doc: A test.
  kind: scan
  kernel: ScanKernel back
  flag: true
  grad: none
  test: {none: a test}
"""


def test_the_body_of_a_reduction_is_what_its_row_says(family):
    text = emit_ops(family)["ebb/ops/little.cpp"]
    rule = '{"squares", impl::ReducedDType::widened, impl::OfNothing::refused, true}'
    given = "kernels::squares_kernels, input, IntSpan(&dim, 1), keepdim, dtype"
    assert f"return impl::run_reduction({rule}, {given});" in text
    rule = '{"longest", impl::ReducedDType::same, impl::OfNothing::computed, false}'
    assert f"run_reduction({rule}, kernels::longest_kernels, input, std::nullopt, false," in text
    assert '#include "ebb/ops/impl/reduce/reduction.h"' in text
    assert '#include "ebb/ops/impl/little.h"' not in text


def test_a_reduction_with_places_has_two_results(family):
    text = emit_ops(family)["ebb/ops/little.cpp"]
    assert 'impl::run_extremum("peak", kernels::peak_kernels, input, dim, keepdim);' in text


def test_a_row_of_kind_index_writes_a_copy_or_in_place(family):
    text = emit_ops(family)["ebb/ops/little.cpp"]
    kernel = "kernels::put_kernels"
    assert f'impl::run_index<impl::ScatterWrite>("put", {kernel}, input, dim, index, src);' in text
    assert f'impl::run_index_<impl::ScatterWrite>("put_", {kernel}, self, dim, index, s' in text
    assert '#include "ebb/ops/impl/index_write.h"' in text


def test_a_scan_is_told_its_flag(family):
    text = emit_ops(family)["ebb/ops/little.cpp"]
    rule = '{"back", impl::ReducedDType::same}'
    assert f"impl::run_scan({rule}, kernels::back_kernels, input, dim, std::nullopt, true)" in text


def test_the_parts_of_a_reduction_are_its_kernel_of_devices(family):
    text = emit_devices([family])["ebb/devices/common/reduce/reduction_rows.cpp"]
    assert (
        'DTypesOfRow::ordered, "LEAST", "x", "larger(x, y)", "x",\n     &reduction_row<0>}' in text
    )
    assert 'DTypesOfRow::ordered, "0", "x * x", "x + y", "x",\n     &reduction_row<1>}' in text


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            "kind: reduce",
            "kind: redcue",
            "4: squares: `kind` needs one of reduce, scan, index, got 'redc",
        ),
        ("int dim,", "float dim,", "4: squares: `kind: reduce` knows parameters Tensor input, int"),
        (
            "ReduceKernel sq",
            "ScanKernel sq",
            "4: squares: `kind: reduce` needs one kernel, of type ",
        ),
        (
            "dtype: widened",
            "dtype: wide",
            "4: squares: `dtype` of `kind: reduce` needs one of same",
        ),
        (
            "nothing: refused",
            "nothing: no",
            "7: squares: `nothing` needs one of true, refused, got",
        ),
        (
            "{map: x * x}",
            "{floating: x * x}",
            "8: squares: `device` needs init, map, combine, fini",
        ),
        (
            "nothing: refused",
            "impl: true",
            "7: squares: `impl` is for impl rows, got it in one of r",
        ),
    ],
)
def test_mistakes_name_line_and_op(tmp_path, old, new, error):
    with pytest.raises(SchemaError, match=f"^ops/little.yaml:{error}"):
        family_of(tmp_path, TABLE.replace(old, new, 1))
