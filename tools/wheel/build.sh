#!/usr/bin/env bash
# tools/wheel/build.sh -- makes a wheel from build/release, without network: `make wheel`.
#
# Usage: tools/wheel/build.sh [FOLDER], by default build/wheel. Run tools/build.sh release first;
# PYTHON overrides .venv.
# pip runs CMake in build/release with the options that folder has, so nothing is compiled again.
# The tag says the oldest glibc that can load what was built (platform_tag.py, retag.py).
set -euo pipefail
cd "$(dirname "$0")/../.."
readonly FOLDER=${1:-build/wheel}
readonly PYTHON=${PYTHON:-$PWD/.venv/bin/python}

if [[ ! -f build/release/build.ninja ]]; then
  echo "[wheel] error: needs build/release, found none" >&2
  echo "[wheel] hint: tools/build.sh release" >&2
  exit 1
fi
exec 9>build/release.lock
flock 9  # Ninja has no lock of its own; tools/build.sh takes this one too
mkdir -p "$FOLDER"

# pip leaves its temporary folder in CMake's cache, as the place to install to: undo that.
cp -p build/release/CMakeCache.txt build/release/CMakeCache.before-wheel
restore() {
  mv build/release/CMakeCache.before-wheel build/release/CMakeCache.txt
  cmake build/release >build/release/restore.log 2>&1 9>&- || cat build/release/restore.log >&2
}
trap restore EXIT

tag=$("$PYTHON" tools/wheel/platform_tag.py build/release/lib/libebb.so \
  build/release/python/ebb/_C.*.so)

rm -f "$FOLDER"/ebb-*.whl
CXX=g++ CMAKE_GENERATOR=Ninja "$PYTHON" -m pip --disable-pip-version-check --quiet wheel . \
  --no-build-isolation --no-deps --no-index --wheel-dir "$FOLDER" \
  --config-settings build-dir=build/release 9>&-
"$PYTHON" tools/wheel/retag.py "$FOLDER"/ebb-*.whl "$tag"
echo "[wheel] $(du -h "$FOLDER"/ebb-*.whl | tr '\t' ' ')"
