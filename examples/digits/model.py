# examples/digits/model.py -- the network of the demo, and how it is tested.
"""A small convolutional network."""

import ebb
import ebb.nn.functional as F
from ebb import nn


class Cnn(nn.Module):
    """Two 3x3 convolutions, pooling to 4x4, 64 hidden units, 10 scores."""

    def __init__(self):
        super().__init__()
        self.strokes = nn.Conv2d(1, 16, 3, padding=1)
        self.shapes = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.hidden = nn.Linear(32 * 4 * 4, 64)
        self.scores = nn.Linear(64, 10)

    def forward(self, images):
        """Return one score per digit for every image, [n, 10] for [n, 64]."""
        x = images.reshape(-1, 1, 8, 8)
        x = F.relu(self.shapes(F.relu(self.strokes(x))))
        x = self.dropout(F.max_pool2d(x, 2).flatten(1))
        return self.scores(self.dropout(F.relu(self.hidden(x))))


def loss_of(scores, labels):
    """Return the cross-entropy; a tenth of each target is spread over all digits.

    Without this smoothing the network soon knows every training image by heart, and is wrong on
    more of the others.
    """
    return F.cross_entropy(scores, labels, label_smoothing=0.1)


def count_correct(scores, labels) -> int:
    """Return how many images have their highest score at their label."""
    return int((scores.argmax(1) == labels).sum().item())


def evaluate(model: Cnn, images, labels) -> tuple[float, float]:
    """Return loss and accuracy (0 to 1) over all ``images``, without dropout."""
    model.eval()
    with ebb.no_grad():
        scores = model(images)
        loss = loss_of(scores, labels).item()
    model.train()
    return loss, count_correct(scores, labels) / len(labels)
