# tests/python/saved/test_saved_values.py -- looking at what nodes saved: attributes, handles,
# bytes.
import pytest

import ebb
from ebb.autograd import graph
from tests.python.held import live, live_without_garbage
from tests.python.leaves import leaf


def test_saved_values_are_attributes_of_nodes():
    x, w = leaf(2.0), leaf(3.0)
    inner = x * 1.0
    node = (inner * w).grad_fn
    assert node.saved_self is inner and node._saved_self is inner and node.saved_input is inner
    assert node.saved_other is w and node._saved_other is w
    with pytest.raises(AttributeError, match="saved_nonsense"):
        _ = node.saved_nonsense
    assert {"saved_input", "_saved_other", "_raw_saved_other"} <= set(dir(node))


def test_a_saved_result_shares_memory_and_version():
    x = leaf(2.0)
    y = x.exp()
    saved = y.grad_fn._saved_result
    assert saved is not y and saved.data_ptr() == y.data_ptr() and saved._version == y._version
    assert saved.grad_fn is y.grad_fn


def test_what_was_not_saved_is_none():
    x, number = leaf(2.0), ebb.tensor([3.0])
    node = (x * number).grad_fn
    assert node.saved_input is None and node.saved_other is number


def test_saved_attributes_have_natural_types():
    x = ebb.ones([2, 3], requires_grad=True)
    assert x.transpose(0, 1).grad_fn.saved_dim0 == 0
    assert (x * 2.5).grad_fn.saved_other == 2.5
    assert (x * 2).grad_fn.saved_other == 2 and type((x * 2).grad_fn.saved_other) is int
    mean = x.mean(dim=[0, 1], keepdim=True).grad_fn
    assert mean.saved_dim == (0, 1) and mean.saved_keepdim is True


def test_saved_values_cannot_be_read_once_freed_but_attributes_can():
    x = ebb.ones([2, 3], requires_grad=True)
    y = x.exp()
    z = (y * 2.0).sum()
    node, power = z.grad_fn.next_functions[0][0], y.grad_fn
    z.backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        _ = power.saved_out
    assert node.saved_other == 2.0


def test_a_saved_value_that_was_written_to_cannot_be_read():
    x, factor = leaf(2.0), ebb.tensor([3.0])
    node = (x * factor).grad_fn
    factor.zero_()
    with pytest.raises(RuntimeError, match="modified in place by fill_"):
        _ = node.saved_other


def test_raw_handles_take_hooks_once():
    x, factor, unpacked = leaf(2.0), ebb.tensor([3.0]), []

    def unpack(value):
        unpacked.append(value)
        return value

    y = x * factor
    raw = y.grad_fn._raw_saved_other
    assert isinstance(raw, graph.SavedTensor) and raw.data.tolist() == [3.0]
    raw.register_hooks(lambda value: value.clone(), unpack)
    with pytest.raises(RuntimeError, match="already been set"):
        raw.register_hooks(unpack, unpack)
    with pytest.raises(RuntimeError, match="must hold a tensor, got None"):
        y.grad_fn._raw_saved_input.register_hooks(unpack, unpack)
    with pytest.raises(TypeError, match="needs two functions"):
        raw.register_hooks(1)
    factor.zero_()
    y.backward()
    assert x.grad.tolist() == [3.0] and len(unpacked) == 1
    with pytest.raises(RuntimeError, match="already been freed"):
        raw.register_hooks(unpack, unpack)
    with pytest.raises(RuntimeError, match="already been freed"):
        _ = raw.data


def test_recovered_values_equal_the_forward_values_after_names_are_bound_anew():
    x = leaf(2.0)
    a = x * 3.0
    node = (a * a).grad_fn
    a = ebb.zeros(1)
    assert node.saved_input.tolist() == [6.0]
    (gradient,) = ebb.autograd.grad(node.saved_input, x)
    assert gradient.tolist() == [3.0]


def test_nodes_tell_what_they_keep():
    x, factor = ebb.ones(10, requires_grad=True), ebb.ones(10)
    factor.add_(1.0)
    y = x * factor
    (saved,) = y.grad_fn.list_saved()
    assert saved["name"] == "other" and saved["shape"] == (10,) and saved["dtype"] is ebb.float32
    assert saved["bytes"] == 40 and saved["version"] == 1 and not saved["packed"]
    assert y.grad_fn.saved_bytes == 40
    before = live_without_garbage()
    del factor, y
    assert before - live() > 40  # the list holds nothing
    assert (x + x).grad_fn.list_saved() == []


def test_the_bytes_of_a_graph_count_shared_memory_once():
    x = ebb.ones(100, requires_grad=True)
    y = x.exp()
    z = (y * y * y.view(10, 10).reshape(100)).sum()
    assert graph.saved_bytes(z) == 2 * 400  # y and y * y; the view of y is the same memory
    assert graph.saved_bytes([z, y, z.grad_fn]) == graph.saved_bytes(z)
    z.backward()
    assert graph.saved_bytes(z) == 0
    with pytest.raises(TypeError, match="needs tensors or nodes, got int"):
        graph.saved_bytes([1])


def test_the_bytes_of_packed_values_are_those_kept_instead():
    x = ebb.ones(100, requires_grad=True)
    with graph.saved_tensors_hooks(lambda value: value.half(), lambda value: value.float()):
        y = x.exp()
    assert graph.saved_bytes(y) == 200 and y.grad_fn.list_saved()[0]["packed"]
    with graph.saved_tensors_hooks(lambda value: value.tolist(), ebb.tensor):
        assert graph.saved_bytes(x.exp()) == 0
    with graph.save_on_cpu():
        assert graph.saved_bytes(x.exp()) == 400


def test_a_write_that_ebb_cannot_see_may_be_announced():
    x, factor, other = leaf(2.0), ebb.tensor([3.0]), ebb.tensor([1.0])
    y = x * factor
    factor.numpy()[0] = 5.0
    graph.increment_version([factor, other])
    assert factor._version == 1 and other._version == 1
    with pytest.raises(RuntimeError, match=r"modified in place by increment_version at .*\.py:\d+"):
        y.backward()
    with pytest.raises(TypeError, match="increment_version: needs Tensors, got int"):
        graph.increment_version([3])


def test_views_and_detached_tensors_share_the_version_also_under_no_grad():
    y = leaf(1.0, 2.0) * 2
    same = [y, y.detach(), y[:1], y.view(2, 1), y.data]
    with ebb.no_grad():
        y.add_(1)
    same[1].mul_(2)
    assert [one._version for one in same] == [2] * 5
    assert y.clone()._version == 0
