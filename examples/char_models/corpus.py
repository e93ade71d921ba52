# examples/char_models/corpus.py -- a text as numbers, and random pieces of it.
"""Characters become their rank in the alphabet of the text."""

from pathlib import Path

import ebb

TEXT = Path(__file__).resolve().parents[2] / "data" / "text" / "gpl-3.txt"


class Corpus:
    """A text, cut into a part to learn from and a tenth, at its end, to test on."""

    def __init__(self, path: Path = TEXT):
        text = path.read_text(encoding="utf-8")
        self.alphabet = sorted(set(text))
        self.rank = {character: rank for rank, character in enumerate(self.alphabet)}
        numbers = self.encode(text)
        cut = len(text) * 9 // 10
        self.training, self.held_out = numbers[:cut], numbers[cut:]

    def encode(self, text: str):
        """Return the ranks of the characters, int64 [len(text)]."""
        return ebb.tensor([self.rank[character] for character in text])

    def decode(self, numbers) -> str:
        """Return the characters of these ranks."""
        return "".join(self.alphabet[number] for number in numbers.tolist())

    def sample(self, count: int, length: int):
        """Return ``count`` random pieces of the training part and what follows each character.

        Both are int64 [count, length].
        """
        starts = ebb.randint(0, len(self.training) - length, [count, 1])
        places = starts + ebb.arange(length)
        return self.training[places], self.training[places + 1]

    def test_pieces(self, length: int):
        """Return the held-out part as [pieces, length], and what follows each character."""
        count = (len(self.held_out) - 1) // length
        inputs = self.held_out[: count * length].reshape(count, length)
        return inputs, self.held_out[1 : count * length + 1].reshape(count, length)
