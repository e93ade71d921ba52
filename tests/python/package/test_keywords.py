# tests/python/package/test_keywords.py -- every argument that a signature names is taken by its
# name: signatures of the package, of the stub, and PyTorch's (satellites/torch/compare).
import fnmatch
import functools
import inspect

import pytest

import ebb
from satellites.torch.compare.__main__ import REASONS
from satellites.torch.compare.compare import parse
from satellites.torch.compare.record import TABLE
from tests.fuzz.hostile.callables import all_callables

REFUSALS = ("unexpected keyword", "no keyword arguments", "invalid keyword", "positional-only")
# By place alone, and why.
BY_PLACE = {
    "array_api.*": "the Array API standard has them so",
    "Tensor.to_device(*": "the Array API standard has it so",
    "Size()*": "what tuple() takes",
}
# What no function takes: a call ends before it does anything.
NOTHING = type("Nothing", (), {})()


def is_compiled(function):
    return not isinstance(inspect.unwrap(function), type | type(is_compiled))


def takes(function, name, owner=None):
    """Whether the function knows an argument of this name; compiled ones are called."""
    if name in getattr(function, "_spellings", ()):
        return True
    if not is_compiled(function):
        found = inspect.signature(function).parameters.values()
        by_name = {one.name for one in found if one.kind is not one.POSITIONAL_ONLY}
        return name in by_name or any(one.kind is one.VAR_KEYWORD for one in found)
    if owner is not None and owner is not ebb.Tensor:
        return True  # no object to call it on
    call = function if owner is None else functools.partial(function, ebb.ones(2, 2))
    try:
        call(**{name: NOTHING})
    except Exception as error:
        text = str(error).partition("\n")[0]
        return not any(one in text for one in REFUSALS)
    return True


def own_arguments():
    for one in all_callables():
        if one.kind in ("function", "constructor", "method"):
            function = one.target if one.kind != "method" else getattr(one.target, one.name)
            owner = one.target if one.kind == "method" else None
            for each in one.parameters:
                if not (each.several or each.any_keyword or each.name.startswith("_")):
                    yield one.key, function, each.name, owner


def test_every_argument_of_the_package_is_taken_by_name():
    refused = [
        f"{key}({name}=)"
        for key, function, name, owner in own_arguments()
        if not takes(function, name, owner)
    ]
    allowed = [one for one in refused if any(fnmatch.fnmatch(one, each) for each in BY_PLACE)]
    assert refused == allowed


def pytorchs_arguments():
    """Yield a key as reasons.tsv has it, our function, a keyword of PyTorch's, and the class."""
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        namespace, name, *signatures = line.split("\t")
        space = functools.reduce(
            lambda at, part: getattr(at, part, None), namespace.split(".")[1:], ebb
        )
        function = getattr(space, name, None)
        if not callable(function):
            continue
        owner = space if isinstance(space, type) else None
        for signature in signatures:
            for place, each in enumerate([] if signature == "?" else parse(signature)):
                is_self = place == 0 and each.name == "self"
                if not (each.stars or each.name.startswith("_") or is_self):
                    yield f"{namespace}.{name}", function, each.name, owner


def test_every_keyword_of_pytorch_is_taken_or_has_a_reason():
    lines = REASONS.read_text(encoding="utf-8").splitlines()
    patterns = [line.partition("\t")[0] for line in lines if not line.startswith("#")]
    refused = {
        f"{key}: no `{name}`"
        for key, function, name, owner in pytorchs_arguments()
        if not takes(function, name, owner)
    }
    explained = {one for one in refused if any(fnmatch.fnmatch(one, each) for each in patterns)}
    assert refused == explained


def test_sizes_are_given_one_by_one_or_as_size():
    x = ebb.ones(1, dtype=ebb.float64)
    for name in ("new_empty", "new_zeros", "new_ones"):
        made = getattr(x, name)
        assert made(2, 3).shape == made((2, 3)).shape == made(size=(2, 3)).shape == (2, 3)
        with pytest.raises(ebb.errors.DTypeError, match=f"^{name}.*'size' by place and by name"):
            made(2, size=(2, 3))
    assert ebb.arange(4).resize_(size=(2, 2)).tolist() == [[0, 1], [2, 3]]


def test_what_takes_one_argument_takes_it_by_name():
    x = ebb.ones(2, requires_grad=True)
    x.register_hook(hook=lambda grad: grad * 2)
    x.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert x.type_as(other=ebb.zeros(1, dtype=ebb.float64)).dtype is ebb.float64
    assert ebb.manual_seed(seed=3).initial_seed() == 3
    for call in (lambda: x.type_as(), lambda: x.type_as(x, x), lambda: x.type_as(x, other=x)):
        with pytest.raises(
            ebb.errors.DTypeError, match=r"^type_as\(\): needs one argument, 'other'"
        ):
            call()
    with pytest.raises(ebb.errors.DTypeError, match=r"manual_seed.* unexpected keyword .*'sed'"):
        ebb.manual_seed(sed=3)


def test_modules_of_a_memo_are_passed_over():
    inner = ebb.nn.Linear(1, 1)
    model, memo = ebb.nn.Sequential(inner, ebb.nn.ReLU()), {inner}
    assert [name for name, _ in model.named_modules(memo, "net")] == ["net", "net.1"]
    assert memo == {model, inner, model[1]}


def test_arguments_go_by_pytorchs_names_where_they_differ_between_kin():
    nn, x = ebb.nn, ebb.ones(2)
    by_name = nn.PoissonNLLLoss()(log_input=x, target=x)
    assert ebb.equal(by_name, nn.PoissonNLLLoss()(x, x))
    assert len(nn.Sequential().extend(sequential=[nn.ReLU()])) == 1
    assert len(nn.ModuleList().extend(modules=[nn.ReLU()])) == 1
    wishart = ebb.distributions.Wishart(3.0, covariance_matrix=ebb.eye(2))
    assert wishart.rsample(max_try_correction=5).shape == (2, 2)


def test_gamma_draws_from_the_generator_given():
    gamma = ebb.distributions.Gamma(ebb.ones(3), ebb.ones(3))
    first = gamma.sample((2,), generator=ebb.Generator().manual_seed(5))
    again = gamma.rsample((2,), generator=ebb.Generator().manual_seed(5))
    assert ebb.equal(first, again) and first.shape == (2, 3)


def test_a_sparse_constructor_takes_its_own_layout_alone():
    parts = ([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    made = ebb.sparse_coo_tensor(*parts, layout=ebb.sparse_coo)
    assert made.layout == ebb.sparse_coo
    with pytest.raises(ValueError, match=r"^sparse_coo_tensor: layout must be ebb\.sparse_coo"):
        ebb.sparse_coo_tensor(*parts, layout=ebb.strided)
