# tests/python/amp/test_autocast.py -- blocks of mixed precision: where they reach, and what they
# keep.
import copy
import functools
import threading

import pytest

import ebb
from ebb.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)
from tests.python.threads import on_threads

BF16, F16, F32 = ebb.bfloat16, ebb.float16, ebb.float32


def product_dtype(dtype=F32):
    return (ebb.ones(2, 2, dtype=dtype) @ ebb.ones(2, 2, dtype=dtype)).dtype


def test_a_block_ends():
    with ebb.autocast("cpu"):
        assert product_dtype() == BF16
    assert product_dtype() == F32


def test_a_block_ends_by_an_error_too():
    with pytest.raises(ebb.errors.ShapeError), ebb.autocast("cpu"):
        ebb.ones(2, 3) @ ebb.ones(2, 3)
    assert not ebb.is_autocast_enabled("cpu") and product_dtype() == F32


def test_an_error_inside_names_the_op_once():
    with pytest.raises(ebb.errors.ShapeError, match=r"^matmul: "), ebb.autocast("cpu"):
        ebb.ones(2, 3) @ ebb.ones(2, 3)


def test_blocks_nest():
    with ebb.autocast("cpu", dtype=F16):
        with ebb.autocast("cpu", enabled=False):
            assert product_dtype() == F32
            with ebb.autocast("cpu", dtype=BF16):
                assert product_dtype() == BF16
        assert product_dtype() == F16


def test_one_object_may_be_entered_again():
    block = ebb.autocast("cpu")
    with block, block:
        assert product_dtype() == BF16
    with block:
        assert product_dtype() == BF16
    assert product_dtype() == F32


def test_a_block_is_left_as_often_as_it_was_entered_on_its_thread():
    block, errors = ebb.autocast("cpu"), []

    def leave():
        with pytest.raises(ValueError, match="autocast: needs to be entered before it is left"):
            block.__exit__(None, None, None)
        errors.append(product_dtype())

    with block, copy.copy(block):
        on_threads(leave)
        assert product_dtype() == BF16
    leave()
    assert errors == [F32, F32]


def test_a_block_decorates_functions_and_generators():
    @ebb.autocast("cpu")
    def function():
        return product_dtype()

    @ebb.autocast("cpu")
    def steps():
        yield product_dtype()
        yield product_dtype()

    assert function() == BF16
    for dtype in steps():
        assert dtype == BF16 and product_dtype() == F32


def test_a_block_is_of_its_thread():
    seen = []
    with ebb.autocast("cpu"):
        on_threads(lambda: seen.append(product_dtype()))
    assert seen == [F32]


def test_a_call_outside_of_blocks_runs_the_ops_it_names():
    x = ebb.rand(4, 4, requires_grad=True)
    with ebb.profiler.profile() as prof:
        (x @ x).exp().sum()
    assert [one.name for one in prof.ranges] == ["matmul", "exp", "sum"]


def test_modes_of_ten_threads_leave_an_eleventh_alone():
    entered, done = threading.Barrier(11), threading.Event()

    def hold():
        with ebb.no_grad(), ebb.autocast("cpu"):
            entered.wait(120)
            done.wait(120)

    threads = [threading.Thread(target=hold) for _ in range(10)]
    for thread in threads:
        thread.start()
    entered.wait(120)
    try:
        assert ebb.is_grad_enabled() and not ebb.is_autocast_enabled("cpu")
        x = ebb.rand(2, 2, requires_grad=True)
        assert (x @ x).dtype is ebb.float32 and (x @ x).requires_grad
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_threads_may_share_a_block_and_a_decorated_function():
    block, seen = ebb.autocast("cpu"), []
    entered, left = threading.Barrier(2, timeout=120), threading.Barrier(2, timeout=120)
    decorated = block(lambda: (entered.wait(), left.wait(), product_dtype()))

    def use(dtype):
        with ebb.autocast("cpu", dtype=dtype):
            with block:
                entered.wait()  # both are inside, so that each could leave the other's
                left.wait()
                seen.append(product_dtype() == BF16)
            seen.append(product_dtype() == dtype)
            seen.append(decorated()[2] == BF16)
            seen.append(product_dtype() == dtype)

    on_threads(*(functools.partial(use, dtype) for dtype in (F16, BF16)))
    assert seen == [True] * 8


@pytest.mark.parametrize("dtype", [ebb.float64, ebb.complex64, ebb.int64])
def test_only_narrow_floating_numbers_are_cast(dtype):
    with ebb.autocast("cpu", level="O3"):
        assert product_dtype(dtype) == dtype


