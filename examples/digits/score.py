# examples/digits/score.py -- loads the weights that train.py wrote and tests them.
"""The last line is the accuracy on the held-out images."""

import argparse
from pathlib import Path

from model import Cnn, evaluate

import ebb

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = ROOT / "build" / "demo" / "weights.safetensors"
    parser.add_argument("weights", type=Path, nargs="?", default=default)
    parser.add_argument("--data", type=Path, default=None, help="the file of digits, if elsewhere")
    arguments = parser.parse_args()
    data = ebb.data.digits.load(arguments.data)
    model = Cnn()
    model.load_state_dict(ebb.load(arguments.weights))
    loss, accuracy = evaluate(model, data.test_images, data.test_labels)
    print(f"{arguments.weights}: loss {loss:.4f} on {len(data.test_labels)} held-out images")
    print(f"test accuracy: {100 * accuracy:.1f} %")


if __name__ == "__main__":
    main()
