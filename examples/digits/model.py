# examples/digits/model.py -- the network of the demo, and how it is tested.
"""A multilayer perceptron with one hidden layer."""

import ebb
import ebb.nn.functional as F
from ebb import nn


class Mlp(nn.Module):
    """64 pixels, 128 hidden units, 10 scores."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 128)
        self.scores = nn.Linear(128, 10)

    def forward(self, images):
        """Return one score per digit for every image."""
        return self.scores(F.relu(self.hidden(images)))


def loss_of(scores, labels):
    """Return the cross-entropy; a tenth of each target is spread over all digits.

    Without this smoothing the network soon knows every training image by heart, and is wrong on
    twice as many others.
    """
    return F.cross_entropy(scores, labels, label_smoothing=0.1)


def count_correct(scores, labels) -> int:
    """Return how many images have their highest score at their label."""
    return int((scores.max(1)[1] == labels).sum().item())


def evaluate(model: Mlp, images, labels) -> tuple[float, float]:
    """Return loss and accuracy (0 to 1) over all ``images``."""
    with ebb.no_grad():
        scores = model(images)
        loss = loss_of(scores, labels).item()
    return loss, count_correct(scores, labels) / len(labels)
