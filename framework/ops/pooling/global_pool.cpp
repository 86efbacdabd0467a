#include <numeric>

#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

/// The spatial axes of x, checked.
std::vector<int> spatial_axes(std::string_view name, const Tensor& x) {
  check_at(x, [&] {
    require_floating(name, "input", x.type());
    require(x.rank() >= 3 && x.rank() <= 5, name,
            ": input must be [n, w, c], [n, h, w, c] or [n, d, h, w, c], got ", x.type());
    std::span image = x.shape().sizes().subspan(1, x.rank() - 2);
    for (std::int64_t size : image)
      require(size >= 1, name, ": the image is ", join(image, " x "),
              "; it must have at least one element");
  });
  std::vector<int> axes(x.rank() - 2);
  std::iota(axes.begin(), axes.end(), 1);
  return axes;
}

}  // namespace

Tensor global_avg_pool(Tensor x) { return mean(x, {.axes = spatial_axes("global_avg_pool", x)}); }

Tensor global_max_pool(Tensor x) { return max(x, {.axes = spatial_axes("global_max_pool", x)}); }

}  // namespace belfry
