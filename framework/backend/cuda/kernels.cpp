#include "belfry/framework/backend/cuda/kernels.h"

#include <map>
#include <vector>

namespace belfry::cuda {
namespace {

using Factories = std::map<std::pair<const OpDef*, Preference>, std::vector<KernelFactory>>;

Factories& factories() {
  static Factories instance;
  return instance;
}

}  // namespace

KernelRegistration::KernelRegistration(const OpDef& op, KernelFactory factory,
                                       Preference preference) {
  factories()[{&op, preference}].push_back(factory);
}

std::unique_ptr<Kernel> find_kernel(const Node& node, const Gpu& gpu,
                                    const KernelOptions& options) {
  for (Preference preference : {Preference::library, Preference::own}) {
    auto found = factories().find({&node.op(), preference});
    if (found == factories().end()) continue;
    for (KernelFactory factory : found->second)
      if (auto kernel = factory(node, gpu, options)) return kernel;
  }
  return nullptr;
}

}  // namespace belfry::cuda
