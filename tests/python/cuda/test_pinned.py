# tests/python/cuda/test_pinned.py -- pinned memory as the driver sees it: which calls, when blocks
# are used again and given back, failures.
#
# The stand-in copies when somebody waits for it, so a copy that reads its source late shows in the
# values. tests/python/opencl/test_pinned.py has what all devices share.
import gc

import pytest

import ebb
from tests.python.cuda.test_host import LAUNCH_FAILED, OUT_OF_MEMORY, settled
from tests.python.fresh import printed
from tests.python.opencl import test_pinned as shared

SENDING = ("cuMemcpyHtoDAsync", "cuEventRecord", "cuMemHostAlloc", "cuStreamSynchronize")


def queue_work(count=40):
    """Put work before what comes next: asking for an event does one command of the stand-in."""
    x = ebb.ones(3, device="cuda")
    for _ in range(count):
        x.mul_(1)


@pytest.mark.parametrize(
    "send",
    [
        lambda x, late: x.to("cuda", non_blocking=late),
        lambda x, late: x.to("cuda", ebb.float32, late),
        lambda x, late: x.to(ebb.empty(1, device="cuda"), non_blocking=late),
        lambda x, late: x.cuda(non_blocking=late),
        lambda x, late: ebb.empty(3, device="cuda").copy_(x, non_blocking=late),
        lambda x, late: ebb.zeros(2, 3, device="cuda")[1].copy_(x, late),
    ],
)
def test_only_a_copy_that_may_reads_its_source_late(send):
    for late, seen in ((True, 2.0), (False, 1.0)):
        pinned = ebb.ones(3, pin_memory=True)
        queue_work()
        made = send(pinned, late)
        pinned.fill_(2.0)
        assert made.tolist() == [seen] * 3
        plain = ebb.ones(3)
        made = send(plain, late)
        plain.fill_(2.0)
        assert made.tolist() == [1.0] * 3


def test_a_source_that_is_put_in_order_first_is_read_at_once():
    pinned = ebb.ones(2, 3, pin_memory=True)
    made = [one.to("cuda", non_blocking=True) for one in (pinned.t(), pinned[:, 1:])]
    pinned.fill_(2.0)
    assert [one.unique().tolist() for one in made] == [[1.0], [1.0]]


def test_such_a_copy_is_one_call_and_an_event(stand_in):
    pinned = ebb.ones(1 << 16, pin_memory=True)
    before = [stand_in.calls(name) for name in SENDING]
    made = pinned.to("cuda", non_blocking=True)
    assert [stand_in.calls(name) for name in SENDING] == [before[0] + 1, before[1] + 1, *before[2:]]
    assert made.sum().item() == 1 << 16


def test_copies_run_on_the_current_stream():
    side = ebb.cuda.Stream("cuda:0")
    pinned = ebb.arange(3.0, pin_memory=True)
    with ebb.cuda.stream(side):
        queue_work(3)
        made = pinned.to("cuda", non_blocking=True)
    assert not side.query()
    ebb.cuda.current_stream().wait_stream(side)
    assert (made + 1).tolist() == [1.0, 2.0, 3.0]


def test_memory_of_one_device_goes_to_all():
    pinned = ebb.arange(3.0).pin_memory("cuda:0")
    made = [pinned.to(device, non_blocking=True) for device in ("cuda:0", "cuda:1")]
    del pinned
    other = ebb.full((3,), 9.0, pin_memory=True)
    assert [one.tolist() for one in made] == [[0.0, 1.0, 2.0]] * 2 and other.is_pinned("cuda:1")


def test_blocks_are_used_again_once_their_copies_are_done(stand_in):
    ebb.synchronize()
    ebb.cuda.empty_cache()
    source = ebb.full((999,), 1.0, pin_memory=True)
    queue_work()
    made = source.to("cuda", non_blocking=True)
    place = source.data_ptr()
    del source
    calls = stand_in.calls("cuMemHostAlloc")
    other = ebb.full((999,), 2.0, pin_memory=True)
    assert other.data_ptr() != place and stand_in.calls("cuMemHostAlloc") == calls + 1
    assert made.unique().tolist() == [1.0]
    third = ebb.full((999,), 3.0, pin_memory=True)
    assert third.is_pinned() and stand_in.calls("cuMemHostAlloc") == calls + 1


