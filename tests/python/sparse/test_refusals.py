# tests/python/sparse/test_refusals.py -- every op of the table, in every form, with a sparse
# operand: a right result, or an error that tells the layout and the way out. Never a crash: no
# kernel may take what a sparse tensor holds for elements.
import gc

import numpy as np
import pytest

import ebb
from tests.cases import by_family, each_of
from tests.python.ops import op_rows

ROWS = [row for row in op_rows.load_rows() if "inputs" in row.test]


def dense_cases(row):
    """Calls with at least one tensor of floats that has elements and dims."""
    for case in row.cases()[:6]:
        dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
        yield op_rows.make_arguments(row, case, dtype, "contiguous")


def sparse_forms(tensor):
    """The tensor in each layout that can hold it."""
    if tensor.ndim == 0 or tensor.dtype in (ebb.uint16, ebb.uint32, ebb.uint64):
        return
    yield tensor.to_sparse()
    if tensor.ndim == 2:
        yield tensor.to_sparse_csr()
    rows = ebb.arange(len(tensor))
    yield ebb.selected_rows(rows, tensor.detach(), tensor.shape)


def with_one_sparse(arguments):
    """Every way to make one operand sparse."""
    for name, value in arguments.items():
        if isinstance(value, ebb.Tensor):
            for sparse in sparse_forms(value):
                yield {**arguments, name: sparse}
        elif isinstance(value, list) and value and isinstance(value[0], ebb.Tensor):
            for place in (0, len(value) - 1):
                for sparse in sparse_forms(value[place]):
                    changed = list(value)
                    changed[place] = sparse
                    yield {**arguments, name: changed}


def result_of(function, arguments):
    """The result; None if the call ended in an error that tells the layout."""
    try:
        return function(arguments)
    except ebb.Error as error:
        assert any(word in str(error) for word in ("strided", "sparse", "selected_rows")), error
        return None


def dense(value):
    if isinstance(value, ebb.Tensor):
        return value.to_dense()
    return [dense(one) for one in value] if isinstance(value, tuple | list) else value


def same(found, expected):
    if isinstance(expected, ebb.Tensor):
        np.testing.assert_allclose(
            found.to_dense().detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-5
        )
    elif isinstance(expected, tuple | list):
        for one, other in zip(found, expected, strict=True):
            same(one, other)


@each_of(ROWS, by_family)
def test_a_sparse_operand_gives_a_right_result_or_a_clear_error(row):
    for arguments in dense_cases(row):
        for changed in with_one_sparse(arguments):
            if row.is_inplace:
                result_of(lambda given: op_rows.call(row, given), changed)
                continue
            found = result_of(lambda given: op_rows.call(row, given), changed)
            if found is None or row.data["generator"] or "numpy" not in row.test:
                continue
            same(found, op_rows.call(row, {name: dense(value) for name, value in changed.items()}))


@each_of(ROWS, by_family)
def test_a_recorded_call_with_a_sparse_operand_does_not_crash(row):
    for arguments in dense_cases(row):
        for changed in with_one_sparse(arguments):
            for value in changed.values():
                if isinstance(value, ebb.Tensor) and value.is_floating_point():
                    value.requires_grad_()
            found = result_of(lambda given: op_rows.call(row, given), changed)
            if isinstance(found, ebb.Tensor) and found.requires_grad:
                found.backward(ebb.ones(found.shape, dtype=found.dtype))


WRITERS = [row for row in ROWS if "inplace" in row.forms and not row.is_inplace]


@each_of(WRITERS, by_family)
def test_inplace_forms_refuse_sparse_operands(row):
    for arguments in dense_cases(row):
        for changed in with_one_sparse(arguments):
            target = changed.pop(row.params[0]["name"])
            if row.data["copies_inplace"] and target.layout is ebb.strided:
                continue  # what the plain form makes of sparse operands may be dense
            found = result_of(
                lambda given, own=target: op_rows.inplace_of(row)(own, **given), changed
            )
            assert found is None


