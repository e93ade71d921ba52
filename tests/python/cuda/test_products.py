# tests/python/cuda/test_products.py -- matrix products by cuBLAS: which go there, how they are
# asked for, what they give.
#
# The stand-in checks leading dimensions, strides and memory of each call, and multiplies what its
# matrices hold when their turn comes.

import numpy as np
import pytest

import ebb
from ebb.nn import functional
from tests.python.fresh import printed

RNG = np.random.default_rng(8)
GEMM = "cublasGemmStridedBatchedEx"
EXECUTION_FAILED = 13


def numbers(*shape, dtype=ebb.float32):
    return ebb.tensor(RNG.standard_normal(shape)).to(dtype)


def exact(x):
    """The elements in float64, in NumPy."""
    return x.cpu().double().numpy()


def rounded(values, dtype):
    return exact(ebb.tensor(values).to(dtype))


# Each gives two matrices of the CPU; then whether cuBLAS takes their product.
CASES = {
    "rows by rows": (lambda: (numbers(5, 7), numbers(7, 4)), True),
    "turned first": (lambda: (numbers(7, 5).t(), numbers(7, 4)), True),
    "turned second": (lambda: (numbers(5, 7), numbers(4, 7).t()), True),
    "both turned": (lambda: (numbers(7, 5).t(), numbers(4, 7).t()), True),
    "parts of rows": (lambda: (numbers(5, 9)[:, 1:8], numbers(7, 6)[:, 2:]), True),
    "parts of turned rows": (lambda: (numbers(7, 9)[:, 3:8].t(), numbers(6, 7)[1:5].t()), True),
    "every other row": (lambda: (numbers(9, 7)[::2], numbers(14, 4)[1::2]), True),
    "one row": (lambda: (numbers(1, 7), numbers(7, 4)), True),
    "one column": (lambda: (numbers(5, 7), numbers(7, 1)), True),
    "a column as factor": (lambda: (numbers(5, 1), numbers(1, 4)), True),
    "one number": (lambda: (numbers(1, 1), numbers(1, 1)), True),
    "a column of a matrix": (lambda: (numbers(7, 5)[:, 2:3].t(), numbers(7, 4)), True),
    "a batch": (lambda: (numbers(3, 5, 7), numbers(3, 7, 4)), True),
    "a batch by one": (lambda: (numbers(3, 5, 7), numbers(7, 4)), True),
    "one by a batch": (lambda: (numbers(5, 7), numbers(3, 7, 4)), True),
    "a batch of two dims": (lambda: (numbers(2, 3, 5, 7), numbers(2, 3, 7, 4)), True),
    "every other of a batch": (lambda: (numbers(6, 5, 7)[::2], numbers(3, 7, 4)), True),
    "heads": (lambda: (numbers(2, 5, 3, 7).transpose(1, 2), numbers(2, 3, 7, 4)), False),
    "expanded rows": (lambda: (numbers(1, 7).expand(5, 7), numbers(7, 4)), False),
    "steps in rows and columns": (lambda: (numbers(10, 14)[::2, ::2], numbers(7, 4)), False),
    "nothing to add up": (lambda: (numbers(5, 0), numbers(0, 4)), False),
    "nothing to compute": (lambda: (numbers(0, 7), numbers(7, 4)), False),
}


@pytest.mark.parametrize("name", CASES)
def test_products_are_right_whoever_computes_them(name, stand_in):
    make, by_cublas = CASES[name]
    a, b = make()
    want = exact(a) @ exact(b)
    # Whole memory travels, so that the views are views there.
    there = [one._base.to("cuda") if one._is_view() else one.to("cuda") for one in (a, b)]
    views = [
        twin.as_strided(one.shape, one.stride(), one.storage_offset())
        for one, twin in zip((a, b), there, strict=True)
    ]
    calls = stand_in.calls(GEMM)
    made = views[0] @ views[1]
    assert stand_in.calls(GEMM) == calls + by_cublas
    assert made.shape == want.shape
    np.testing.assert_allclose(exact(made), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16, ebb.float64])
def test_sums_are_rounded_once(dtype, stand_in):
    a, b = numbers(6, 300, dtype=dtype), numbers(300, 5, dtype=dtype)
    calls = stand_in.calls(GEMM)
    made = a.to("cuda") @ b.to("cuda")
    assert stand_in.calls(GEMM) == calls + 1 and made.dtype is dtype
    want = exact(a) @ exact(b)
    if dtype is not ebb.float64:
        want = rounded(want, dtype)
    np.testing.assert_allclose(exact(made), want, rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize("dtype", [ebb.int32, ebb.int64, ebb.uint8])
def test_integers_are_kernels_of_our_own(dtype, stand_in):
    a, b = ebb.arange(6, dtype=dtype).view(2, 3), ebb.arange(6, dtype=dtype).view(3, 2)
    calls = stand_in.calls(GEMM)
    assert (a.to("cuda") @ b.to("cuda")).tolist() == (a @ b).tolist()
    assert stand_in.calls(GEMM) == calls


@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float16, ebb.bfloat16])
@pytest.mark.parametrize("step", [1, 2])
def test_a_bias_is_added_before_the_only_rounding(dtype, step, stand_in):
    x, weight = numbers(6, 40, dtype=dtype), numbers(5, 40, dtype=dtype)
    bias = numbers(5 * step, dtype=dtype)
    want = rounded(exact(x) @ exact(weight).T + exact(bias)[::step], dtype)
    calls = stand_in.calls(GEMM)
    made = functional.linear(x.to("cuda"), weight.to("cuda"), bias.to("cuda")[::step])
    assert stand_in.calls(GEMM) == calls + 1
    np.testing.assert_array_equal(exact(made), want)


