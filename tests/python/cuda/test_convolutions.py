# tests/python/cuda/test_convolutions.py -- convolutions by cuDNN: how they are asked for, what they
# give.
#
# The stand-in checks descriptors, algorithms, workspace and memory of each call, and computes from
# what its tensors hold when their turn comes.
import ctypes

import numpy as np
import pytest

import ebb
from ebb.nn import functional
from tests.python.cuda import stand_in as chosen
from tests.python.cuda.test_products import exact, numbers, rounded
from tests.python.fresh import printed

FORWARD, INPUT, WEIGHT = (
    "cudnnConvolutionForward",
    "cudnnConvolutionBackwardData",
    "cudnnConvolutionBackwardFilter",
)
EXECUTION_FAILED = 5000

pytestmark = pytest.mark.skipif(
    chosen.LIBRARY.exists() and not hasattr(ctypes.CDLL(str(chosen.LIBRARY)), "cudnnCreate"),
    reason="cuDNN's header was not there when the stand-in was built",
)

# Function, shape of the input, of the weight, whether there is a bias, and what else it takes.
CASES = {
    "a line": (functional.conv1d, (2, 3, 9), (4, 3, 3), True, {}),
    "an image": (functional.conv2d, (2, 3, 6, 7), (4, 3, 3, 2), True, {}),
    "a volume": (functional.conv3d, (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), True, {}),
    "no bias": (functional.conv2d, (2, 3, 6, 7), (4, 3, 3, 2), False, {}),
    "steps": (functional.conv2d, (1, 2, 9, 8), (3, 2, 3, 3), True, {"stride": (2, 3)}),
    "padding": (functional.conv2d, (1, 2, 4, 5), (3, 2, 3, 3), True, {"padding": (2, 1)}),
    "dilation": (functional.conv2d, (1, 2, 9, 9), (3, 2, 3, 3), True, {"dilation": (2, 3)}),
    "groups": (functional.conv2d, (2, 4, 5, 5), (6, 2, 3, 3), True, {"groups": 2}),
    "a channel each": (functional.conv2d, (2, 4, 5, 5), (4, 1, 3, 3), True, {"groups": 4}),
    "one place": (functional.conv2d, (2, 3, 4, 4), (5, 3, 1, 1), True, {}),
    "turned": (functional.conv_transpose2d, (2, 3, 4, 5), (3, 4, 3, 2), True, {}),
    "turned, with steps": (
        functional.conv_transpose2d,
        (1, 4, 4, 3),
        (4, 2, 3, 3),
        True,
        {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_cpu(name, stand_in):
    function, input_shape, weight_shape, has_bias, more = CASES[name]
    is_turned = function is functional.conv_transpose2d
    channels = weight_shape[1] * more.get("groups", 1) if is_turned else weight_shape[0]
    here = [numbers(*input_shape), numbers(*weight_shape)]
    here += [numbers(channels)] if has_bias else []
    here = [one.requires_grad_() for one in here]
    there = [one.detach().to("cuda").requires_grad_() for one in here]
    calls = [stand_in.calls(call) for call in (FORWARD, INPUT, WEIGHT)]
    made, want = function(*there, **more), function(*here, **more)
    ebb.testing.assert_close(made.detach().cpu(), want.detach(), rtol=1e-5, atol=1e-5)
    for one in (made, want):
        (one * one).sum().backward()
    for one, expected in zip(there, here, strict=True):
        ebb.testing.assert_close(one.grad.cpu(), expected.grad, rtol=1e-4, atol=1e-4)
    done = [
        stand_in.calls(call) - n for call, n in zip((FORWARD, INPUT, WEIGHT), calls, strict=True)
    ]
    assert done == [1, 1, 1]


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16, ebb.float32])
@pytest.mark.parametrize("function", [functional.conv2d, functional.conv_transpose2d])
def test_a_bias_is_added_before_the_only_rounding(function, dtype):
    operands = [numbers(1, 4, 5, 5), numbers(4, 4, 3, 3), numbers(4)]
    operands = [one.to(dtype) for one in operands]
    want = function(*(one.double() for one in operands))
    made = function(*(one.to("cuda") for one in operands))
    assert made.dtype is dtype
    np.testing.assert_array_equal(exact(made), rounded(exact(want), dtype))


def test_operands_with_gaps_and_in_other_orders_are_put_in_order(stand_in):
    x, w, b = numbers(2, 6, 7, 3), numbers(3, 3, 4, 8), numbers(8)
    want = functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)[::2, :3], b[::2])
    there = [one.to("cuda") for one in (x, w, b)]
    calls = stand_in.calls(FORWARD)
    made = functional.conv2d(
        there[0].permute(0, 3, 1, 2), there[1].permute(3, 2, 0, 1)[::2, :3], there[2][::2]
    )
    assert stand_in.calls(FORWARD) == calls + 1
    ebb.testing.assert_close(made.cpu(), want, rtol=1e-5, atol=1e-5)


