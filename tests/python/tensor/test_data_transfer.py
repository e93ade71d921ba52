# tests/python/tensor/test_data_transfer.py -- shared memory is used again, and never too early.
import random
import socket

import numpy as np
import pytest

import ebb
from ebb.data.transfer import Receiver, Sender
from tests.python.held import mappings


class Channel:
    """A sender and a receiver in one process."""

    def __init__(self, kept):
        self.before = mappings("memfd:ebb_data")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sockets = ours, theirs
        self.sender, self.receiver = Sender(ours, kept), Receiver(theirs)

    def pass_on(self, obj):
        self.sender.release(self.receiver.released())
        self.sender.send(obj)
        return self.receiver.receive()

    def blocks_mapped(self) -> int:
        """How many of its blocks are mapped here; both ends count."""
        return len(mappings("memfd:ebb_data") - self.before)

    def close(self):
        for one in self.sockets:
            one.close()


@pytest.fixture
def channel():
    made = Channel(3)
    yield made
    made.close()


def large(value):
    return ebb.full((5000,), float(value))


def test_objects_arrive_as_they_were(channel):
    sent = {
        "large": large(1),
        "small": ebb.tensor([1, 2]),
        "half": ebb.ones(3000, dtype=ebb.bfloat16),
        "array": np.arange(6000).reshape(2, 3000).T,
        "empty": ebb.zeros(0, 3),
        "leaf": ebb.ones(4000, requires_grad=True),
        "text": ["a" * 10_000, b"b", None, 1.5],
    }
    got = channel.pass_on(sent)
    assert list(got) == list(sent) and got["text"] == sent["text"]
    for name in ("large", "small", "half", "empty"):
        assert got[name].dtype is sent[name].dtype and ebb.equal(got[name], sent[name])
    assert np.array_equal(got["array"], sent["array"]) and got["array"].flags.writeable
    assert got["leaf"].requires_grad and got["leaf"].is_leaf
    assert got["large"].data_ptr() % 64 == 0


def test_subclasses_and_attributes_are_kept(channel):
    parameter = ebb.nn.Parameter(ebb.ones(3000))
    assert type(channel.pass_on(parameter)) is ebb.nn.Parameter
    named = ebb.ones(3000)
    named.mark = "x"
    assert channel.pass_on([named])[0].mark == "x"


def test_memory_is_used_again_when_its_tensors_are_gone(channel):
    addresses = set()
    for number in range(20):
        got = channel.pass_on(large(number))
        assert got[17].item() == number
        addresses.add(got.data_ptr())
        del got
    assert len(addresses) == 1 and channel.blocks_mapped() == 2  # here and there


@pytest.mark.parametrize(
    "part",
    [
        lambda tensor: tensor,
        lambda tensor: tensor[10:20],
        lambda tensor: tensor.numpy(),
        lambda tensor: tensor.numpy()[::7],
        lambda tensor: memoryview(tensor),
        lambda tensor: ebb.from_numpy(tensor.numpy()[5:9]),
        lambda tensor: (tensor.requires_grad_() * tensor).grad_fn,
    ],
)
def test_memory_that_anything_uses_is_not_filled_again(channel, part):
    first = channel.pass_on(large(1))
    address = first.data_ptr()
    kept = part(first)
    del first
    for number in range(2, 9):
        assert channel.pass_on(large(number)).data_ptr() != address
    del kept
    assert address in {channel.pass_on(large(0)).data_ptr() for _ in range(2)}


def test_only_a_few_blocks_are_kept(channel):
    kept = [channel.pass_on(large(number)) for number in range(12)]
    assert channel.blocks_mapped() == 12 + 3  # three of them at the sender too
    assert [tensor[0].item() for tensor in kept] == list(range(12))
    del kept
    for number in range(5):
        assert channel.pass_on(large(number))[0].item() == number
    assert channel.blocks_mapped() == 3 + 3


def test_blocks_of_another_size_give_way(channel):
    for size in (1000, 10_000, 100_000, 1_000_000, 2000, 20_000):
        assert channel.pass_on(ebb.ones(size)).sum().item() == size
    assert channel.blocks_mapped() == 3 + 3


def test_without_kept_blocks_nothing_is_left():
    channel = Channel(0)
    got = [channel.pass_on(large(number)) for number in range(5)]
    assert channel.blocks_mapped() == 5
    assert channel.receiver.released() == []
    del got
    assert channel.blocks_mapped() == 0
    channel.close()


def test_any_order_of_keeping_and_dropping_gives_the_right_values(channel):
    rng = random.Random(0)
    alive: list[tuple[int, ebb.Tensor, np.ndarray]] = []
    for number in range(400):
        sizes = rng.choices([10, 300, 3000, 9000], k=2)
        batch = [ebb.full((sizes[0],), float(number)), np.full(sizes[1], number)]
        alive.append((number, *channel.pass_on(batch)))
        rng.shuffle(alive)
        del alive[rng.randrange(8) :]
        for value, tensor, array in alive:
            assert tensor[0].item() == tensor[-1].item() == value
            assert array[0] == array[-1] == value


def test_a_channel_that_ends_is_an_end_of_file(channel):
    channel.sockets[0].close()
    with pytest.raises(EOFError):
        channel.receiver.receive()


def test_what_cannot_be_pickled_is_refused_before_anything_is_sent(channel):
    with pytest.raises(Exception, match="pickle"):
        channel.sender.send([large(1), lambda: 0])
    assert channel.pass_on("next") == "next"


def test_sole_owners_are_told_from_others():
    tensor = ebb.ones(3)
    assert ebb._C._owns_storage_alone(tensor)
    view = tensor[1:]
    assert not ebb._C._owns_storage_alone(tensor)
    del view
    assert ebb._C._owns_storage_alone(tensor)
    for wrong in (None, 3, np.ones(2)):
        with pytest.raises(TypeError, match="needs a Tensor"):
            ebb._C._owns_storage_alone(wrong)
