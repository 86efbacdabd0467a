#include "belfry/framework/backend/cuda/limits.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace belfry::cuda {
namespace {

// Operations of a multiprocessor in a clock cycle, without sparsity and with sums in f32: NVIDIA's
// white papers on the A100, GA102, Ada, H100, Blackwell; what a paper gives for the whole GPU is
// divided by its multiprocessors and its boost clock. Of 8.6 and 8.9 those of the workstations'
// GPUs: the others' do half in 16 bits and TF32.
struct Generation {
  int major, minor;
  double flops, flops_tf32, flops_16;
};
constexpr Generation generations[] = {
    {8, 0, 128, 1024, 2048}, {8, 6, 256, 512, 1024},   {8, 9, 256, 512, 1024},
    {9, 0, 256, 2048, 4096}, {10, 0, 256, 4096, 8192}, {12, 0, 256, 512, 1024},
};

// The newest that is no newer; of an older GPU the first.
const Generation& generation_of(const Properties& gpu) {
  auto newer = std::ranges::find_if(generations, [&](const Generation& g) {
    return std::pair(g.major, g.minor) > std::pair(gpu.major, gpu.minor);
  });
  return newer == std::begin(generations) ? generations[0] : *std::prev(newer);
}

}  // namespace

std::optional<DeviceLimits> limits_of(const Properties& gpu) {
  if (gpu.multiprocessors == 0 || gpu.clock_hz == 0 || gpu.memory_clock_hz == 0
      || gpu.memory_bus_bits == 0)
    return std::nullopt;
  constexpr double of_pins = 0.9, of_multiprocessors = 0.75;
  const Generation& generation = generation_of(gpu);
  double cycles = of_multiprocessors * gpu.multiprocessors * gpu.clock_hz;
  return DeviceLimits{.bytes = of_pins * 2 * gpu.memory_clock_hz * gpu.memory_bus_bits / 8,
                      .flops = cycles * generation.flops,
                      .flops_tf32 = cycles * generation.flops_tf32,
                      .flops_16 = cycles * generation.flops_16};
}

}  // namespace belfry::cuda
