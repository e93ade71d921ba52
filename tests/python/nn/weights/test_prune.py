# tests/python/nn/weights/test_prune.py -- which elements masks take away, and that they stay away.
import numpy as np
import pytest

import ebb
from ebb import nn
from ebb.nn.utils import prune

VALUES = [[1.0, -5.0, 0.5], [4.0, -0.25, 2.0]]


def layer():
    made = nn.Linear(3, 2)
    with ebb.no_grad():
        made.weight.copy_(ebb.tensor(VALUES))
    return made


@pytest.mark.parametrize("amount, kept", [(0, 6), (2, 4), (0.5, 3), (1.0, 0), (6, 0)])
def test_the_smallest_magnitudes_go(amount, kept):
    pruned = prune.l1_unstructured(layer(), "weight", amount)
    threshold = np.sort(np.abs(VALUES), axis=None)[6 - kept :]
    wanted = np.where(np.isin(np.abs(VALUES), threshold), VALUES, 0)
    np.testing.assert_array_equal(pruned.weight.detach(), wanted)
    np.testing.assert_array_equal(pruned.weight_mask, wanted != 0)
    np.testing.assert_array_equal(pruned.weight_orig.detach(), VALUES)


def test_pruned_elements_stay_zero_in_training_and_get_no_gradient():
    pruned = prune.l1_unstructured(layer(), "weight", 3)
    optimizer = ebb.optim.SGD(pruned.parameters(), lr=0.5, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        pruned(ebb.ones(4, 3)).square().sum().backward()
        gone = pruned.weight_mask.numpy() == 0
        assert np.all(pruned.weight_orig.grad.numpy()[gone] == 0)
        optimizer.step()
    pruned(ebb.ones(1, 3))
    assert np.all(pruned.weight.detach().numpy()[gone] == 0)
    assert np.all(pruned.weight.detach().numpy()[~gone] != 0)


def test_pruning_again_looks_at_what_is_left():
    pruned = prune.l1_unstructured(layer(), "weight", 2)
    prune.l1_unstructured(pruned, "weight", 0.5)
    assert pruned.weight.detach().tolist() == [[0, -5.0, 0], [4.0, 0, 0]]
    prune.random_unstructured(pruned, "weight", 1)
    assert pruned.weight_mask.sum().item() == 1


def test_scores_decide_in_place_of_values():
    scores = ebb.tensor([[9.0, 1, 8], [2, 7, 6]])
    pruned = prune.l1_unstructured(layer(), "weight", 2, importance_scores=scores)
    assert pruned.weight_mask.tolist() == [[1, 0, 1], [0, 1, 1]]


@pytest.mark.parametrize("dim, wanted", [(0, [[0, 0, 0], [1, 1, 1]]), (1, [[1, 1, 0], [1, 1, 0]])])
@pytest.mark.parametrize("order", [1, float("inf")])
def test_whole_slices_go(order, dim, wanted):
    made = layer()
    with ebb.no_grad():
        made.weight[0, 1] = -3.0
    pruned = prune.ln_structured(made, "weight", 1, order, dim)
    assert pruned.weight_mask.tolist() == wanted
    prune.ln_structured(pruned, "weight", 1, order, dim)
    assert pruned.weight_mask.sum(1 - dim).count_nonzero().item() == (0 if dim == 0 else 1)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_random_slices_go(dim):
    ebb.manual_seed(3)
    pruned = prune.random_structured(layer(), "weight", 1, dim)
    sums = pruned.weight_mask.sum(1 - dim % 2)
    assert sorted((sums != 0).tolist()) == [False] + [True] * (len(sums) - 1)


def test_several_parameters_are_pruned_as_one():
    first, second = layer(), nn.Linear(2, 1)
    with ebb.no_grad():
        second.weight.copy_(ebb.tensor([[0.75, 10.0]]))
    pairs = [(first, "weight"), (second, "weight")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=3)
    assert first.weight_mask.tolist() == [[1, 1, 0], [1, 0, 1]]
    assert second.weight_mask.tolist() == [[0, 1]]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=1)
    assert first.weight_mask.tolist() == [[0, 1, 0], [1, 0, 1]]


def test_masks_save_load_and_go():
    pruned = prune.custom_from_mask(layer(), "weight", ebb.tensor([[1, 0, 1], [0, 1, 1]]))
    prune.identity(pruned, "bias")
    net = nn.Sequential(pruned)
    assert prune.is_pruned(net) and not prune.is_pruned(nn.Sequential(layer()))
    other = nn.Sequential(prune.identity(prune.identity(layer(), "weight"), "bias"))
    other.load_state_dict(net.state_dict())
    np.testing.assert_array_equal(other(ebb.ones(1, 3)).detach(), net(ebb.ones(1, 3)).detach())
    prune.remove(pruned, "weight")
    prune.remove(pruned, "bias")
    assert pruned.weight.detach().tolist() == [[1.0, 0, 0.5], [0, -0.25, 2.0]]
    assert sorted(pruned.state_dict()) == ["bias", "weight"] and not prune.is_pruned(net)


