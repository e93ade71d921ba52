# tests/python/cuda/test_host.py -- what the plug-in asks of the driver: order, lifetimes, failures.
#
# The stand-in does work when somebody waits for it, and not before: what is not ordered shows in
# the values. That no call was wrong is checked after each test (conftest.py).
import gc

import numpy as np
import pytest

import ebb
from tests.python.fresh import finished, printed

RNG = np.random.default_rng(11)
OUT_OF_MEMORY = 2
LAUNCH_FAILED = 719
KINDS = ("memory", "host_memory", "events", "modules")


def settled(stand_in):
    """How much of each kind there is once nothing is kept."""
    gc.collect()
    ebb.synchronize()
    ebb.cuda.empty_cache()
    return {kind: stand_in.live(kind) for kind in KINDS}


def test_python_tells_what_the_driver_tells():
    assert ebb.cuda.is_available() and ebb.cuda.device_count() == 2
    assert ebb.cuda.get_device_name(1) == "Stand-in of a GPU"
    assert ebb.cuda.get_device_capability() == (9, 0)
    found = ebb.cuda.get_device_properties("cuda:0")
    assert (found.total_memory, found.multi_processor_count) == (1 << 34, 4)
    assert ebb.cuda.mem_get_info(0)[1] == 1 << 34
    with pytest.raises(ValueError, match="cuda:7"):
        ebb.cuda.get_device_name(7)


def test_memory_is_counted_kept_and_given_back(stand_in):
    ebb.cuda.empty_cache()
    live, held = ebb.cuda.memory_allocated(), ebb.cuda.memory_reserved()
    blocks = stand_in.live("memory")
    x = ebb.empty(1 << 20, dtype=ebb.uint8, device="cuda")
    assert ebb.cuda.memory_allocated() == live + (1 << 20)
    del x
    assert ebb.cuda.memory_allocated() == live
    assert ebb.cuda.memory_reserved() == held + (1 << 20)
    ebb.cuda.empty_cache()
    assert ebb.cuda.memory_reserved() == held
    assert stand_in.live("memory") == blocks
    assert ebb.cuda.max_memory_reserved() >= held + (1 << 20)
    ebb.cuda.reset_peak_memory_stats()
    assert ebb.cuda.max_memory_reserved() == held


def test_seeds_of_all_devices_are_that_of_the_generator():
    ebb.cuda.manual_seed_all(3)
    first = ebb.rand(4)
    ebb.manual_seed(3)
    assert ebb.rand(4).tolist() == first.tolist()


def test_a_copy_to_the_device_has_read_its_source(stand_in):
    source = ebb.zeros(1000)
    copies = []
    kept = settled(stand_in)["host_memory"]
    for value in range(10):
        source.fill_(value)
        copies.append(source.to("cuda"))
    assert [one.cpu().unique().tolist() for one in copies] == [[float(v)] for v in range(10)]
    assert stand_in.live("host_memory") <= kept + 10


def test_streams_are_ordered_by_events_alone():
    x = ebb.tensor([1.0, 2.0]).to("cuda")
    side = ebb.cuda.Stream("cuda:0")
    event = ebb.cuda.Event("cuda:0")
    assert event.query()
    y = x * 2
    event.record()
    with ebb.cuda.stream(side):
        side.wait_event(event)
        z = y + 1
    ebb.cuda.current_stream().wait_stream(side)
    assert (z * 1).tolist() == [3.0, 5.0]
    assert side.query() and event.query()


def test_tensors_travel_between_devices(stand_in):
    before = stand_in.calls("cuMemcpyPeerAsync")
    x = ebb.tensor(RNG.standard_normal((5, 7))).to("cuda:0").requires_grad_()
    y = (x * 2).to("cuda:1") * 3
    y.sum().backward()
    assert stand_in.calls("cuMemcpyPeerAsync") == before + 2
    assert x.grad.device == ebb.device("cuda:0")
    assert (x.grad.cpu() == 6).all()
    ebb.testing.assert_close(y.detach().cpu(), x.detach().cpu() * 6)


def test_ranges_that_overlap_are_copied_as_by_memmove():
    x = ebb.arange(10).to("cuda")
    x[2:].copy_(x[:-2])
    assert x.tolist() == [0, 1, 0, 1, 2, 3, 4, 5, 6, 7]


def test_work_of_backward_leaves_nothing_behind(stand_in):
    def step():
        x = ebb.tensor(RNG.standard_normal((8, 3)).astype(np.float32)).to("cuda")
        w = ebb.ones(8, 3, device="cuda").requires_grad_()
        ((x * w).sin().sum(1) ** 2).mean().backward()
        return w.grad.cpu()

    step()
    before = settled(stand_in)
    for _ in range(20):
        step()
    assert settled(stand_in) == before


def double(x):
    return (x * 2).tolist()


