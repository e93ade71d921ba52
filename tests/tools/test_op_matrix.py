# tests/tools/test_op_matrix.py -- the op matrix fails for whatever a library lacks; and each check
# of `make check` has a test that calls it.
import dataclasses
import re
from pathlib import Path

import pytest

from codegen.cpp import forms
from codegen.dtypes import mask
from codegen.emit.common import kernels_of
from codegen.generate import load_family, table_path
from tools.check import op_matrix
from tools.check.__main__ import CHECKS

FAMILY = load_family(table_path("pointwise"))
COMPLETE = {kernel.name: mask(kernel.dtypes) for kernel in kernels_of([FAMILY])}
OP = next(op for op in FAMILY.ops if op.dtype_rule == "promote_float" and op.has_out)
KERNEL = OP.kernels[0].name
EXPORTED = {f"{layer}::{form.name}" for form in forms(OP) for layer in ("ebb", "ebb::ops")}


def test_a_library_with_all_that_the_table_promises_passes():
    assert op_matrix.kernel_holes([FAMILY], COMPLETE) == []
    assert op_matrix.op_holes(OP, EXPORTED) == []


@pytest.mark.parametrize(
    ("dtypes", "text"),
    [
        (-1, "the library does not know it"),
        (COMPLETE[KERNEL] & ~mask(("float64",)), "no entry for float64"),
        (COMPLETE[KERNEL] | mask(("uint16",)), "uint16 beyond what its ops accept"),
    ],
)
def test_a_kernel_with_other_entries_is_found(dtypes, text):
    [hole] = op_matrix.kernel_holes([FAMILY], {**COMPLETE, KERNEL: dtypes})
    assert hole.startswith(f"kernel {KERNEL}: ") and text in hole


@pytest.mark.parametrize("name", sorted(EXPORTED))
def test_a_form_that_the_library_lacks_is_found(name):
    [hole] = op_matrix.op_holes(OP, EXPORTED - {name})
    assert hole.endswith(f"no function {name}")


def test_an_op_without_a_reference_or_a_forward_mode_rule_is_found():
    [hole] = op_matrix.op_holes(dataclasses.replace(OP, test={}), EXPORTED)
    assert "no `numpy` reference" in hole
    no_rule = dataclasses.replace(OP, jvp="none")
    assert any("no forward-mode rule" in hole for hole in op_matrix.op_holes(no_rule, EXPORTED))


def test_every_check_has_a_test_that_calls_it():
    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in CHECKS if not re.search(rf"\b{name}\.\w+\(", texts)] == []
