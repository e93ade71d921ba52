# satellites/torch/tests/test_library.py -- torch.library: ops of a program's own.

import numpy as np
import pytest

import ebb
from ebb.torch_compat import library


@pytest.fixture(autouse=True)
def no_ops(monkeypatch):
    monkeypatch.setattr(library, "_ops", {})


def sine():
    @library.custom_op("mine::sin", mutates_args=())
    def sin(x: ebb.Tensor) -> ebb.Tensor:
        return ebb.from_numpy(np.sin(x.numpy()))  # of tensors without history only

    return sin


def test_an_op_is_called_by_its_name_and_computes_its_gradient(torch):
    op = sine()

    @op.register_fake
    def shape(x):
        raise AssertionError("asked for a shape")

    op.register_autograd(
        lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = ebb.tensor([0.0, 1.0], requires_grad=True)
    torch.ops.mine.sin(x).sum().backward()
    assert ebb.allclose(x.grad, x.detach().cos())
    assert ebb.allclose(torch.ops.mine.sin.default(x.detach()), x.detach().sin())
    assert repr(op) == "<CustomOpDef(mine::sin)>" and dir(torch.ops.mine) == ["sin"]


def test_an_op_without_a_formula_says_so_when_it_is_asked():
    x = ebb.ones(1, requires_grad=True)
    out = sine()(x)
    assert out.requires_grad
    with pytest.raises(NotImplementedError, match="mine::sin: needs register_autograd for its"):
        out.backward()


def test_arguments_have_names_and_writes_are_seen():
    @library.custom_op("mine::add_", mutates_args={"x"})
    def add_(x: ebb.Tensor, n: float = 1.0) -> None:
        x.add_(n)

    y = ebb.zeros(2)
    assert add_(y) is None and add_(y, n=2.0) is None and y.tolist() == [3, 3]


def test_an_op_of_two_results_has_a_gradient_for_each_argument():
    two = library.custom_op("mine::two", lambda x, k: (x * k, x + k), mutates_args=())

    def keep(ctx, inputs, output):
        ctx.k = inputs[1]

    library.register_autograd("mine::two", lambda ctx, a, b: (a * ctx.k + b, None),
                              setup_context=keep)  # fmt: skip
    x = ebb.ones(2, requires_grad=True)
    scaled, moved = two(x, k=3)
    (scaled + 2 * moved).sum().backward()
    assert x.grad.tolist() == [5, 5]


def test_a_library_defines_and_implements(torch):
    lib = torch.library.Library("other", "DEF")
    lib.define("foo(Tensor x, int k=2) -> Tensor")

    @torch.library.impl(lib, "foo", "CPU")
    def foo(x, k=2):
        return x * k

    @torch.library.impl(lib, "foo", "CUDA")
    def of_another_device(x, k=2):
        raise AssertionError("called")

    assert torch.ops.other.foo(ebb.ones(1), 3).item() == 3 and foo(ebb.ones(1)).item() == 2
    torch.library.define("third::bar", "(Tensor x) -> Tensor")
    torch.library.impl("third::bar", ["cpu", "cuda"])(lambda x: x + 1)
    torch.library.register_kernel("third::bar", "cuda", of_another_device)
    assert torch.ops.third.bar(ebb.ones(1)).item() == 2


def test_what_was_not_defined_is_named(torch):
    sine()
    with pytest.raises(AttributeError, match=r"torch\.ops\.mine\.cos: no such op was defined"):
        torch.ops.mine.cos  # noqa: B018
    with pytest.raises(AttributeError, match=r"torch\.ops\.yours"):
        torch.ops.yours  # noqa: B018
    with pytest.raises(ValueError, match="needs an op that was defined, got 'mine::cos'"):
        torch.library.register_autograd("mine::cos", lambda ctx, grad: grad)
    with pytest.raises(ValueError, match="custom_op: needs a name such as mine::sin, got 'sin'"):
        torch.library.custom_op("sin", lambda x: x, mutates_args=())
    torch.library.define("mine::tan", "(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="mine::tan: needs a function, got a definition"):
        torch.ops.mine.tan(ebb.ones(1))
    with pytest.raises(ValueError, match="Library: needs DEF, IMPL or FRAGMENT, got 'def'"):
        torch.library.Library("x", "def")


def test_an_argument_without_a_place_has_no_gradient():
    op = library.custom_op("mine::scale", lambda x, *, by: x * by, mutates_args=())
    assert op(ebb.ones(1), by=2).item() == 2
    op.register_autograd(lambda ctx, grad: grad)
    with pytest.raises(NotImplementedError, match=r"mine::scale: .* got the names \['by'\] alone"):
        op(ebb.ones(1), by=2)
