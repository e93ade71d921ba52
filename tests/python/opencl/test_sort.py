# tests/python/opencl/test_sort.py -- sorts on a device are the CPU's, element by element: equal
# ones in order, NaN and both zeros among them, lines of any length and stride, all ordered dtypes.
import numpy as np
import pytest

import ebb

RNG = np.random.default_rng(3)
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"


def numbers(shape, dtype):
    """Many equal ones, and what is special of the dtype."""
    values = RNG.integers(-40, 40, shape)
    if dtype == "uint8":
        values = np.abs(values)
    made = ebb.tensor(values).to(getattr(ebb, dtype))
    if "float" not in dtype:
        return made
    special = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-30]
    flat = made.flatten()
    for place in range(0, len(flat) - len(special), 17):
        flat[place] = special[place % len(special)]
    return flat.reshape(shape)


def bits(tensor):
    return (
        tensor.cpu().contiguous().numpy(force=True).tobytes()
        if tensor.dtype not in (ebb.bfloat16,)
        else tensor.cpu().contiguous().view(ebb.int16).numpy().tobytes()
    )


def check(function, x, device):
    here = function(x)
    there = function(x.to(device))
    here, there = (one if isinstance(one, tuple) else (one,) for one in (here, there))
    for wanted, found in zip(here, there, strict=True):
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape
        assert bits(found) == bits(wanted)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES.split())
def test_sorts_are_those_of_the_cpu(dtype, descending, opencl):
    x = numbers((3, 333), dtype)
    check(lambda one: ebb.sort(one, 1, descending), x, opencl)
    check(lambda one: ebb.argsort(one, 1, descending), x[:, :40], opencl)


@pytest.mark.parametrize(
    "length", [0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 4096, 100_003]
)
def test_lines_of_any_length(length, opencl):
    check(ebb.sort, numbers((length,), "float32"), opencl)
    if length:
        check(lambda one: ebb.topk(one, (length + 1) // 2), numbers((length,), "float32"), opencl)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_lines_with_strides(dim, opencl):
    x = numbers((5, 70, 6), "float32")
    for one in (x, x.permute(2, 0, 1), x[:, ::3], x.flip(1), x[:, :1].expand(5, 4, 6)):
        there = one.to(opencl)
        for descending in (False, True):
            here = ebb.sort(one, dim, descending)
            found = ebb.sort(there, dim, descending)
            assert bits(found[0]) == bits(here[0])
            assert bits(found[1]) == bits(here[1])


def test_numbers_without_dims(opencl):
    check(ebb.sort, ebb.tensor(3.0), opencl)
    check(lambda one: ebb.topk(one, 1), ebb.tensor(3.0), opencl)
    check(lambda one: ebb.kthvalue(one, 1), ebb.tensor(3.0), opencl)


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "uint8"])
@pytest.mark.parametrize("count", [1, 2, 7, 99, 100])
def test_the_first_and_the_nth(count, dtype, opencl):
    x = numbers((4, 100, 3), dtype)
    check(lambda one: ebb.topk(one, count, 1), x, opencl)
    check(lambda one: ebb.topk(one, count, 1, largest=False), x, opencl)
    check(lambda one: ebb.kthvalue(one, count, 1), x, opencl)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint8", "bool"])
def test_what_is_wanted_of_long_lines(dtype, opencl):
    x = numbers((3, 500, 2), dtype)
    for count in (1, 250, 500):
        check(lambda one, count=count: ebb.topk(one, count, 1), x, opencl)
        check(lambda one, count=count: ebb.kthvalue(one, count, 1), x, opencl)
    check(lambda one: ebb.sort(one.flip(1), 1, True), x[:, ::3], opencl)


@pytest.mark.parametrize("shape", [(1,), (4,), (3, 33), (2, 100), (2, 301)])
def test_medians(shape, opencl):
    plain = ebb.tensor(RNG.integers(-9, 9, shape)).to(ebb.float32)
    nans = plain.clone()
    nans[..., -1] = float("nan")
    for x in (plain, nans, numbers(shape, "int32")):
        check(ebb.median, x, opencl)
        check(lambda one: ebb.median(one, -1), x, opencl)
        check(lambda one: ebb.median(one, 0, keepdim=True), x, opencl)