def test_gradients_of_a_layer_are_those_of_the_cpu(stand_in):
    layer = ebb.nn.Linear(7, 5)
    x = numbers(6, 7).requires_grad_()
    layer(x).square().sum().backward()
    want = [one.grad.clone() for one in (x, layer.weight, layer.bias)]
    twin = ebb.nn.Linear(7, 5, device="cuda")
    twin.load_state_dict(layer.state_dict())
    there = x.detach().to("cuda").requires_grad_()
    calls = stand_in.calls(GEMM)
    twin(there).square().sum().backward()
    assert stand_in.calls(GEMM) == calls + 3
    for one, expected in zip((there, twin.weight, twin.bias), want, strict=True):
        ebb.testing.assert_close(one.grad.cpu(), expected, rtol=1e-5, atol=1e-5)


def test_tf32_is_for_those_who_ask():
    a, b = ebb.tensor([[1 + 2.0**-12]]), ebb.tensor([[1.0]])

    def product(dtype=ebb.float32):
        return (a.to("cuda", dtype) @ b.to("cuda", dtype)).item()

    assert ebb.backends.cuda.matmul.allow_tf32 is False and product() == a.item()
    try:
        ebb.backends.cuda.matmul.allow_tf32 = True
        assert ebb.get_float32_matmul_precision() == "high" and product() == 1.0
        assert product(ebb.float64) == a.item()
        ebb.set_float32_matmul_precision("highest")
        assert ebb.backends.cuda.matmul.allow_tf32 is False and product() == a.item()
        ebb.set_float32_matmul_precision("medium")
        assert ebb.get_float32_matmul_precision() == "medium" and product() == 1.0
    finally:
        ebb.set_float32_matmul_precision("highest")
    with pytest.raises(TypeError, match="allow_tf32: needs a bool, got int"):
        ebb.backends.cuda.matmul.allow_tf32 = 1


def test_each_stream_has_a_handle(stand_in):
    a, b = numbers(3, 3), numbers(3, 3)
    there = [a.to("cuda"), b.to("cuda")]
    there[0] @ there[1]
    calls = stand_in.calls("cublasCreate")
    there[0] @ there[1]
    assert stand_in.calls("cublasCreate") == calls
    side = ebb.cuda.Stream("cuda:0")
    side.wait_stream(ebb.cuda.current_stream())
    with ebb.cuda.stream(side):
        made = there[0] @ there[1]
        assert not side.query()
        np.testing.assert_allclose(exact(made), exact(a) @ exact(b), rtol=1e-5)
    assert stand_in.calls("cublasCreate") <= calls + 1


@pytest.mark.parametrize("call", ["cublasCreate", "cublasSetStream", "cublasSetMathMode", GEMM])
def test_a_failure_names_the_call(call):
    # In a process of its own, for a handle is made once.
    script = f"""
import ctypes, os, ebb
x = ebb.eye(2, device="cuda")
ctypes.CDLL(os.environ["EBB_CUDA_LIBRARY"]).stand_in_fail(b"{call}", 0, {EXECUTION_FAILED})
try:
    x @ x
except ebb.DeviceError as error:
    print(error)
print((x @ x).tolist())
"""
    done = printed(script)
    assert f"matmul: cuda:0 failed: {call}: CUBLAS_STATUS_EXECUTION_FAILED" in done
    assert "hint: with EBB_CUBLAS_LIBRARY=0" in done
    assert done.splitlines()[-1] == "[[1.0, 0.0], [0.0, 1.0]]"


@pytest.mark.parametrize("library", ["0", "/nowhere/libcublas.so", "libm.so.6"])
def test_without_the_library_kernels_of_our_own_multiply(library):
    script = f"""
import ctypes, os, ebb
a, b, c = ebb.arange(12.0).view(3, 4), ebb.arange(20.0).view(4, 5), ebb.arange(5.0)
for dtype in (ebb.float32, ebb.float16):
    there = [one.to("cuda", dtype) for one in (a, b, c)]
    print((there[0] @ there[1]).float().tolist() == (a @ b).tolist())
    made = ebb.nn.functional.linear(there[0], there[1].t(), there[2])
    print(made.float().tolist() == (a @ b + c).tolist())
print(ctypes.CDLL(os.environ["EBB_CUDA_LIBRARY"]).stand_in_calls(b"{GEMM}"))
"""
    assert printed(script, EBB_CUBLAS_LIBRARY=library).split() == ["True"] * 4 + ["0"]
