#!/usr/bin/env bash
# tools/run_tests.sh -- runs the C++ and Python tests of one kind and prints one closing line each.
#
# Usage: tools/run_tests.sh fast|long|asan|asan-sample|tsan|coverage|cuda. All suites run even if
# one fails; the exit status tells whether any did. Sanitizer runs leave out the tests labelled
# nosan.
set -uo pipefail
cd "$(dirname "$0")/.."
readonly PYTHON=$PWD/.venv/bin/python
# These tests get processes of their own: other plug-ins fill the places that a process has.
readonly OPENCL=tests/python/opencl
readonly CUDA=tests/python/cuda
readonly REST=(tests satellites)
startup=""  # a folder whose sitecustomize.py all interpreters of the tests run
# Hundreds of tests start an interpreter, which would compile the package anew each time.
unset PYTHONDONTWRITEBYTECODE
failed=()

say() { printf '\n[test] %s\n' "$*"; }

cpp_tests() {  # preset, then ctest's selection
  local preset=$1
  shift
  say "C++ tests of build/$preset"
  if [[ ! -f build/$preset/CTestTestfile.cmake ]]; then
    echo "[test] no C++ tests in build/$preset"
    return
  fi
  ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" "$@" || failed+=("C++ $preset")
}

python_tests() {  # preset, then pytest's arguments
  local preset=$1 status=0 workers
  shift
  workers=$(nproc)
  ((workers > 8)) && workers=8  # each lists all tests first
  say "Python tests of build/$preset, in $workers processes"
  PYTHONPATH=$PWD/build/$preset/python${startup:+:$startup} "$PYTHON" -m pytest -q -ra \
    -n "$workers" --dist worksteal "$@" </dev/null || status=$?
  # 5: no test matched, which is no failure.
  ((status == 0 || status == 5)) || failed+=("Python $preset")
}

run_asan() {  # pytest's further arguments
  export UBSAN_OPTIONS=print_stacktrace=1
  # Memory that there is not must end in ebb's own error, as it does without the sanitizer.
  export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_init_order=1
  ASAN_OPTIONS+=:allocator_may_return_null=1
  cpp_tests asan -LE '^(nosan|long)$'
  # CPython keeps memory until exit, and the interpreter is not instrumented: leaks go unreported,
  # and the runtime has to come first by LD_PRELOAD.
  ASAN_OPTIONS+=:detect_leaks=0
  local runtime
  runtime=$(clang++-14 -print-file-name=libclang_rt.asan-x86_64.so)
  LD_PRELOAD=$runtime python_tests asan -m "not long and not nosan" \
    --ignore="$OPENCL" --ignore="$CUDA" "$@" \
    tests/python tests/fuzz satellites
}

main() {
  local kind=${1:-fast}
  case $kind in
    fast)
      cpp_tests release -LE '^long$'
      python_tests release -m "not long" --ignore="$OPENCL" --ignore="$CUDA" "${REST[@]}"
      python_tests release -m "not long" "$OPENCL"
      python_tests release -m "not long" "$CUDA"
      ;;
    long)
      cpp_tests release -L '^long$'
      python_tests release -m long --ignore="$OPENCL" --ignore="$CUDA" "${REST[@]}"
      python_tests release -m long "$OPENCL"
      TEST_DEVICE=stand-in python_tests release -m "not long" "$OPENCL"
      ;;
    asan) run_asan ;;
    # All C++ tests; of each Python test every third case, so that no function is left out.
    asan-sample) run_asan --every 3 ;;
    tsan)
      export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
      cpp_tests tsan -LE '^(nosan|long)$'
      ;;
    coverage)
      startup=$PWD/tools/coverage/start
      # Counters stand between a call and its line.
      cpp_tests coverage -LE '^long$' -E 'Methods\.RecordTheLineOfTheirCall'
      python_tests coverage -m "not long" --ignore="$OPENCL" --ignore="$CUDA" \
        tests/python tests/fuzz tests/codegen tests/viz satellites
      python_tests coverage -m "not long" "$OPENCL"
      python_tests coverage -m "not long" "$CUDA"
      ;;
    cuda)
      if ! nvidia-smi -L 2>/dev/null | grep -q GPU; then
        say "ran nothing (cuda): nvidia-smi finds no GPU on this machine"
        exit 0
      fi
      TEST_DEVICE=cuda:0 python_tests release "$OPENCL"
      ;;
    *)
      echo "[test] error: needs one of the kinds that tools/run_tests.sh lists, got $kind" >&2
      exit 2
      ;;
  esac
  if ((${#failed[@]} > 0)); then
    say "FAILED ($kind): ${failed[*]}"
    exit 1
  fi
  say "passed ($kind)"
}

main "$@"