def test_float64_is_float64():
    operands = [numbers(1, 2, 5, 5, dtype=ebb.float64), numbers(3, 2, 3, 3, dtype=ebb.float64)]
    made = functional.conv2d(*(one.to("cuda") for one in operands))
    ebb.testing.assert_close(made.cpu(), functional.conv2d(*operands), rtol=1e-13, atol=1e-13)


def test_second_derivatives_are_those_of_the_cpu():
    def second(device):
        x = ebb.linspace(-1, 1, 50, dtype=ebb.float64).view(1, 2, 5, 5).to(device).requires_grad_()
        w = ebb.linspace(1, 2, 54, dtype=ebb.float64).view(3, 2, 3, 3).to(device).requires_grad_()
        (first,) = ebb.autograd.grad(functional.conv2d(x, w).sin().sum(), x, create_graph=True)
        return [one.cpu() for one in ebb.autograd.grad((first * first).sum(), (x, w))]

    for one, expected in zip(second("cuda"), second("cpu"), strict=True):
        ebb.testing.assert_close(one, expected, rtol=1e-10, atol=1e-10)


def test_nothing_is_computed_of_nothing(stand_in):
    calls = stand_in.calls(FORWARD)
    x, w = ebb.zeros(0, 2, 5, 5, device="cuda"), ebb.zeros(3, 2, 3, 3, device="cuda")
    assert functional.conv2d(x, w).shape == (0, 3, 3, 3)
    assert stand_in.calls(FORWARD) == calls


def test_tf32_is_for_those_who_ask():
    x, w = ebb.full((1, 1, 2, 2), 1 + 2.0**-12).to("cuda"), ebb.ones(1, 1, 1, 1, device="cuda")
    assert functional.conv2d(x, w)[0, 0, 0, 0].item() == 1 + 2.0**-12
    with ebb.flags.guard(tf32=True):
        assert functional.conv2d(x, w)[0, 0, 0, 0].item() == 1.0