def test_gradients_arrive_in_the_dtype_of_each_leaf():
    weight = ebb.ones(3, 3, requires_grad=True)
    narrow = ebb.ones(3, 3, dtype=F16, requires_grad=True)
    with ebb.autocast("cpu"):
        loss = (ebb.ones(2, 3) @ weight @ narrow).sum()
    loss.backward()
    assert loss.dtype == F32
    assert weight.grad.dtype == F32 and narrow.grad.dtype == F16


def test_backward_computes_in_the_dtypes_of_forward_wherever_it_is_called():
    weight = ebb.rand(4, 4, requires_grad=True)

    def step():
        with ebb.autocast("cpu"):
            return ebb.exp(ebb.ones(2, 4) @ weight).sum()

    (outside,) = ebb.autograd.grad(step(), weight)
    loss = step()
    with ebb.autocast("cpu", dtype=F16):
        (inside,) = ebb.autograd.grad(loss, weight)
    assert inside.tolist() == outside.tolist()


def test_second_derivatives_compute_in_those_dtypes_too():
    x = ebb.rand(3, requires_grad=True)
    with ebb.autocast("cpu", level="O2"):
        y = (x * x * x).sum()
    (slope,) = ebb.autograd.grad(y, x, create_graph=True)
    (curvature,) = ebb.autograd.grad(slope.sum(), x)
    assert slope.dtype == F32 and curvature.dtype == F32
    assert ebb.allclose(curvature, 6 * x, rtol=0.05)


def test_forward_mode_goes_through_casts():
    with ebb.autograd.forward_ad.dual_level():
        x = ebb.autograd.forward_ad.make_dual(ebb.ones(2, 2), ebb.ones(2, 2))
        with ebb.autocast("cpu"):
            out = x @ ebb.ones(2, 2)
        tangent = ebb.autograd.forward_ad.unpack_dual(out).tangent
    assert out.dtype == BF16 and tangent.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def cast_names(loss):
    names, nodes = [], [loss.grad_fn]
    while nodes:
        node = nodes.pop()
        names.append(node.name())
        nodes += [one for one, _ in node.next_functions if one is not None]
    return names.count("AmpCastBackward")


def test_a_weight_is_cast_once_a_block():
    weight = ebb.ones(2, 2, requires_grad=True)
    x = ebb.ones(2, 2)
    with ebb.autocast("cpu"):
        first, second = x @ weight, x @ weight
    assert first.grad_fn.next_functions[1][0] is second.grad_fn.next_functions[1][0]
    with ebb.autocast("cpu"):
        third = x @ weight
    assert third.grad_fn.next_functions[1][0] is not first.grad_fn.next_functions[1][0]


def test_a_block_without_cache_casts_each_time():
    weight = ebb.ones(2, 2, requires_grad=True)
    with ebb.autocast("cpu", cache_enabled=False):
        assert not ebb.amp.is_autocast_cache_enabled()
        first, second = ebb.ones(2, 2) @ weight, ebb.ones(2, 2) @ weight
    assert first.grad_fn.next_functions[1][0] is not second.grad_fn.next_functions[1][0]


def test_a_weight_that_was_written_to_is_cast_again():
    weight = ebb.ones(2, 2, requires_grad=True)
    with ebb.autocast("cpu"):
        before = ebb.ones(1, 2) @ weight
        with ebb.no_grad():
            weight.mul_(3)
        after = ebb.ones(1, 2) @ weight
    assert before.tolist() == [[2.0, 2.0]] and after.tolist() == [[6.0, 6.0]]


@pytest.mark.parametrize(
    "change",
    [
        lambda weight, memory: setattr(weight, "data", ebb.full((2, 2), 3.0)),
        lambda weight, memory: setattr(weight, "data", memory[1]),  # of the same storage
        lambda weight, memory: setattr(weight, "data", memory[0].t()),
        lambda weight, memory: weight.requires_grad_(False).requires_grad_(True),
    ],
    ids=["new memory", "another part", "turned", "another accumulator"],
)
def test_a_weight_that_shows_other_memory_is_cast_again(change):
    memory = ebb.arange(8.0).reshape(2, 2, 2)
    weight = ebb.zeros(2, 2, requires_grad=True)
    weight.data = memory[0]
    x = ebb.tensor([[1.0, 2.0]])
    with ebb.autocast("cpu"):
        x @ weight
        change(weight, memory)
        out = x @ weight
    assert out.tolist() == (x @ weight).tolist()
    out.sum().backward()
    assert weight.grad.tolist() == [[1.0, 1.0], [2.0, 2.0]]


