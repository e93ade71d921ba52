#!/usr/bin/env bash
# tools/wheel/build.sh -- makes the wheels from build/release, without network: `make wheel`.
#
# Usage: tools/wheel/build.sh [FOLDER], by default build/wheel. Run tools/build.sh release first;
# PYTHON overrides .venv.
# One is ebb's, the others those of its satellites; of a plug-in where its headers are. pip runs
# CMake in build/release with the options that folder has, so nothing is compiled again.
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

wheel_of() {  # a folder with a pyproject.toml, then files whose needs tell the platform
  local project=$1 made=() before
  shift
  before=$(ls "$FOLDER")
  CXX=g++ CMAKE_GENERATOR=Ninja "$PYTHON" -m pip --disable-pip-version-check --quiet wheel \
    "$project" --no-build-isolation --no-deps --no-index --wheel-dir "$FOLDER" \
    --config-settings build-dir="$PWD/build/release" 9>&-
  mapfile -t made < <(comm -13 <(echo "$before") <(ls "$FOLDER"))
  if (($# > 0)); then
    "$PYTHON" tools/wheel/retag.py "$FOLDER/${made[0]}" \
      "$("$PYTHON" tools/wheel/platform_tag.py "$@")"
  fi
}

rm -f "$FOLDER"/ebb-*.whl "$FOLDER"/ebb_*.whl
wheel_of . build/release/lib/libebb.so build/release/python/ebb/_C.*.so
wheel_of ./satellites/torch
wheel_of ./satellites/vision
for name in opencl cuda; do
  if grep -q "^build ebb_$name: " build/release/build.ninja; then
    wheel_of ./satellites/$name "build/release/lib/libebb_$name.so"
  else
    echo "[wheel] build/release is configured without $name: no wheel of ebb-$name"
  fi
done
du -h "$FOLDER"/ebb*.whl | sed 's/^\(\S*\)\s*/[wheel] \1 /'