def zeros_without_kernel(x):
    return ebb.zeros(3, dtype=ebb.complex64, device=x.device)


# What fails, the function of the program that meets it, and what the message names.
FAILURES = [
    ("cuMemAlloc", lambda x: ebb.empty(12345, device="cuda"), "cuda:0 failed: cuMemAlloc"),
    ("cuLaunchKernel", double, "mul: cuda:0 failed: cuLaunchKernel"),
    ("cuMemcpyHtoDAsync", lambda x: ebb.ones(3).to("cuda"), "cuda:0 failed: cuMemcpyHtoDAsync"),
    ("cuMemHostAlloc", lambda x: ebb.ones(70001).to("cuda"), "cuda:0 failed: cuMemHostAlloc"),
    ("cuEventRecord", lambda x: ebb.ones(3).to("cuda"), "cuda:0 failed: cuEventRecord"),
    ("cuEventCreate", lambda x: ebb.ones(3).to("cuda"), "cuda:0 failed: cuEventCreate"),
    ("cuMemcpyDtoHAsync", lambda x: x.cpu(), "cuda:0 failed: cuMemcpyDtoHAsync"),
    ("cuMemcpyDtoDAsync", lambda x: x[1:].copy_(x[:-1]), "cuda:0 failed: cuMemcpyDtoDAsync"),
    ("cuMemcpyPeerAsync", lambda x: x.to("cuda:1"), "cuda:0 failed: cuMemcpyPeerAsync"),
    ("cuMemsetD8Async", zeros_without_kernel, "cuda:0 failed: cuMemsetD8Async"),
    ("cuStreamSynchronize", lambda x: ebb.synchronize("cuda"), "failed: cuStreamSynchronize"),
    ("cuStreamQuery", lambda x: ebb.current_stream("cuda").query(), "failed: cuStreamQuery"),
    ("cuStreamWaitEvent", lambda x: ebb.Event("cuda").wait(), "failed: cuStreamWaitEvent"),
    ("cuEventQuery", lambda x: ebb.Event("cuda").query(), "failed: cuEventQuery"),
    ("cuEventSynchronize", lambda x: ebb.Event("cuda").synchronize(), "cuEventSynchronize"),
    ("cuMemGetInfo", lambda x: ebb.cuda.mem_get_info(), "cuda:0 failed: cuMemGetInfo"),
    ("cuCtxPushCurrent", lambda x: x.neg_(), "cuda:0 failed: cuCtxPushCurrent"),
]


@pytest.mark.parametrize(("call", "function", "text"), FAILURES, ids=[one[0] for one in FAILURES])
def test_a_failure_names_call_and_device_and_the_device_goes_on(call, function, text, stand_in):
    x = ebb.ones(5, device="cuda")
    double(x)
    x[1:].copy_(x[:-1])
    before = settled(stand_in)
    calls = stand_in.calls(call)
    stand_in.fail(call, LAUNCH_FAILED)
    with pytest.raises(ebb.DeviceError, match=text) as caught:
        function(x)
    assert "CUDA_ERROR_LAUNCH_FAILED" in str(caught.value)
    assert stand_in.calls(call) > calls
    del caught
    assert double(x) == [2.0] * 5
    assert settled(stand_in) == before


@pytest.mark.parametrize("call", ["nvrtcCompileProgram", "cuModuleLoadData", "cuModuleGetFunction"])
def test_a_kernel_that_cannot_be_made_names_the_op(call):
    # In a process of its own, for a kernel is made once.
    script = f"""
import ctypes, os, ebb
x = ebb.ones(3, device="cuda")
ctypes.CDLL(os.environ["EBB_CUDA_LIBRARY"]).stand_in_fail(b"{call}", 0, {LAUNCH_FAILED})
try:
    x * 2
except ebb.DeviceError as error:
    print(error)
print((x * 2).tolist())
"""
    said = printed(script, EBB_KERNEL_CACHE="0")
    assert f"mul: cuda:0 failed: {call}" in said
    assert said.splitlines()[-1] == "[2.0, 2.0, 2.0]"


def test_out_of_memory_gives_back_what_is_kept_and_tries_once_more(stand_in):
    ebb.cuda.empty_cache()
    blocks = stand_in.live("memory")
    kept = ebb.empty(1 << 20, dtype=ebb.uint8, device="cuda")
    del kept
    assert stand_in.live("memory") == blocks + 1
    stand_in.fail("cuMemAlloc", OUT_OF_MEMORY)
    other = ebb.empty(1 << 21, dtype=ebb.uint8, device="cuda")
    assert stand_in.live("memory") == blocks + 1  # the kept one went
    del other
    with pytest.raises(MemoryError, match=r"cuda:0 did not give.*cuMemAlloc: no \d+ bytes"):
        ebb.empty(1 << 35, dtype=ebb.uint8, device="cuda")
    assert ebb.ones(3, device="cuda").sum().item() == 3


