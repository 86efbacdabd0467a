#include <algorithm>
#include <cmath>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/softmax_lines.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  int axis = c.as<AxisOptions>().axis;
  Tensor y = c.output(), dy = c.dy();
  return {y * (dy - sum(dy * y, {.axes = {axis}, .keep_dims = true}))};
}

void reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T* x = c.input(0).as<T>();
    T* y = c.output().as<T>();
    for_each_line(c.input(0).shape(), c.as<AxisOptions>().axis, [&](const Line& line) {
      double highest = line_max(x, line), sum = line_exp_sum(x, line, highest);
      for (std::int64_t i = 0; i < line.size; ++i)
        y[line.at(i)] = store<T>(std::exp(load(x[line.at(i)]) - highest) / sum);
    });
  });
}

}  // namespace

const OpDef softmax_op{.name = "softmax",
                       .shape = softmax_shape,
                       .gradient = gradient,
                       .reference = reference,
                       .in_place = first_input_in_place,
                       .flops = softmax_flops};

Tensor softmax(Tensor logits, int axis) {
  return apply1(softmax_op, {logits}, softmax_axis("softmax", logits, axis));
}

}  // namespace belfry
