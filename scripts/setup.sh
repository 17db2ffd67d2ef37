#!/usr/bin/env bash
# Makes everything ready on Debian 12 or 13: installs what is missing, builds into build/, installs into .venv/.
# Quick when nothing is to be done. Works as root or through sudo.
set -euo pipefail
cd "$(dirname "$0")/.."
# Debian's own cmake, ninja and python come first: other ones on PATH differ from machine to machine.
export PATH="/usr/bin:/bin:$PATH"
export CCACHE_SLOPPINESS=pch_defines,time_macros

say() { printf '==> %s\n' "$*"; }

packages=(
  # LLVM and MLIR; libmlir-22-dev does not name mlir-22-tools, but cannot be used without.
  llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools liblld-22-dev
  # Compiler, linker, build.
  clang-22 lld-22 clang-format-22 g++ cmake ninja-build ccache git
  # Libraries.
  libprotozero-dev libcli11-dev zlib1g-dev libzstd-dev libgtest-dev
  # Python.
  python3 python3-dev python3-venv
)

install_packages() {
  local missing=() name
  for name in "${packages[@]}"; do
    [[ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" == installed ]] || missing+=("$name")
  done
  ((${#missing[@]})) || return 0
  local root=()
  if ((EUID)); then
    command -v sudo >/dev/null || {
      echo "error: these packages are missing, and neither root nor sudo is at hand: ${missing[*]}" >&2
      exit 1
    }
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${root[@]}" apt-get update -q
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}

make_venv() {
  # Another interpreter, another folder or changed requirements make a new one.
  local stamp
  stamp="$(pwd) $(python3 -V) $(cat python/requirements-*.txt | sha256sum)"
  [[ -f .venv/stamp && "$(<.venv/stamp)" == "$stamp" && -x .venv/bin/python ]] && return 0
  say "making .venv with $(python3 -V)"
  rm -rf .venv
  python3 -m venv .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check -r python/requirements-build.txt \
    -r python/requirements-test.txt
  printf '%s' "$stamp" >.venv/stamp
}

build() {
  say "building into build/"
  cmake --preset default -DTT_BUILD_PYTHON=ON -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
    -DCMAKE_MAKE_PROGRAM=/usr/bin/ninja >build.log 2>&1 || { cat build.log >&2; exit 1; }
  rm build.log
  ninja -C build
}

install_package() {
  local stamp=.venv/installed
  if [[ -f $stamp && -x .venv/bin/tensorturbo ]]; then
    [[ -z "$(find pyproject.toml python build/bin/tensorturbo build/python -type f -not -name '*.pyc' \
      -newer $stamp -print -quit)" ]] && return 0
  fi
  say "installing the package into .venv/"
  # The same build folder with the same settings, so that nothing is built twice.
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall \
    --config-settings build-dir=build --config-settings cmake.define.TT_BUILD_TESTS=ON \
    --config-settings cmake.args=-GNinja \
    --config-settings "cmake.define.Python_EXECUTABLE=$PWD/.venv/bin/python" .
  touch $stamp
}

install_packages
make_venv
build
install_package
say "ready: .venv/bin/tensorturbo and .venv/bin/python -c 'import tensorturbo, tb'"
