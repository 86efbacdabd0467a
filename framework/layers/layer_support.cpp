#include "belfry/framework/layers/layer_support.h"

#include <algorithm>

#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::layers {
namespace {

Tensor variable_or_constant(const Scope& s, const Tensor& x, bool variable, std::string_view name,
                            double value) {
  Shape shape{x.size(-1)};
  DType dtype = statistics_dtype(x);
  Initializer initializer = constant_value(value);
  if (variable)
    return s.variable(name, {.shape = shape, .dtype = dtype, .initializer = initializer});
  Array array(shape, dtype);
  initializer.fill(array, {});
  return constant(s.graph(), array);
}

}  // namespace

void require_features(const Scope& s, std::string_view layer, const Tensor& x, int rank) {
  require_at(s, is_floating(x.dtype()), layer, ": x must be of a floating type, got ", x.type(),
             "; cast it first");
  require_at(s, x.rank() >= rank, layer, ": x must have at least ", rank, " axes, got ", x.type());
  require_at(s, x.size(-1) >= 1, layer, ": the last axis of x has no elements, got ", x.type());
}

void require_image(const Scope& s, std::string_view layer, const Tensor& x,
                   std::span<const std::int64_t> kernel) {
  static constexpr std::array<std::string_view, 3> names{
      "a signal [n, w, c]", "an image [n, h, w, c]", "a volume [n, d, h, w, c]"};
  bool has_size = std::all_of(kernel.begin(), kernel.end(), [](auto size) { return size >= 1; });
  require_at(s, has_size, layer, ": kernel must be at least ",
             join(std::vector<int>(kernel.size(), 1), " x "), ", got ", join(kernel, " x "));
  require_features(s, layer, x, 0);
  require_at(s, x.rank() == std::ssize(kernel) + 2, layer, ": x must be ",
             names.at(kernel.size() - 1), ", got ", x.type(), other_op_text(layer, x.rank()));
}

void require_convolution(const Scope& s, std::string_view layer, const Tensor& x,
                         std::span<const std::int64_t> kernel, std::int64_t groups,
                         std::int64_t filters) {
  require_at(s, filters >= 1, layer, ": filters must be at least 1, got ", filters);
  require_image(s, layer, x, kernel);
  require_at(s, groups >= 1 && x.size(-1) % groups == 0 && filters % groups == 0, layer, ": ",
             groups, " groups do not divide ", x.size(-1), " channels and ", filters, " filters");
}

Tensor add_bias(const Scope& s, Tensor x, const Initializer& initializer) {
  Tensor bias = s.variable(
      "bias", {.shape = {x.size(-1)}, .dtype = parameter_dtype(s, x), .initializer = initializer});
  return x + cast(bias, x.dtype());
}

Affine affine(const Scope& s, const Tensor& x, bool scale, bool center) {
  return {variable_or_constant(s, x, scale, "scale", 1),
          variable_or_constant(s, x, center, "offset", 0)};
}

Tensor pending_value(Variable variable) {
  Tensor value = variable;
  for (Node* effect : variable.node().graph().effects())
    if (effect->is(assign_op) && effect->input(0) == variable.value()) value = effect->input(1);
  return value;
}

}  // namespace belfry::layers
