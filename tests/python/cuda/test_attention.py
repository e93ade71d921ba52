# tests/python/cuda/test_attention.py -- attention by cuDNN: what goes there, how it is asked for,
# what it gives, and what happens where it refuses or fails.
#
# The stand-in checks the parts of each graph, their lifetimes, plan, workspace and memory, and
# computes from what its tensors hold when their turn comes. With the toolkit's cuDNN on the machine
# each graph is also put to it, for sm_80 and sm_90; one that it has no engine for is a violation.
import math

import pytest

import ebb
from ebb.nn.functional import scaled_dot_product_attention as attention
from tests.python.cuda import stand_in as chosen
from tests.python.cuda.test_library_failures import left, needs_cudnn
from tests.python.cuda.test_products import numbers
from tests.python.fresh import printed

EXECUTE, FINALIZE = "cudnnBackendExecute", "cudnnBackendFinalize"
EXECUTION_FAILED, BAD_PARAM, NOT_SUPPORTED = 5000, 2000, 3001
HALF_TYPES = {ebb.float16: 2e-3, ebb.bfloat16: 2e-2}  # how far a rounded result may be off

pytestmark = needs_cudnn


def sides(*shapes, dtype=ebb.float16):
    return [numbers(*shape).to(dtype) for shape in shapes]


def dense(batch=2, heads=4, rows=5, features=16, columns=7, key_heads=4, value_features=16):
    return (
        (batch, heads, rows, features),
        (batch, key_heads, columns, features),
        (batch, key_heads, columns, value_features),
    )