@pytest.mark.parametrize("policy", ["MUST_SAVE", "PREFER_RECOMPUTE", None])
def test_a_checkpoint_does_the_same_work_after_its_weight_was_cast(policy):
    weight = ebb.rand(4, 4, requires_grad=True)
    x = ebb.rand(2, 4, requires_grad=True)

    def body(t):
        return (((t @ weight).exp() @ weight).sin() @ weight).sum()

    keywords = {}
    if policy is not None:
        answer = getattr(CheckpointPolicy, policy)
        keywords["context_fn"] = functools.partial(
            create_selective_checkpoint_contexts, lambda *_, **__: answer
        )
    with ebb.autocast("cpu"):
        x @ weight
        out = checkpoint(body, x, **keywords)
    with ebb.autocast("cpu", cache_enabled=False):  # so gradients add up in float32 here as well
        outs = out, body(x)
    grads = [ebb.autograd.grad(out, [x, weight]) for out in outs]
    for one, other in zip(*grads, strict=True):
        assert one.tolist() == other.tolist()


def test_a_cast_made_without_recording_is_not_kept_for_recording():
    weight = ebb.ones(2, 2, requires_grad=True)
    with ebb.autocast("cpu"):
        with ebb.no_grad():
            ebb.ones(1, 2) @ weight
        with ebb.inference_mode():
            ebb.ones(1, 2) @ weight
        loss = (ebb.ones(1, 2) @ weight).sum()
    loss.backward()
    assert weight.grad is not None


def test_two_backward_passes_go_through_one_kept_cast():
    weight = ebb.ones(2, 2, requires_grad=True)
    with ebb.autocast("cpu"):
        first, second = (ebb.ones(1, 2) @ weight).sum(), (ebb.ones(1, 2) @ weight).sum()
    first.backward()
    second.backward()
    assert weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_checkpoint_computes_again_in_the_mode_of_its_first_call():
    weight = ebb.rand(4, 4, requires_grad=True)
    dtypes = []

    def body(x):
        out = x @ weight
        dtypes.append(out.dtype)
        return out @ weight  # computing again stops once all that was saved is there

    x = ebb.rand(2, 4, requires_grad=True)
    with ebb.autocast("cpu"):
        loss = checkpoint(body, x).sum()
    loss.backward()
    assert dtypes == [BF16, BF16] and weight.grad.dtype == F32


def test_custom_lists_move_ops_of_a_block():
    x = ebb.ones(2, 2)
    with ebb.autocast("cpu", custom_white_list={"exp"}, custom_black_list=["matmul"]):
        assert ebb.exp(x).dtype == BF16 and (x @ x).dtype == F32
    with ebb.autocast("cpu", custom_white_list=["add"]):
        assert (x + x).dtype == BF16 and (x * x).dtype == F32
    with ebb.autocast("cpu", custom_white_list=iter(["add"])):
        assert (x + x).dtype == BF16 and (x * x).dtype == F32


@pytest.mark.parametrize(
    ("keywords", "error", "text"),
    [
        ({"dtype": ebb.int64}, ebb.errors.DTypeError, "autocast: 'dtype' needs bfloat16"),
        ({"dtype": "half"}, ebb.errors.DTypeError, "autocast: 'dtype' needs a dtype, got str"),
        ({"level": "O4"}, ebb.errors.ValueError, "'level' needs O0, O1, O2 or O3, got 'O4'"),
        ({"custom_white_list": ["matmull"]}, ebb.errors.ValueError, "got 'matmull'"),
        ({"custom_black_list": "exp"}, ebb.errors.DTypeError, "needs names of ops, got 'exp'"),
        ({"custom_black_list": 5}, ebb.errors.DTypeError, "needs names of ops, got 5"),
        ({"custom_white_list": ["exp", 5]}, ebb.errors.DTypeError, "needs names of ops, got .'exp"),
        ({"enabled": 1}, ebb.errors.DTypeError, "autocast: 'enabled' needs a bool, got int"),
        (
            {"custom_white_list": ["exp"], "custom_black_list": ["exp"]},
            ebb.errors.ValueError,
            "needs an op on one list, got 'exp' on both",
        ),
    ],
)
def test_wrong_arguments_are_named(keywords, error, text):
    with pytest.raises(error, match=text), ebb.autocast("cpu", **keywords):
        pass
    assert not ebb.is_autocast_enabled("cpu")


