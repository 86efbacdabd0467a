#!/usr/bin/env bash
# Installs what is missing, builds Belfry and trains the MNIST example on digits that it draws itself.
# Arguments go to the example: bash examples/quickstart.sh --data_dir path/to/mnist
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/common/packages.sh

install_packages "${belfry_build_packages[@]}"
cmake --preset release -D BELFRY_BUILD_TESTS=OFF >&2
cmake --build --preset release --target mnist >&2
# The drawn digits are easily learnt; a quarter of the usual steps will do.
(($#)) || set -- --max_steps 1000
exec build/release/examples/mnist "$@"
