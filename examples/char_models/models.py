# examples/char_models/models.py -- two networks that predict the next character.
"""``CharLstm`` reads character by character, ``CharGpt`` looks back at all of them at once."""

import ebb
import ebb.nn.functional as F
from ebb import nn


class CharLstm(nn.Module):
    """An embedding, LSTM layers, and scores for each character of the alphabet."""

    def __init__(self, alphabet: int, width: int = 128, layers: int = 1):
        super().__init__()
        self.embedding = nn.Embedding(alphabet, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.scores = nn.Linear(width, alphabet)

    def forward(self, characters):
        """Return [batch, length, alphabet] for int64 [batch, length]."""
        hidden, _ = self.lstm(self.embedding(characters))
        return self.scores(hidden)


class Block(nn.Module):
    """One layer of a GPT: attention to what came before, then a small network for each place."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.network_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def attend(self, x):
        """Mix the values of all earlier places, by how well their keys match the query."""
        batch, length, width = x.shape
        parts = self.query_key_value(x).split(width, 2)
        shape = (batch, length, self.heads, width // self.heads)
        query, key, value = (part.reshape(*shape).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.mix(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        """Return [batch, length, width] for the same."""
        x = x + self.dropout(self.attend(self.attention_norm(x)))
        return x + self.dropout(self.narrow(F.gelu(self.widen(self.network_norm(x)))))


class CharGpt(nn.Module):
    """Embeddings of characters and places, blocks, and scores for each character."""

    def __init__(self, alphabet: int, width: int = 96, length: int = 64, heads: int = 4,
                 layers: int = 3, dropout: float = 0.1):  # fmt: skip
        super().__init__()
        self.characters = nn.Embedding(alphabet, width)
        self.places = nn.Embedding(length, width)
        self.register_buffer("order", ebb.arange(length), persistent=False)
        self.blocks = nn.ModuleList([Block(width, heads, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.scores = nn.Linear(width, alphabet)

    def forward(self, characters):
        """Return [batch, length, alphabet] for int64 [batch, length]."""
        x = self.characters(characters) + self.places(self.order[: characters.shape[1]])
        for block in self.blocks:
            x = block(x)
        return self.scores(self.norm(x))
