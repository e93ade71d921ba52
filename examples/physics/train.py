# examples/physics/train.py -- a network solves the Korteweg-de Vries equation.
#
# A physics-informed network (Raissi et al., 2019) knows no solution: its loss is how far it is from
# obeying u_t + 6 u u_x + u_xxx = 0 at random points, and from the wave it starts with. Third
# derivatives come from three nested calls of autograd.grad(), and training takes a fourth.
"""Solves for a wave that travels without changing; the last line is the error of the solution."""

import argparse
import math

import ebb
from ebb import autograd, nn, optim

SPEED = 4.0  # of the wave, in units of x per unit of t; it is SPEED / 2 high
LEFT, RIGHT, END = -3.0, 5.0, 0.5  # x from LEFT to RIGHT, t from 0 to END


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--points", type=int, default=256, help="places where the equation is held")
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


class Wave(nn.Module):
    """u(x, t) as three hidden layers of 32 units; smooth, so that it has third derivatives."""

    def __init__(self, width: int = 32):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, width), nn.Linear(width, width),
                                     nn.Linear(width, width)])  # fmt: skip
        self.height = nn.Linear(width, 1)

    def forward(self, x, t):
        """Return u, [n, 1], for x and t of the same shape."""
        hidden = ebb.cat([x / RIGHT, t / END], 1)
        for layer in self.layers:
            hidden = ebb.tanh(layer(hidden))
        return self.height(hidden)


def exact(x, t):
    """Return the travelling wave c/2 sech^2(sqrt(c)/2 (x - c t)), the solution to be found."""
    bell = 1 / ebb.cosh(math.sqrt(SPEED) / 2 * (x - SPEED * t))
    return SPEED / 2 * bell * bell


def derivative(of, by):
    """Return d of / d by for each point, recorded, so that it can be differentiated again."""
    return autograd.grad(of.sum(), by, create_graph=True)[0]


def residual(wave: Wave, x, t):
    """Return u_t + 6 u u_x + u_xxx, which is 0 for a solution."""
    x.requires_grad_()
    t.requires_grad_()
    u = wave(x, t)
    u_x, u_t = autograd.grad(u.sum(), (x, t), create_graph=True)
    u_xxx = derivative(derivative(u_x, x), x)
    return u_t + 6 * u * u_x + u_xxx


def uniform(count: int, low: float, high: float):
    """Return random numbers, [count, 1]."""
    return low + (high - low) * ebb.rand(count, 1)


def loss_of(wave: Wave, count: int):
    """Return the mean squares of the residual and of the errors at the start and at both ends."""
    law = residual(wave, uniform(count, LEFT, RIGHT), uniform(count, 0.0, END))
    x = uniform(count, LEFT, RIGHT)
    start = wave(x, ebb.zeros_like(x)) - exact(x, ebb.zeros_like(x))
    t = uniform(count // 4, 0.0, END)
    ends = [wave(x, t) - exact(x, t) for x in (ebb.full_like(t, LEFT), ebb.full_like(t, RIGHT))]
    squares = [(error * error).mean() for error in (law, start, *ends)]
    return 0.05 * squares[0] + 5 * squares[1] + squares[2] + squares[3]


def train(wave: Wave, arguments: argparse.Namespace) -> None:
    """Take ``--steps`` steps of Adam, the learning rate falling to 0 along a cosine."""
    optimizer = optim.Adam(wave.parameters(), lr=arguments.lr)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, arguments.steps)
    steps = ebb.data.progress(range(arguments.steps), unit="steps")
    for _ in steps:
        optimizer.zero_grad()
        loss = loss_of(wave, arguments.points)
        loss.backward()
        optimizer.step()
        schedule.step()
        steps.set(loss=loss.item())


def relative_error(wave: Wave) -> float:
    """Return |u - exact| / |exact| over a grid of x and t (Euclidean norms)."""
    x = ebb.linspace(LEFT, RIGHT, 101).reshape(-1, 1)
    with ebb.no_grad():
        pairs = [(wave(x, time), exact(x, time))
                 for time in (ebb.full_like(x, END * step / 10) for step in range(11))]  # fmt: skip
        wrong = sum(((found - true) * (found - true)).sum().item() for found, true in pairs)
        right = sum((true * true).sum().item() for _, true in pairs)
    return math.sqrt(wrong / right)


def main() -> None:
    arguments = parse_arguments()
    ebb.manual_seed(arguments.seed)
    wave = Wave()
    train(wave, arguments)
    print(f"relative error of the solution: {100 * relative_error(wave):.2f} %")


if __name__ == "__main__":
    main()
