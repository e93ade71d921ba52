# tests/python/opencl/test_index_errors.py -- indices out of range on a device: the call waits for
# nothing, and who waits next gets the CPU's error, with the line that made the call.
#
# What is queued meanwhile reads and writes nothing through such an index, and once it is told the
# device is as before.
import functools
import inspect

import pytest

import ebb
from ebb.nn import functional as F
from tests.python import fresh
from tests.python.opencl.conftest import TYPE
from tests.python.threads import on_threads

ROWS = {
    "index_select": lambda x, i: x.index_select(0, i),
    "index_select_1": lambda x, i: x.index_select(1, i),
    "index_select_of_nothing": lambda x, i: x[:, :0].index_select(0, i),
    "gather": lambda x, i: x.gather(0, i.reshape(1, 3)),
    "scatter": lambda x, i: x.scatter(1, i.reshape(1, 3), 7.0),
    "scatter_src": lambda x, i: x.scatter(1, i.reshape(3, 1), x),
    "scatter_add": lambda x, i: x.scatter_add(0, i.reshape(1, 3), x),
    "index_add": lambda x, i: x.index_add(0, i, x[:3]),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:3]),
    "index_fill": lambda x, i: x.index_fill(0, i, 2.0),
    "embedding": lambda x, i: F.embedding(i, x),
    "nll_loss": lambda x, i: F.nll_loss(x[:3], i),
    "nll_loss_none": lambda x, i: F.nll_loss(x[:3], i, reduction="none", ignore_index=9),
    "cross_entropy": lambda x, i: F.cross_entropy(x[:3], i),
    "multi_margin_loss": lambda x, i: F.multi_margin_loss(x[:3], i),
    "one_hot": lambda x, i: F.one_hot(i, 5),
}


def call(row, device, values):
    return ROWS[row](ebb.ones(5, 5).to(device), ebb.tensor(values).to(device))


def error_of(function):
    with pytest.raises(IndexError) as caught:
        function()
    return str(caught.value)


def wrong(device):
    """Queues a call with a wrong index, in the line below."""
    return ebb.ones(3, 2).to(device).index_select(0, ebb.tensor([0, 4]).to(device))


TEXT = "index_select: index must be at least 0 and below 3, got 4 at position [1]"
LINE = inspect.getsourcelines(wrong)[1] + 2


@pytest.mark.parametrize("values", [[1, 5, 9], [-1, 2, 1], [0, 1, 1 << 40]], ids=str)
@pytest.mark.parametrize("row", ROWS)
def test_the_error_is_that_of_the_cpu_and_the_call_does_not_wait(row, values, opencl):
    expected = error_of(lambda: call(row, "cpu", values))
    waits = ebb._C._device_waits()
    call(row, opencl, values)
    assert ebb._C._device_waits() == waits
    text = error_of(lambda: ebb.synchronize(opencl))
    assert text.partition("\n")[0] == expected
    assert "test_index_errors.py:" in text
    assert call(row, opencl, [0, 1, 2]).isfinite().all().item()


WAITS = {
    "synchronize": lambda device, out: ebb.synchronize(device),
    "stream": lambda device, out: ebb.current_stream(device).synchronize(),
    "event": lambda device, out: ebb.current_stream(device).record_event().synchronize(),
    "item": lambda device, out: out.sum().item(),
    "tolist": lambda device, out: out.tolist(),
    "cpu": lambda device, out: out.cpu(),
    "repr": lambda device, out: repr(out),
    "bool": lambda device, out: bool((out > 0).all()),
}


@pytest.mark.parametrize("wait", WAITS)
def test_each_wait_tells_it_once_with_the_line(wait, opencl):
    out = wrong(opencl)
    text = error_of(lambda: WAITS[wait](opencl, out))
    assert text == (
        f"{TEXT}\nhint: {opencl} found it after the call, made at {__file__}:{LINE} in wrong; "
        "with EBB_DEVICE_SYNC=1 the call itself raises"
    )
    WAITS[wait](opencl, out)  # all is told
    assert out.tolist() == [[1, 1], [0, 0]]


def test_of_several_errors_the_first_is_told(opencl):
    wrong(opencl)
    call("embedding", opencl, [7, 7, 7])
    assert error_of(lambda: ebb.synchronize(opencl)).startswith(TEXT)
    ebb.synchronize(opencl)


