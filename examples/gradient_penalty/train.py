# examples/gradient_penalty/train.py -- a generative adversarial network with a gradient penalty.
#
# The critic of a Wasserstein GAN must not change faster than its input (Gulrajani et al.,
# "Improved Training of Wasserstein GANs", 2017): the norm of its gradient, which autograd.grad()
# gives with create_graph=True, is pulled to 1. Training the critic differentiates that gradient.
"""Learns eight spots on a circle; the last line says how many are hit, and how well."""

import argparse
import math

import ebb
from ebb import autograd, nn, optim

SPOTS, SPREAD = 8, 0.05


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--critic-steps", type=int, default=3)
    parser.add_argument("--penalty", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def network(inputs: int, outputs: int, width: int = 64) -> nn.Sequential:
    """Return three layers of ``width`` units."""
    return nn.Sequential(
        nn.Linear(inputs, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, outputs),
    )  # fmt: skip


def centres():
    """Return the middles of the spots, float32 [8, 2], on the unit circle."""
    angles = [2 * math.pi * spot / SPOTS for spot in range(SPOTS)]
    return ebb.tensor([[math.cos(angle), math.sin(angle)] for angle in angles])


def real_points(count: int):
    """Return points of the distribution to learn, float32 [count, 2]."""
    spots = ebb.randint(0, SPOTS, [count])
    return centres()[spots] + SPREAD * ebb.randn(count, 2)


def gradient_penalty(critic: nn.Module, real, fake):
    """Return the mean of (|gradient| - 1)^2 at random points between real and fake ones."""
    share = ebb.rand(len(real), 1)
    between = (share * real + (1 - share) * fake).requires_grad_()
    (gradient,) = autograd.grad(critic(between).sum(), between, create_graph=True)
    length = (gradient * gradient).sum(1).sqrt()
    return ((length - 1) * (length - 1)).mean()


def train(generator: nn.Module, critic: nn.Module, arguments: argparse.Namespace) -> None:
    """Train both in turn, the critic ``--critic-steps`` times as often."""
    make = optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
    judge = optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
    count = arguments.batch_size
    distance = ebb.zeros(())
    steps = ebb.data.progress(range(arguments.steps), unit="steps")
    for _ in steps:
        for _ in range(arguments.critic_steps):
            real, fake = real_points(count), generator(ebb.randn(count, 2)).detach()
            distance = critic(real).mean() - critic(fake).mean()
            judge.zero_grad()
            loss = arguments.penalty * gradient_penalty(critic, real, fake) - distance
            loss.backward()
            judge.step()
        make.zero_grad()
        (-critic(generator(ebb.randn(count, 2))).mean()).backward()
        make.step()
        steps.set(distance=distance.item())


def score(generator: nn.Module, count: int = 4000) -> tuple[int, float]:
    """Return how many spots get at least half of their share, and the mean distance to a spot."""
    with ebb.no_grad():
        points = generator(ebb.randn(count, 2))
        offsets = points.unsqueeze(1) - centres().unsqueeze(0)
        nearest, spots = (offsets * offsets).sum(2).sqrt().min(1)
    hits = [int((spots == spot).sum().item()) for spot in range(SPOTS)]
    return sum(hit >= count / SPOTS / 2 for hit in hits), nearest.mean().item()


def main() -> None:
    arguments = parse_arguments()
    ebb.manual_seed(arguments.seed)
    generator, critic = network(2, 2), network(2, 1)
    train(generator, critic, arguments)
    spots, distance = score(generator)
    print(f"spots hit: {spots} of {SPOTS}, mean distance to a spot: {distance:.3f}")


if __name__ == "__main__":
    main()
