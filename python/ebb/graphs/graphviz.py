# python/ebb/graphs/graphviz.py -- pictures by Graphviz, if it is installed.
"""Runs the program ``dot``."""

import shutil
import subprocess


def draw(dot: str) -> str:
    """Return ``dot`` as SVG."""
    program = shutil.which("dot")
    if program is None:
        raise FileNotFoundError(
            "to_svg: needs Graphviz's program dot, got none on the PATH\n"
            "hint: apt-get install graphviz, or use write_html(), which needs nothing"
        )
    done = subprocess.run([program, "-Tsvg"], input=dot, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"to_svg: needs dot to end well, got {done.stderr.strip()}")
    return done.stdout
