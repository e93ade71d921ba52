# tests/python/graphs/graph_models.py -- small models whose graphs can be counted by hand.
"""Used by the tests of snapshots."""

import ebb
from ebb import nn
from tests.python.autograd.function_support import Cube


def fully_connected(layers, width=8):
    parts = []
    for layer in range(layers):
        parts += [nn.Linear(width, width)] + ([nn.ReLU()] if layer < layers - 1 else [])
    return nn.Sequential(*parts)


class Cell(nn.Module):
    """tanh(ours(x) + theirs(state))"""

    def __init__(self, width):
        super().__init__()
        self.ours = nn.Linear(width, width)
        self.theirs = nn.Linear(width, width)

    def forward(self, x, state):
        return ebb.tanh(self.ours(x) + self.theirs(state))


def unrolled(cell, steps, width=4):
    state = ebb.zeros(2, width)
    for _ in range(steps):
        state = cell(ebb.ones(2, width), state)
    return state


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return ebb.relu(self.conv2(ebb.relu(self.conv1(x))) + x)


class ResidualNet(nn.Module):
    def __init__(self, blocks, channels=4):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.Sequential(*(ResidualBlock(channels) for _ in range(blocks)))
        self.head = nn.Linear(channels, 2)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean(dim=(2, 3)))


class Attention(nn.Module):
    """One head whose keys are its values."""

    def __init__(self, width):
        super().__init__()
        self.q = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        q = self.q(x)
        return self.out(ebb.softmax(q @ q.transpose(-2, -1), -1) @ q)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, layers, width=8):
        super().__init__()
        self.embedding = nn.Embedding(16, width)
        self.blocks = nn.ModuleList([Layer(width) for _ in range(layers)])
        self.head = nn.Linear(width, 16)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def graph_of_net():
    net = fully_connected(3)
    return ebb.graph(net(ebb.ones(4, 8)).mean(), net)


def graph_of_rnn():
    cell = Cell(4)
    return ebb.graph(unrolled(cell, 50).sum(), cell)


def graph_of_cnn():
    net = ResidualNet(3)
    return ebb.graph(net(ebb.ones(2, 3, 8, 8)).sum(), net)


def graph_of_gpt():
    net = Transformer(12)
    return ebb.graph(net(ebb.arange(0, 10).reshape(2, 5)).mean(), net)


def graph_of_double_backward():
    x = ebb.tensor([1.0, 2.0], requires_grad=True)
    (slope,) = ebb.autograd.grad((x * x * x).sum(), x, create_graph=True)
    return ebb.graph(slope.sum(), {"x": x})


def graph_of_custom_functions():
    x = ebb.tensor([1.0, 2.0], requires_grad=True)
    return ebb.graph(Cube.apply(Cube.apply(x)).sum(), {"x": x})


def graph_of_views():
    x = ebb.ones(4, 4, requires_grad=True)
    return ebb.graph(ebb.exp(ebb.exp(x).t()[1:]).sum(), {"x": x})


def graph_of_writes():
    x = ebb.ones(4, 4, requires_grad=True)
    y = x * 2
    row = y[0]
    row.mul_(3)
    return ebb.graph(y.sum(), {"x": x})


def recorded():
    """Functions that record graphs of all kinds, by name."""
    return {
        "fully connected net": graph_of_net,
        "rnn over 50 steps": graph_of_rnn,
        "residual cnn": graph_of_cnn,
        "gpt of 12 layers": graph_of_gpt,
        "double backward": graph_of_double_backward,
        "custom functions": graph_of_custom_functions,
        "views": graph_of_views,
        "writes in place": graph_of_writes,
    }
