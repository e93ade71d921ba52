# tests/python/tensor/test_sharing.py -- memory that several processes share.
import multiprocessing

import pytest

import ebb
from ebb import nn
from tests.python.fresh import finished
from tests.python.held import mappings, open_files

METHODS = ["fork", "spawn"]


def run(method, target, *args):
    """Run a function in a process of its own, with a queue in front of its arguments."""
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=target, args=(queue, *args))
    process.start()
    return process, queue


def ended(process):
    process.join(120)
    assert process.exitcode == 0


def train_child(queue, model, view):
    optimizer = ebb.optim.SGD(model.parameters(), lr=1.0)
    optimizer.zero_grad()
    model(ebb.ones(1, 2)).sum().backward()
    optimizer.step()
    view += 1


@pytest.mark.parametrize("method", METHODS)
def test_processes_see_what_others_write(method):
    model = nn.Linear(2, 1)
    before = [p.tolist() for p in model.parameters()]
    assert not model.weight.is_shared() and model.share_memory() is model
    assert model.weight.is_shared() and isinstance(model.weight, nn.Parameter)
    assert [p.tolist() for p in model.parameters()] == before
    whole = ebb.zeros(4).share_memory_()
    process, _ = run(method, train_child, model, whole[1:3])
    ended(process)
    assert whole.tolist() == [0.0, 1.0, 1.0, 0.0]
    assert model.bias.item() == pytest.approx(before[1][0] - 1)
    assert model.weight.grad is None


def echo_child(queue):
    tensor = queue.get(timeout=120)
    assert tensor.is_shared()
    tensor.fill_(7)
    queue.put(tensor.dtype.name)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64", "float16", "bfloat16"])
def test_a_queue_sends_the_memory_and_not_the_values(method, dtype):
    tensor = ebb.ones(2, 3, dtype=getattr(ebb, dtype)).share_memory_()
    process, queue = run(method, echo_child)
    queue.put(tensor.t()[1:])
    ended(process)
    assert queue.get(timeout=120) == dtype
    assert tensor.tolist() == ebb.tensor([[1, 7, 7]] * 2).to(tensor.dtype).tolist()


def test_memory_and_descriptor_go_with_the_last_tensor():
    before = open_files("memfd:ebb_shared"), mappings("memfd:ebb_shared")
    tensor = ebb.ones(1000).share_memory_()
    mine = open_files("memfd:ebb_shared") - before[0], mappings("memfd:ebb_shared") - before[1]
    assert [len(one) for one in mine] == [1, 1]
    part = tensor[3:]
    del tensor
    assert part.is_shared() and part.sum().item() == 997
    assert mine[0] <= open_files() and mine[1] <= mappings("memfd")
    del part
    assert not mine[0] & open_files() and not mine[1] & mappings("memfd")


def test_sharing_twice_changes_nothing():
    tensor = ebb.ones(2).share_memory_()
    place = tensor.data_ptr()
    assert tensor.share_memory_() is tensor and tensor.data_ptr() == place
    assert tensor[1:].is_shared() and not tensor.clone().is_shared()
    assert ebb.zeros(0).share_memory_().is_shared()


def test_what_cannot_be_shared_is_refused():
    whole = ebb.ones(4)
    with pytest.raises(ebb.errors.ValueError, match="needs memory that nothing else uses"):
        whole[1:].share_memory_()
    with pytest.raises(NotImplementedError, match=r"share_memory_: .* got strided on meta"):
        ebb.ones(2, device="meta").share_memory_()
    with pytest.raises(NotImplementedError, match=r"share_memory_: .* got sparse_coo on cpu"):
        ebb.ones(2).to_sparse().share_memory_()


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "bool", "complex128"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (2, 3)])
def test_every_shape_and_dtype_keeps_its_values(dtype, shape):
    tensor = ebb.randn(shape).to(getattr(ebb, dtype))
    before = tensor.tolist()
    tensor.share_memory_()
    assert tensor.is_shared() and tensor.shape == shape and tensor.dtype.name == dtype
    assert tensor.tolist() == before


LIMITED = """
    import resource, sys, ebb
    from tests.python.held import open_files
    tensor = ebb.ones(4_000_000)
    ebb.ones(1).share_memory_()  # what is imported once is open now
    before = open_files()
    limit, most = getattr(resource, sys.argv[1]), int(sys.argv[2])
    if limit == resource.RLIMIT_AS:  # beyond what there is: errors need memory too
        most += int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    whole = resource.getrlimit(limit)
    resource.setrlimit(limit, (most, whole[1]))
    try:
        tensor.share_memory_()
    except OSError as error:
        print(error)
    resource.setrlimit(limit, whole)
    assert open_files() <= before and not tensor.is_shared() and tensor.sum().item() == 4e6
    assert tensor.share_memory_().is_shared()
"""


@pytest.mark.nosan  # the sanitizers' own memory is beyond any limit
@pytest.mark.parametrize(
    ("limit", "most", "text"),
    [
        ("RLIMIT_NOFILE", 0, "share_memory_: needs a free file descriptor, got none: Too many"),
        ("RLIMIT_FSIZE", 100, "share_memory_: needs a file of 16000000 bytes, got none: File too"),
        ("RLIMIT_AS", 8 << 20, "share_memory_: needs a file that can be mapped, got a desc"),
    ],
)
def test_what_the_system_refuses_is_an_error_and_changes_nothing(limit, most, text):
    done = finished(LIMITED, limit, most)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(text)
