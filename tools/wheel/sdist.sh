#!/usr/bin/env bash
# tools/wheel/sdist.sh -- makes a source package, without network: `make sdist`.
#
# Usage: tools/wheel/sdist.sh [FOLDER], by default build/wheel; PYTHON overrides .venv.
# `pip install ebb-*.tar.gz` builds it where the Debian packages of tools/apt-packages.txt
# [build], or their counterparts, are.
set -euo pipefail
cd "$(dirname "$0")/../.."
readonly FOLDER=${1:-build/wheel}
readonly PYTHON=${PYTHON:-$PWD/.venv/bin/python}

mkdir -p "$FOLDER"
made=$("$PYTHON" -c 'import sys
from scikit_build_core.build import build_sdist
print("made", build_sdist(sys.argv[1]))' "$FOLDER" | sed -n 's/^made //p')
echo "[sdist] $(du -h "$FOLDER/$made" | tr '\t' ' ')"