def test_without_an_algorithm_kernels_of_our_own_are_used(stand_in):
    x, w = numbers(1, 2, 5, 5), numbers(3, 2, 3, 3)
    want = functional.conv2d(x, w)
    there = [one.to("cuda").requires_grad_() for one in (x, w)]
    stand_in.fail("cudnnGetConvolutionForwardWorkspaceSize", 3000)
    calls = stand_in.calls("cudnnGetConvolutionForwardWorkspaceSize")
    made = functional.conv2d(*there)
    assert stand_in.calls("cudnnGetConvolutionForwardWorkspaceSize") == calls + 2
    ebb.testing.assert_close(made.detach().cpu(), want, rtol=1e-5, atol=1e-5)
    stand_in.fail("cudnnGetConvolutionBackwardDataWorkspaceSize", 3000)
    calls = stand_in.calls(INPUT)
    made.sum().backward()
    assert stand_in.calls(INPUT) == calls
    expected = functional.conv_transpose2d(ebb.ones(want.shape), w)
    ebb.testing.assert_close(there[0].grad.cpu(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("refusal", [9, 3000, 3007])
def test_what_is_refused_only_when_it_is_to_run_goes_to_kernels_of_our_own(refusal, stand_in):
    operands = [numbers(1, 2, 5, 5), numbers(3, 2, 3, 3), numbers(3)]
    stand_in.fail(FORWARD, refusal)
    made = functional.conv2d(*(one.to("cuda") for one in operands))
    ebb.testing.assert_close(made.cpu(), functional.conv2d(*operands), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "call", ["cudnnCreate", "cudnnSetStream", "cudnnSetFilterNdDescriptor", FORWARD]
)
def test_a_failure_names_the_call(call):
    script = f"""
import ctypes, os, ebb
x = ebb.ones(1, 1, 2, 2, device="cuda")
ctypes.CDLL(os.environ["EBB_CUDA_LIBRARY"]).stand_in_fail(b"{call}", 0, {EXECUTION_FAILED})
try:
    ebb.nn.functional.conv2d(x, x)
except ebb.DeviceError as error:
    print(error)
print(ebb.nn.functional.conv2d(x, x).tolist())
"""
    done = printed(script)
    assert f"conv2d: in conv_forward, cuda:0 failed: {call}: CUDNN_STATUS_EXECUTION_FAILED" in done
    assert "hint: with EBB_CUDNN_LIBRARY=0" in done
    assert done.splitlines()[-1] == "[[[[4.0]]]]"


def test_switched_off_kernels_of_our_own_are_used(stand_in):
    switches = ebb.backends.cudnn
    x, w = numbers(1, 2, 5, 5).to("cuda"), numbers(3, 2, 3, 3).to("cuda")
    calls = stand_in.calls(FORWARD)
    assert switches.enabled is True
    with switches.flags(benchmark=True):
        assert switches.enabled is False and ebb.flags.get("cudnn") is False
        own = functional.conv2d(x, w).tolist()
    assert stand_in.calls(FORWARD) == calls and switches.enabled is True
    with switches.flags(enabled=True):
        np.testing.assert_allclose(functional.conv2d(x, w).tolist(), own, rtol=1e-5, atol=1e-5)
    assert stand_in.calls(FORWARD) == calls + 1
    with pytest.raises(ebb.errors.DTypeError, match=r"cudnn\.enabled: needs a bool, got int"):
        switches.enabled = 0


def test_the_library_that_was_found_says_its_version():
    switches = ebb.backends.cudnn
    x = ebb.ones(1, device="cuda")
    assert switches.is_available() is True and switches.version() == 91900
    assert switches.is_acceptable(x) is True
    assert not switches.is_acceptable(x.cpu()) and not switches.is_acceptable(x.to(ebb.int32))
    with switches.flags(enabled=False):
        assert switches.is_available() is True and switches.is_acceptable(x) is False


@pytest.mark.parametrize("library", ["0", "/nowhere/libcudnn.so", "libm.so.6"])
def test_without_the_library_kernels_of_our_own_are_used(library):
    script = f"""
import ctypes, os, ebb
x, w, b = ebb.arange(50.0).view(1, 2, 5, 5), ebb.arange(54.0).view(3, 2, 3, 3), ebb.arange(3.0)
made = []
for device in ("cuda", "cpu"):
    own = [one.to(device).requires_grad_() for one in (x, w, b)]
    ebb.nn.functional.conv2d(*own).sum().backward()
    made.append([one.grad.tolist() for one in own])
print(made[0] == made[1])
switches = ebb.backends.cudnn
print(switches.is_available(), switches.version(), switches.is_acceptable(x.to("cuda")))
print(ctypes.CDLL(os.environ["EBB_CUDA_LIBRARY"]).stand_in_calls(b"{FORWARD}"))
"""
    said = printed(script, EBB_CUDNN_LIBRARY=library)
    assert said.split() == ["True", "False", "None", "False", "0"]
