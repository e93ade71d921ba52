# tests/python/cuda/test_library_failures.py -- a call of cuBLAS or cuDNN that fails: the error
# names the device and the call, no handle, descriptor or memory is left, and the next call works.
import ctypes

import pytest

import ebb
from ebb.nn import functional
from tests.python.cuda import stand_in as chosen
from tests.python.cuda.test_convolutions import FORWARD, INPUT, WEIGHT
from tests.python.cuda.test_host import OUT_OF_MEMORY, settled
from tests.python.cuda.test_products import EXECUTION_FAILED, GEMM

ADDING = ("cublasCreate", "cublasSetStream", "cublasSetMathMode", GEMM)
DESCRIBING = {
    "cudnnCreateTensorDescriptor": 2,
    "cudnnCreateFilterDescriptor": 1,
    "cudnnCreateConvolutionDescriptor": 1,
    "cudnnSetTensorNdDescriptor": 2,
    "cudnnSetFilterNdDescriptor": 1,
    "cudnnSetConvolutionNdDescriptor": 1,
    "cudnnSetConvolutionGroupCount": 1,
    "cudnnSetConvolutionMathType": 1,
}
HAS_CUDNN = chosen.LIBRARY.exists() and hasattr(ctypes.CDLL(str(chosen.LIBRARY)), "cudnnCreate")
needs_cudnn = pytest.mark.skipif(not HAS_CUDNN, reason="built without cuDNN's header")


def left(stand_in):
    return {**settled(stand_in), "library": stand_in.live("library_objects")}


def check_failure(stand_in, call, compute, want, calls_before=0):
    """Let one call fail in an op on a new stream, whose library has no handle yet."""
    compute()  # compiles kernels
    ebb.synchronize()
    with ebb.cuda.stream(ebb.cuda.Stream("cuda:0")):
        is_new = "Create" in call or "SetStream" in call or "SetMathMode" in call
        if not is_new:
            compute()
        before = left(stand_in)
        stand_in.fail(call, EXECUTION_FAILED, calls_before)
        with pytest.raises(ebb.DeviceError, match=f"cuda:0 failed: {call}: CU") as caught:
            compute()
        del caught
        found = left(stand_in)
        # The handle stays where it was made before what failed.
        has_handle = is_new and "Descriptor" in call
        assert found == {**before, "library": before["library"] + has_handle}
        assert compute().tolist() == want


@pytest.mark.parametrize("call", ADDING)
def test_a_product_that_fails_leaves_nothing(call, stand_in):
    x = ebb.tensor([[1.0, 2.0]], device="cuda")
    w, b = ebb.ones(3, 2, device="cuda"), ebb.ones(3, device="cuda")
    check_failure(stand_in, call, lambda: functional.linear(x, w, b), [[4.0] * 3])


@needs_cudnn
@pytest.mark.parametrize(
    ("call", "calls_before"),
    [("cudnnCreate", 0), ("cudnnSetStream", 0), (FORWARD, 0)]
    + [(call, before) for call, count in DESCRIBING.items() for before in range(count)],
)
def test_a_convolution_that_fails_leaves_nothing(call, calls_before, stand_in):
    x, b = ebb.ones(1, 1, 2, 2, device="cuda"), ebb.ones(1, device="cuda")
    check_failure(
        stand_in, call, lambda: functional.conv2d(x, x, b), [[[[5.0]]]], calls_before=calls_before
    )


@needs_cudnn
@pytest.mark.parametrize("call", [INPUT, WEIGHT])
def test_a_gradient_that_fails_names_the_call(call, stand_in):
    x, w = (ebb.ones(1, 1, 2, 2, device="cuda").requires_grad_() for _ in range(2))

    def gradients():
        return ebb.autograd.grad(functional.conv2d(x, w).sum(), (x, w))

    gradients()
    before = left(stand_in)
    stand_in.fail(call, EXECUTION_FAILED)
    with pytest.raises(ebb.DeviceError, match=f"cuda:0 failed: {call}: CU") as caught:
        gradients()
    del caught
    assert left(stand_in) == before
    assert [one.tolist() for one in gradients()] == [[[[[1.0, 1.0]] * 2]]] * 2


@needs_cudnn
def test_without_memory_for_a_workspace_what_is_kept_goes_back_first(stand_in):
    x = ebb.ones(1, 1, 2, 2, device="cuda")
    functional.conv2d(x, x)
    before = left(stand_in)
    stand_in.fail("cuMemAlloc", OUT_OF_MEMORY, 1)  # the first is for the result
    assert functional.conv2d(x, x).tolist() == [[[[4.0]]]]
    assert left(stand_in) == before
