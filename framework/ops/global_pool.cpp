#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {
namespace {

void check(std::string_view name, const Tensor& x) {
  check_at(x, [&] {
    require_floating(name, "input", x.type());
    require_rank(name, "input", x.type(), 4, "[n, h, w, c]");
    require(x.size(1) >= 1 && x.size(2) >= 1, name, ": the image is ", x.size(1), " x ", x.size(2),
            "; it must have at least one element");
  });
}

}  // namespace

Tensor global_avg_pool(Tensor x) {
  check("global_avg_pool", x);
  return mean(x, {.axes = {1, 2}});
}

Tensor global_max_pool(Tensor x) {
  check("global_max_pool", x);
  return max(x, {.axes = {1, 2}});
}

}  // namespace belfry
