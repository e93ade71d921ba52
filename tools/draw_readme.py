# tools/draw_readme.py -- draws docs/graph.svg: runs the lines of README.md that say how it is made.
"""Usage: PYTHONPATH=build/release/python python tools/draw_readme.py [FOLDER]

Writes graph.svg into the folder, by default docs/.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def lines_of_readme() -> str:
    """Return the Python block of README.md that ends in a picture."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    (found,) = (block for block in blocks if "to_svg(" in block)
    return found


def main(folder: Path) -> None:
    """Run the lines in the folder."""
    os.chdir(folder)
    exec(compile(lines_of_readme(), "README.md", "exec"), {"__name__": "README"})
    print(folder / "graph.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs").resolve())
