// Moving statistics of all batch norms in one launch. Compiled without contraction, so that each
// step is rounded as where they are ops of their own.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/ops/update/updates.h"

namespace belfry::cuda {
namespace {

constexpr int threads = 256;

/// The statistics of one launch, passed by value.
struct Statistics {
  static constexpr int most = 256;
  float* moving[most];
  const float* batch[most];
  float scale[most], rate[most];
  unsigned elements[most], first_block[most];  // the latter rising
  int count = 0;
  unsigned blocks = 0;
};

__global__ void move_statistics(Statistics all) {
  int number = 0;
  for (int step = Statistics::most / 2; step > 0; step /= 2)
    if (number + step < all.count && all.first_block[number + step] <= blockIdx.x) number += step;
  unsigned i = (blockIdx.x - all.first_block[number]) * threads + threadIdx.x;
  if (i >= all.elements[number]) return;
  float before = all.moving[number][i];
  float scaled = all.batch[number][i] * all.scale[number];
  all.moving[number][i] = before + (scaled - before) * all.rate[number];
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  std::vector<std::int64_t> elements;
  for (int i = 0; i < std::ssize(node.inputs()); i += 2)
    elements.push_back(node.input(i).shape().elements());
  return make_kernel(
      [elements, o = node.as<StatisticsUpdateOptions>()](const KernelArguments& a, Stream& stream) {
        Statistics all;
        for (std::size_t pair = 0; pair < elements.size(); ++pair) {
          int at = all.count++;
          all.moving[at] = static_cast<float*>(a.inputs[2 * pair]);
          all.batch[at] = a.input<float>(2 * pair + 1);
          all.scale[at] = static_cast<float>(o.scales[pair]);
          all.rate[at] = static_cast<float>(o.rates[pair]);
          all.elements[at] = static_cast<unsigned>(elements[pair]);
          all.first_block[at] = all.blocks;
          all.blocks += static_cast<unsigned>((elements[pair] + threads - 1) / threads);
          if (all.count < Statistics::most && pair + 1 < elements.size()) continue;
          launch(stream, {.blocks = all.blocks, .threads = threads}, move_statistics, all);
          all.count = 0;
          all.blocks = 0;
        }
      });
}

const KernelRegistration registration(statistics_update_op, make);

}  // namespace
}  // namespace belfry::cuda
