# tests/python/graph_models.py -- small models whose graphs can be counted by hand.
"""Used by the tests of snapshots."""

import ebb
from ebb import nn


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