def test_nothing_is_left_once_caches_are_emptied(stand_in):
    def step():
        pinned = ebb.rand(100, pin_memory=True)
        made = pinned.to("cuda", non_blocking=True)
        ebb.empty(0, pin_memory=True).to("cuda", non_blocking=True)
        return (made * 2).sum().item()

    step()
    before = settled(stand_in)
    for _ in range(10):
        step()
    assert settled(stand_in) == before


def test_without_memory_what_is_kept_goes_back_first(stand_in):
    ebb.empty(1000, pin_memory=True)
    gc.collect()
    kept = stand_in.live("host_memory")
    stand_in.fail("cuMemHostAlloc", OUT_OF_MEMORY)
    made = ebb.full((5000,), 4.0, pin_memory=True)
    assert made.is_pinned() and made.unique().tolist() == [4.0]
    assert stand_in.live("host_memory") <= kept


@pytest.mark.parametrize(
    "send",
    [
        lambda layer, late: layer.to("cuda", non_blocking=late),
        lambda layer, late: layer.to("cuda", ebb.float32, late),
        lambda layer, late: layer.to(device="cuda", non_blocking=late),
    ],
)
def test_parameters_buffers_and_gradients_of_a_module_are_read_late(send):
    for late, seen in ((True, 2.0), (False, 1.0)):
        layer = ebb.nn.BatchNorm1d(3)
        here = [ebb.ones(3, pin_memory=True) for _ in range(3)]
        layer.weight.data, layer.running_mean.data = here[:2]
        layer.weight.grad = here[2]
        queue_work()
        assert send(layer, late) is layer
        with ebb.no_grad():
            for one in here:
                one.fill_(2.0)
        for there in (layer.weight, layer.running_mean, layer.weight.grad):
            assert there.device == ebb.device("cuda:0") and there.tolist() == [seen] * 3
        assert layer.bias.tolist() == [0.0] * 3


@pytest.mark.parametrize("call", ["cuMemcpyHtoDAsync", "cuEventCreate", "cuEventRecord"])
def test_a_failure_names_the_call_and_the_block_comes_back(call, stand_in):
    before = settled(stand_in)
    pinned = ebb.ones(7, pin_memory=True)
    stand_in.fail(call, LAUNCH_FAILED)
    with pytest.raises(ebb.DeviceError, match=f"cuda:0 failed: {call}") as caught:
        pinned.to("cuda", non_blocking=True)
    del caught
    assert pinned.to("cuda", non_blocking=True).tolist() == [1.0] * 7
    del pinned
    assert settled(stand_in) == before


def test_workers_send_what_is_pinned():
    pinned = ebb.arange(4.0, pin_memory=True)
    data = ebb.data.TensorDataset(pinned)
    loader = ebb.data.DataLoader(data, 2, num_workers=1, pin_memory=True)
    batches = [batch for (batch,) in loader]
    assert all(one.is_pinned() for one in batches)
    assert [one.tolist() for one in batches] == [[0.0, 1.0], [2.0, 3.0]]


test_views_before_and_after_pinning_arrive = shared.test_views_before_and_after_pinning_arrive
test_no_such_memory_is_an_error = shared.test_no_such_memory_is_an_error
test_what_is_pinned = shared.test_what_is_pinned
test_a_child_of_a_fork_reads_and_drops_what_is_pinned = (
    shared.test_a_child_of_a_fork_reads_and_drops_what_is_pinned
)
test_gradients_go_through = shared.test_gradients_go_through


def test_without_a_device_nothing_is_asked_for_pinned_memory():
    script = """
import ctypes, os, ebb
x = ebb.ones(3)
print(ebb.cuda.device_count(), x.pin_memory().is_pinned(), ebb.ones(3, pin_memory=True).is_pinned())
print(ctypes.CDLL(os.environ["EBB_CUDA_LIBRARY"]).stand_in_calls(b"cuMemHostAlloc"))
"""
    assert printed(script, STAND_IN_DEVICES="0").splitlines() == ["0 False False", "0"]
