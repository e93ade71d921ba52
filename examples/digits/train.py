# examples/digits/train.py -- trains a convolutional network on handwritten digits.
"""Writes loss curve, weights and mistakes; the last line is the accuracy on held-out images."""

import argparse
import sys
from pathlib import Path

from mistakes import write_mistakes
from model import Cnn, count_correct, evaluate, loss_of

import ebb
from ebb import optim

ROOT = Path(__file__).resolve().parents[2]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu", help="where to train, such as opencl:0")
    parser.add_argument("--data", type=Path, default=None, help="the file of digits, if elsewhere")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "demo")
    return parser.parse_args()


def train_epoch(model, optimizer, schedule, data, batch_size: int, progress) -> float:
    """Go over the training images once; return the mean loss."""
    seen, correct, total_loss = 0, 0, 0.0
    for images, labels in ebb.data.batches(
        data.train_images, data.train_labels, batch_size=batch_size
    ):
        optimizer.zero_grad()
        scores = model(images)
        loss = loss_of(scores, labels)
        loss.backward()
        optimizer.step()
        schedule.step()
        seen += len(labels)
        correct += count_correct(scores.detach(), labels)
        total_loss += loss.item() * len(labels)
        progress.update(len(labels), loss=total_loss / seen, accuracy=f"{correct / seen:6.1%}")
    return total_loss / seen


def train(arguments: argparse.Namespace, data) -> tuple[Cnn, dict[str, list[float]]]:
    """Return the trained network and its losses, one for each epoch."""
    model = Cnn().to(arguments.device)
    optimizer = optim.AdamW(model.parameters(), lr=arguments.lr)
    batches = -(-len(data.train_labels) // arguments.batch_size)
    schedule = optim.lr_scheduler.OneCycleLR(
        optimizer, arguments.lr, total_steps=arguments.epochs * batches
    )
    samples = arguments.epochs * len(data.train_labels)
    progress = ebb.data.progress(total=samples, unit="samples", stream=sys.stdout)
    curves = {"training": [], "held out": []}
    for _ in range(arguments.epochs):
        loss = train_epoch(model, optimizer, schedule, data, arguments.batch_size, progress)
        curves["training"].append(loss)
        curves["held out"].append(evaluate(model, data.test_images, data.test_labels)[0])
    progress.close()
    return model, curves


def main() -> None:
    arguments = parse_arguments()
    ebb.manual_seed(arguments.seed)
    data = ebb.data.digits.load(arguments.data)
    there = type(data)(*(part.to(arguments.device) for part in data))
    print(f"digits: {len(data.train_labels)} images to train on, "
          f"{len(data.test_labels)} held out; ebb {ebb.__version__}")  # fmt: skip
    model, curves = train(arguments, there)
    model.to("cpu")
    arguments.out.mkdir(parents=True, exist_ok=True)
    chart, weights = arguments.out / "loss.svg", arguments.out / "weights.safetensors"
    ebb.viz.write_line_chart(chart, "Handwritten digits", "epoch", "cross-entropy", curves)
    ebb.save(model.state_dict(), weights)
    print(f"loss curve: {chart}\nweights: {weights} (make demo-score reloads and tests them)")
    mistakes = arguments.out / "mistakes.svg"
    count = write_mistakes(mistakes, model, data.test_images, data.test_labels)
    print(f"digits read wrongly: {count}, drawn in {mistakes}")
    graph = arguments.out / "graph.html"
    loss = loss_of(model(data.train_images[:8]), data.train_labels[:8])
    ebb.graph(loss, model).write_html(graph, title="Backward graph of the digits' network")
    print(f"backward graph: {graph}")
    _, accuracy = evaluate(model, data.test_images, data.test_labels)
    print(f"test accuracy: {100 * accuracy:.1f} %")


if __name__ == "__main__":
    main()