def heads_inside(x):
    """The same numbers, with heads inside rows in memory, as projections have them."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


# Query, key and value, and what else attention takes.
TAKEN = {
    "heads": (dense(), {}),
    "keys for two heads each": (dense(key_heads=2), {"enable_gqa": True}),
    "one query": (dense(rows=1), {}),
    "one key": (dense(columns=1), {}),
    "one of all": (dense(1, 1, 1, 8, 1, 1, 8), {}),
    "other values": (dense(value_features=24), {}),
    "features of 128": (dense(1, 2, 3, 128, 9, 2, 128), {}),
    "features of 256": (dense(1, 1, 3, 256, 9, 1, 256), {}),
    "a scale": (dense(), {"scale": -0.5}),
    "causal": (dense(), {"is_causal": True}),
    "causal, more rows than keys": (dense(rows=9), {"is_causal": True}),
    "causal, keys for two heads": (dense(key_heads=2), {"is_causal": True, "enable_gqa": True}),
    "causal, one query": (dense(rows=1), {"is_causal": True}),
}


@pytest.mark.parametrize("dtype", HALF_TYPES)
@pytest.mark.parametrize("name", TAKEN)
def test_values_and_gradients_are_those_of_the_cpu(name, dtype, stand_in):
    shapes, more = TAKEN[name]
    here = [one.requires_grad_() for one in sides(*shapes, dtype=dtype)]
    there = [one.detach().to("cuda").requires_grad_() for one in here]
    calls = stand_in.calls(EXECUTE)
    made, want = attention(*there, **more), attention(*here, **more)
    assert stand_in.calls(EXECUTE) == calls + 1
    near = {"rtol": HALF_TYPES[dtype], "atol": HALF_TYPES[dtype]}
    assert made.dtype is dtype
    ebb.testing.assert_close(made.detach().cpu(), want.detach(), **near)
    for one in (made, want):
        one.backward(ebb.ones(one.shape, dtype=dtype, device=one.device))
    near = {key: 4 * most for key, most in near.items()}  # sums of several roundings
    for one, expected in zip(there, here, strict=True):
        ebb.testing.assert_close(one.grad.cpu(), expected.grad, **near)
    assert stand_in.calls(EXECUTE) == calls + 1  # gradients are our own kernels


def test_the_logarithms_that_gradients_read_are_those_of_our_own_kernel():
    # Scores of 0 and of 800, whose exponentials are no numbers of float32.
    x = ebb.zeros(1, 1, 2, 8, dtype=ebb.float16)
    x[0, 0, 1] = 10.0
    made = []
    for enabled in (True, False):
        with ebb.backends.cudnn.flags(enabled=enabled):
            args = [x.to("cuda")] * 3
            out, logsumexp = ebb._C._ops.attention(*args, None, 0.0, False, 1.0, 0, 0)
        made.append((out.tolist(), logsumexp.tolist()))
        assert logsumexp.dtype is ebb.float32 and logsumexp.shape == (1, 1, 2)
    assert made[0] == made[1]
    assert made[0][1] == [[[pytest.approx(math.log(2)), 800.0]]]


def test_operands_with_gaps_and_heads_inside_rows_are_taken_as_they_are(stand_in):
    q, k, v = sides(*dense(rows=6, columns=9))
    there = [heads_inside(q.to("cuda")), k.to("cuda")[:, :, ::2], heads_inside(v.to("cuda"))]
    calls = stand_in.calls(EXECUTE)
    made = attention(there[0], there[1], there[2][:, :, :5])
    assert stand_in.calls(EXECUTE) == calls + 1
    assert made.stride() == there[0].stride()
    want = attention(q, k[:, :, ::2], v[:, :, :5])
    ebb.testing.assert_close(made.cpu(), want, rtol=2e-3, atol=2e-3)


def nearly(*shape):
    """Rows that do not begin at multiples of 16 bytes."""
    return numbers(*shape[:-1], shape[-1] + 1).half().to("cuda")[..., :-1]


# What cuDNN is not asked for.
LEFT_ALONE = {
    "float32": lambda: attention(*(one.float().to("cuda") for one in sides(*dense()))),
    "dropout": lambda: attention(*(one.to("cuda") for one in sides(*dense())), dropout_p=0.5),
    "a mask": lambda: attention(
        *(one.to("cuda") for one in sides(*dense())),
        attn_mask=ebb.ones(5, 7, dtype=ebb.bool, device="cuda"),
    ),
    "odd features": lambda: attention(
        *(one.to("cuda") for one in sides(*dense(features=12, value_features=12)))
    ),
    "odd features in even rows": lambda: attention(
        *(one.to("cuda")[..., :end] for one, end in zip(sides(*dense()), (12, 12, 16), strict=True))
    ),
    "too many features": lambda: attention(
        *(one.to("cuda") for one in sides(*dense(1, 1, 2, 264, 2, 1, 8)))
    ),
    "many features of one query": lambda: attention(
        *(one.to("cuda") for one in sides(*dense(1, 1, 1, 136, 2, 1, 8)))
    ),
    "rows between": lambda: attention(*(nearly(*shape) for shape in dense())),
    "one key for all": lambda: attention(
        *(one.to("cuda")[:1].expand(2, 4, -1, 16) for one in sides(*dense()))
    ),
    "nothing": lambda: attention(*(one.to("cuda") for one in sides(*dense(batch=0)))),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_all_else_is_for_kernels_of_our_own(name, stand_in):
    calls = stand_in.calls("cudnnBackendCreateDescriptor"), stand_in.calls(EXECUTE)
    assert LEFT_ALONE[name]().isnan().any().item() is False
    assert (stand_in.calls("cudnnBackendCreateDescriptor"), stand_in.calls(EXECUTE)) == calls


def test_a_plan_is_made_once_for_each_shape_whatever_the_scale(stand_in):
    q, k, v = (one.to("cuda") for one in sides(*dense(rows=11)))
    attention(q, k, v, is_causal=True)
    first = attention(q, k, v)
    made = stand_in.calls("cudnnBackendCreateDescriptor")
    live = stand_in.live("library_objects")
    attention(q, k, v, scale=2.0)
    assert attention(q, k, v).tolist() == first.tolist()
    # A pack each.
    assert stand_in.calls("cudnnBackendCreateDescriptor") == made + 2
    assert stand_in.live("library_objects") == live
    attention(q[:, :, :10], k, v)
    assert stand_in.calls("cudnnBackendCreateDescriptor") > made + 3
    assert stand_in.live("library_objects") == live + 1  # the plan


def test_switched_off_kernels_of_our_own_are_used(stand_in):
    operands = [one.to("cuda") for one in sides(*dense())]
    calls = stand_in.calls(EXECUTE)
    with ebb.backends.cudnn.flags(enabled=False):
        own = attention(*operands)
    assert stand_in.calls(EXECUTE) == calls
    ebb.testing.assert_close(attention(*operands).cpu(), own.cpu(), rtol=2e-3, atol=2e-3)


ROWS = iter(range(20, 1000))  # of shapes that were not planned yet


def fresh():
    rows = next(ROWS)
    return sides((1, 1, rows, 8), (1, 1, 2, 8), (1, 1, 2, 8))


def some_calls(stand_in):
    """Calls that are made for a shape that is new: each with how many of its name came before."""
    names = ["CreateDescriptor", "SetAttribute", "Finalize", "GetAttribute"]
    names = [f"cudnnBackend{name}" for name in names]
    before = [stand_in.calls(name) for name in names]
    attention(*(one.to("cuda") for one in fresh()), is_causal=True)
    made = {name: stand_in.calls(name) - n for name, n in zip(names, before, strict=True)}
    for name, count in {**made, EXECUTE: 1}.items():
        for place in sorted({*range(0, count, max(1, count // 12)), count - 1}):
            yield name, place


@pytest.fixture
def without_true_cudnn(monkeypatch):
    """Leaves out what takes a tenth of a second for each of many shapes."""
    monkeypatch.delenv("STAND_IN_CUDNN", raising=False)


@pytest.mark.parametrize("status", [BAD_PARAM, NOT_SUPPORTED])
@pytest.mark.usefixtures("without_true_cudnn")
def test_whatever_is_refused_goes_to_kernels_of_our_own(status, stand_in):
    for call, before in list(some_calls(stand_in)):
        operands = fresh()
        there = [one.to("cuda") for one in operands]
        live = stand_in.live("library_objects")
        stand_in.fail(call, status, before)
        made = attention(*there, is_causal=True)
        want = attention(*operands, is_causal=True)
        ebb.testing.assert_close(made.cpu(), want, rtol=2e-3, atol=2e-3)
        assert stand_in.live("library_objects") <= live + 1  # a plan at most
        planned = stand_in.calls(FINALIZE)
        assert attention(*there, is_causal=True).shape == made.shape
        assert stand_in.calls(FINALIZE) <= planned + 1  # a pack's: plans are not tried again


@pytest.mark.usefixtures("without_true_cudnn")
def test_whatever_fails_names_the_call_leaves_nothing_and_is_tried_again(stand_in):
    for call, before in list(some_calls(stand_in)):
        operands = fresh()
        there = [one.to("cuda") for one in operands]
        attention(*(one[:, :, :1] for one in there), is_causal=True)  # compiles and borrows
        live = left(stand_in)
        stand_in.fail(call, EXECUTION_FAILED, before)
        with pytest.raises(ebb.DeviceError, match=f"cuda:0 failed: {call}: CU") as caught:
            attention(*there, is_causal=True)
        del caught
        now = left(stand_in)
        assert now["library"] - live["library"] in (0, 1)  # the plan, if that was made before
        assert {**now, "library": 0} == {**live, "library": 0}
        made = attention(*there, is_causal=True)
        want = attention(*operands, is_causal=True)
        ebb.testing.assert_close(made.cpu(), want, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    "setting",
    [{"STAND_IN_CAPABILITY": "75"}, {"STAND_IN_CUDNN_VERSION": "91002"}, {"EBB_CUDNN": "0"}],
    ids=str,
)
def test_older_devices_and_libraries_are_not_asked(setting):
    script = f"""