def test_gradients_go_where_elements_came_from(opencl):
    x = numbers((5, 50), "int32").to(ebb.float32)
    grads = []
    for device in ("cpu", opencl):
        own = x.to(device).detach().requires_grad_()
        values, _ = own.sort(1)
        top, _ = own.topk(3, 0)
        (values.cumsum(1).sum() + (top * top).sum()).backward()
        grads.append(own.grad.tolist())
    assert grads[0] == grads[1]


MASKS = {
    "none": lambda: ebb.zeros(1000, dtype=ebb.bool),
    "all": lambda: ebb.ones(1000, dtype=ebb.bool),
    "empty": lambda: ebb.zeros(0, 3, dtype=ebb.bool),
    "some": lambda: ebb.tensor(RNG.integers(0, 2, (17, 31, 5))) > 0,
    "few": lambda: ebb.tensor(RNG.integers(0, 1000, 300_000)) == 0,
    "number": lambda: ebb.tensor(True),
    "strided": lambda: (ebb.tensor(RNG.integers(0, 2, (17, 31))) > 0).t()[::2],
}


@pytest.mark.parametrize("mask", MASKS)
def test_places_of_what_is_true(mask, opencl):
    own = MASKS[mask]()
    check(ebb.nonzero, own, opencl)
    for dtype in (ebb.float32, ebb.bfloat16, ebb.uint8, ebb.int64):
        check(ebb.nonzero, own.to(dtype) * 3, opencl)
    x = numbers(tuple(own.shape), "float32") if own.numel() else ebb.zeros(own.shape)
    check(lambda one: ebb.masked_select(one, own.to(one.device)), x, opencl)


INDICES = {
    "one": (ebb.tensor([0, -1, 3]),),
    "two": (ebb.tensor([0, -1, 3]), ebb.tensor([2, 0, -3])),
    "broadcast": (ebb.tensor([[0], [-4]]), ebb.tensor([2, 0, -3])),
    "int32": (ebb.tensor([1, -2]).to(ebb.int32),),
    "apart": (ebb.tensor([0, 1]), slice(None), ebb.tensor([4, -5])),
    "mask": (ebb.tensor([True, False, True, True]),),
    "empty": (ebb.zeros(0, dtype=ebb.int64),),
}


def on(device, index):
    return tuple(one.to(device) if isinstance(one, ebb.Tensor) else one for one in index)


@pytest.mark.parametrize("index", INDICES)
def test_indexing_by_tensors(index, opencl):
    x = numbers((4, 3, 5), "int64").to(ebb.float32)
    check(lambda one: one[on(one.device, INDICES[index])], x, opencl)
    check(
        lambda one: one.permute(1, 0, 2)[(slice(None), *on(one.device, INDICES["one"]))], x, opencl
    )
    results = []
    for device in ("cpu", opencl):
        own = x.to(device).detach().requires_grad_()
        own[on(device, INDICES[index])].square().sum().backward()
        changed = x.to(device).clone()
        changed[on(device, INDICES[index])] = 7.0
        results.append((own.grad.tolist(), changed.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("wrong", [(4,), (-5,), (0, 3), (0, -4), (1 << 40,)])
def test_a_wrong_index_by_tensors_is_told_later(wrong, opencl):
    def call(device):
        index = tuple(ebb.tensor([0, one]).to(device) for one in wrong)
        return ebb.ones(4, 3).to(device)[index]

    with pytest.raises(IndexError) as expected:
        call("cpu")
    waits = ebb._C._device_waits()
    call(opencl)
    assert ebb._C._device_waits() == waits
    with pytest.raises(IndexError) as found:
        ebb.synchronize(opencl)
    assert str(found.value).partition("\n")[0] == str(expected.value)
    ebb.synchronize(opencl)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", DTYPES.split())
def test_where_values_would_be_inserted(dtype, right, opencl):
    line = ebb.sort(numbers((100,), dtype))[0]
    values, lines = numbers((7, 30), dtype), ebb.sort(numbers((7, 50), dtype), 1)[0]
    for device in ("cpu", opencl):
        found = [
            ebb.searchsorted(line.to(device), values.to(device), right=right),
            ebb.searchsorted(lines.to(device), values.to(device), right=right),
            ebb.searchsorted(line[:0].to(device), values.to(device), right=right),
            ebb.bucketize(values.t().to(device), line.to(device), right=right),
        ]
        if device == "cpu":
            wanted = [one.tolist() for one in found]
    assert [one.tolist() for one in found] == wanted
