# satellites/torch/tests/test_futures.py -- torch.futures.
import doctest
import threading

import pytest

from ebb.torch_compat import futures
from ebb.torch_compat.futures import Future, collect_all, wait_all


def test_examples_run():
    failed, tried = doctest.testmod(futures)
    assert tried > 0 and failed == 0


def test_a_value_may_come_from_another_thread():
    later = Future()
    seen = []
    later.add_done_callback(lambda done: seen.append(done.value()))
    thread = threading.Thread(target=later.set_result, args=(3,))
    thread.start()
    assert later.wait() == 3 and later.done()
    thread.join()
    assert seen == [3]


def test_errors_pass_on():
    later = Future()
    following = later.then(lambda done: done.wait() + 1)
    later.set_exception(KeyError("gone"))
    for one in (later, following):
        with pytest.raises(KeyError, match="gone"):
            one.wait()


def test_all_are_waited_for_and_none_is_enough():
    several = [Future() for _ in range(3)]
    whole = collect_all(several)
    for number, one in enumerate(several):
        assert not whole.done()
        one.set_result(number)
    assert whole.wait() == several and wait_all(several) == [0, 1, 2]
    assert collect_all([]).wait() == []


def test_wrong_uses_are_errors_that_name_the_call():
    later = Future()
    with pytest.raises(RuntimeError, match=r"Future.value: needs a result, got none yet"):
        later.value()
    with pytest.raises(TypeError, match=r"Future.set_exception: needs an error, got int"):
        later.set_exception(3)
    later.set_result(1)
    with pytest.raises(RuntimeError, match=r"Future.set_result: needs a future without a result"):
        later.set_result(2)