def test_a_device_that_is_not_there_warns_and_casts_nothing():
    with pytest.warns(UserWarning, match="no device 'cuda' here"):
        block = ebb.autocast("cuda")
    with block:
        assert product_dtype() == F32
    for name in ("cuda", "cuda:1"):
        assert not ebb.is_autocast_enabled(name) and not ebb.amp.is_autocast_available(name)


def test_queries_tell_of_the_block():
    assert ebb.get_autocast_dtype("cpu") == BF16
    with ebb.autocast("cpu", dtype=F16):
        assert ebb.is_autocast_enabled("cpu") and ebb.get_autocast_dtype("cpu") == F16
    with ebb.autocast("cpu", level="O0"):
        assert not ebb.is_autocast_enabled("cpu")


seen_in_backward = []


class Watching(ebb.autograd.Function):
    @staticmethod
    @ebb.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @ebb.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        seen_in_backward.append(product_dtype())
        return grad * 2


def test_a_custom_function_goes_back_in_the_mode_of_forward():
    x = ebb.ones(1, requires_grad=True)
    with ebb.autocast("cpu", dtype=F16):
        out = Watching.apply(x)
    out.backward()
    Watching.apply(x).backward()
    assert seen_in_backward == [F16, F32]


def test_a_custom_function_may_ask_for_its_inputs_in_a_dtype():
    class Wide(ebb.autograd.Function):
        @staticmethod
        @ebb.amp.custom_fwd(device_type="cpu", cast_inputs=F32)
        def forward(ctx, x, pair, number=1):
            return x + pair[0] @ pair[0]

        @staticmethod
        @ebb.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad, None

    x = ebb.ones(2, 2, dtype=BF16, requires_grad=True)
    pair = (ebb.ones(2, 2, dtype=BF16),)
    with ebb.autocast("cpu"):
        out = Wide.apply(x, pair)
    assert out.dtype == F32 and Wide.apply(x, pair).dtype == BF16
    out.sum().backward()
    assert x.grad.dtype == BF16


def test_backward_without_custom_fwd_is_an_error_that_says_so():
    class Bare(ebb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        @ebb.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad

    x = ebb.ones(1, requires_grad=True)
    with pytest.raises(ebb.errors.AutogradError, match="custom_bwd: needs a forward"):
        Bare.apply(x).backward()


def test_a_profile_sums_the_casts_that_autocast_made():
    weight = ebb.ones(2, 2, requires_grad=True)
    with ebb.profiler.profile() as profile:
        with ebb.autocast("cpu"):
            out = ebb.ones(2, 2) @ weight
        out.float().sum().backward()
    casts = [one for one in profile.ranges if one.name == "amp_cast"]
    assert [one.bytes for one in casts] == [8, 8]
    assert all(one.place.line == casts[0].place.line for one in casts)
    (line,) = [one for one in profile.table().splitlines() if one.startswith("autocast casts")]
    assert line.startswith("autocast casts: 2, 16 bytes, ")
    assert line.endswith(" ms in backward")
    with ebb.profiler.profile() as plain:
        weight.to(ebb.bfloat16)
    assert "autocast casts" not in plain.table()


def test_a_graph_tells_casts_of_autocast_from_the_programs_own():
    weight = ebb.ones(2, 2, requires_grad=True)
    with ebb.autocast("cpu"):
        out = ebb.ones(2, 2) @ weight
    graph = ebb.graph(out.float().sum())
    (made,) = graph.find("amp_cast")
    (written,) = graph.find("cast")
    assert (made.name, written.name) == ("AmpCastBackward", "CastBackward")
    assert "AmpCastBackward" in graph.table() and "AmpCast" in graph.to_dot()


@pytest.mark.parametrize("dtype", [F32, ebb.float64, ebb.int64, F16])
def test_a_block_that_is_switched_off_takes_any_dtype(dtype):
    block = ebb.autocast("cpu", dtype=dtype, enabled=False)
    with ebb.autocast("cpu"), block:
        assert product_dtype() is F32
    assert block.fast_dtype is dtype


def test_float32_switches_off_what_is_around_it_and_says_so():
    with pytest.warns(UserWarning, match="autocast: float32 is what ops compute in") as told:
        block = ebb.autocast("cpu", dtype=F32)
    assert told[0].filename == __file__ and not block.enabled
    with ebb.autocast("cpu"), block:
        assert product_dtype() is F32
