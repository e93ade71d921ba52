# benchmarks/python/train_steps.py -- whole training steps, the same script for ebb and its peers.
# ruff: noqa: D101, D102, B905, RUF007
"""Whole training steps, the same script for ebb and its peers.

Usage: python train_steps.py MODULE [--threads N] [--only TEXT ...] [--seconds S]

MODULE needs torch's names: nn, nn.functional, optim, autograd. Prints one JSON object: for each
workload the median time of a step, steps per second, the loss after a fixed number of steps from a
fixed initialisation drawn with NumPy (so that two modules can be checked against each other), and
the peak resident memory.
"""

import argparse
import importlib
import json
import math
import resource
import statistics
import time

import numpy as np

parser = argparse.ArgumentParser(description="Whole training steps of one module.")
parser.add_argument("module")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--only", nargs="*", default=[])
parser.add_argument("--seconds", type=float, default=3.0)
ARGS = parser.parse_args()
MODULE, THREADS, ONLY, SECONDS = ARGS.module, ARGS.threads, ARGS.only, ARGS.seconds
T = importlib.import_module(MODULE)
nn = importlib.import_module(MODULE + ".nn")
F = importlib.import_module(MODULE + ".nn.functional")
optim = importlib.import_module(MODULE + ".optim")
if hasattr(T, "set_num_threads"):
    T.set_num_threads(THREADS)
RNG = np.random.default_rng(0)


def array(*shape):
    return T.from_numpy(RNG.standard_normal(shape).astype(np.float32))


def labels(n, classes):
    return T.from_numpy(RNG.integers(0, classes, n))


def seed_parameters(model):
    """Overwrite every parameter from NumPy so that all modules start from the same numbers."""
    rng = np.random.default_rng(1)
    with T.no_grad():
        for p in model.parameters():
            fan = math.prod(p.shape[1:]) if len(p.shape) > 1 else 0
            scale = 1.0 / math.sqrt(fan) if fan else 0.0
            value = rng.standard_normal(tuple(p.shape)).astype(np.float32) * scale
            if not fan:
                value = value + (1.0 if p.shape[0] > 1 else 0.0) * 0.1
            p.copy_(T.from_numpy(value))
    return model


class Mlp(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 16, 5, padding=2), nn.Conv2d(16, 32, 5)
        self.f1, self.f2 = nn.Linear(32 * 5 * 5, 120), nn.Linear(120, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.f2(F.relu(self.f1(x.reshape(x.shape[0], -1))))


class ResBlock(nn.Module):
    def __init__(self, channels=64):
        super().__init__()
        self.c1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.c2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.b1, self.b2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.b2(self.c2(F.relu(self.b1(self.c1(x))))))


class CharLstm(nn.Module):
    def __init__(self, vocabulary=64, hidden=256):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, hidden)
        self.lstm = nn.LSTM(hidden, hidden)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, tokens):
        out, _ = self.lstm(self.embed(tokens))
        return self.head(out)


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(self.n1(x)).split(c, 2)
        q, k, v = [z.reshape(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v)]
        scores = (q @ k.transpose(2, 3)) * (1.0 / math.sqrt(c // self.heads)) + mask
        mixed = (F.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, t, c)
        x = x + self.proj(mixed)
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary=64, length=128, width=256, heads=4, layers=4):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([GptBlock(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)
        self.order = T.from_numpy(np.arange(length))
        self.mask = T.from_numpy(np.triu(np.full((length, length), -1e9, np.float32), 1))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(self.order)
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(self.norm(x))


def classifier(model, x, y):
    return model, lambda m: F.cross_entropy(m(x), y)


def sequence(model, tokens, targets):
    def loss(m):
        out = m(tokens)
        return F.cross_entropy(out.reshape(-1, out.shape[-1]), targets)

    return model, loss


def sgd(model):
    return optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def adam(model):
    return optim.AdamW(model.parameters(), lr=1e-3)


WORKLOADS = {
    "mlp 64-128-10, batch 32, sgd": lambda: (
        *classifier(Mlp([64, 128, 10]), array(32, 64), labels(32, 10)),
        sgd,
    ),
    "mlp 64-128-10, batch 32, adamw": lambda: (
        *classifier(Mlp([64, 128, 10]), array(32, 64), labels(32, 10)),
        adam,
    ),
    "mlp 784-512-512-10, batch 128": lambda: (
        *classifier(Mlp([784, 512, 512, 10]), array(128, 784), labels(128, 10)),
        sgd,
    ),
    "deep narrow mlp, 50 layers of 32, batch 16": lambda: (
        *classifier(Mlp([32] * 50 + [10]), array(16, 32), labels(16, 10)),
        adam,
    ),
    "lenet, batch 64": lambda: (*classifier(LeNet(), array(64, 1, 28, 28), labels(64, 10)), sgd),
    "residual block 64x56x56, batch 8": lambda: (
        ResBlock(),
        (lambda x: lambda m: (m(x) * m(x)).mean())(array(8, 64, 56, 56)),
        sgd,
    ),
    "lstm 256, length 35, batch 20": lambda: (
        *sequence(CharLstm(), labels(35 * 20, 64).reshape(35, 20), labels(35 * 20, 64)),
        adam,
    ),
    "gpt 2x64, length 32, batch 4": lambda: (
        *sequence(Gpt(64, 32, 64, 4, 2), labels(4 * 32, 64).reshape(4, 32), labels(4 * 32, 64)),
        adam,
    ),
    "gpt 4x256, length 128, batch 8": lambda: (
        *sequence(Gpt(), labels(8 * 128, 64).reshape(8, 128), labels(8 * 128, 64)),
        adam,
    ),
}


def make_step(name):
    """A workload's training step, from the fixed initialisation."""
    global RNG
    RNG = np.random.default_rng(0)
    model, loss_of, make_optimizer = WORKLOADS[name]()
    seed_parameters(model)
    optimizer = make_optimizer(model)

    def step():
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        return loss

    return step


def run(name):
    step = make_step(name)
    losses = [float(step().item()) for _ in range(5)]
    samples = []
    end = time.perf_counter() + SECONDS
    while len(samples) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        samples.append(time.perf_counter() - start)
    median = statistics.median(samples)
    return {
        "ms": round(median * 1e3, 4),
        "min_ms": round(min(samples) * 1e3, 4),
        "steps": len(samples),
        "steps_per_s": round(1 / median, 1),
        "losses": [round(v, 6) for v in losses],
    }


def main():
    results = {name: run(name) for name in WORKLOADS if not ONLY or any(o in name for o in ONLY)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {
                "module": MODULE,
                "version": getattr(T, "__version__", "?"),
                "threads": THREADS,
                "peak_rss_mb": round(peak / 1024),
                "workloads": results,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
