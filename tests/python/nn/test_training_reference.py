# tests/python/nn/test_training_reference.py -- whole training steps against plain NumPy.
"""Networks of linear layers and ReLU, written out by hand in float64: losses must agree."""

import itertools

import numpy as np
import pytest

import ebb
import ebb.nn.functional as F
from ebb import nn, optim


class Mlp(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in itertools.pairwise(sizes)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


def loss_and_gradients(weights, x, y):
    """Return the cross-entropy and the gradient of each weight and bias, in order."""
    inputs = [x]
    for weight, bias in zip(weights[::2], weights[1::2], strict=True):
        inputs.append(np.maximum(inputs[-1] @ weight.T + bias, 0))
    scores = inputs[-2] @ weights[-2].T + weights[-1]
    shifted = scores - scores.max(1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    rows = np.arange(len(y))
    grad = np.exp(log_p)
    grad[rows, y] -= 1
    grad /= len(y)
    gradients = []
    for position in range(len(weights) // 2 - 1, -1, -1):
        below = inputs[position]
        gradients = [grad.T @ below, grad.sum(0), *gradients]
        grad = (grad @ weights[2 * position]) * (below > 0)
    return -log_p[rows, y].mean(), gradients


def sgd_steps(weights, x, y, steps):
    weights, losses = [w.copy() for w in weights], []
    buffers = [0.0] * len(weights)
    for _ in range(steps):
        loss, gradients = loss_and_gradients(weights, x, y)
        losses.append(loss)
        buffers = [0.9 * b + g for b, g in zip(buffers, gradients, strict=True)]
        weights = [w - 0.01 * b for w, b in zip(weights, buffers, strict=True)]
    return losses


def adamw_steps(weights, x, y, steps):
    weights, losses = [w.copy() for w in weights], []
    m, v = [0.0] * len(weights), [0.0] * len(weights)
    for t in range(1, steps + 1):
        loss, gradients = loss_and_gradients(weights, x, y)
        losses.append(loss)
        for i, g in enumerate(gradients):
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g * g
            step = m[i] / (1 - 0.9**t) / (np.sqrt(v[i] / (1 - 0.999**t)) + 1e-8)
            weights[i] = weights[i] * (1 - 1e-3 * 1e-2) - 1e-3 * step
    return losses


OPTIMIZERS = {
    "sgd": (sgd_steps, lambda p: optim.SGD(p, lr=0.01, momentum=0.9)),
    "adamw": (adamw_steps, lambda p: optim.AdamW(p, lr=1e-3)),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(
    "sizes, batch", [([64, 128, 10], 32), ([784, 512, 512, 10], 128), ([32] * 50 + [10], 16)]
)
def test_losses_agree_with_numpy(sizes, batch, optimizer):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, sizes[0])).astype(np.float32)
    y = rng.integers(0, 10, batch)
    model = Mlp(sizes)
    weights = []
    with ebb.no_grad():
        for p in model.parameters():
            scale = 1 / np.sqrt(p.shape[1]) if p.ndim > 1 else 0.1
            weights.append((rng.standard_normal(tuple(p.shape)) * scale).astype(np.float32))
            p.copy_(ebb.from_numpy(weights[-1]))
    reference, make = OPTIMIZERS[optimizer]
    expected = reference([w.astype(np.float64) for w in weights], x.astype(np.float64), y, 5)
    stepper, losses = make(model.parameters()), []
    for _ in range(5):
        stepper.zero_grad()
        loss = F.cross_entropy(model(ebb.from_numpy(x)), ebb.from_numpy(y))
        loss.backward()
        stepper.step()
        losses.append(loss.item())
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-4)
