# tests/python/opencl/test_failures.py -- each call of OpenCL may fail: the error names the op or
# function, the device and the call; the device goes on, and nothing is lost.
#
# The layer (layer.py) lets calls fail.
import pytest

import ebb
from tests.python import fresh
from tests.python.opencl.layer import LIBRARY

STATUS = "CL_OUT_OF_RESOURCES"


def double(x):
    return (x * 2).tolist()


def triple_others(x):
    """The same kernel for another address, count and number: each is set anew."""
    return (x[1:] * 3).tolist()


def shift(x):
    return x[1:].copy_(x[:-1])


def recorded():
    event = ebb.Event("opencl")
    event.record()
    return event


def zeros_without_kernel(x):
    return ebb.zeros(3, dtype=ebb.complex64, device=x.device)


# The call that fails, the function of the program that meets it, and what the message says.
FAILURES = [
    ("clEnqueueNDRangeKernel", double, "mul: opencl:0 failed: clEnqueueNDRangeKernel"),
    ("clSetKernelArgSVMPointer", triple_others, "mul: opencl:0 failed: clSetKernelArgSVMPointer"),
    ("clSetKernelArg", triple_others, "mul: opencl:0 failed: clSetKernelArg"),
    (
        "clEnqueueSVMMemcpy",
        lambda x: ebb.ones(3).to("opencl"),
        "in copy_to_device, opencl:0 failed: clEnqueueSVMMemcpy",
    ),
    ("clEnqueueSVMMemcpy", lambda x: x.cpu(), "copy_to_host: opencl:0 failed: clEnqueueSVMMemc"),
    ("clEnqueueSVMMemcpy", shift, "copy_: in copy_on_device, opencl:0 failed: clEnqueueSVM"),
    ("clEnqueueSVMMemFill", zeros_without_kernel, "opencl:0 failed: clEnqueueSVMMemFill"),
    ("clFinish", lambda x: ebb.synchronize("opencl"), "opencl:0 failed: clFinish"),
    ("clFinish", lambda x: x.cpu(), "opencl:0 failed: clFinish"),
    ("clFinish", lambda x: ebb._C._empty_device_cache(x.device), "clFinish"),
    ("clCreateCommandQueueWithProperties", lambda x: ebb.Stream("opencl"), "opencl:0 failed: "),
    ("clEnqueueMarkerWithWaitList", lambda x: recorded(), "record_event: opencl:0 failed: clEn"),
    ("clFlush", lambda x: recorded(), "record_event: opencl:0 failed: clFlush"),
    ("clGetEventInfo", lambda x: recorded().query(), "query_event: opencl:0 failed: clGetEven"),
    ("clGetEventInfo", lambda x: recorded().wait(), "wait_event: opencl:0 failed: clGetEventI"),
    ("clRetainEvent", lambda x: recorded().query(), "query_event: opencl:0 failed: clRetainEv"),
    (
        "clEnqueueBarrierWithWaitList",
        lambda x: recorded().wait(),
        "wait_event: opencl:0 failed: clEnqueueBarrierWithWaitList",
    ),
    ("clWaitForEvents", lambda x: recorded().synchronize(), "opencl:0 failed: clWaitForEvents"),
]


@pytest.mark.parametrize(
    ("call", "function", "text"),
    FAILURES,
    ids=[f"{at}-{one[0]}" for at, one in enumerate(FAILURES)],
)
def test_a_failure_names_call_and_device_and_the_device_goes_on(call, function, text, layer):
    x = ebb.ones(5, device="opencl")
    double(x), shift(x)
    before = layer.settled()
    layer.fail(call)
    with pytest.raises(ebb.DeviceError, match=text) as caught:
        function(x)
    assert f"{call}: {STATUS}" in str(caught.value)
    del caught
    assert double(x) == [2.0] * 5
    assert layer.settled() == before


def test_arguments_that_stay_are_set_once(layer):
    x = ebb.ones(5, device="opencl")
    double(x), double(x)
    setters = ("clSetKernelArg", "clSetKernelArgSVMPointer")
    before = [layer.calls(name) for name in setters]
    assert double(x) == [2.0] * 5
    assert [layer.calls(name) for name in setters] == before
    assert triple_others(x) == [3.0] * 4
    assert layer.calls("clSetKernelArg") == before[0] + 2  # count and number


