#include <algorithm>
#include <cmath>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/softmax/softmax_lines.h"

namespace belfry {
namespace {

std::vector<Tensor> softmax_gradient(const GradContext& c) {
  int axis = c.as<AxisOptions>().axis;
  Tensor y = c.output(), dy = c.dy();
  return {y * (dy - sum(dy * y, {.axes = {axis}, .keep_dims = true}))};
}

void softmax_reference(const KernelContext& c) {
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

std::vector<Tensor> log_softmax_gradient(const GradContext& c) {
  int axis = c.as<AxisOptions>().axis;
  return {c.dy() - exp(c.output()) * sum(c.dy(), {.axes = {axis}, .keep_dims = true})};
}

void log_softmax_reference(const KernelContext& c) {
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T* x = c.input(0).as<T>();
    T* y = c.output().as<T>();
    for_each_line(c.input(0).shape(), c.as<AxisOptions>().axis, [&](const Line& line) {
      double highest = line_max(x, line), log_sum = std::log(line_exp_sum(x, line, highest));
      for (std::int64_t i = 0; i < line.size; ++i)
        y[line.at(i)] = store<T>(load(x[line.at(i)]) - highest - log_sum);
    });
  });
}

}  // namespace

const OpDef softmax_op{.name = "softmax",
                       .shape = softmax_shape,
                       .gradient = softmax_gradient,
                       .reference = softmax_reference,
                       .in_place = first_input_in_place,
                       .autocast = Autocast::f32,
                       .flops = softmax_flops};

Tensor softmax(Tensor logits, int axis) {
  return apply1(softmax_op, {logits}, softmax_axis("softmax", logits, axis));
}

const OpDef log_softmax_op{.name = "log_softmax",
                           .shape = softmax_shape,
                           .gradient = log_softmax_gradient,
                           .reference = log_softmax_reference,
                           .in_place = first_input_in_place,
                           .autocast = Autocast::f32,
                           .flops = softmax_flops};

Tensor log_softmax(Tensor logits, int axis) {
  return apply1(log_softmax_op, {logits}, softmax_axis("log_softmax", logits, axis));
}

}  // namespace belfry