@each_of([row for row in ROWS if "out" in row.forms], by_family)
def test_out_forms_refuse_sparse_targets_and_operands(row):
    def run(arguments, out):
        positional, named = op_rows.split_arguments(row, arguments)
        return op_rows.function_of(row)(*positional, **named, out=out)

    for arguments in dense_cases(row):
        positional, named = op_rows.split_arguments(row, arguments)
        outs = op_rows.function_of(row)(*positional, **named)
        is_single = isinstance(outs, ebb.Tensor)
        for sparse in sparse_forms(outs if is_single else outs[0]):
            out = sparse if is_single else (sparse, *outs[1:])
            assert result_of(lambda given, out=out: run(given, out), arguments) is None
        if row.data["copies_out"]:
            continue  # what the plain form makes of sparse operands may be dense
        for changed in with_one_sparse(arguments):
            assert result_of(lambda given, out=outs: run(given, out), changed) is None


def sparse_tensors():
    eye = ebb.eye(3)
    return [eye.to_sparse(), eye.to_sparse_csr(), ebb.selected_rows([1], ebb.ones(1, 3), (3, 3))]


SKIPPED = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__init__", "__del__",
           "__setattr__", "__delattr__", "__getattribute__", "_make_subclass"}  # fmt: skip


@each_of(sorted(set(dir(ebb.Tensor)) - SKIPPED))
def test_every_attribute_and_method_of_a_sparse_tensor_ends_in_a_value_or_an_error(name):
    for tensor in sparse_tensors():
        for arguments in ((), (0,), (ebb.eye(3),), (tensor,), (1, 1), (ebb.float64,), ("cpu",)):
            try:
                found = getattr(tensor, name)
                if callable(found):
                    found(*arguments)
            except (ebb.Error, TypeError, ValueError, AttributeError, BufferError, IndexError):
                pass
    gc.collect()


READERS = ("numpy", "tolist", "item", "__array__", "__dlpack__", "data_ptr")


@pytest.mark.parametrize("read", [name for name in READERS if hasattr(ebb.Tensor, name)])
def test_what_reads_memory_refuses_a_sparse_tensor(read):
    for tensor in sparse_tensors():
        with pytest.raises(
            (RuntimeError, BufferError, ValueError), match=r"strided|to_dense|element"
        ):
            getattr(tensor, read)()


def test_indexing_views_and_files_refuse_a_sparse_tensor(tmp_path):
    for tensor in sparse_tensors():
        for use in (
            lambda t: t[0], lambda t: t[:, 1:], lambda t: t[ebb.tensor([0])], lambda t: t.T,
            lambda t: t.view(9), lambda t: t.expand(2, 3, 3), lambda t: list(t),
            lambda t: t.__setitem__(0, 1.0), lambda t: ebb.ones(3, 3).copy_(t),
            lambda t: t.copy_(ebb.ones(3, 3)), lambda t: t.fill_(1.0), lambda t: t.zero_(),
            lambda t: ebb.save({"t": t}, tmp_path / "t.safetensors"),
            lambda t: setattr(t, "data", ebb.ones(3, 3)),
            lambda t: setattr(ebb.ones(3, 3), "data", t),
        ):  # fmt: skip
            with pytest.raises(RuntimeError, match=r"strided|sparse|selected_rows"):
                use(tensor)


def test_an_op_that_keeps_only_the_shape_of_its_input_refuses_a_sparse_one():
    sparse = ebb.eye(3).to_sparse().requires_grad_()
    text = r"strided, got one of layout sparse_coo and shape \[3, 3\]\nhint: call .to_dense\(\)"
    views = (lambda t: t.reshape(9), lambda t: t.expand(2, 3, 3))
    for op in (ebb.mean, lambda t: ebb.sum(t, 0), *views):
        with pytest.raises(NotImplementedError, match=text):
            op(sparse)


@pytest.mark.parametrize("name", ["T", "mT", "H", "mH"])
def test_a_transpose_that_refuses_a_sparse_tensor_names_itself(name):
    with pytest.raises(NotImplementedError, match=f"^{name}: 'self' must be strided"):
        getattr(ebb.eye(3).to_sparse(), name)
