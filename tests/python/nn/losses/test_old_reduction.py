# tests/python/nn/losses/test_old_reduction.py -- losses told by size_average and reduce, as before
# reduction.
import inspect
import warnings

import numpy as np
import pytest

import ebb
from ebb import nn
from ebb.nn import functional as F

# What PyTorch takes the two keywords for.
MEANT = [
    ({"size_average": True}, "mean"),
    ({"size_average": False}, "sum"),
    ({"reduce": True}, "mean"),
    ({"reduce": False}, "none"),
    ({"reduce": True, "size_average": False}, "sum"),
    ({"reduce": False, "size_average": True}, "none"),
    ({"reduce": None, "size_average": False}, "sum"),
]
OLD = ("size_average", "reduce")
FUNCTIONS = {
    name: getattr(F, name)
    for name in F.__all__
    if "reduce=None" in str(getattr(getattr(F, name), "__text_signature__", ""))
    or (
        inspect.isfunction(getattr(F, name))
        and "size_average" in inspect.signature(getattr(F, name)).parameters
    )
}
MODULES = {
    name: getattr(nn, name)
    for name in nn.__all__
    if inspect.isclass(getattr(nn, name))
    and "size_average" in inspect.signature(getattr(nn, name).__init__).parameters
}


def operands(name):
    """Tensors that a loss takes, by the name of its function."""
    scores = ebb.tensor([[0.2, -0.4, 0.9], [0.6, 0.1, -0.3]])
    if name in ("cross_entropy", "nll_loss", "multi_margin_loss"):
        return (scores, ebb.tensor([2, 0]))
    if name == "multilabel_margin_loss":
        return (scores, ebb.tensor([[2, -1, 0], [0, 1, -1]]))
    if name == "binary_cross_entropy":
        return (scores.sigmoid(), ebb.ones(2, 3))
    if name in ("cosine_embedding_loss", "margin_ranking_loss"):
        target = ebb.tensor([1.0, -1.0])
        return (scores, scores.flip(0), target if "cosine" in name else target[:, None])
    if name in ("triplet_margin_loss", "gaussian_nll_loss"):
        return (scores, scores.flip(0), scores.abs() + 1)
    return (scores, ebb.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]))


def function_of(module):
    """The name of the function behind a module."""
    source = inspect.getsource(module.forward)
    return source.split("F.")[1].split("(")[0]


def test_every_loss_of_pytorch_that_knows_the_keywords_is_here():
    assert {"cross_entropy", "mse_loss", "l1_loss", "kl_div", "nll_loss"} <= set(FUNCTIONS)
    assert len(FUNCTIONS) >= 17 and len(MODULES) >= 17


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize(("old", "reduction"), MEANT)
def test_a_function_reduces_as_the_old_keywords_say(name, old, reduction):
    wanted = FUNCTIONS[name](*operands(name), reduction=reduction)
    with pytest.warns(UserWarning, match=f"{name}.*reduction='{reduction}'"):
        found = FUNCTIONS[name](*operands(name), **old)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("name", sorted(set(MODULES)))
@pytest.mark.parametrize(("old", "reduction"), MEANT)
def test_a_module_reduces_as_the_old_keywords_say(name, old, reduction):
    with pytest.warns(UserWarning, match=f"{name}.*reduction='{reduction}'") as warned:
        loss = MODULES[name](**old)
    assert warned[0].filename == __file__
    assert loss.reduction == reduction


@pytest.mark.parametrize("name", ["L1Loss", "CrossEntropyLoss", "BCEWithLogitsLoss"])
def test_a_module_told_so_gives_what_its_function_gives(name):
    with pytest.warns(UserWarning):
        loss = MODULES[name](size_average=False)
    function = function_of(MODULES[name])
    wanted = FUNCTIONS[function](*operands(function), reduction="sum")
    np.testing.assert_array_equal(loss(*operands(function)).numpy(), wanted.numpy())


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("keyword", ["size_average", "reduce"])
def test_none_says_nothing_and_other_types_are_refused(name, keyword, recwarn):
    same = FUNCTIONS[name](*operands(name), **{keyword: None})
    np.testing.assert_array_equal(same.numpy(), FUNCTIONS[name](*operands(name)).numpy())
    assert not recwarn.list
    with pytest.raises(ebb.DTypeError, match=f"{name}.*{keyword}.*bool, got str"):
        FUNCTIONS[name](*operands(name), **{keyword: "sum"})


def test_a_module_refuses_other_types():
    with pytest.raises(ebb.DTypeError, match="MSELoss: argument 'size_average' must be bool"):
        nn.MSELoss(size_average=1.5)


def test_a_warning_made_an_error_is_raised():
    with pytest.warns(UserWarning):
        F.mse_loss(ebb.ones(2), ebb.zeros(2), size_average=False)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="mse_loss"):
            F.mse_loss(ebb.ones(2), ebb.zeros(2), size_average=False)


def test_functions_that_reduce_no_loss_do_not_know_the_keywords():
    with pytest.raises(ebb.DTypeError, match="unexpected keyword argument 'size_average'"):
        ebb.add(ebb.ones(2), ebb.ones(2), size_average=False)


def names_of(function):
    return list(inspect.signature(function).parameters)


def given_in_order(function, given):
    """The arguments of `given`, and the defaults of all that stand before the last of them."""
    parameters = inspect.signature(function).parameters
    last = max(names_of(function).index(name) for name in given)
    names = names_of(function)[: last + 1]
    return [given[name] if name in given else parameters[name].default for name in names]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize(("old", "reduction"), MEANT)
def test_a_function_takes_the_old_options_in_pytorchs_places(name, old, reduction):
    function = FUNCTIONS[name]
    wanted = function(*operands(name), reduction=reduction)
    given = dict(zip(names_of(function), operands(name), strict=False)) | old
    with pytest.warns(UserWarning, match=f"{name}.*reduction='{reduction}'"):
        found = function(*given_in_order(function, given))
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_takes_its_own_options_with_and_without_the_old_ones(name, recwarn):
    function, inputs = FUNCTIONS[name], operands(name)
    wanted = function(*inputs, reduction="sum")
    given = dict(zip(names_of(function), inputs, strict=False)) | {"reduction": "sum"}
    places = given_in_order(function, given)
    assert places[names_of(function).index("size_average")] is None
    short = [
        one
        for one, key in zip(places, names_of(function), strict=False)
        if key not in ("size_average", "reduce")
    ]
    for arguments in (places, short):
        np.testing.assert_array_equal(function(*arguments).numpy(), wanted.numpy())
    assert not recwarn.list


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_takes_its_options_in_both_orders(name, recwarn):
    places = given_in_order(MODULES[name], {"reduction": "sum"})
    names = names_of(MODULES[name])
    short = [one for one, key in zip(places, names, strict=False) if key not in OLD]
    assert MODULES[name](*places).reduction == MODULES[name](*short).reduction == "sum"
    assert not recwarn.list
    with pytest.warns(UserWarning, match=f"{name}.*reduction='none'"):
        loss = MODULES[name](*given_in_order(MODULES[name], {"reduce": False}))
    assert loss.reduction == "none"


def test_a_loss_that_pytorch_never_told_so_does_not_know_the_keywords():
    with pytest.raises(ebb.DTypeError, match="unexpected keyword argument 'size_average'"):
        F.huber_loss(ebb.ones(2), ebb.zeros(2), size_average=False)