def test_methods_of_users_are_called_with_what_is_left():
    class EverySecond(prune.BasePruningMethod):
        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    made = layer()
    EverySecond.apply(made, "weight")
    assert made.weight_mask.tolist() == [[0, 1, 0], [1, 0, 1]]
    EverySecond.apply(made, "weight")
    assert made.weight_mask.tolist() == [[0, 0, 0], [1, 0, 0]]
    assert EverySecond().prune(ebb.tensor([1.0, 2.0, 3.0])).tolist() == [0, 2.0, 0]


MISTAKES = {
    "l1_unstructured: needs the name of a parameter of Linear, got 'w'": lambda: (
        prune.l1_unstructured(layer(), "w", 1)
    ),
    "l1_unstructured: amount needs to be from 0 to 6, got 7": lambda: prune.l1_unstructured(
        layer(), "weight", 7
    ),
    "l1_unstructured: amount needs a share from 0 to 1, got 1.5": lambda: prune.l1_unstructured(
        layer(), "weight", 1.5
    ),
    "l1_unstructured: amount needs a number, got str": lambda: prune.l1_unstructured(
        layer(), "weight", "all"
    ),
    "ln_structured: dim must be from -2 to 1, got 2": lambda: prune.ln_structured(
        layer(), "weight", 1, 2, 2
    ),
    "ln_structured: needs a tensor of at least 2 dims, got [2]": lambda: prune.ln_structured(
        layer(), "bias", 1, 2, 0
    ),
    "custom_from_mask: mask needs shape [2, 3], got [3]": lambda: prune.custom_from_mask(
        layer(), "weight", ebb.ones(3)
    ),
    "global_unstructured: needs at least one parameter, got none": lambda: (
        prune.global_unstructured([], prune.L1Unstructured, amount=1)
    ),
    "global_unstructured: needs an unstructured method, got structured": lambda: (
        prune.global_unstructured([(layer(), "weight")], prune.LnStructured, amount=1, n=2)
    ),
    "remove: needs what pruning computes, got 'weight', which is not": lambda: prune.remove(
        layer(), "weight"
    ),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_named_and_change_nothing(text):
    with pytest.raises(ebb.Error) as caught:
        MISTAKES[text]()
    assert str(caught.value) == text


def test_a_failed_method_leaves_the_module_as_it_was():
    made = layer()
    with pytest.raises(ebb.Error):
        prune.l1_unstructured(made, "weight", 7)
    assert sorted(made.state_dict()) == ["bias", "weight"] and not prune.is_pruned(made)


def test_what_apply_returns_masks_and_removes():
    made = layer()
    first = prune.L1Unstructured.apply(made, "weight", amount=2)
    assert type(first) is prune.L1Unstructured
    with ebb.no_grad():
        made.weight_orig.fill_(3.0)
    assert first.apply_mask(made).tolist() == [[3.0, 3, 0], [3, 0, 3]]
    both = prune.L1Unstructured.apply(made, "weight", amount=4)
    assert type(both) is prune.PruningContainer and len(both) == 2
    assert both.apply_mask(made).count_nonzero() == 0
    both.remove(made)
    assert not prune.is_pruned(made) and made.weight.tolist() == [[0.0] * 3] * 2
    assert {name for name, _ in made.named_parameters()} == {"weight", "bias"}


def test_methods_that_prune_nothing_say_so():
    made = layer()
    with pytest.raises(ValueError, match=r"apply_mask: needs a method that apply\(\) returned"):
        prune.Identity().apply_mask(made)
    with pytest.raises(ValueError, match=r"remove: needs a method that apply\(\) returned"):
        prune.Identity().remove(made)
    method = prune.Identity.apply(made, "weight")
    method.remove(made)
    with pytest.raises(ValueError, match="apply_mask: needs a module whose 'weight' is pruned"):
        method.apply_mask(made)
    with pytest.raises(ValueError, match="remove: needs what pruning computes, got 'weight'"):
        method.remove(made)


def test_tables_of_hooks_show_what_pruned_a_parameter():
    pruned = prune.l1_unstructured(layer(), "weight", 1)
    prune.random_unstructured(pruned, "bias", 1)
    methods = {hook._tensor_name: hook for hook in pruned._forward_pre_hooks.values()}
    assert type(methods["weight"]) is prune.L1Unstructured
    assert type(methods["bias"]) is prune.RandomUnstructured
    prune.ln_structured(pruned, "weight", 1, 2, 0)
    (container,) = (
        hook for hook in pruned._forward_pre_hooks.values() if hook._tensor_name == "weight"
    )
    assert isinstance(container, prune.BasePruningMethod)
    assert [type(one) for one in container] == [prune.L1Unstructured, prune.LnStructured]
