#include "belfry/framework/backend/cuda/together.h"

#include <vector>

namespace belfry::cuda {
namespace {

std::vector<Together>& functions() {
  static std::vector<Together> all;
  return all;
}

}  // namespace

TogetherRegistration::TogetherRegistration(Together function) { functions().push_back(function); }

std::shared_ptr<Kernel> together(std::span<const std::shared_ptr<Kernel>> kernels) {
  if (kernels.empty()) return nullptr;
  for (Together function : functions())
    if (auto kernel = function(kernels)) return kernel;
  return nullptr;
}

}  // namespace belfry::cuda