@pytest.mark.parametrize("count", [1, 255, 8192, 16384, 100_000])
def test_of_many_wrong_ones_the_first_is_named(count, opencl):
    for first in {0, count // 2, count - 1}:
        index = ebb.zeros(count, dtype=ebb.int64)
        index[first:] = 12
        ebb.ones(3).to(opencl).index_select(0, index.to(opencl))
        text = error_of(lambda: ebb.synchronize(opencl))
        assert f"got 12 at position [{first}]\n" in text


def test_positions_count_in_rows_whatever_the_strides(opencl):
    index = ebb.zeros(4, 300, 5, dtype=ebb.int64)
    index[3, 7, 2] = index[1, 299, 4] = 377
    x = ebb.ones(4, 300, 5).to(opencl)
    strided = index.permute(2, 0, 1).contiguous().to(opencl).permute(1, 2, 0)
    x.gather(1, strided)
    assert "got 377 at position [1, 299, 4]\n" in error_of(lambda: ebb.synchronize(opencl))
    row = ebb.tensor([[8], [9]]).to(opencl).expand(2, 5)
    x.gather(1, row.reshape(1, 2, 5) + 300)
    assert "got 308 at position [0, 0, 0]\n" in error_of(lambda: ebb.synchronize(opencl))


def test_what_is_written_in_place_is_written_but_for_wrong_places(opencl):
    x = ebb.zeros(4).to(opencl)
    x.index_fill_(0, ebb.tensor([1, 4, -1, 3]).to(opencl), 5.0)
    assert "index_fill_: " in error_of(lambda: ebb.synchronize(opencl))
    assert x.tolist() == [0, 5, 0, 5]


def test_another_stream_tells_its_own(opencl):
    other = ebb.Stream(opencl)
    with ebb.stream(other):
        wrong(opencl)
    ebb.current_stream(opencl).synchronize()  # did not wait for it
    assert error_of(other.synchronize).startswith(TEXT)
    with ebb.stream(other):
        wrong(opencl)
    assert error_of(lambda: ebb.synchronize(opencl)).startswith(TEXT)


def test_an_event_behind_a_good_call_tells_nothing(opencl):
    call("embedding", opencl, [0, 1, 2])
    event = ebb.current_stream(opencl).record_event()
    event.synchronize()
    event.synchronize()


def test_a_wrong_index_in_backward_names_its_line(opencl):
    weight = ebb.ones(5, 2).to(opencl).requires_grad_()
    index = ebb.tensor([0, 6]).to(opencl)
    out = weight.index_select(0, index)
    error_of(lambda: ebb.synchronize(opencl))
    out.sum().backward()
    line = inspect.currentframe().f_lineno - 1
    text = error_of(lambda: ebb.synchronize(opencl))
    assert "got 6 at position [1]" in text
    assert f"test_index_errors.py:{line} in " in text
    assert weight.grad.tolist()[0] == [1, 1]


def test_thousands_of_different_calls_before_a_wait(opencl):
    index = ebb.tensor([0]).to(opencl)
    for size in range(1, 1500):
        ebb.ones(size).to(opencl).index_select(0, index)
    wrong(opencl)
    assert error_of(lambda: ebb.synchronize(opencl)).startswith(TEXT)
    for size in range(1, 300):  # numbers of the first ones are forgotten by now
        ebb.ones(size).to(opencl).index_select(0, index)
    ebb.ones(200).to(opencl).index_select(0, index + 200)
    assert "below 200, got 200" in error_of(lambda: ebb.synchronize(opencl))


def test_threads_get_the_errors_of_their_streams(opencl):
    found = {}

    def work(number):
        with ebb.stream(ebb.Stream(opencl)):
            stream = ebb.current_stream(opencl)
            texts = set()
            for _ in range(30):
                x = ebb.ones(number).to(opencl)
                x.index_select(0, ebb.tensor([number]).to(opencl))
                with pytest.raises(IndexError) as caught:
                    stream.synchronize()
                texts.add(str(caught.value).partition("\n")[0])
            found[number] = texts

    on_threads(*[functools.partial(work, number) for number in (3, 4, 5)])
    for number in (3, 4, 5):
        text = f"index_select: index must be at least 0 and below {number}, got {number}"
        assert found[number] == {text + " at position [0]"}


def test_with_device_sync_the_call_itself_raises_and_writes_nothing(opencl):
    script = f"""
import ebb
from ebb.nn import functional as F
ebb.set_kernel_fallback(False)
x = ebb.zeros(4, 4).to("{TYPE}")
for call in (lambda i: x.index_fill_(0, i, 1.0), lambda i: F.cross_entropy(x[:2], i)):
    try:
        call(ebb.tensor([1, 4]).to("{TYPE}"))
        print("nothing")
    except IndexError as error:
        print(str(error).partition(",")[0])
print(x.sum().item())
"""
    done = fresh.finished(script, EBB_DEVICE_SYNC="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "index_fill_: index must be at least 0 and below 4",
        "cross_entropy: target must be a class from 0 to 3 or ignore_index -100",
        "0.0",
    ]


RANGES = {
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x, ebb.ones_like(x)),
    "bernoulli": lambda x: ebb.bernoulli(x),
    "normal": lambda x: ebb.normal(ebb.zeros_like(x), x),
}
CLAIMS = {
    "binary_cross_entropy": "binary_cross_entropy: input must be from 0 to 1",
    "bernoulli": "bernoulli: probabilities must be from 0 to 1",
    "normal": "normal: std must be at least 0",
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("row", RANGES)
def test_a_number_out_of_range_is_found_without_waiting(row, dtype, opencl):
    for wrong in (-0.5, float("nan")):
        x = ebb.full((3, 4), 0.5, dtype=getattr(ebb, dtype))
        x[2, 1] = wrong
        x[2, 3] = wrong
        there = x.to(opencl).t()
        waits = ebb._C._device_waits()
        RANGES[row](there)
        assert ebb._C._device_waits() == waits
        with pytest.raises(ValueError, match=CLAIMS[row]) as caught:
            ebb.synchronize(opencl)
        assert f", got {wrong:g} at position [1, 2]\n" in str(caught.value)
        assert "test_index_errors.py:" in str(caught.value)
    assert RANGES[row](ebb.full((3,), 0.5).to(opencl)).isfinite().all().item()


def test_the_ends_of_a_range_belong_to_it(opencl):
    x = ebb.arange(20_000).to(ebb.float32) % 2
    assert ebb.equal(ebb.bernoulli(x.to(opencl)).cpu(), x)
    x[19_999] = 1.5
    ebb.bernoulli(x.to(opencl))
    with pytest.raises(ValueError, match=r"got 1.5 at position \[19999\]"):
        ebb.synchronize(opencl)


def test_a_negative_variance_is_found_without_waiting(opencl):
    var = ebb.tensor([1.0, float("nan"), -0.5]).to(opencl)
    waits = ebb._C._device_waits()
    F.gaussian_nll_loss(ebb.ones(3).to(opencl), ebb.ones(3).to(opencl), var)
    assert ebb._C._device_waits() == waits
    with pytest.raises(
        ValueError, match=r"gaussian_nll_loss: var must be at least 0, got -0.5 at "
    ):
        ebb.synchronize(opencl)


CTC = {
    "targets must be classes from 0 to 3, got 4 at position [1, 0]": ([[1, 2], [4, 9]], 5, 1),
    "input_lengths must be from 0 to 5, got 6 at position [0]": ([[1, 2], [1, 2]], 6, 1),
    "target_lengths must be from 0 to 2, got -1 at position [1]": ([[1, 2], [1, 2]], 5, -1),
}


@pytest.mark.parametrize("text", CTC)
def test_ctc_loss_finds_labels_and_lengths_out_of_range_without_waiting(text, opencl):
    targets, steps, length = CTC[text]
    logs = ebb.zeros(5, 2, 4).log_softmax(-1).to(opencl)
    given = [ebb.tensor(one).to(opencl) for one in (targets, [steps, 5], [2, length])]
    waits = ebb._C._device_waits()
    F.ctc_loss(logs, *given)
    assert ebb._C._device_waits() == waits
    with pytest.raises(ValueError) as caught:
        ebb.synchronize(opencl)
    assert str(caught.value).startswith(f"ctc_loss: {text}\n")
    with pytest.raises(ValueError, match="ctc_loss: target_lengths need to be from 0 to 2, got 3"):
        F.ctc_loss(logs, given[0], (5, 5), (2, 3))


BAG_OFFSETS = {
    "the first of offsets must be 0, got 1 at position [0]": [1, 2],
    "steps between offsets must be at least 0, got -1 at position [1]": [0, 3, 2],
    "the last of offsets must be at most 3, got 9 at position [0]": [0, 9],
}


@pytest.mark.parametrize("text", BAG_OFFSETS)
@pytest.mark.parametrize("mode", ["mean", "max"])
def test_wrong_offsets_of_bags_are_found_without_waiting(text, mode, opencl):
    weight, rows = ebb.ones(5, 2).to(opencl), ebb.tensor([1, 2, 0]).to(opencl)
    offsets = ebb.tensor(BAG_OFFSETS[text])
    there = offsets.to(opencl)
    waits = ebb._C._device_waits()
    F.embedding_bag(rows, weight, there, mode=mode)
    assert ebb._C._device_waits() == waits
    with pytest.raises(ValueError) as caught:
        ebb.synchronize(opencl)
    assert str(caught.value).startswith(f"embedding_bag: {text}\n")
    with pytest.raises(ValueError, match="embedding_bag: offsets must "):  # at once
        F.embedding_bag(rows, weight, offsets, mode=mode)
    with pytest.raises(ValueError, match="offsets must begin with 0"):
        F.embedding_bag(rows, weight, there[:0], mode=mode)
