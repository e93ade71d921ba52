#!/usr/bin/env bash
# tools/build.sh -- configures and builds one CMake preset, and says what it does.
#
# Usage: tools/build.sh [--quick] PRESET [TARGET...]. Run tools/setup.sh first. Ninja decides what
# is stale, so a second run takes a fraction of a second. EBB_JOBS overrides the number of compilers
# at once. --quick takes two fifths off the time of the first build: a fresh folder then compiles
# kernels for AVX2 alone, if the processor has it, most files in batches, and looks for no warnings.
# A build without it completes the folder.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '[build] %s\n' "$*"; }

# One compiler per core, but never more than the memory carries (1.5 GiB each under a sanitizer).
jobs() {
  local cores memory_kib by_memory
  cores=$(nproc)
  memory_kib=$(awk '/MemAvailable/ {print $2}' /proc/meminfo)
  by_memory=$((memory_kib / 1572864))
  ((by_memory < 1)) && by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}

# A build folder made elsewhere (a moved or copied clone) would build the other place's files.
drop_foreign_cache() {
  local cache=build/$1/CMakeCache.txt
  [[ -f $cache ]] || return 0
  if ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
    say "build/$1 belongs to another folder, starting afresh"
    rm -rf "build/$1"
  fi
}

# Ninja has no lock of its own: two builds at once in one folder would spoil each other's files.
take_turn() {
  mkdir -p build
  exec 9>"build/$1.lock"
  flock --nonblock 9 && return
  say "waiting for another build of build/$1"
  flock 9
}

# What Highway asks of a processor before it runs kernels for AVX2 (ebb/kernels/CMakeLists.txt).
has_avx2() {
  local feature
  for feature in avx2 fma f16c bmi1 bmi2 abm pclmulqdq aes; do
    grep -qw -m 1 "$feature" /proc/cpuinfo || return 1
  done
}

configure() {  # preset, then options that override the preset's
  local preset=$1 log
  if ! log=$(cmake --preset "$@" 2>&1); then
    echo "$log" >&2
    say "error: configuring build/$preset failed, see above" >&2
    say "hint: after mending the cause, rm -rf build/$preset gives a fresh start" >&2
    exit 1
  fi
}

# The mark says that the folder was configured for a quick first build.
configure_if_needed() {  # preset, and whether to be quick
  local preset=$1 is_quick=$2
  local mark=build/$preset/quick
  if [[ ! -f build/$preset/build.ninja ]]; then
    if $is_quick && has_avx2; then
      say "configuring build/$preset for this machine's kernels alone"
      configure "$preset" -DEBB_ONE_ISA=ON -DEBB_BATCH=ON -DEBB_WARNINGS=OFF
      touch "$mark"
    else
      say "configuring build/$preset"
      configure "$preset"
    fi
  elif [[ -f $mark ]] && ! $is_quick; then
    say "configuring build/$preset for the kernels of all instruction sets"
    configure "$preset" -DEBB_ONE_ISA=OFF -DEBB_BATCH=OFF -DEBB_WARNINGS=ON
    rm "$mark"
  elif [[ CMakePresets.json -nt build/$preset/build.ninja ]]; then
    say "configuring build/$preset again, since the presets have changed"
    configure "$preset"
  fi
}

main() {
  local is_quick=false
  if [[ $1 == --quick ]]; then
    is_quick=true
    shift
  fi
  local preset=$1
  shift
  take_turn "$preset"
  drop_foreign_cache "$preset"
  configure_if_needed "$preset" $is_quick
  local target_arguments=()
  (($# > 0)) && target_arguments=(--target "$@")
  if ! cmake --build "build/$preset" -j "${EBB_JOBS:-$(jobs)}" "${target_arguments[@]}" 9>&-; then
    say "error: building build/$preset failed, see above" >&2
    say "hint: 'Killed' means too little memory (try EBB_JOBS=1), 'No space' a full disk" >&2
    exit 1
  fi
}

main "$@"