@pytest.mark.parametrize("make", [
    lambda: ebb.empty(3 << 20, dtype=ebb.uint8, device="cuda"),
    lambda: ebb.empty(3 << 20, dtype=ebb.uint8).pin_memory("cuda"),
])  # fmt: skip
@pytest.mark.parametrize("status", [OUT_OF_MEMORY, LAUNCH_FAILED])
def test_only_a_full_memory_is_told_as_such(make, status, stand_in):
    """Programs that ask for less after it would retry for ever."""
    ebb.cuda.empty_cache()
    for call in ("cuMemAlloc", "cuMemHostAlloc"):
        stand_in.fail(call, status)
    if status == OUT_OF_MEMORY:
        stand_in.fail("cuMemAlloc", status)
        make()  # once more, after what is kept was given back
    else:
        with pytest.raises(
            ebb.errors.DeviceError, match=r"cuMem\w+: .*says the stand-in"
        ) as caught:
            make()
        assert not isinstance(caught.value, MemoryError)
    for call in ("cuMemAlloc", "cuMemHostAlloc"):
        stand_in.fail(call, 0)


def test_with_device_sync_each_call_waits():
    script = """
import ctypes, os, ebb
library = ctypes.CDLL(os.environ["EBB_CUDA_LIBRARY"])
x = ebb.ones(3, device="cuda")
before = library.stand_in_calls(b"cuStreamSynchronize")
y = x * 2
print(library.stand_in_calls(b"cuStreamSynchronize") - before, library.stand_in_live(b"streams"))
"""
    for asked, waits in (("1", "1 2"), ("0", "0 2")):
        assert printed(script, EBB_DEVICE_SYNC=asked).strip() == waits


@pytest.mark.parametrize(
    ("variables", "answer"),
    [
        ({"EBB_CUDA_LIBRARY": "/nowhere/libcuda.so"}, "False 0"),
        ({"EBB_CUDA_LIBRARY": "libm.so.6"}, "False 0"),
        ({"STAND_IN_DEVICES": "0"}, "False 0"),
        ({"STAND_IN_DEVICES": "3"}, "True 3"),
    ],
)
def test_programs_may_ask_where_there_is_nothing(variables, answer):
    script = """
import ebb
print(ebb.cuda.is_available(), ebb.cuda.device_count())
ebb.cuda.synchronize(), ebb.cuda.empty_cache(), ebb.cuda.manual_seed_all(1)
"""
    assert printed(script, **variables).strip() == answer


@pytest.mark.parametrize("status", [34, 803, 804, 999])
def test_a_driver_that_cannot_start_is_none_and_says_why_once(status):
    script = """
import warnings
import ebb
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    device = "cuda" if ebb.cuda.is_available() else "cpu"
    print(device, ebb.cuda.is_available(), ebb.cuda.device_count(), ebb.cuda.is_initialized())
print(len(caught), "cuInit" in str(caught[0].message))
for use in (lambda: ebb.ones(2).to("cuda"), lambda: ebb.ones(2, device="cuda:0"),
            lambda: ebb.nn.Linear(2, 2).to("cuda"), lambda: ebb.ones(2).cuda()):
    try:
        use()
    except Exception as error:
        print(type(error).__name__, "cuInit" in str(error))
"""
    said = printed(script, STAND_IN_INIT_STATUS=str(status)).splitlines()
    assert said[:2] == ["cpu False 0 False", "1 True"]
    assert len(said) == 6 and all(line.endswith("Error True") for line in said[2:]), said


@pytest.mark.parametrize(
    ("flag", "name"),
    [
        ("EBB_CUDA_LIBRARY", "libm.so.6"),
        ("EBB_CUBLAS_LIBRARY", "cuBLAS"),
        ("EBB_CUDNN_LIBRARY", "cuDNN"),
    ],
)
def test_the_log_tells_of_a_library_that_lacks_functions(flag, name):
    script = """
import ebb
if ebb.cuda.is_available():
    x = ebb.ones(1, 1, 3, 3, device="cuda")
    ebb.nn.functional.conv2d(x, x), x @ x
"""
    done = finished(script, EBB_LOG="general:1", **{flag: "libm.so.6"})
    assert done.returncode == 0, done.stderr
    assert f"cuda: {name} is not used: it has no function cu" in done.stderr


def test_without_the_compiler_the_error_says_what_is_missing():
    script = """
import ebb
try:
    ebb.ones(3, device="cuda") * 2
except ebb.DeviceError as error:
    print(error)
"""
    said = printed(script, EBB_NVRTC_LIBRARY="/nowhere/libnvrtc.so")
    assert "cuda:0 failed: no compiler of CUDA: needs libnvrtc" in said
