# tests/python/package/test_refused_helpers.py -- wrong arguments of helpers beside the ops.
#
# Found by tests/fuzz/hostile/calls.py: errors that named another call, and a wait without end.
"""What is refused at once, in the name of the function that was called."""

import pytest

import ebb
import ebb.multiprocessing
import ebb.testing
from ebb.utils.hooks import RemovableHandle


def refusal(call):
    """Return the text of the error that a call ends in."""
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("name", ["set_device_index", "set_device_idx"])
@pytest.mark.parametrize("wrong", [ebb.ones(2), [1], 1.5], ids=lambda one: type(one).__name__)
def test_a_device_is_an_index_a_name_or_a_device(name, wrong):
    text = refusal(lambda: getattr(ebb.accelerator, name)(wrong))
    assert text == (
        f"accelerator.{name}: device needs an index, a name or a device, got {type(wrong).__name__}"
    )


@pytest.mark.parametrize("kernel", ["flash", "math", "mem_efficient"])
def test_switches_of_kernels_are_bools(kernel):
    enable = getattr(ebb.backends.cuda, f"enable_{kernel}_sdp")
    assert refusal(lambda: enable(ebb.ones(2))) == (
        f"enable_{kernel}_sdp: enabled needs a bool, got Tensor"
    )


@pytest.mark.parametrize("count", [0, -1, 4097, 2**63])
def test_spawn_counts_its_processes_before_it_makes_one(count):
    text = refusal(lambda: ebb.multiprocessing.spawn(print, nprocs=count))
    assert text == f"spawn: nprocs needs 1 to 4096, got {count}"


def test_a_message_is_a_text_or_a_function():
    text = refusal(lambda: ebb.testing.assert_close(ebb.ones(2), ebb.zeros(2), msg=3))
    assert text == "assert_close: msg needs a text or a function, got int"


def test_a_handle_takes_its_number_out_of_all_dicts():
    hooks, first, second = {}, {}, {}
    handle = RemovableHandle(hooks, print, extra_dict=[first, second])
    assert list(hooks) == list(first) == list(second) == [handle.id]
    assert handle.remove() and not (hooks or first or second)
    with pytest.raises(TypeError):
        RemovableHandle(hooks, print, extra_dict=3)
    assert hooks == {}
