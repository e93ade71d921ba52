# tests/python/opencl/test_optim.py -- steps of optimizers and clipping run where parameters are:
# with the fallback switched off (conftest.py), and with the CPU's results.
#
# Both compute operation for operation the same; TOLERANCE allows for the device's divisions and
# roots, which OpenCL does not ask to be rounded right.
import pytest

import ebb
from ebb import nn, optim

TOLERANCE = {"rtol": 2e-6, "atol": 1e-7}
OPTIMIZERS = {
    "sgd": (optim.SGD, {"lr": 0.1}),
    "momentum": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    "nesterov": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    "adam": (optim.Adam, {"lr": 0.01, "weight_decay": 0.1}),
    "amsgrad": (optim.Adam, {"lr": 0.01, "amsgrad": True, "maximize": True}),
    "adamw": (optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
    "rmsprop": (optim.RMSprop, {"lr": 0.01}),
    "rmsprop_all": (
        optim.RMSprop,
        {"lr": 0.01, "momentum": 0.9, "centered": True, "weight_decay": 0.1},
    ),
    "adagrad": (optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
}
SHAPES = [(), (0,), (1,), (300,), (7, 5)]


def stepped(cls, options, device, dtype=ebb.float32, steps=3, **how):
    """Parameters and state after some steps with gradients that do not depend on the device."""
    ebb.manual_seed(2)
    params = [ebb.randn(shape).to(dtype).to(device).requires_grad_() for shape in SHAPES]
    params[-1] = ebb.randn(5, 7).to(dtype).to(device).T.detach().requires_grad_()  # a strided view
    without = ebb.ones(2, dtype=dtype, device=device).requires_grad_()
    made = cls([*params, without], **options, **how)
    for _ in range(steps):
        for one in params:
            one.grad = ebb.randn(one.shape).to(dtype).to(device)
        made.step()
    state = made.state_dict()["state"]
    kept = {
        f"{index}.{name}": value
        for index, own in state.items()
        for name, value in own.items()
        if isinstance(value, ebb.Tensor) and name != "step"
    }
    return [one.detach() for one in params], kept


@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float64], ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_the_cpu(name, dtype, opencl):
    here, kept_here = stepped(*OPTIMIZERS[name], "cpu", dtype)
    there, kept_there = stepped(*OPTIMIZERS[name], opencl, dtype)
    for got, wanted in zip(there, here, strict=True):
        assert got.device == ebb.device(opencl)
        ebb.testing.assert_close(got.cpu(), wanted, **TOLERANCE)
    assert kept_there.keys() == kept_here.keys()
    for key, wanted in kept_here.items():
        assert kept_there[key].device == ebb.device(opencl)
        ebb.testing.assert_close(kept_there[key].cpu(), wanted, **TOLERANCE)


@pytest.mark.parametrize("has_masters", [False, True])
@pytest.mark.parametrize("name", ["momentum", "adamw"])
def test_half_types_step_in_float32(name, has_masters, opencl):
    how = {"dtype": ebb.bfloat16, "steps": 4, "master_weights": has_masters}
    here, kept_here = stepped(*OPTIMIZERS[name], "cpu", **how)
    there, kept_there = stepped(*OPTIMIZERS[name], opencl, **how)
    for got, wanted in zip(there, here, strict=True):
        ebb.testing.assert_close(got.cpu(), wanted, rtol=2**-8, atol=2**-8)  # one unit
    assert kept_there.keys() == kept_here.keys()
    assert all(one.device == ebb.device(opencl) for one in kept_there.values())


def test_optimizers_without_kernels_say_so(opencl):
    with pytest.raises(ebb.errors.NotImplementedError, match=f"Adadelta.*{opencl}"):
        stepped(optim.Adadelta, {}, opencl)
    ebb.set_kernel_fallback(True)
    there, _ = stepped(optim.Adadelta, {}, opencl)
    here, _ = stepped(optim.Adadelta, {}, "cpu")
    assert [one.tolist() for one in there] == [one.tolist() for one in here]


def test_a_step_is_a_write(opencl):
    x = ebb.ones(3).to(opencl).requires_grad_()
    loss = (x * x).sum()
    x.grad = ebb.ones(3).to(opencl)
    optim.SGD([x], lr=0.1).step()
    with pytest.raises(ebb.errors.Error, match="SGD"):
        loss.backward()


def gradients(device, dtype=ebb.float32, scale=1.0):
    ebb.manual_seed(3)
    params = [ebb.zeros(shape, dtype=dtype, device=device) for shape in SHAPES]
    for one in params:
        one.requires_grad_()
        one.grad = (ebb.randn(one.shape) * scale).to(dtype).to(device)
    return [*params, ebb.zeros(2, device=device).requires_grad_()]


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.float32, ebb.float64], ids=str)
@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("max_norm", [0.5, 1e9])
def test_clipping_is_that_of_the_cpu(max_norm, norm_type, dtype, opencl):
    here, there = gradients("cpu", dtype), gradients(opencl, dtype)
    wanted = nn.utils.clip_grad_norm_(here, max_norm, norm_type)
    got = nn.utils.clip_grad_norm_(there, max_norm, norm_type)
    tolerance = 2e-3 if dtype == ebb.float16 else 4e-6
    assert got.device == ebb.device(opencl)
    assert got.dtype == wanted.dtype
    ebb.testing.assert_close(got.cpu(), wanted, rtol=4e-6, atol=0)
    for one, other in zip(there[:-1], here[:-1], strict=True):
        ebb.testing.assert_close(one.grad.cpu(), other.grad, rtol=tolerance, atol=1e-7)


def test_gradients_that_are_not_finite_are_found_when_asked(opencl):
    params = gradients(opencl)
    params[3].grad[7] = float("nan")
    before = params[2].grad.tolist()
    with pytest.raises(ebb.errors.ValueError, match="parameter 3"):
        nn.utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert params[2].grad.tolist() == before
    assert nn.utils.clip_grad_norm_(params, 1.0).isnan().tolist() is True
