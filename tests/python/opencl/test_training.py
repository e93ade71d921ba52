# tests/python/opencl/test_training.py -- whole networks train on the device as on the CPU.
#
# The three examples of examples/: the digits' CNN, the character GPT and the character LSTM, the
# latter two small. All random numbers are drawn on the CPU, and dropout is off, so that both runs
# see the same.
import importlib
import sys
from pathlib import Path

import pytest

import ebb
from ebb import optim
from ebb.nn import functional as F

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
STEPS = 50


def example(folder, module):
    """The module of an example, whose folder is on the path only while it is read."""
    sys.path.insert(0, str(EXAMPLES / folder))
    try:
        return importlib.import_module(module)
    finally:
        sys.path.pop(0)


def digits_batches():
    data = ebb.data.digits.load()
    size = 32
    for step in range(STEPS):
        begin = step * size % (len(data.train_labels) - size)
        yield data.train_images[begin : begin + size], data.train_labels[begin : begin + size]


def text_batches():
    corpus = example("char_models", "corpus").Corpus()
    for _ in range(STEPS):
        yield corpus.sample(8, 32)


def digits_cnn():
    return example("digits", "model").Cnn()


def alphabet():
    return len(example("char_models", "corpus").Corpus().alphabet)


def char_gpt():
    return example("char_models", "models").CharGpt(alphabet(), 32, 32, 2, 2, 0.0)


def char_lstm():
    return example("char_models", "models").CharLstm(alphabet(), 32)


def losses_on(device, make_model, make_batches):
    """The loss of each step of AdamW, from the same start on every device."""
    ebb.manual_seed(0)
    model = make_model()
    batches = list(make_batches())
    for module in model.modules():
        if isinstance(module, ebb.nn.Dropout):
            module.p = 0.0
    model.to(device)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for inputs, targets in batches:
        optimizer.zero_grad()
        scores = model(inputs.to(device))
        loss = F.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.to(device).reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


@pytest.mark.parametrize(
    ("make_model", "make_batches"),
    [(digits_cnn, digits_batches), (char_gpt, text_batches), (char_lstm, text_batches)],
    ids=["digits", "gpt", "lstm"],
)
@pytest.mark.long
def test_losses_are_those_of_the_cpu(make_model, make_batches, opencl):
    expected = losses_on("cpu", make_model, make_batches)
    ebb.set_kernel_fallback(False)  # as the fixture does: every op has a kernel there
    losses = losses_on(opencl, make_model, make_batches)
    assert losses == pytest.approx(expected, abs=1e-4)
    assert losses[-1] < losses[0]
