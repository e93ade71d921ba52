# tests/python/opencl/test_index.py -- what rows of the op table do not know of indexing on a
# device: many duplicates in order, half types, and the same bits every time.
import pytest

import ebb

DTYPES = [ebb.float16, ebb.bfloat16, ebb.float32, ebb.float64, ebb.int32]


def numbers(*shape, dtype):
    return (ebb.randn(*shape) * 8).to(dtype)


@pytest.fixture(autouse=True)
def _seed():
    ebb.manual_seed(5)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", [1, 3, 64, 96])
def test_duplicates_add_up_as_on_the_cpu(width, dtype, opencl):
    index = ebb.randint(0, 7, (500,))
    start, source = numbers(9, width, dtype=dtype), numbers(500, width, dtype=dtype)
    here = start.index_add(0, index, source)
    there = start.to(opencl).index_add(0, index.to(opencl), source.to(opencl))
    assert there.tolist() == here.tolist()  # one after the other, in the same order


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter_add_is_that_of_the_cpu(dim, dtype, opencl):
    start, source = numbers(6, 5, 7, dtype=dtype), numbers(6, 5, 7, dtype=dtype)
    index = ebb.randint(0, 3, (6, 5, 7))
    here = start.scatter_add(dim, index, source)
    there = start.to(opencl).scatter_add(dim, index.to(opencl), source.to(opencl))
    assert there.tolist() == here.tolist()


@pytest.mark.parametrize("transposed", [False, True])
def test_of_duplicates_the_last_stays(transposed, opencl):
    index = ebb.randint(0, 4, (300,))
    source = (
        numbers(8, 300, dtype=ebb.float32).T if transposed else numbers(300, 8, dtype=ebb.int64)
    )
    start = ebb.zeros(5, 8, dtype=source.dtype)
    here = start.index_copy(0, index, source)
    there = start.to(opencl).index_copy(0, index.to(opencl), source.to(opencl))
    assert there.tolist() == here.tolist()


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [((4, 8), (3, 1), 2), ((2, 5, 8), (20, 3, 1), 0), ((3, 4), (0, 2), 1), ((2, 3), (1, 1), 5)],
)
def test_gradients_of_a_view_that_overlaps_itself(size, stride, offset, opencl):
    memory = numbers(50, dtype=ebb.float32)
    here, there = memory.clone().requires_grad_(), memory.to(opencl).requires_grad_()
    before = ebb._C._device_waits()
    there.as_strided(size, stride, offset).square().sum().backward()
    assert ebb._C._device_waits() == before
    here.as_strided(size, stride, offset).square().sum().backward()
    assert ebb.allclose(there.grad.cpu(), here.grad, rtol=1e-6)


@pytest.mark.parametrize("padding_idx", [-1, 2])
def test_gradients_of_an_embedding_are_those_of_the_cpu(padding_idx, opencl):
    weight, tokens = numbers(50, 32, dtype=ebb.float32), ebb.randint(0, 50, (8, 40))
    grads = []
    for device in ("cpu", opencl, opencl):
        own = weight.to(device).detach().requires_grad_()
        rows = ebb.embedding(own, tokens.to(device), padding_idx)
        rows.backward(ebb.sin(rows.detach().cpu()).to(device))
        grads.append(own.grad.tolist())
    assert grads[0] == grads[1] == grads[2]


def test_joins_of_tensors_and_slices_without_elements(opencl):
    empty, one = ebb.zeros(0, 3), ebb.ones(1, 3)
    there = [part.to(opencl) for part in (empty, one, empty, one.T.T)]
    assert ebb.cat(there).tolist() == [[1.0] * 3] * 2
    none = ebb.zeros(0, dtype=ebb.int64).to(opencl)
    assert one.to(opencl).index_select(0, none).shape == (0, 3)
    assert one.to(opencl).index_add(0, none, empty.to(opencl)).tolist() == [[1.0] * 3]


@pytest.mark.parametrize("dtype", [ebb.bool, ebb.int32, ebb.float16, ebb.float64], ids=str)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_takes_any_strides(dim, dtype, opencl):
    x, index = numbers(5, 4, 6, dtype=dtype).permute(2, 0, 1), ebb.randint(0, 4, (3, 2, 4))
    there = x.to(opencl).gather(dim, index.to(opencl))
    assert there.tolist() == x.gather(dim, index).tolist()
    there = x.permute(1, 2, 0).to(opencl).permute(2, 0, 1).gather(dim, index.to(opencl))
    assert there.tolist() == x.gather(dim, index).tolist()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [ebb.bool, ebb.float16, ebb.float32, ebb.int64], ids=str)
@pytest.mark.parametrize("width", [1, 5, 1024, 1500])
def test_long_and_short_rows_are_read_as_on_the_cpu(width, dtype, transposed, opencl):
    x = numbers(width, 6, dtype=dtype).T if transposed else numbers(6, width, dtype=dtype)
    there = x.to(opencl)
    rows, places = ebb.randint(0, 6, (9,)), ebb.randint(0, width, (1700,))
    each = ebb.randint(0, 6, (4, width))
    for call in (
        lambda x, to: x.index_select(0, rows.to(to)),
        lambda x, to: x.index_select(1, places.to(to)),
        lambda x, to: x.gather(0, each.to(to)),
        lambda x, to: x.gather(1, places.expand(6, 1700).to(to)),
        lambda x, to: x[:, 0].index_select(0, rows.to(to)),
    ):
        assert call(there, opencl).tolist() == call(x, "cpu").tolist()
