#include <algorithm>
#include <type_traits>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/movement/gather.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  return {{c.as<GatherGradOptions>().shape, c.inputs[0].dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  return {gather(c.dy(), c.input(1), c.as<GatherGradOptions>().axis), {}};
}

template <class T, class Sum>
void add_rows(const T* dy, const RowIndex& rows, Sum* dx) {
  for (std::int64_t outer = 0; outer < rows.outer; ++outer) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      Sum* row = dx + (outer * rows.size + rows.at(i)) * rows.inner;
      for (std::int64_t j = 0; j < rows.inner; ++j) row[j] += static_cast<Sum>(*dy++);
    }
  }
}

void reference(const KernelContext& c) {
  const auto& o = c.as<GatherGradOptions>();
  RowIndex rows(c.op, c.input(1), o.shape, o.axis);
  dispatch_floating(c.output().dtype(), c.op, [&](auto t) {
    using T = decltype(t);
    const T* dy = c.input(0).as<const T>();
    T* dx = c.output().as<T>();
    if constexpr (std::is_same_v<T, compute_type<T>>) {
      std::fill_n(dx, c.output().elements(), T(0));
      add_rows(dy, rows, dx);
    } else {  // many small terms would be lost in 16 bits
      std::vector<float> sums(c.output().elements());
      add_rows(dy, rows, sums.data());
      std::transform(sums.begin(), sums.end(), dx, [](float sum) { return T(sum); });
    }
  });
}

}  // namespace

const OpDef gather_grad_op{
    .name = "gather_grad", .shape = shape_rule, .gradient = gradient, .reference = reference};

}  // namespace belfry
