#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/one_row.h"
#include "belfry/framework/ops/pool_geometry.h"

namespace belfry {
namespace {

Tensor pool_row(std::string_view name, const Tensor& x, const Pool1dOptions& o,
                Tensor (*pool)(Tensor, Pool2dOptions)) {
  require_defined(name, {x});
  check_at(x, [&] {
    require_input(name, x.type(), 1);
    pool_axes(name, x.shape().sizes().subspan(1, 1),
              {.size = {&o.window, 1}, .stride = {&o.stride, 1}, .padding = o.padding});
  });
  return as_signal(pool(as_image(x), image_options(name, o)));
}

}  // namespace

Tensor max_pool1d(Tensor x, Pool1dOptions options) {
  return pool_row("max_pool1d", x, options, max_pool);
}

Tensor avg_pool1d(Tensor x, Pool1dOptions options) {
  return pool_row("avg_pool1d", x, options, avg_pool);
}

}  // namespace belfry
