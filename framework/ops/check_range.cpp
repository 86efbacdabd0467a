#include "belfry/framework/ops/check_range.h"

#include <cstring>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  for (const TensorType& limit : c.inputs.subspan(1))
    require(limit.dtype == DType::f64 && (limit.shape.elements() == 1 || limit.shape == x.shape),
            c.op, ": limits must be f64 and one number or ", x.shape, ", got ", limit);
  return {x};
}

std::vector<Tensor> gradient(const GradContext& c) { return {c.dy(), Tensor(), Tensor()}; }

[[noreturn]] void complain(const KernelContext& c, const RangeLayout& layout, std::int64_t i,
                           double value, double lowest, double highest) {
  const auto& o = c.as<CheckRangeOptions>();
  std::int64_t row = i / layout.row;
  std::string element = layout.row > 1 ? concat(", element ", i % layout.row) : "";
  std::string limit = value < lowest    ? concat(", below ", lowest)
                      : value > highest ? concat(", above ", highest)
                                        : "";
  fail(o.what, " at row ", row, element, " is ", value, limit, "; ", o.remedy);
}

void reference(const KernelContext& c) {
  const ArrayView& x = c.input(0);
  RangeLayout layout(x.shape(), c.input(1).shape(), c.input(2).shape());
  const auto *lowest = c.input(1).as<const double>(), *highest = c.input(2).as<const double>();
  dispatch(x.dtype(), [&](auto t) {
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      auto value = static_cast<double>(detail::load<decltype(t)>(x, i));
      double low = lowest[i * layout.lowest_step], high = highest[i * layout.highest_step];
      if (!(value >= low && value <= high)) complain(c, layout, i, value, low, high);
    }
  });
  if (x.elements() > 0) std::memmove(c.output().data, x.data, x.type.bytes());
}

}  // namespace

const OpDef check_range_op{
    .name = "check_range", .shape = shape_rule, .gradient = gradient, .reference = reference};

Tensor check_range(Tensor x, Tensor lowest, Tensor highest, const CheckRangeOptions& options) {
  require_defined("check_range", {x, lowest, highest});
  return apply1(check_range_op, {x, lowest, highest}, options);
}

Tensor check_range(Tensor x, double lowest, double highest, const CheckRangeOptions& options) {
  require_defined("check_range", {x});
  return check_range(x, constant(x.graph(), lowest, DType::f64),
                     constant(x.graph(), highest, DType::f64), options);
}

}  // namespace belfry
