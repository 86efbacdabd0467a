#!/bin/bash
# Measures Belfry beside tuned PyTorch and prints a table in Markdown:
#
#   tests/bench/run.sh --rows lenet,resnet18 --rounds 5 --config '{"precision": "bf16"}'
#
# Its own options come first: --venv DIR, where PyTorch is or is to be installed (by default in
# $XDG_CACHE_HOME), and --build DIR, where Belfry is or is to be built (by default build/release).
# The rest is measure.py's: --help lists it.
set -euo pipefail

source=$(cd "$(dirname "$0")/../.." && pwd)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/belfry/peers
build=$source/build/release
while [[ ${1-} == --venv || ${1-} == --build ]]; do
  case $1 in
    --venv) venv=$2 ;;
    --build) build=$2 ;;
  esac
  shift 2
done

# PyPI's torch is built for CUDA and asks for 5 GB; without most of that it runs on CPUs all the same.
if [[ ! -e $venv/lib/libiomp5.so ]] || ! "$venv/bin/python" -c 'import safetensors, torch, torchvision'; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --no-deps torch torchvision numpy safetensors pillow intel-openmp filelock fsspec \
    jinja2 markupsafe mpmath networkx setuptools sympy typing_extensions \
    nvidia-cufile nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvshmem-cu13 >&2
fi
tcmalloc() { find /usr/lib "$venv/debian" -name 'libtcmalloc*.so.4' ! -name '*debug*' 2>/dev/null | head -1; }
if [[ -z $(tcmalloc) ]] && command -v apt-get >/dev/null; then
  mkdir -p "$venv/debian"
  (cd "$venv/debian" && apt-get download libtcmalloc-minimal4 && dpkg -x libtcmalloc-minimal4_*.deb .) >&2 ||
    echo "no tcmalloc: install libtcmalloc-minimal4" >&2
fi

if [[ ! -e $build/tests/bench/cmake_install.cmake ]]; then
  cmake -S "$source" -B "$build" -D CMAKE_BUILD_TYPE=Release -D BELFRY_BUILD_BENCHMARKS=ON >&2
fi
cmake --build "$build" --parallel --target train_speed start_speed pipeline_speed machine_limits >&2

exec python3 "$source/tests/bench/peers/measure.py" --build "$build/tests/bench" --python "$venv/bin/python" \
  --preload "$venv/lib/libiomp5.so:$(tcmalloc)" "$@"
