#pragma once
// Compiling kernels while the program runs. Internal to backend/cuda/toolkit.

#include <string>
#include <vector>

namespace belfry::cuda {

/// Machine code of `source` for GPUs of an architecture: 90 is compute capability 9.0. No GPU is
/// needed. Arithmetic is that of separate kernels, bit for bit: no product is fused with a sum.
/// Error with NVRTC's first words when it refuses. From any thread.
std::vector<char> compile_kernel(const std::string& source, int architecture);

}  // namespace belfry::cuda
