# tests/python/amp/test_state.py -- asking what autocast does and setting it, as PyTorch names it.
import warnings

import pytest

import ebb
from tests.python.threads import on_threads

SQUARE = ebb.ones(2, 2)


@pytest.fixture(autouse=True)
def restored():
    """Leave this thread as it was: what is set in a block ends with it."""
    with ebb.autocast("cpu", enabled=False), ebb.autocast("cuda", enabled=False):
        yield


def product():
    return (SQUARE @ SQUARE).dtype


def test_casts_can_be_switched_on_without_a_block():
    assert product() is ebb.float32
    ebb.set_autocast_enabled("cpu", True)
    assert ebb.is_autocast_enabled("cpu") and ebb.is_autocast_cpu_enabled()
    assert product() is ebb.bfloat16
    ebb.set_autocast_dtype("cpu", ebb.float16)
    assert ebb.get_autocast_dtype("cpu") is ebb.get_autocast_cpu_dtype() is ebb.float16
    assert product() is ebb.float16
    ebb.set_autocast_cpu_dtype(ebb.bfloat16)
    ebb.set_autocast_cpu_enabled(False)
    assert product() is ebb.float32


def test_what_is_set_ends_with_its_block():
    with ebb.autocast("cpu", level="O2", custom_black_list=["matmul"]):
        ebb.set_autocast_enabled("cpu", False)
        ebb.set_autocast_enabled("cpu", True)  # the lists and the level are those of the block
        assert product() is ebb.float32
        assert (SQUARE + SQUARE).dtype is ebb.bfloat16
        ebb.set_autocast_dtype("cpu", ebb.float16)
    assert ebb.get_autocast_dtype("cpu") is ebb.bfloat16 and product() is ebb.float32


def test_it_is_of_its_thread():
    ebb.set_autocast_enabled("cpu", True)
    seen = []
    on_threads(lambda: seen.append(product()))
    assert seen == [ebb.float32]


def test_casts_are_kept_until_they_are_dropped():
    weight = ebb.ones(2, 2, requires_grad=True)

    def cast():
        return (SQUARE @ weight).grad_fn.next_functions[1][0]

    ebb.set_autocast_enabled("cpu", True)
    first = cast()
    assert cast() is first
    ebb.clear_autocast_cache()
    second = cast()
    assert second is not first
    ebb.set_autocast_cache_enabled(False)
    assert not ebb.is_autocast_cache_enabled() and cast() is not second
    ebb.set_autocast_cache_enabled(True)
    assert ebb.is_autocast_cache_enabled()


def test_a_block_drops_its_casts_whatever_is_set_around_it():
    weight, last = ebb.ones(2, 2, requires_grad=True), []

    def in_a_new_thread():  # which no block is around
        ebb.set_autocast_cache_enabled(True)
        for _ in range(2):
            with ebb.autocast("cpu"):
                ebb.set_autocast_dtype("cpu", ebb.float16)
                last.append(SQUARE @ weight)

    on_threads(in_a_new_thread)
    first, second = [one.grad_fn.next_functions[1][0] for one in last]
    assert first is not second


def test_blocks_are_counted():
    before = ebb.autocast_increment_nesting()
    with ebb.autocast("cpu"):
        assert ebb.autocast_increment_nesting() == before + 2
        assert ebb.autocast_decrement_nesting() == before + 1
    assert ebb.autocast_decrement_nesting() == before - 1


def test_cuda_has_a_dtype_of_its_own():
    assert ebb.get_autocast_gpu_dtype() is ebb.float16
    ebb.set_autocast_gpu_dtype(ebb.bfloat16)
    assert ebb.get_autocast_dtype("cuda") is ebb.bfloat16
    assert not ebb.is_autocast_available("cuda") and not ebb.is_autocast_enabled("cuda")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ebb.set_autocast_dtype("cpu", ebb.float32), "set_autocast_dtype: needs bfloat16"),
        (lambda: ebb.set_autocast_dtype("cpu", "half"), "set_autocast_dtype: needs bfloat16"),
        (lambda: ebb.set_autocast_enabled("cpu", 1), "set_autocast_enabled: needs a bool, got int"),
        (lambda: ebb.set_autocast_cpu_enabled(None), "needs a bool, got NoneType"),
        (lambda: ebb.set_autocast_cache_enabled(0), "set_autocast_cache_enabled: needs a bool"),
    ],
)
def test_what_is_no_half_type_or_no_bool_is_refused(call, error):
    with pytest.raises(TypeError, match=error):
        call()


def test_blocks_for_cuda_warn_where_they_are_written_and_are_off():
    for make in (ebb.cuda.amp.autocast, lambda: ebb.autocast("cuda")):
        with pytest.warns(UserWarning, match="autocast: no device 'cuda' here") as seen, make():
            assert product() is ebb.float32
        assert seen[0].filename == __file__
    with pytest.warns(UserWarning, match="GradScaler: no device 'cuda' here") as seen:
        assert not ebb.cuda.amp.GradScaler().is_enabled()
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ebb.cuda.amp.autocast(enabled=False)
        ebb.cuda.amp.GradScaler(enabled=False)


def test_the_cpu_has_the_same_names():
    with ebb.cpu.amp.autocast(dtype=ebb.float16, level="O2"):
        assert product() is ebb.float16
    scaler = ebb.cpu.amp.GradScaler(init_scale=4.0)
    assert scaler.is_enabled() and scaler.get_scale() == 4.0
    assert isinstance(scaler, ebb.amp.GradScaler)
    assert ebb.cpu.is_available() and ebb.cpu.device_count() == 1
    assert not ebb.cuda.is_available() and ebb.cuda.device_count() == 0


def test_custom_functions_may_be_for_cuda():
    class Twice(ebb.autograd.Function):
        @staticmethod
        @ebb.cuda.amp.custom_fwd(cast_inputs=ebb.float32)
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @ebb.cuda.amp.custom_bwd
        def backward(ctx, grad):
            return grad * 2

    x = ebb.ones(1, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no block was asked for, so none is missing
        Twice.apply(x).backward()
    assert x.grad.tolist() == [2.0]
