# tests/python/package/test_demo.py -- the demos run, learn, and agree to the last bit.
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import ebb

ROOT = Path(__file__).resolve().parents[3]
TRAIN = ROOT / "examples" / "digits" / "train.py"
SCORE = ROOT / "examples" / "digits" / "score.py"
# The extension module lies in build/<preset>/python/ebb, the programs in build/<preset>/bin.
CPP_DEMO = Path(ebb._C.__file__).parents[2] / "bin" / "ebb_demo_cpp"


def run(*command):
    done = subprocess.run(
        [str(word) for word in command], cwd=ROOT, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def accuracy_of(output):
    return float(re.fullmatch(r"test accuracy: (\d+\.\d) %", output.splitlines()[-1]).group(1))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    return out, run(sys.executable, TRAIN, "--out", out)


def test_training_reaches_98_and_a_half_percent(trained):
    assert accuracy_of(trained[1]) >= 98.5


def test_progress_shows_loss_accuracy_and_speed(trained):
    lines = [line for line in trained[1].splitlines() if line.startswith("[")]
    assert 10 <= len(lines) <= 12  # plain lines, since the output is no terminal
    assert re.search(r"\[#{24}\] 100%  loss \d\.\d{4}  accuracy +\d+\.\d%  .* samples/s", lines[-1])


def test_scoring_reloads_the_weights(trained):
    out, output = trained
    again = run(sys.executable, SCORE, out / "weights.safetensors")
    assert accuracy_of(again) == accuracy_of(output)


def test_loss_curve_is_an_svg_with_both_curves(trained):
    root = ElementTree.parse(trained[0] / "loss.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    curves = root.findall(f"{space}polyline")
    assert [len(curve.get("points").split()) for curve in curves] == [15, 15]
    heights = [float(point.split(",")[1]) for point in curves[0].get("points").split()]
    assert heights[-1] > heights[0]  # y grows downwards: the loss fell


def test_mistakes_are_drawn_one_by_one(trained):
    out, output = trained
    count = int(re.search(r"^digits read wrongly: (\d+), drawn in", output, re.M).group(1))
    texts = ElementTree.parse(out / "mistakes.svg").getroot().findall("{*}text")
    captions = [text.text for text in texts if " read as " in text.text]
    assert len(captions) == count
    assert all(re.fullmatch(r"(\d) read as (?!\1)\d", caption) for caption in captions)


def test_a_run_repeats_exactly(trained, tmp_path):
    out, _ = trained
    run(sys.executable, TRAIN, "--out", tmp_path)
    first = (out / "weights.safetensors").read_bytes()
    assert (tmp_path / "weights.safetensors").read_bytes() == first


@pytest.mark.skipif(not CPP_DEMO.exists(), reason="the C++ examples are not built here")
def test_cpp_demo_learns_the_very_same_weights(trained, tmp_path):
    out, output = trained
    assert accuracy_of(run(CPP_DEMO, "--out", tmp_path)) == accuracy_of(output)
    ElementTree.parse(tmp_path / "loss.svg")
    python, cpp = out / "weights.safetensors", tmp_path / "weights.safetensors"
    assert cpp.read_bytes() == python.read_bytes()
    assert accuracy_of(run(CPP_DEMO, "--score", python)) == accuracy_of(output)
