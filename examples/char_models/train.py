# examples/char_models/train.py -- trains a character LSTM or GPT on a licence text.
"""Prints some text of the model's own; the last line is the loss on the held-out tenth."""

import argparse

from corpus import Corpus
from models import CharGpt, CharLstm

import ebb
import ebb.nn.functional as F
from ebb import nn, optim

PROMPT = "The licensor "


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=["lstm", "gpt"])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--length", type=int, default=64, help="characters in a piece of text")
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def loss_of(model: nn.Module, inputs, targets):
    """Return the mean cross-entropy of the next character, in nats."""
    scores = model(inputs)
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.reshape(-1))


def train(model: nn.Module, corpus: Corpus, arguments: argparse.Namespace) -> None:
    """Take ``--steps`` steps of AdamW with one cycle of the learning rate."""
    optimizer = optim.AdamW(model.parameters(), lr=arguments.lr)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, arguments.lr, total_steps=arguments.steps)
    model.train()
    steps = ebb.data.progress(range(arguments.steps), unit="steps")
    for _ in steps:
        optimizer.zero_grad()
        loss = loss_of(model, *corpus.sample(arguments.batch_size, arguments.length))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        steps.set(loss=loss.item())
    model.eval()


def write(model: nn.Module, corpus: Corpus, count: int, length: int) -> str:
    """Return ``PROMPT`` and ``count`` characters that the model chose, each by its probability."""
    text = corpus.encode(PROMPT)
    with ebb.no_grad():
        for _ in range(count):
            scores = model(text[-length:].reshape(1, -1))[0, -1]
            following = ebb.multinomial(F.softmax(scores / 0.5, -1), 1)
            text = ebb.cat([text, following])
    return corpus.decode(text)


def main() -> None:
    arguments = parse_arguments()
    ebb.manual_seed(arguments.seed)
    corpus = Corpus()
    alphabet = len(corpus.alphabet)
    if arguments.model == "lstm":
        model = CharLstm(alphabet)
    else:
        model = CharGpt(alphabet, length=arguments.length)
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"{arguments.model}: {count:,} parameters, {len(corpus.training):,} characters to learn "
          f"from, {len(corpus.held_out):,} held out")  # fmt: skip
    train(model, corpus, arguments)
    print(f"\n{write(model, corpus, 300, arguments.length)}\n")
    with ebb.no_grad():
        loss = loss_of(model, *corpus.test_pieces(arguments.length)).item()
    print(f"held-out loss: {loss:.3f} nats per character")


if __name__ == "__main__":
    main()
