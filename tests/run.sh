#!/usr/bin/env bash
# Installs what is missing, builds Belfry and runs every test. Ends with ctest's summary and status.
# Arguments go to ctest: bash tests/run.sh -R softmax
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/common/packages.sh

install_packages "${belfry_build_packages[@]}" "${belfry_test_packages[@]}"
cmake --preset release -D BELFRY_BUILD_TESTS=ON
cmake --build --preset release
exec ctest --preset release --no-label-summary --no-tests=error -j "$(nproc)" "$@"
