# tests/python/systems/test_exchanged_tensors.py -- threads that give a tensor other memory while
# others compute with it: an op sees sizes and memory that belong together.
import pytest

from tests.python.fresh import printed

# With sizes beyond which ops let other threads of Python run.
PROGRAM = """
    import sys, threading, time, ebb

    a, least, most = ebb.ones(1 << 18), 1 << 16, 1 << 19
    stop = time.monotonic() + float(sys.argv[1])
    texts = set()

    def repeat(call):
        number = 0
        while time.monotonic() < stop:
            number += 1
            try:
                call(least + number * 7919 % (most - least))
            except ebb.ShapeError as error:  # of two operands, of which one was exchanged
                texts.add(str(error).split()[0])

    def reshape(size):
        a.resize_(size // 128, 128)

    calls = [
        lambda size: a.resize_(size),
        lambda size: a.set_(ebb.ones(size)),
        lambda size: a.add_(1),
        lambda size: a.mul(2.0).sum(),
        lambda size: a + a,
        lambda size: a.view(-1)[: size // 2].exp(),
        lambda size: a.double(),
        reshape,
    ]
    threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts <= {"add:", "index:"}, texts
    a.resize_(4).fill_(1.0)
    assert a.tolist() == [1, 1, 1, 1]
"""


@pytest.mark.nosan  # ThreadSanitizer would tell of the elements, which threads write as they like
def test_an_op_sees_a_tensor_as_it_was_though_threads_exchange_its_memory():
    printed(PROGRAM, 1.0)


@pytest.mark.nosan
@pytest.mark.long
def test_an_op_sees_a_tensor_as_it_was_for_a_while():
    printed(PROGRAM, 20.0)
