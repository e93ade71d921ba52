# tests/tools/typed_program.py -- a program as users write it, for `mypy --strict`.
"""Read by tools/check/stub.py, never run: a type checker must know all that it names."""

from collections.abc import Sequence

import ebb
import ebb.nn.functional as F
from ebb import nn


class Classifier(nn.Module):
    """A net with a part of each kind."""

    def __init__(self, widths: Sequence[int], dtype: ebb.dtype = ebb.float32) -> None:
        super().__init__()
        self.first = nn.Linear(widths[0], widths[1])
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(widths[1], widths[2]))
        self.scale = nn.Parameter(ebb.ones(widths[2], dtype=dtype))

    def forward(self, x: ebb.Tensor) -> ebb.Tensor:
        hidden: ebb.Tensor = F.dropout(self.first(x), 0.1)
        logits: ebb.Tensor = self.rest(hidden) * self.scale
        return logits


def second_derivative(x: ebb.Tensor) -> ebb.Tensor:
    y = (x * x + 2.0 * x - 1).sum() + ebb.linalg.vecdot(x, x)
    (slope,) = ebb.autograd.grad(y, x, create_graph=True)
    slope.sum().backward()
    assert x.grad is not None and x.dtype == ebb.float64 and x.shape[0] == 3
    return x.grad


def act(logits: ebb.Tensor) -> tuple[ebb.Tensor, ebb.Tensor]:
    policy = ebb.distributions.Categorical(logits=logits)
    action = policy.sample()
    prior = ebb.distributions.Normal(0.0, ebb.ones(2))
    return action, policy.log_prob(action) + prior.rsample([3]).sum() + policy.entropy()


def pooled(x: ebb.Tensor, with_places: bool) -> ebb.Tensor:
    values, places = F.max_pool2d(x, 2, return_indices=True)
    parts, _ = F.adaptive_max_pool2d(values, 2, return_indices=True)
    row = F.max_pool1d(parts[0], 2).relu() + F.adaptive_max_pool1d(parts[0], 1).relu()
    either = F.max_pool2d(x, 2, return_indices=with_places)
    return row * places.amax() + (either if isinstance(either, ebb.Tensor) else either[0]).sum()


def train(net: Classifier, steps: int) -> float:
    optimizer = ebb.optim.AdamW(net.parameters(), lr=1e-3)
    loss = ebb.zeros(())
    for _ in range(steps):
        optimizer.zero_grad()
        x = ebb.randn(8, 4, device="cpu")
        loss = F.cross_entropy(net(x), ebb.arange(0, 8) % 3)
        loss.backward()
        optimizer.step()
    with ebb.no_grad():
        return float(loss.item())


def main() -> None:
    try:
        print(second_derivative(ebb.tensor([1.0, 2.0, 3.0], dtype=ebb.float64, requires_grad=True)))
    except ebb.errors.ShapeError as error:
        print(error)
    net = Classifier([4, 8, 3])
    print(train(net, 2), net.scale.size(), ebb.cat([net.scale, net.scale], 0).argmax(0))
    values, indices = ebb.topk(net.scale, 2)
    print(values.T, indices.to(ebb.int64)[0], values.reshape(2, 1).permute(1, 0))
    print(pooled(ebb.rand(1, 2, 8, 8), True))
    ebb.save(net.state_dict(), "net.safetensors")
    ebb.graph(net.scale.sum(), net).to_svg("graph.svg")