import ctypes, os, ebb
x = ebb.ones(1, 1, 2, 8, dtype=ebb.float16, device="cuda")
print(ebb.nn.functional.scaled_dot_product_attention(x, x, x).cpu().sum().item())
print(ctypes.CDLL(os.environ["EBB_CUDA_LIBRARY"]).stand_in_calls(b"{EXECUTE}"))
"""
    assert printed(script, **setting).split() == ["16.0", "0"]


@pytest.mark.skipif(not chosen.CUDNN.exists(), reason="the toolkit's cuDNN is not installed")
def test_the_true_cudnn_has_engines_and_compiles_them():
    script = """
import ctypes, os, ebb
library = ctypes.CDLL(os.environ["EBB_CUDA_LIBRARY"])
library.stand_in_violations.restype = ctypes.c_char_p
x = ebb.ones(2, 4, 64, 64, dtype=ebb.float16, device="cuda")
for is_causal in (False, True):
    ebb.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=is_causal).cpu()
for target in ("sm_80", "sm_90"):
    for what in ("cuDNN", "cuDNN compiled for"):
        print(library.stand_in_calls(f"{what} {target}".encode()))
print(library.stand_in_violations())
"""
    done = printed(script, STAND_IN_CUDNN_COMPILES="1")
    assert done.splitlines() == ["2"] * 4 + ["b''"]