def test_a_failure_within_backward_leaves_nothing_behind(layer):
    weight = ebb.ones(50, device="opencl", requires_grad=True)
    counts = iter(range(2, 50))  # arguments that stay are not set again

    def step():
        part = weight[: next(counts)]
        return ((part * 3).sin() * part).sum()

    step().backward()
    weight.grad = None
    before = layer.settled()
    for call in ("clEnqueueNDRangeKernel", "clSetKernelArg", "clSVMAlloc"):
        for calls_before in range(3):
            loss = step()
            ebb.synchronize("opencl")
            ebb._C._empty_device_cache(loss.device)
            layer.fail(call, calls_before, failures=2)
            with pytest.raises((ebb.DeviceError, MemoryError), match="opencl:0"):
                loss.backward()
            layer.fail(call, 0, failures=0)
            weight.grad = None
            del loss
            assert layer.settled() == before
    step().backward()
    assert weight.grad.cpu().isfinite().all()


def test_memory_that_is_refused_once_comes_from_what_was_kept(layer):
    device = ebb.device("opencl")
    layer.settled()
    blocks = layer.live("memory")
    kept = ebb.empty(1 << 20, dtype=ebb.uint8, device=device)
    del kept
    assert layer.live("memory") == blocks + 1
    calls = layer.calls("clSVMAlloc")
    layer.fail("clSVMAlloc")
    other = ebb.empty(1 << 21, dtype=ebb.uint8, device=device)
    assert layer.live("memory") == blocks + 1  # the kept one went
    assert layer.calls("clSVMAlloc") == calls + 2
    del other
    layer.fail("clSVMAlloc", failures=2)
    with pytest.raises(MemoryError, match=r"opencl:0 did not give.*clSVMAlloc: no \d+ bytes"):
        ebb.empty(1 << 22, dtype=ebb.uint8, device=device)
    assert layer.calls("clSVMAlloc") == calls + 4  # tried once more, and no oftener
    assert layer.live("memory") == blocks
    assert ebb.ones(3, device=device).sum().item() == 3


def test_scratch_memory_of_a_kernel_that_is_refused_is_an_error_of_its_op(layer):
    x = ebb.ones(3_000_000, device="opencl")  # summed in two passes
    x.sum().item()
    before = layer.settled()
    layer.fail("clSVMAlloc", calls_before=1, failures=2)
    with pytest.raises(MemoryError, match="bytes for a kernel, which opencl:0 did not give"):
        x.sum()
    assert x.sum().item() == 3_000_000
    assert layer.settled() == before


def run_with_layer(script, **variables):
    """What a fresh process prints, in which `layer` is the layer."""
    start = """
import ebb
from tests.python.opencl.layer import Layer
layer = Layer()
"""
    done = fresh.finished(start + script, **{"EBB_KERNEL_CACHE": "0", **variables})
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("call", ["clCreateProgramWithSource", "clBuildProgram", "clCreateKernel"])
def test_a_kernel_that_cannot_be_made_names_the_op(call, layer):
    # In a process of its own, for a kernel is made once.
    printed = run_with_layer(f"""
x = ebb.ones(3, device="opencl")
before = layer.settled()
layer.fail("{call}")
try:
    x * 2
except ebb.DeviceError as error:
    print(str(error).splitlines()[0])
print(layer.settled() == before)
print((x * 2).tolist())
""")
    wanted = f"mul: opencl:0 failed: {call}: {STATUS}"
    assert printed == [wanted, "True", "[2.0, 2.0, 2.0]"]


def test_a_program_on_disk_that_is_refused_is_made_anew(layer, tmp_path):
    script = """
layer.fail("clCreateProgramWithBinary", failures=100)
print((ebb.ones(3, device="opencl") * 2).tolist(), layer.calls("clCreateProgramWithSource"))
"""
    for _ in range(2):
        printed = run_with_layer(script, EBB_KERNEL_CACHE=str(tmp_path))
        assert printed == ["[2.0, 2.0, 2.0] 2"]


@pytest.mark.parametrize(
    "call",
    [
        "clGetDeviceInfo",
        "clCreateContext",
        "clCreateSubDevices",
        "clCreateCommandQueueWithProperties",
    ],
)
def test_devices_that_cannot_be_opened_are_tried_again(call, layer):
    printed = run_with_layer(
        f"""
layer.fail("{call}")
try:
    ebb.ones(3, device="opencl")
except ValueError as error:
    print(str(error).splitlines()[0])
print(ebb.ones(3, device="opencl").sum().item())
""",
        EBB_OPENCL_DEVICES="0/2",
    )
    assert printed[0].endswith(f"{call}: {STATUS}") and "opencl" in printed[0]
    assert printed[1:] == ["3.0"]


def test_the_layer_is_where_the_tests_say(layer):
    assert LIBRARY.exists() and layer.calls("clEnqueueNDRangeKernel") > 0
