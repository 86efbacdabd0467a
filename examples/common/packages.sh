# install_packages NAME...: installs what is missing of these packages of Debian and Ubuntu, and says
# what. Asks nothing; where nothing is missing, neither apt nor root is needed.

belfry_library_packages=(
  libdnnl-dev libtbb-dev nlohmann-json3-dev libcli11-dev zlib1g-dev libjpeg-dev
  libpng-dev libtiff-dev libwebp-dev libopencv-core-dev libopencv-imgproc-dev
  # The CMake package of libdnnl-dev looks for OpenCL.
  opencl-headers ocl-icd-opencl-dev
)
# For training on several machines, which a build may lack and the tests should not.
belfry_mpi_packages=(libopenmpi-dev openmpi-bin)
# The same, for checkpoints of TensorFlow's whose index is compressed.
belfry_snappy_packages=(libsnappy-dev)
belfry_build_packages=(g++ cmake ninja-build "${belfry_library_packages[@]}")
belfry_test_packages=(
  "${belfry_mpi_packages[@]}" "${belfry_snappy_packages[@]}" libgtest-dev libgmock-dev doxygen
  # For tests that read what is written here by other people's programs.
  python3-venv
  # For tests of what is installed.
  pkgconf dpkg-dev file
)
# Other versions format differently.
belfry_format_packages=(git clang-format-14)
# llvm: reports name functions and files by its symbolizer, and so do what tests/tsan.supp leaves out.
belfry_clang_packages=(clang libclang-rt-dev libomp-dev llvm)

install_packages() {
  local name missing=() as_root=()
  for name in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] \
      || missing+=("$name")
  done
  ((${#missing[@]})) || return 0
  echo "installing packages: ${missing[*]}" >&2
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      echo "error: neither root nor sudo; install these as root: apt-get install ${missing[*]}" >&2
      return 1
    }
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update </dev/null >&2
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >&2
}
