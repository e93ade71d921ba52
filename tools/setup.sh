#!/usr/bin/env bash
# tools/setup.sh -- makes a Debian 12 machine able to build ebb: packages, .venv, nothing twice.
#
# Usage: tools/setup.sh [build|test|dev]. `test` adds the browser of the viewer's tests, `dev` what
# `make check` and the sanitizer builds need.
# Every step first looks whether it is needed, so a second run takes a fraction of a second and no
# network. Start reading at main, at the end; each failure prints how to mend it.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly VENV=.venv
readonly STAMP=$VENV/.ebb-stamp
readonly SYSTEM_PYTHON=/usr/bin/python3  # never another python3 of PATH: it must match python3-dev
readonly NEEDED_MIB=3000

say() { printf '[setup] %s\n' "$*"; }
fail() {
  printf '[setup] error: %s\n' "$1" >&2
  printf '[setup] hint: %s\n' "$2" >&2
  exit 1
}

check_disk() {
  [[ -d build/release ]] && return  # the large part is there already
  local free_mib
  free_mib=$(df --output=avail -m . | tail -n 1 | tr -d ' ')
  if ((free_mib < NEEDED_MIB)); then
    fail "a first build needs $NEEDED_MIB MiB of disk, got $free_mib MiB free in $PWD" \
      "free some space, or clone ebb to a larger disk"
  fi
}

# Prints the packages of the named groups of apt-packages.txt.
packages_of() {
  local group="" line wanted=" $* "
  while IFS= read -r line; do
    line=${line%%#*}
    line=${line//[[:space:]]/}
    if [[ $line == \[*\] ]]; then
      group=${line:1:-1}
    elif [[ -n $line && $wanted == *" $group "* ]]; then
      echo "$line"
    fi
  done <tools/apt-packages.txt
}

missing_of() {
  local package
  for package in "$@"; do
    # A query of its own each would take a second in all: ask once, compare here.
    [[ $'\n'$INSTALLED$'\n' == *$'\n'"$package"$'\n'* ]] || echo "$package"
  done
}

# `env` comes after sudo, since sudo drops the caller's environment.
as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  else
    sudo -n true 2>/dev/null || say "sudo may ask for your password"
    sudo "$@"
  fi
}

install_packages() {
  local wanted missing
  mapfile -t wanted < <(packages_of "$@")
  if ! command -v dpkg-query >/dev/null; then
    fail "needs a Debian 12 machine (dpkg-query), found none" \
      "install the counterparts of tools/apt-packages.txt, then use the CMake presets by hand"
  fi
  INSTALLED=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "${wanted[@]}" 2>/dev/null |
    sed -n 's/^ii //p' || true)
  mapfile -t missing < <(missing_of "${wanted[@]}")
  [[ ${#missing[@]} == 0 ]] && return
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null; then
    fail "needs root or sudo to install Debian packages, got neither" \
      "ask an administrator to run: apt-get install ${missing[*]}"
  fi
  as_root apt-get update -q || say "apt-get update failed, trying with the lists at hand"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
    "${missing[@]}" </dev/null ||
    fail "apt-get could not install: ${missing[*]}" \
      "check the network and the disk (df -h /), then run: apt-get install ${missing[*]}"
}

venv_key() {
  printf '%s\n%s\n' "$PWD" "$("$SYSTEM_PYTHON" --version)" | cat - requirements.txt | sha256sum
}

make_venv() {
  [[ -x $SYSTEM_PYTHON ]] ||
    fail "needs $SYSTEM_PYTHON, found none" "apt-get install python3-venv python3-dev"
  local key
  key=$(venv_key)
  [[ -f $STAMP && $(<"$STAMP") == "$key" ]] && return
  say "making $VENV from $SYSTEM_PYTHON with the packages of requirements.txt"
  # An existing environment is brought up to date in place: it may be in use.
  if ! "$VENV"/bin/python -c 'import pip' 2>/dev/null; then
    "$SYSTEM_PYTHON" -m venv --clear "$VENV" ||
      fail "could not make $VENV" "check that python3-venv is installed and the disk is not full"
  fi
  "$VENV"/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt ||
    fail "pip could not install requirements.txt" \
      "check the network and the disk (df -h .); behind a proxy set HTTPS_PROXY or PIP_INDEX_URL"
  echo "$key" >"$STAMP"
}

main() {
  check_disk
  case ${1:-build} in
    build) install_packages build ;;
    test) install_packages build test ;;
    dev) install_packages build dev ;;
    *) fail "needs build, test or dev, got $1" "tools/setup.sh dev" ;;
  esac
  make_venv
}

main "$@"
